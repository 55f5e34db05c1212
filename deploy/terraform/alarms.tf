# What `realestate watch` cannot tell, because it runs on the same servers. The alert rules of the fleet are its own.
locals {
  alarms = {
    "queue-memory" = {
      what      = "Redis has used most of its memory: a full queue accepts no request"
      namespace = "AWS/ElastiCache", metric = "DatabaseMemoryUsagePercentage", stat = "Maximum", compare = ">", than = 80
      by        = { ReplicationGroupId = aws_elasticache_replication_group.this.id }
    }
    "database-disk" = {
      what      = "less than 10 GB of the database's disk are free"
      namespace = "AWS/RDS", metric = "FreeStorageSpace", stat = "Minimum", compare = "<", than = 10000000000
      by        = { DBInstanceIdentifier = aws_db_instance.this.identifier }
    }
    "database-cpu" = {
      what      = "the database is busy"
      namespace = "AWS/RDS", metric = "CPUUtilization", stat = "Average", compare = ">", than = 85
      by        = { DBInstanceIdentifier = aws_db_instance.this.identifier }
    }
    "workers-none" = {
      what      = "no worker runs"
      namespace = "ECS/ContainerInsights", metric = "RunningTaskCount", stat = "Maximum", compare = "<", than = 1
      by        = { ClusterName = aws_ecs_cluster.this.name, ServiceName = "worker" }
    }
    "watch-none" = {
      what      = "`realestate watch` does not run: no alert would arrive"
      namespace = "ECS/ContainerInsights", metric = "RunningTaskCount", stat = "Maximum", compare = "<", than = 1
      by        = { ClusterName = aws_ecs_cluster.this.name, ServiceName = "watch" }
    }
    "metrics-none" = {
      what      = "no metric arrives: the number of workers stays as it is"
      namespace = local.metrics_namespace, metric = "realestate_workers_wanted", stat = "SampleCount", compare = "<", than = 1
      by        = {}
    }
  }
}

resource "aws_cloudwatch_metric_alarm" "this" {
  for_each            = local.alarms
  alarm_name          = "${var.name}-${each.key}"
  alarm_description   = each.value.what
  namespace           = each.value.namespace
  metric_name         = each.value.metric
  dimensions          = each.value.by
  statistic           = each.value.stat
  comparison_operator = each.value.compare == ">" ? "GreaterThanThreshold" : "LessThanThreshold"
  threshold           = each.value.than
  period              = 60
  evaluation_periods  = 10
  # No data is a fault of what should send it.
  treat_missing_data = "breaching"
  alarm_actions      = [var.alarm_topic_arn]
  ok_actions         = [var.alarm_topic_arn]
}
