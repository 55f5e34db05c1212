"""Commands of Scrapy that this package replaces: COMMANDS_MODULE = "realestate.queue.commands"."""
