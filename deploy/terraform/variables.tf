variable "region" {
  description = "The region, such as eu-central-1."
  type        = string
}

variable "name" {
  description = "The beginning of every name. Two fleets in one account need two names."
  type        = string
  default     = "realestate"

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]{2,19}$", var.name))
    error_message = "Write 3 to 20 small letters, digits and hyphens, beginning with a letter."
  }
}

variable "image" {
  description = "The image, made of docker/Dockerfile, with its tag: <account>.dkr.ecr.<region>.amazonaws.com/realestate:0.2.0"
  type        = string

  validation {
    condition     = can(regex("^[^:@]+[:@].+$", var.image)) && !endswith(var.image, ":latest")
    error_message = "Name a tag or a digest: `latest` does not say which version runs."
  }
}

variable "image_repository_arn" {
  description = "The ARN of the ECR repository of the image."
  type        = string
}

variable "vpc_id" {
  description = "The VPC of the fleet."
  type        = string
}

variable "private_subnet_ids" {
  description = "Private subnets in two or more zones. Their way out (a NAT gateway) leads to the portals."
  type        = list(string)

  validation {
    condition     = length(var.private_subnet_ids) >= 2
    error_message = "RDS and ElastiCache fail over to another zone: name subnets in two or more zones."
  }
}

variable "web_client_cidrs" {
  description = "Private addresses that may reach the pages and the API, such as those of a VPN."
  type        = list(string)
  default     = []
}

variable "certificate_arn" {
  description = "The ACM certificate of the pages and the API."
  type        = string
}

variable "settings" {
  description = "Settings that are no secrets: docs/settings.md."
  type        = map(string)
  default     = {}
}

variable "timetable" {
  description = "The text of the timetable: docs/timetable.md. By default housekeeping only, as with Docker Compose."
  type        = string
  default     = null
}

variable "workers" {
  description = "The fewest and the most workers."
  type        = object({ least = number, most = number })
  default     = { least = 1, most = 50 }

  validation {
    condition     = var.workers.least >= 1 && var.workers.least <= var.workers.most
    error_message = "At least 1, and `least` not more than `most`."
  }
}

variable "worker_size" {
  description = "CPU units and MiB of a worker. One worker uses one processor."
  type        = object({ cpu = number, memory = number })
  default     = { cpu = 1024, memory = 2048 }
}

variable "worker_ports" {
  description = "The ports that workers may connect to: those of the portals, and of proxies if they have others."
  type        = set(number)
  default     = [80, 443]
}

variable "message_ports" {
  description = "The ports that messages are sent to: 443, and 465 or 587 if NOTIFY_URLS has mail addresses."
  type        = set(number)
  default     = [443]
}

variable "redis_node_type" {
  description = "Room for the queue: about 0.5 kB for each waiting request."
  type        = string
  default     = "cache.t4g.medium"
}

variable "database_class" {
  description = "docs/deployment.md says how large."
  type        = string
  default     = "db.m7g.large"
}

variable "database_gigabytes" {
  description = "The size of the database's disk: at first, and at most."
  type        = object({ first = number, most = number })
  default     = { first = 100, most = 1000 }
}

variable "pages_retained_days" {
  description = "The bucket deletes raw pages after so many days, whatever `realestate retain` does."
  type        = number
  default     = 400
}

variable "alarm_topic_arn" {
  description = "The SNS topic that alarms go to."
  type        = string
}
