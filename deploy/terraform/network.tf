# Who reaches whom. Nobody reaches a worker; only our tasks reach Redis and the database; only the load balancer reaches
# the pages, and only var.web_client_cidrs reach it.
locals {
  components = toset(["worker", "timetable", "watch", "searches", "web", "exporter", "migrate"])
  # What each component connects to.
  reaches_redis    = toset(["worker", "timetable", "watch", "searches", "web", "exporter"])
  reaches_database = local.components
  # By HTTP: the portals, receivers of messages, and services of AWS (secrets, logs, buckets).
  http_ports = {
    worker    = var.worker_ports
    watch     = var.message_ports
    searches  = var.message_ports
    timetable = var.message_ports
  }
}

resource "aws_security_group" "component" {
  #checkov:skip=CKV2_AWS_5:attached to the service of the component; `migrate` is run by hand
  for_each    = local.components
  name        = "${var.name}-${each.key}"
  description = "realestate ${each.key}"
  vpc_id      = var.vpc_id
}

resource "aws_security_group" "redis" {
  name        = "${var.name}-redis"
  description = "realestate Redis"
  vpc_id      = var.vpc_id
}

resource "aws_security_group" "database" {
  name        = "${var.name}-database"
  description = "realestate database"
  vpc_id      = var.vpc_id
}

resource "aws_security_group" "balancer" {
  name        = "${var.name}-balancer"
  description = "realestate load balancer of the pages"
  vpc_id      = var.vpc_id
}

resource "aws_vpc_security_group_egress_rule" "http" {
  for_each = {
    for each in flatten([
      for component in local.components : [
        for port in lookup(local.http_ports, component, [443]) : { component = component, port = port }
      ]
    ]) : "${each.component}-${each.port}" => each
  }
  security_group_id = aws_security_group.component[each.value.component].id
  description       = "portals, receivers of messages, services of AWS"
  cidr_ipv4         = "0.0.0.0/0"
  ip_protocol       = "tcp"
  from_port         = each.value.port
  to_port           = each.value.port
}

resource "aws_vpc_security_group_egress_rule" "to_redis" {
  for_each                     = local.reaches_redis
  security_group_id            = aws_security_group.component[each.key].id
  description                  = "Redis"
  referenced_security_group_id = aws_security_group.redis.id
  ip_protocol                  = "tcp"
  from_port                    = 6379
  to_port                      = 6379
}

resource "aws_vpc_security_group_ingress_rule" "redis" {
  for_each                     = local.reaches_redis
  security_group_id            = aws_security_group.redis.id
  description                  = each.key
  referenced_security_group_id = aws_security_group.component[each.key].id
  ip_protocol                  = "tcp"
  from_port                    = 6379
  to_port                      = 6379
}

resource "aws_vpc_security_group_egress_rule" "to_database" {
  for_each                     = local.reaches_database
  security_group_id            = aws_security_group.component[each.key].id
  description                  = "database"
  referenced_security_group_id = aws_security_group.database.id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}

resource "aws_vpc_security_group_ingress_rule" "database" {
  for_each                     = local.reaches_database
  security_group_id            = aws_security_group.database.id
  description                  = each.key
  referenced_security_group_id = aws_security_group.component[each.key].id
  ip_protocol                  = "tcp"
  from_port                    = 5432
  to_port                      = 5432
}

resource "aws_vpc_security_group_ingress_rule" "clients" {
  for_each          = toset(var.web_client_cidrs)
  security_group_id = aws_security_group.balancer.id
  description       = "people and programs that use the pages and the API"
  cidr_ipv4         = each.key
  ip_protocol       = "tcp"
  from_port         = 443
  to_port           = 443
}

resource "aws_vpc_security_group_egress_rule" "balancer" {
  security_group_id            = aws_security_group.balancer.id
  description                  = "the pages"
  referenced_security_group_id = aws_security_group.component["web"].id
  ip_protocol                  = "tcp"
  from_port                    = 8080
  to_port                      = 8080
}

resource "aws_vpc_security_group_ingress_rule" "web" {
  security_group_id            = aws_security_group.component["web"].id
  description                  = "the load balancer"
  referenced_security_group_id = aws_security_group.balancer.id
  ip_protocol                  = "tcp"
  from_port                    = 8080
  to_port                      = 8080
}
