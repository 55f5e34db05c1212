"""An ordinary scrapy-redis project. The three settings of the queue are at the end."""

BOT_NAME = "bookshop"
SPIDER_MODULES = ["bookshop.spiders"]
NEWSPIDER_MODULE = "bookshop.spiders"

ROBOTSTXT_OBEY = False
CONCURRENT_REQUESTS = 8
CONCURRENT_REQUESTS_PER_DOMAIN = 8
DOWNLOAD_DELAY = 0
RETRY_TIMES = 2
TELNETCONSOLE_ENABLED = False

ITEM_PIPELINES = {"bookshop.pipelines.RedisListPipeline": 300}
DOWNLOADER_MIDDLEWARES = {"bookshop.middlewares.ClientHeaderMiddleware": 543}

REDIS_URL = "redis://127.0.0.1:6379/0"
MAX_IDLE_TIME_BEFORE_CLOSE = 1

# The queue: these lines replace SCHEDULER and DUPEFILTER_CLASS of scrapy-redis.
SCHEDULER = "realestate.queue.scheduler.Scheduler"
DUPEFILTER_CLASS = "realestate.queue.dupefilter.DupeFilter"
ADDONS = {"realestate.queue.addon.QueueAddon": 100}
