# Redis: encrypted at rest and on the way, a replica in another zone, no key deleted to save memory, and a user for each
# role with the commands of docker/redis/users.acl.
#
# ElastiCache keeps no log of writes on disk. When a node is lost, the last writes before it may be lost with it: requests
# of the last moment are fetched again by the next job. MemoryDB keeps every write, and takes the same settings.
locals {
  redis_roles = toset(["worker", "timetable", "web", "exporter"])
  # The role of each component.
  redis_role_of = {
    worker    = "worker"
    timetable = "timetable"
    web       = "web"
    watch     = "exporter"
    searches  = "exporter"
    exporter  = "exporter"
  }
  redis_rules = {
    for role in local.redis_roles : role => regex(
      "(?m)^user ${role} on sanitize-payload #${upper(role)} resetchannels (.*)$",
      file("${path.module}/../../docker/redis/users.acl")
    )[0]
  }
}

data "aws_secretsmanager_random_password" "redis" {
  for_each            = setunion(local.redis_roles, ["default"])
  password_length     = 48
  exclude_punctuation = true
}

resource "aws_elasticache_user" "role" {
  for_each  = local.redis_roles
  user_id   = "${var.name}-${each.key}"
  user_name = each.key
  engine    = "redis"
  # ElastiCache refuses CONFIG to everybody.
  access_string = "on ${replace(local.redis_rules[each.key], "+config|get ", "")}"
  passwords     = [data.aws_secretsmanager_random_password.redis[each.key].random_password]

  lifecycle {
    # A new random value at each plan: the one of the first time stays.
    ignore_changes = [passwords]
  }
}

# Every group needs a user named `default`. This one may do nothing.
resource "aws_elasticache_user" "default" {
  user_id       = "${var.name}-default"
  user_name     = "default"
  engine        = "redis"
  access_string = "off ~* -@all"
  passwords     = [data.aws_secretsmanager_random_password.redis["default"].random_password]

  lifecycle {
    ignore_changes = [passwords]
  }
}

resource "aws_elasticache_user_group" "this" {
  user_group_id = var.name
  engine        = "redis"
  user_ids = concat(
    [aws_elasticache_user.default.user_id], [for user in aws_elasticache_user.role : user.user_id]
  )
}

resource "aws_elasticache_subnet_group" "this" {
  name       = var.name
  subnet_ids = var.private_subnet_ids
}

resource "aws_elasticache_parameter_group" "this" {
  name   = var.name
  family = "redis7"

  parameter {
    name  = "maxmemory-policy"
    value = "noeviction"
  }
}

resource "aws_elasticache_replication_group" "this" {
  #checkov:skip=CKV_AWS_31:users with passwords (user_group_ids) take the place of the one token
  replication_group_id       = var.name
  description                = "realestate: the queue"
  engine                     = "redis"
  engine_version             = "7.1"
  node_type                  = var.redis_node_type
  num_cache_clusters         = 2
  automatic_failover_enabled = true
  multi_az_enabled           = true
  parameter_group_name       = aws_elasticache_parameter_group.this.name
  subnet_group_name          = aws_elasticache_subnet_group.this.name
  security_group_ids         = [aws_security_group.redis.id]
  user_group_ids             = [aws_elasticache_user_group.this.user_group_id]
  transit_encryption_enabled = true
  at_rest_encryption_enabled = true
  kms_key_id                 = aws_kms_key.this.arn
  snapshot_retention_limit   = 7
  auto_minor_version_upgrade = true
  apply_immediately          = false

  log_delivery_configuration {
    destination      = aws_cloudwatch_log_group.redis.name
    destination_type = "cloudwatch-logs"
    log_format       = "json"
    log_type         = "engine-log"
  }
}

resource "aws_cloudwatch_log_group" "redis" {
  name              = "/${var.name}/redis"
  retention_in_days = 365
  kms_key_id        = aws_kms_key.this.arn
}
