# One key encrypts everything that is kept: database, queue, buckets, secrets and logs.
resource "aws_kms_key" "this" {
  description             = "${var.name}: data at rest"
  enable_key_rotation     = true
  deletion_window_in_days = 30
  policy                  = data.aws_iam_policy_document.key.json
}

resource "aws_kms_alias" "this" {
  name          = "alias/${var.name}"
  target_key_id = aws_kms_key.this.key_id
}

data "aws_iam_policy_document" "key" {
  #checkov:skip=CKV_AWS_109:the policy of a key names no other resource than this key
  #checkov:skip=CKV_AWS_111:the policy of a key names no other resource than this key
  #checkov:skip=CKV_AWS_356:"*" in the policy of a key is this key
  # The account decides by IAM who may use the key. Without this statement nobody could ever change it.
  statement {
    sid       = "Account"
    actions   = ["kms:*"]
    resources = ["*"]

    principals {
      type        = "AWS"
      identifiers = ["arn:aws:iam::${local.account}:root"]
    }
  }

  statement {
    sid       = "Logs"
    actions   = ["kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:Describe*"]
    resources = ["*"]

    principals {
      type        = "Service"
      identifiers = ["logs.${var.region}.amazonaws.com"]
    }

    condition {
      test     = "ArnLike"
      variable = "kms:EncryptionContext:aws:logs:arn"
      values   = ["arn:aws:logs:${var.region}:${local.account}:log-group:/${var.name}/*"]
    }
  }
}
