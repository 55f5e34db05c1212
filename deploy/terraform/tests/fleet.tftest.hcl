# `terraform test`, without an account: the provider is mocked.
mock_provider "aws" {
  mock_data "aws_caller_identity" {
    defaults = { account_id = "123456789012" }
  }
  mock_data "aws_iam_policy_document" {
    defaults = { json = "{}" }
  }
  mock_data "aws_secretsmanager_random_password" {
    defaults = { random_password = "mocked-and-long-enough" }
  }
  mock_resource "aws_kms_key" {
    defaults = { arn = "arn:aws:kms:eu-central-1:123456789012:key/1" }
  }
  mock_resource "aws_iam_role" {
    defaults = { arn = "arn:aws:iam::123456789012:role/mocked" }
  }
  mock_resource "aws_lb_target_group" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:targetgroup/mocked/1" }
  }
  mock_resource "aws_lb" {
    defaults = { arn = "arn:aws:elasticloadbalancing:eu-central-1:123456789012:loadbalancer/app/mocked/1" }
  }
  mock_resource "aws_secretsmanager_secret" {
    defaults = { arn = "arn:aws:secretsmanager:eu-central-1:123456789012:secret:mocked" }
  }
}

variables {
  region               = "eu-central-1"
  image                = "123456789012.dkr.ecr.eu-central-1.amazonaws.com/realestate:0.2.0"
  image_repository_arn = "arn:aws:ecr:eu-central-1:123456789012:repository/realestate"
  vpc_id               = "vpc-1"
  private_subnet_ids   = ["subnet-1", "subnet-2"]
  certificate_arn      = "arn:aws:acm:eu-central-1:123456789012:certificate/1"
  alarm_topic_arn      = "arn:aws:sns:eu-central-1:123456789012:alarms"
}

run "everything_kept_is_encrypted" {
  assert {
    condition     = aws_db_instance.this.storage_encrypted && aws_db_instance.this.kms_key_id == aws_kms_key.this.arn
    error_message = "the database"
  }
  assert {
    condition     = aws_elasticache_replication_group.this.at_rest_encryption_enabled && aws_elasticache_replication_group.this.transit_encryption_enabled
    error_message = "the queue"
  }
  assert {
    condition = alltrue([
      for bucket in aws_s3_bucket_server_side_encryption_configuration.this :
      alltrue([for rule in bucket.rule : rule.apply_server_side_encryption_by_default[0].sse_algorithm == "aws:kms"])
    ])
    error_message = "the buckets"
  }
  assert {
    condition     = alltrue([for group in aws_cloudwatch_log_group.component : group.kms_key_id == aws_kms_key.this.arn])
    error_message = "the logs"
  }
  assert {
    condition     = alltrue([for secret in aws_secretsmanager_secret.this : secret.kms_key_id == aws_kms_key.this.arn])
    error_message = "the secrets"
  }
}

run "each_component_has_its_own_roles_and_secrets" {
  assert {
    condition     = length(distinct([for role in aws_iam_role.task : role.name])) == length(local.components)
    error_message = "two components share a role"
  }
  assert {
    condition     = local.secrets["migrate"] == { STORE_URL = "store-url-migrator" }
    error_message = "only `migrate` changes tables, and it needs no Redis"
  }
  assert {
    condition     = alltrue([for name, secrets in local.secrets : secrets["STORE_URL"] == "store-url-writer" if name != "migrate"])
    error_message = "the rest only write rows"
  }
  assert {
    condition     = local.secrets["worker"]["REDIS_URL"] == "redis-url-worker" && local.secrets["watch"]["REDIS_URL"] == "redis-url-exporter"
    error_message = "a component has the Redis user of its role"
  }
  assert {
    condition     = local.secrets["watch"]["NOTIFY_URLS"] == "notify-urls" && local.secrets["searches"]["NOTIFY_URLS"] == "notify-urls"
    error_message = "whatever sends messages must know where alerts go: all take them from one outbox"
  }
  assert {
    condition     = toset(keys(aws_iam_role_policy.buckets)) == toset(["worker", "timetable", "web"])
    error_message = "only these read or write buckets"
  }
}

run "containers_are_confined" {
  assert {
    condition     = alltrue([for container in local.container : container.readonlyRootFilesystem && container.user == "10001:10001"])
    error_message = "a container could write its programs, or is root"
  }
  assert {
    condition     = alltrue([for service in aws_ecs_service.this : !service.network_configuration[0].assign_public_ip])
    error_message = "a task has a public address"
  }
  assert {
    condition     = !aws_db_instance.this.publicly_accessible && aws_lb.web.internal
    error_message = "the internet reaches the database or the pages"
  }
}

run "redis_roles_are_those_of_the_acl" {
  assert {
    condition     = strcontains(aws_elasticache_user.role["worker"].access_string, "~{*}:*") && strcontains(aws_elasticache_user.role["worker"].access_string, "-@all")
    error_message = "the worker"
  }
  assert {
    condition     = !strcontains(aws_elasticache_user.role["exporter"].access_string, "+set ") && !strcontains(aws_elasticache_user.role["exporter"].access_string, "config")
    error_message = "the exporter only reads"
  }
  assert {
    condition     = startswith(aws_elasticache_user.default.access_string, "off")
    error_message = "the user `default` may log in"
  }
}

run "the_number_of_workers_follows_what_is_wanted" {
  assert {
    condition     = aws_appautoscaling_target.worker.min_capacity == 1 && aws_appautoscaling_target.worker.max_capacity == 50
    error_message = "the bounds"
  }
  assert {
    condition = one([
      for metric in aws_appautoscaling_policy.worker.target_tracking_scaling_policy_configuration[0].customized_metric_specification[0].metrics :
      metric.expression if metric.return_data
    ]) == "wanted / running"
    error_message = "the metric"
  }
}

run "latest_is_no_version" {
  command = plan
  variables {
    image = "example/realestate:latest"
  }
  expect_failures = [var.image]
}

run "one_zone_is_not_enough" {
  command = plan
  variables {
    private_subnet_ids = ["subnet-1"]
  }
  expect_failures = [var.private_subnet_ids]
}

run "no_worker_at_all_is_refused" {
  command = plan
  variables {
    workers = { least = 0, most = 5 }
  }
  expect_failures = [var.workers]
}
