# Two roles for each component. With the first, ECS starts it: pulls the image, reads its secrets, writes its log. The second
# is what its process may do.
data "aws_iam_policy_document" "tasks" {
  statement {
    actions = ["sts:AssumeRole"]

    principals {
      type        = "Service"
      identifiers = ["ecs-tasks.amazonaws.com"]
    }

    condition {
      test     = "StringEquals"
      variable = "aws:SourceAccount"
      values   = [local.account]
    }
  }
}

resource "aws_iam_role" "start" {
  for_each           = local.components
  name               = "${var.name}-${each.key}-start"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

data "aws_iam_policy_document" "start" {
  #checkov:skip=CKV_AWS_356:ecr:GetAuthorizationToken has no resource
  for_each = local.components

  statement {
    sid       = "Login"
    actions   = ["ecr:GetAuthorizationToken"]
    resources = ["*"]
  }

  statement {
    sid       = "Image"
    actions   = ["ecr:BatchCheckLayerAvailability", "ecr:BatchGetImage", "ecr:GetDownloadUrlForLayer"]
    resources = [var.image_repository_arn]
  }

  statement {
    sid       = "Log"
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents"]
    resources = ["${aws_cloudwatch_log_group.component[each.key].arn}:*"]
  }

  statement {
    sid       = "Secrets"
    actions   = ["secretsmanager:GetSecretValue"]
    resources = [for secret in values(local.secrets[each.key]) : aws_secretsmanager_secret.this[secret].arn]
  }

  statement {
    sid       = "Decrypt"
    actions   = ["kms:Decrypt"]
    resources = [aws_kms_key.this.arn]

    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["secretsmanager.${var.region}.amazonaws.com"]
    }
  }
}

resource "aws_iam_role_policy" "start" {
  for_each = local.components
  name     = "start"
  role     = aws_iam_role.start[each.key].id
  policy   = data.aws_iam_policy_document.start[each.key].json
}

resource "aws_iam_role" "task" {
  for_each           = local.components
  name               = "${var.name}-${each.key}"
  assume_role_policy = data.aws_iam_policy_document.tasks.json
}

locals {
  # Component -> bucket -> what it does there. Who is not named does nothing in AWS.
  bucket_actions = {
    worker    = { pages = ["s3:GetObject", "s3:PutObject"] }
    timetable = { pages = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"], lake = ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"] }
    web       = { pages = ["s3:GetObject"] }
  }
}

data "aws_iam_policy_document" "buckets" {
  for_each = local.bucket_actions

  dynamic "statement" {
    for_each = each.value

    content {
      actions   = statement.value
      resources = ["${aws_s3_bucket.this[statement.key].arn}/*"]
    }
  }

  statement {
    actions   = ["s3:ListBucket"]
    resources = [for bucket in keys(each.value) : aws_s3_bucket.this[bucket].arn]
  }

  statement {
    actions   = each.key == "web" ? ["kms:Decrypt"] : ["kms:Decrypt", "kms:GenerateDataKey"]
    resources = [aws_kms_key.this.arn]

    condition {
      test     = "StringEquals"
      variable = "kms:ViaService"
      values   = ["s3.${var.region}.amazonaws.com"]
    }
  }
}

resource "aws_iam_role_policy" "buckets" {
  for_each = local.bucket_actions
  name     = "buckets"
  role     = aws_iam_role.task[each.key].id
  policy   = data.aws_iam_policy_document.buckets[each.key].json
}

# The collector beside the exporter writes the metrics as log lines, from which CloudWatch makes metrics.
data "aws_iam_policy_document" "metrics" {
  statement {
    actions   = ["logs:CreateLogStream", "logs:PutLogEvents", "logs:DescribeLogStreams"]
    resources = ["${aws_cloudwatch_log_group.metrics.arn}:*"]
  }
}

resource "aws_iam_role_policy" "metrics" {
  name   = "metrics"
  role   = aws_iam_role.task["exporter"].id
  policy = data.aws_iam_policy_document.metrics.json
}
