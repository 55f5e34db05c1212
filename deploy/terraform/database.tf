# PostgreSQL: encrypted, in two zones, TLS demanded. The password of its administrator is made and changed by RDS. The logins
# of the components have the roles of deploy/postgres/roles.sql.
resource "aws_db_subnet_group" "this" {
  name       = var.name
  subnet_ids = var.private_subnet_ids
}

resource "aws_db_parameter_group" "this" {
  name   = "${var.name}-17"
  family = "postgres17"

  parameter {
    name  = "rds.force_ssl"
    value = "1"
  }

  # What changes the tables, and statements that take long.
  parameter {
    name  = "log_statement"
    value = "ddl"
  }

  parameter {
    name  = "log_min_duration_statement"
    value = "5000"
  }
}

resource "aws_db_instance" "this" {
  identifier                          = var.name
  engine                              = "postgres"
  engine_version                      = "17"
  instance_class                      = var.database_class
  db_name                             = "realestate"
  username                            = "administrator"
  manage_master_user_password         = true
  master_user_secret_kms_key_id       = aws_kms_key.this.arn
  iam_database_authentication_enabled = true
  allocated_storage                   = var.database_gigabytes.first
  max_allocated_storage               = var.database_gigabytes.most
  storage_type                        = "gp3"
  storage_encrypted                   = true
  kms_key_id                          = aws_kms_key.this.arn
  multi_az                            = true
  publicly_accessible                 = false
  db_subnet_group_name                = aws_db_subnet_group.this.name
  parameter_group_name                = aws_db_parameter_group.this.name
  vpc_security_group_ids              = [aws_security_group.database.id]
  ca_cert_identifier                  = "rds-ca-rsa2048-g1"
  backup_retention_period             = 14
  copy_tags_to_snapshot               = true
  deletion_protection                 = true
  skip_final_snapshot                 = false
  final_snapshot_identifier           = "${var.name}-final"
  auto_minor_version_upgrade          = true
  performance_insights_enabled        = true
  performance_insights_kms_key_id     = aws_kms_key.this.arn
  monitoring_interval                 = 60
  monitoring_role_arn                 = aws_iam_role.database_monitoring.arn
  enabled_cloudwatch_logs_exports     = ["postgresql", "upgrade"]
}

resource "aws_iam_role" "database_monitoring" {
  name               = "${var.name}-database-monitoring"
  assume_role_policy = data.aws_iam_policy_document.database_monitoring.json
}

resource "aws_iam_role_policy_attachment" "database_monitoring" {
  role       = aws_iam_role.database_monitoring.name
  policy_arn = "arn:aws:iam::aws:policy/service-role/AmazonRDSEnhancedMonitoringRole"
}

data "aws_iam_policy_document" "database_monitoring" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["monitoring.rds.amazonaws.com"]
    }
  }
}
