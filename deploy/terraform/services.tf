# One service for each component, all of one image.
locals {
  # Component -> its command, size and number of tasks. The number of workers is the autoscaler's.
  services = {
    worker    = { command = ["realestate", "work"], cpu = var.worker_size.cpu, memory = var.worker_size.memory, tasks = var.workers.least }
    timetable = { command = ["sh", "-c", "printf %s \"$TIMETABLE_TOML\" > /data/timetable.toml; exec realestate timetable run --file /data/timetable.toml"], cpu = 256, memory = 1024, tasks = 1 }
    watch     = { command = ["realestate", "watch"], cpu = 256, memory = 512, tasks = 1 }
    searches  = { command = ["realestate", "search", "watch"], cpu = 256, memory = 512, tasks = 1 }
    web       = { command = ["realestate", "serve", "--host", "0.0.0.0"], cpu = 512, memory = 1024, tasks = 2 }
    exporter  = { command = ["realestate", "exporter"], cpu = 256, memory = 1024, tasks = 1 }
    migrate   = { command = ["realestate", "migrate"], cpu = 256, memory = 512, tasks = 0 }
  }
  timetable = coalesce(var.timetable, file("${path.module}/../../docker/config/timetable.toml"))
  settings = merge(
    {
      LOG_FORMAT    = "json"
      SNAPSHOTS_URL = "s3://${aws_s3_bucket.this["pages"].id}/pages"
      # The only folder that a task writes.
      REALESTATE_HOME    = "/data"
      TMPDIR             = "/data"
      METRICS_PORT       = "9400"
      AWS_DEFAULT_REGION = var.region
    },
    var.settings,
  )
  # The role of `realestate health`. `migrate` ends by itself.
  health = { worker = "worker", timetable = "timetable", watch = "watch", searches = "watch", web = "web", exporter = "exporter" }

  container = {
    for component, service in local.services : component => {
      name                   = component
      image                  = var.image
      command                = service.command
      essential              = true
      user                   = "10001:10001"
      readonlyRootFilesystem = true
      stopTimeout            = 90
      environment = concat(
        [for name in sort(keys(local.settings)) : { name = name, value = local.settings[name] }],
        component == "timetable" ? [{ name = "TIMETABLE_TOML", value = local.timetable }] : [],
      )
      secrets = [
        for name in sort(keys(local.secrets[component])) :
        { name = name, valueFrom = aws_secretsmanager_secret.this[local.secrets[component][name]].arn }
      ]
      mountPoints     = [{ sourceVolume = "data", containerPath = "/data", readOnly = false }]
      portMappings    = component == "web" ? [{ containerPort = 8080, protocol = "tcp" }] : []
      linuxParameters = { initProcessEnabled = true, capabilities = { drop = ["ALL"], add = [] } }
      healthCheck = contains(keys(local.health), component) ? {
        command     = ["CMD", "realestate", "health", "--role", local.health[component]]
        interval    = 60
        timeout     = 45
        startPeriod = 60
        # ECS replaces a task that is not healthy. That helps nobody while Redis or the database is away for some minutes.
        retries = 10
      } : null
      logConfiguration = {
        logDriver = "awslogs"
        options = {
          awslogs-group         = aws_cloudwatch_log_group.component[component].name
          awslogs-region        = var.region
          awslogs-stream-prefix = component
        }
      }
    }
  }
}

resource "aws_cloudwatch_log_group" "component" {
  for_each          = local.components
  name              = "/${var.name}/${each.key}"
  retention_in_days = 365
  kms_key_id        = aws_kms_key.this.arn
}

resource "aws_ecs_cluster" "this" {
  name = var.name

  setting {
    name  = "containerInsights"
    value = "enabled"
  }
}

resource "aws_ecs_cluster_capacity_providers" "this" {
  cluster_name       = aws_ecs_cluster.this.name
  capacity_providers = ["FARGATE", "FARGATE_SPOT"]
}

resource "aws_ecs_task_definition" "this" {
  for_each                 = local.components
  family                   = "${var.name}-${each.key}"
  requires_compatibilities = ["FARGATE"]
  network_mode             = "awsvpc"
  cpu                      = local.services[each.key].cpu
  memory                   = local.services[each.key].memory
  execution_role_arn       = aws_iam_role.start[each.key].arn
  task_role_arn            = aws_iam_role.task[each.key].arn
  container_definitions = jsonencode(concat(
    [local.container[each.key]], each.key == "exporter" ? [local.collector] : []
  ))

  runtime_platform {
    operating_system_family = "LINUX"
    cpu_architecture        = "X86_64"
  }

  # Empty at first, and gone with the task.
  volume {
    name = "data"
  }
}

resource "aws_ecs_service" "this" {
  for_each               = setsubtract(local.components, ["migrate"])
  name                   = each.key
  cluster                = aws_ecs_cluster.this.id
  task_definition        = aws_ecs_task_definition.this[each.key].arn
  desired_count          = local.services[each.key].tasks
  platform_version       = "LATEST"
  enable_execute_command = false
  propagate_tags         = "SERVICE"

  # A worker may be ended at any time: what it held is fetched by another one. So four of five are the cheaper kind.
  dynamic "capacity_provider_strategy" {
    for_each = each.key == "worker" ? { FARGATE = 1, FARGATE_SPOT = 4 } : { FARGATE = 1 }

    content {
      capacity_provider = capacity_provider_strategy.key
      weight            = capacity_provider_strategy.value
      base              = capacity_provider_strategy.key == "FARGATE" ? 1 : 0
    }
  }

  network_configuration {
    subnets          = var.private_subnet_ids
    security_groups  = [aws_security_group.component[each.key].id]
    assign_public_ip = false
  }

  # A version that does not become healthy is taken back.
  deployment_circuit_breaker {
    enable   = true
    rollback = true
  }

  dynamic "load_balancer" {
    for_each = each.key == "web" ? [aws_lb_target_group.web.arn] : []

    content {
      target_group_arn = load_balancer.value
      container_name   = "web"
      container_port   = 8080
    }
  }

  lifecycle {
    # The autoscaler's, for workers.
    ignore_changes = [desired_count]
  }

  depends_on = [aws_lb_listener.web, aws_iam_role_policy.start]
}
