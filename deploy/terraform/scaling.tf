# The number of workers follows realestate_workers_wanted, as with KEDA: what is ready, bounded by the rate limits of the
# sites. A collector beside the exporter hands the metrics to CloudWatch.
locals {
  metrics_namespace = var.name
  metrics           = ["realestate_workers_wanted", "realestate_up", "realestate_queue_oldest_seconds", "realestate_dead_letters"]

  collector_config = {
    receivers = {
      prometheus = {
        config = {
          scrape_configs = [{ job_name = "fleet", scrape_interval = "30s", static_configs = [{ targets = ["127.0.0.1:9400"] }] }]
        }
      }
    }
    exporters = {
      awsemf = {
        region                  = var.region
        namespace               = local.metrics_namespace
        log_group_name          = aws_cloudwatch_log_group.metrics.name
        log_stream_name         = "exporter"
        dimension_rollup_option = "NoDimensionRollup"
        metric_declarations = [
          { dimensions = [[]], metric_name_selectors = ["^realestate_workers_wanted$"] },
          { dimensions = [["service"]], metric_name_selectors = ["^realestate_up$"] },
          { dimensions = [["portal"]], metric_name_selectors = ["^realestate_queue_oldest_seconds$", "^realestate_dead_letters$"] },
        ]
      }
    }
    service = { pipelines = { metrics = { receivers = ["prometheus"], exporters = ["awsemf"] } } }
  }

  collector = {
    name                   = "collector"
    image                  = "public.ecr.aws/aws-observability/aws-otel-collector:v0.43.3"
    essential              = false
    readonlyRootFilesystem = true
    environment            = [{ name = "AOT_CONFIG_CONTENT", value = yamlencode(local.collector_config) }]
    dependsOn              = [{ containerName = "exporter", condition = "START" }]
    logConfiguration = {
      logDriver = "awslogs"
      options = {
        awslogs-group         = aws_cloudwatch_log_group.component["exporter"].name
        awslogs-region        = var.region
        awslogs-stream-prefix = "collector"
      }
    }
  }
}

resource "aws_cloudwatch_log_group" "metrics" {
  name              = "/${var.name}/metrics"
  retention_in_days = 365
  kms_key_id        = aws_kms_key.this.arn
}

resource "aws_appautoscaling_target" "worker" {
  service_namespace  = "ecs"
  resource_id        = "service/${aws_ecs_cluster.this.name}/${aws_ecs_service.this["worker"].name}"
  scalable_dimension = "ecs:service:DesiredCount"
  min_capacity       = var.workers.least
  max_capacity       = var.workers.most
}

# Wanted divided by running is to be 1. Without data nothing is changed, so a lost exporter never scales down.
resource "aws_appautoscaling_policy" "worker" {
  name               = "workers-wanted"
  policy_type        = "TargetTrackingScaling"
  service_namespace  = aws_appautoscaling_target.worker.service_namespace
  resource_id        = aws_appautoscaling_target.worker.resource_id
  scalable_dimension = aws_appautoscaling_target.worker.scalable_dimension

  target_tracking_scaling_policy_configuration {
    target_value       = 1
    scale_in_cooldown  = 300
    scale_out_cooldown = 60

    customized_metric_specification {
      metrics {
        id          = "wanted"
        label       = "workers wanted"
        return_data = false

        metric_stat {
          stat = "Maximum"

          metric {
            namespace   = local.metrics_namespace
            metric_name = "realestate_workers_wanted"
          }
        }
      }

      metrics {
        id          = "running"
        label       = "workers running"
        return_data = false

        metric_stat {
          stat = "Average"

          metric {
            namespace   = "ECS/ContainerInsights"
            metric_name = "RunningTaskCount"

            dimensions {
              name  = "ClusterName"
              value = aws_ecs_cluster.this.name
            }

            dimensions {
              name  = "ServiceName"
              value = "worker"
            }
          }
        }
      }

      metrics {
        id          = "ratio"
        label       = "wanted for each running worker"
        expression  = "wanted / running"
        return_data = true
      }
    }
  }
}
