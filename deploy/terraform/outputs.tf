output "pages_address" {
  description = "The address of the pages and the API; give it a name that the certificate has."
  value       = "https://${aws_lb.web.dns_name}"
}

output "database_address" {
  description = "The host of the database."
  value       = aws_db_instance.this.address
}

output "administrator_secret" {
  description = "The secret with the password of the database's administrator."
  value       = try(aws_db_instance.this.master_user_secret[0].secret_arn, null)
}

output "secrets_to_fill" {
  description = "Secrets that a person puts a value into before the first task can start."
  value       = sort([for name in local.secret_names : aws_secretsmanager_secret.this[name].name if !startswith(name, "redis-url-")])
}

output "migrate_command" {
  description = "Brings the tables up to date; for each new version, before `terraform apply` of its workers."
  value = join(" ", [
    "aws ecs run-task --cluster ${aws_ecs_cluster.this.name} --task-definition ${aws_ecs_task_definition.this["migrate"].family}",
    "--launch-type FARGATE --network-configuration",
    "'awsvpcConfiguration={subnets=[${var.private_subnet_ids[0]}],securityGroups=[${aws_security_group.component["migrate"].id}]}'",
  ])
}
