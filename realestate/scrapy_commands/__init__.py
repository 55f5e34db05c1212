"""Commands of `scrapy` that this project changes (Scrapy's setting COMMANDS_MODULE)."""
