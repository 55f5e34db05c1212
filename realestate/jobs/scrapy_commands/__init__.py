"""Commands of `scrapy` that this project changes. Scrapy finds them by the setting COMMANDS_MODULE."""
