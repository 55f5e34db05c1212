# A fleet on AWS: workers and the rest on ECS Fargate, ElastiCache, RDS, S3, Secrets Manager, CloudWatch. It uses a VPC that
# exists. docs/deployment.md has the steps.
terraform {
  required_version = ">= 1.9"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.100"
    }
  }
}

provider "aws" {
  region = var.region

  default_tags {
    tags = { application = "realestate" }
  }
}

data "aws_caller_identity" "this" {}

locals {
  account = data.aws_caller_identity.this.account_id
}
