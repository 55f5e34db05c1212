# The addresses with their passwords. Terraform makes those of Redis. Those of the database, and the keys of the API, are put
# in by a person, because a login is made by SQL: docs/deployment.md. A task starts when its secrets have a value.
locals {
  # Component -> variable -> secret. No component reads a secret that it does not need.
  secrets = {
    for component in local.components : component => merge(
      { STORE_URL = component == "migrate" ? "store-url-migrator" : "store-url-writer" },
      contains(local.reaches_redis, component) ? { REDIS_URL = "redis-url-${local.redis_role_of[component]}" } : {},
      component == "web" ? { API_KEYS = "api-keys" } : {},
      contains(["watch", "searches", "timetable"], component) ? { NOTIFY_URLS = "notify-urls" } : {},
    )
  }
  secret_names = toset(flatten([for component in local.components : values(local.secrets[component])]))
}

resource "aws_secretsmanager_secret" "this" {
  #checkov:skip=CKV2_AWS_57:a new password needs a new login in Redis or the database first: docs/security.md
  for_each                = local.secret_names
  name                    = "${var.name}/${each.key}"
  kms_key_id              = aws_kms_key.this.arn
  recovery_window_in_days = 14
}

resource "aws_secretsmanager_secret_version" "redis" {
  for_each  = local.redis_roles
  secret_id = aws_secretsmanager_secret.this["redis-url-${each.key}"].id
  secret_string = join("", [
    "rediss://${each.key}:${data.aws_secretsmanager_random_password.redis[each.key].random_password}",
    "@${aws_elasticache_replication_group.this.primary_endpoint_address}:6379/0",
  ])

  lifecycle {
    ignore_changes = [secret_string]
  }
}
