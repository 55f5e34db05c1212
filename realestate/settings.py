"""Scrapy's settings for this project, in the order in which a request meets them.

`realestate/environment.py` reads the environment. docs/settings.md lists every variable and every setting of ours.
"""

import os
from pathlib import Path

from realestate import __version__
from realestate.environment import (
    ban_rules,
    fernet_keys,
    file,
    folder_or_bucket,
    form,
    http_url,
    notify_urls,
    number,
    project_folder,
    proxies,
    redis_url,
    sha256,
    share,
    store_url,
    variable,
    word,
)
from realestate.queue import keys

_PAGE = r"https?://[^\s/@]+(/\S*)?"
_REGION = r"[a-z]{2}(-[a-z]+)+-\d"

# --- addresses -------------------------------------------------------------------------

#: If unset, the `realestate` command starts its own Redis (docs/decisions/0003-embedded-services.md).
REDIS_URL = redis_url()
#: If unset, the `realestate` command starts its own PostgreSQL.
STORE_URL = store_url()
#: The folder for the data of the embedded services and for the logs of local workers.
REALESTATE_HOME = Path(variable("REALESTATE_HOME") or ".realestate")
#: Where raw pages are kept: a folder or s3://bucket/prefix. If unset, only failed pages are kept, on this machine.
SNAPSHOTS_URL = folder_or_bucket("SNAPSHOTS_URL", REALESTATE_HOME / "snapshots")
#: If set, workers crawl the portals that the simulator lists at $SIMULATOR_URL/_portals, not the real sites.
SIMULATOR_URL = http_url("SIMULATOR_URL")
#: Who may read and operate over HTTP: `<name>:<scope>:<hash>`, as `realestate serve --new-key` prints them.
API_KEYS = variable("API_KEYS")
#: Tiles below the map of the web app, with {z}, {x} and {y}. If unset, only the outlines of countries are drawn.
MAP_TILES_URL = http_url("MAP_TILES_URL")
#: The attribution that the source of the tiles requires on the map.
MAP_TILES_ATTRIBUTION = variable("MAP_TILES_ATTRIBUTION") or ""

# --- the project -----------------------------------------------------------------------

#: Whether the faster parts of Scrapy (realestate/accelerate) are used. Correctness does not depend on them.
ACCELERATE = word("ACCELERATE", ("ON", "OFF")) == "ON"
BOT_NAME = "realestate"
SPIDER_MODULES = ["realestate.spiders"]
#: `scrapy crawl` ends with 0 only if the crawl did its work.
COMMANDS_MODULE = "realestate.scrapy_commands"
NEWSPIDER_MODULE = "realestate.spiders"
#: Your own portals: `<portal>.py`, and its recorded pages in the folder `<portal>` beside it.
#: The timetable that `realestate timetable` runs.
TIMETABLE = Path(variable("TIMETABLE") or "timetable.toml")
PORTALS_FOLDER = Path(variable("PORTALS_FOLDER") or project_folder() / "portals").absolute()
#: Finds portals in both places. A file that cannot be imported does not hide the others.
SPIDER_LOADER_CLASS = "realestate.crawling.portal_loader.PortalLoader"
#: uvloop runs twice as many callbacks per second as the default loop. There is none for Windows.
ASYNCIO_EVENT_LOOP = "uvloop.Loop" if os.name == "posix" else None
ADDONS = {
    # Settings given under a name of version 0.1 still work, with a warning.
    "realestate.old_names.OldSettingNames": -1,
    # No request to the internet for a list of domains.
    "realestate.middlewares.public_suffixes.BundledPublicSuffixes": -1,
    # The faster parts of Scrapy, if ACCELERATE is on.
    "realestate.accelerate.addon.Accelerate": 0,
    # Leases, send slots and heartbeats.
    "realestate.queue.addon.QueueAddon": 100,
    # Parts of Scrapy that are off, if a setting of the user needs them; and a warning for what has no effect.
    "realestate.middlewares.scrapy_settings.ScrapySettings": 200,
}

# --- seeds and the queue ---------------------------------------------------------------

REDIS_START_URLS_KEY = keys.START_URLS
#: Whether a worker stops when nothing is left to do (`realestate work --until-done` sets it).
UNTIL_DONE = False
SCHEDULER = "realestate.queue.scheduler.Scheduler"
SCHEDULER_QUEUE_CLASS = "realestate.queue.request_queue.RequestQueue"
#: All workers share the queue, so a worker that stops must not clear it.
SCHEDULER_PERSIST = True
DUPEFILTER_CLASS = "realestate.queue.dupefilter.DupeFilter"
REQUEST_FINGERPRINTER_CLASS = "realestate.queue.fingerprints.Fingerprinter"
#: Requests expected per job. Up to twice as many fingerprints take 9 bytes each.
DUPEFILTER_EXPECTED = 1_000_000
#: How long the fingerprints of a job are kept: longer than the longest crawl we know of.
DUPEFILTER_KEEP_SECONDS = 7 * 24 * 3600
#: `job`: a page is fetched once per job. `portal`: once for as long as its fingerprint is kept.
DUPEFILTER_SCOPE = "job"
#: Whether the time of the last request is kept too. It takes 18 bytes per request instead of 9.
DUPEFILTER_LAST_SEEN = False
#: Dead letters kept per portal: enough to find the cause of a bad night, and too few to fill Redis.
DEADLETTERS_KEEP = 10_000
#: A worker without a heartbeat for this long counts as dead, and its requests return to the queue.
#: It must be several times HEARTBEAT_SECONDS, so that a few lost heartbeats do no harm.
LEASE_SECONDS = 9.0
#: A request that was leased to this many workers that died becomes a dead letter. One or two may be chance.
POISON_WORKERS = 3
#: A page that uses more CPU time becomes a dead letter. 0 means without a limit, and without a parent process.
PAGE_CPU_SECONDS = number("PAGE_CPU_SECONDS", 5.0)
#: The longest wait before the first retry. It doubles with each retry. Any worker may take the retry.
RETRY_DELAY_SECONDS = number("RETRY_DELAY_SECONDS", 2.0)
#: Retries per request. Some failures get more (middlewares/retry.py).
RETRY_TIMES = int(number("RETRY_TIMES", 4))

# --- the rate limit: one per site for the whole fleet ----------------------------------

#: Requests per second to one site by all workers together. 1 is about what a person who clicks fast would do.
#: 0 means no limit, for our own simulator.
RATE_LIMIT = number("RATE_LIMIT", 0.0 if SIMULATOR_URL else 1.0)
#: Requests that may be sent at once after a pause.
RATE_LIMIT_BURST = 1
#: Requests in flight to one site at a time, by all workers together. 0 means no limit.
RATE_LIMIT_CONCURRENCY = 0
#: A request is sent up to this share of an interval late, at random.
RATE_LIMIT_JITTER = 0.1
#: A request is leased at most this long before it may be sent: long enough to keep a worker busy, and short enough
#: that little has to be returned to the queue when a worker stops.
RATE_LIMIT_AHEAD_SECONDS = 2.0
#: A refusal halves the rate. It doubles again each time this long has passed without another refusal.
RATE_LIMIT_RECOVER_SECONDS = 30.0

# --- fetching --------------------------------------------------------------------------

#: Where the owner of a site can reach you: an e-mail address or a web page.
CONTACT_ADDRESS = form("CONTACT_ADDRESS", r"https?://[^\s()]+|[^\s()@]+@[^\s()@]+", "crawler@example.org, or a page")
_DEFAULT_USER_AGENT = f"realestate/{__version__}" + (f" (+{CONTACT_ADDRESS})" if CONTACT_ADDRESS else "")
USER_AGENT = variable("USER_AGENT") or _DEFAULT_USER_AGENT
#: A spider that sets this to False must say why in its attribute `robots`.
ROBOTSTXT_OBEY = True
#: How long a fetched robots.txt is valid for the whole fleet. RFC 9309 allows a day.
ROBOTSTXT_SECONDS = 24 * 3600.0
CONCURRENT_REQUESTS = 16
#: RATE_LIMIT holds for the whole fleet. Scrapy's own limits are per process, so they are switched off.
CONCURRENT_REQUESTS_PER_DOMAIN = CONCURRENT_REQUESTS
DOWNLOAD_DELAY = 0
DOWNLOAD_TIMEOUT = 30
#: Live hosts connect much faster than this. A dead proxy must not hold a slot for longer.
DOWNLOAD_CONNECT_TIMEOUT = 10.0
#: The longest time without any data from the server.
DOWNLOAD_STALL_TIMEOUT = 15.0
#: The largest page seen on any portal is under 2 MB.
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
DOWNLOAD_WARNSIZE = 4 * 1024 * 1024
DOWNLOAD_VERIFY_CERTIFICATES = True
#: Switch on for a portal in your own network. If off, no page can make a worker fetch from its own machine, its
#: network or its cloud provider's metadata service.
ALLOW_PRIVATE_ADDRESSES = word("ALLOW_PRIVATE_ADDRESSES", ("OFF", "ON")) == "ON"
#: `named`: requests carry USER_AGENT. `sticky`: each proxy has a browser identity until it is refused. `rotate`: a
#: browser identity per session.
IDENTITY = word("IDENTITY", ("NAMED", "STICKY", "ROTATE")).lower()
#: A `rotate` identity changes after this many requests or seconds.
SESSION_REQUESTS = 200
SESSION_SECONDS = 1800.0
#: How often a worker reads from the store which listings were erased. The store refuses them at once in any case;
#: this also saves the requests and the raw pages.
ERASED_SECONDS = 60.0
#: Our own retry middleware knows more kinds of failures (middlewares/retry.py).
RETRY_ENABLED = False
#: What our download handler raises. Scrapy's default list also names the errors of its own handlers, and importing
#: those takes a tenth of a second at each start.
RETRY_EXCEPTIONS = [
    "scrapy.exceptions.CannotResolveHostError",
    "scrapy.exceptions.DownloadConnectionRefusedError",
    "scrapy.exceptions.DownloadFailedError",
    "scrapy.exceptions.DownloadTimeoutError",
    "scrapy.exceptions.ResponseDataLossError",
    OSError,
]
#: A file with your own rules that recognise ban pages. They are used in addition to ours.
BAN_RULES = ban_rules("BAN_RULES")
#: A portal that sends mostly ban pages is paused for this time. Then a few requests show whether it still does.
BAN_PAUSE_SECONDS = number("BAN_PAUSE_SECONDS", 1800.0)
#: bina.az identifies its search query by this hash. It was read from its pages in September 2026 and changes with them.
BINA_QUERY_HASH = sha256("BINA_QUERY_HASH", "b781511a943a4d710eefdf811a24dd4ae353e55d836952603ce0b37fde97d073")

# --- proxies (docs/proxies.md); without any, requests use a direct connection ----------

PROXIES = proxies("PROXIES")
_proxies_file = variable("PROXIES_FILE")
#: One proxy per line. The file may change at any time, and need not exist yet.
PROXIES_FILE = Path(_proxies_file) if _proxies_file else None
#: A page that returns the country of the client as JSON. Proxies of a provider and free proxies are tested with it.
PROXY_GEO_URL = form("PROXY_GEO_URL", _PAGE, "https://host/geo.json") or "https://geo.brdtest.com/mygeo.json"
PROXY_PROVIDER_CUSTOMER = form("PROXY_PROVIDER_CUSTOMER", r"\w+", "hl_1a2b3c4d")
PROXY_PROVIDER_ZONE = form("PROXY_PROVIDER_ZONE", r"\w+", "residential1")
PROXY_PROVIDER_PASSWORD = variable("PROXY_PROVIDER_PASSWORD")
PROXY_PROVIDER_ADDRESS = proxies("PROXY_PROVIDER_ADDRESS", "brd.superproxy.io:33335")[0]
#: If unset, the country of the portal.
PROXY_PROVIDER_COUNTRY = form("PROXY_PROVIDER_COUNTRY", r"[A-Za-z]{2}|any", "be, or any")
#: Each session is one proxy with an address that stays the same for a while.
PROXY_PROVIDER_SESSIONS = max(1, int(number("PROXY_PROVIDER_SESSIONS", 8)))
PROXY_PROVIDER_TIER = word("PROXY_PROVIDER_TIER", ("RESIDENTIAL", "DATACENTRE")).lower()
#: The certificate authority of the provider: residential zones present certificates that it signed.
PROXY_PROVIDER_CA = file("PROXY_PROVIDER_CA")
if PROXY_PROVIDER_CUSTOMER and not (PROXY_PROVIDER_ZONE and PROXY_PROVIDER_PASSWORD):
    raise SystemExit(
        "realestate: PROXY_PROVIDER_CUSTOMER needs PROXY_PROVIDER_ZONE and PROXY_PROVIDER_PASSWORD beside it"
    )
#: A page that lists free proxies.
PROXY_LIST_URL = form("PROXY_LIST_URL", _PAGE, "https://host/list.txt")
#: How many working proxies of that page are used at most.
PROXY_LIST_MAX = 50
#: How often that page is fetched again.
PROXY_LIST_SECONDS = 600.0
#: The regions in which Amazon API gateways are created and used as proxies.
PROXY_AWS_REGIONS = form("PROXY_AWS_REGIONS", rf"{_REGION}(\s*,\s*{_REGION})*", "eu-central-1, eu-west-1")

# --- the middlewares -------------------------------------------------------------------

#: The schemes of URLs that exist for us. A request with another one is neither stored nor sent.
ALLOWED_SCHEMES = ["http", "https"]
#: All other handlers of Scrapy are off: a site that names a `file:` URL must not make a worker read its own files.
DOWNLOAD_HANDLERS = {
    "http": "realestate.middlewares.download_handler.DownloadHandler",
    "https": "realestate.middlewares.download_handler.DownloadHandler",
    "data": None,
    "file": None,
    "ftp": None,
    "s3": None,
}
#: Our download handler decompresses, and treats damaged data as a failed download.
COMPRESSION_ENABLED = False
#: No portal redirects with a meta tag.
METAREFRESH_ENABLED = False
#: ProxyMiddleware chooses the proxy, and the download handler uses it.
HTTPPROXY_ENABLED = False
SPIDER_MIDDLEWARES = {
    "realestate.middlewares.snapshots.SnapshotMiddleware": 60,  # after HttpError (50) has removed refused pages
    "realestate.middlewares.private_errors.PrivateErrorsMiddleware": 990,  # nearest to the spider
    # These would handle every page, and nothing here needs what they do.
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware": None,
    "scrapy.spidermiddlewares.referer.RefererMiddleware": None,
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware": None,
    "scrapy.spidermiddlewares.depth.DepthMiddleware": None,
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware": None,
}
DOWNLOADER_MIDDLEWARES = {
    "realestate.middlewares.site_boundary.SiteBoundaryMiddleware": 10,  # a redirect to another site needs no robots.txt
    "realestate.middlewares.erased.ErasedMiddleware": 20,  # an erased listing needs no robots.txt
    "realestate.middlewares.robots.RobotsMiddleware": 100,  # in place of Scrapy's own
    "realestate.middlewares.proxy_middleware.ProxyMiddleware": 350,  # sets the proxy and the headers of its identity
    "realestate.middlewares.signing.SigningMiddleware": 580,  # signs each retry anew
    "realestate.middlewares.retry.RetryMiddleware": 610,  # sees a redirect before it is followed (600)
    "realestate.middlewares.conditional.ConditionalMiddleware": 620,  # flags a requested 304 for RetryMiddleware
    "realestate.middlewares.cookie_limit.CookieLimitMiddleware": 690,  # after the cookies (700) of a response were kept
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    # ProxyMiddleware sets the headers, the download handler has the timeouts, no portal needs HTTP authentication.
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware": None,
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware": None,
    "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware": None,
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware": None,
}

# --- personal data ---------------------------------------------------------------------

#: Off: names, telephone numbers and e-mail addresses are removed. On: they are also stored separately, encrypted.
CONTACTS = word("CONTACTS", ("OFF", "ON")) == "ON"
#: The newest key comes first and encrypts. The others still decrypt. The last one makes the keyed hashes by which an
#: erased contact is recognised.
CONTACTS_KEYS = fernet_keys("CONTACTS_KEYS")
#: How long contacts are kept after they were last seen.
CONTACTS_DAYS = 90
if CONTACTS and not CONTACTS_KEYS:
    raise SystemExit(
        "realestate: CONTACTS is on and CONTACTS_KEYS is not set (docs/settings.md says how to make a key)"
    )

# --- what happens to one listing -------------------------------------------------------

ITEM_PIPELINES = {
    "realestate.pipelines.privacy.PrivacyPipeline": 50,  # before validation: quarantine keeps no personal data either
    "realestate.pipelines.clean.CleanPipeline": 100,
    "realestate.pipelines.validate.ValidatePipeline": 200,
    "realestate.pipelines.store.StorePipeline": 900,
}
#: `scrapy crawl … -o listings.json` writes listings as JSON values, and no items that only the store needs.
FEED_EXPORTERS = {
    "json": "realestate.pipelines.feeds.JsonExporter",
    "jsonlines": "realestate.pipelines.feeds.JsonLinesExporter",
    "jsonl": "realestate.pipelines.feeds.JsonLinesExporter",
    "jl": "realestate.pipelines.feeds.JsonLinesExporter",
    "csv": "realestate.pipelines.feeds.CsvExporter",
    "xml": "realestate.pipelines.feeds.XmlExporter",
}
FEED_EXPORT_ENCODING = "utf-8"
EXTENSIONS = {
    "realestate.pipelines.feeds.FeedExporter": 0,
    "realestate.pipelines.feeds.CloseSpider": 0,
    "scrapy.extensions.feedexport.FeedExporter": None,
    "scrapy.extensions.closespider.CloseSpider": None,
}
#: How often the usual prices per district are read. They change slowly, and reading them scans much of the table.
MEDIANS_SECONDS = 1800
#: A batch is written when it has this many items. 500 cost PostgreSQL little more than 50.
STORE_BATCH_SIZE = 500
#: Or when it is this old. A reader of the database sees items this much later.
STORE_BATCH_SECONDS = 0.5
#: When this many items wait for the database, the crawl waits too.
STORE_WAITING_MAX = 2_000

# --- raw pages -------------------------------------------------------------------------

#: The share of pages without a failure that is kept to test new parsers. 1 keeps all.
SNAPSHOTS_SAMPLE = share("SNAPSHOTS_SAMPLE", 0.01 if variable("SNAPSHOTS_URL") else 0.0)
#: A file is closed when it reaches this size: large enough for S3, small enough for memory.
SNAPSHOTS_FILE_BYTES = 64 * 1024 * 1024
#: Or when it is this old: pages that are not yet in the bucket are lost if the machine is lost.
SNAPSHOTS_FILE_SECONDS = 15 * 60.0
#: Bytes of pages that wait in memory for a slow disk. Beyond that, sampled pages are not kept.
SNAPSHOTS_WAITING_BYTES = 64 * 1024 * 1024

# --- sweeps ----------------------------------------------------------------------------

#: A sweep reads a listing's own page at least once in this many days, although its search page shows nothing new. Each
#: day the same share is read. 0: only if the search page shows something new.
REREAD_DAYS = number("REREAD_DAYS", 28)

# --- homes -----------------------------------------------------------------------------

#: This many photos of each listing are fetched and hashed, to recognise adverts of one home. 0: none.
PHOTO_HASHES = int(number("PHOTO_HASHES", 0))

# --- retention (`realestate retain`); 0 keeps for ever ---------------------------------

#: Raw pages that failed. A parser that was not repaired in this time will not be.
RETAIN_FAILED_DAYS = number("RETAIN_FAILED_DAYS", 90)
#: Sampled raw pages. New parsers need no older ones, and a raw page may contain personal data.
RETAIN_SAMPLED_DAYS = number("RETAIN_SAMPLED_DAYS", 30)
#: Raw pages where SNAPSHOTS_SAMPLE is 1.
RETAIN_ALL_DAYS = number("RETAIN_ALL_DAYS", 30)
#: As long as the failed pages from which the entries were read.
RETAIN_QUARANTINE_DAYS = number("RETAIN_QUARANTINE_DAYS", 90)
#: The texts of delisted listings. Adverts come back within months; after that only their history is needed.
RETAIN_DELISTED_DAYS = number("RETAIN_DELISTED_DAYS", 365)

# --- the API and the web app -----------------------------------------------------------

#: How many requests each key may send.
API_RATE_LIMIT = form("API_RATE_LIMIT", r"[1-9][0-9]{0,8}/(second|minute|hour|day)", "600/minute") or "600/minute"

# --- monitoring and logs ---------------------------------------------------------------

STATS_CLASS = "realestate.monitoring.stats.Stats"
#: Addresses of the people who run the fleet: alerts and reports go there (docs/monitoring.md).
NOTIFY_URLS = notify_urls()
#: Where a worker serves /metrics, /healthz and /readyz. Workers on one machine take the next free ports. 0: nowhere.
METRICS_PORT = int(number("METRICS_PORT", 0))
#: The address that the port is opened on. Metrics name portals and workers: do not open it to the internet.
METRICS_ADDRESS = variable("METRICS_ADDRESS") or "127.0.0.1"
#: Signs what webhooks get.
WEBHOOK_SECRET = variable("WEBHOOK_SECRET")
#: The catalog of a lake in a bucket: an address of SQLAlchemy (docs/lake.md).
LAKE_CATALOG = variable("LAKE_CATALOG")
#: The S3 server of a lake in a bucket, if it is not Amazon's. boto3 reads this variable by itself.
LAKE_S3_ENDPOINT = variable("AWS_ENDPOINT_URL")
#: One address of a saved search gets at most one message in this time.
SEARCH_MESSAGE_SECONDS = number("SEARCH_MESSAGE_SECONDS", 3)
#: How often a worker sends a heartbeat.
HEARTBEAT_SECONDS = 1.0
#: Whether a worker logs all its statistics when it stops: about 60 lines per portal.
STATS_DUMP = word("STATS_DUMP", ("OFF", "ON")) == "ON"
LOG_FORMATTER = "realestate.monitoring.logs.LogFormatter"
EXTENSIONS |= {
    # One line per worker for all portals. It replaces Scrapy's line per portal.
    "realestate.monitoring.progress.Progress": 500,
    "realestate.monitoring.worker_metrics.Metrics": 501,
    "scrapy.extensions.logstats.LogStats": None,
}
#: How often a worker logs what it has done, at INFO. A healthy worker of all portals writes fewer than 100 INFO lines
#: an hour.
PROGRESS_SECONDS = 60.0
LOG_LEVEL = word("LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL"))
#: The variable LOG_FORMAT is `text` or `json`. Scrapy's setting of that name is the format of a line of text.
LOG_JSON = word("LOG_FORMAT", ("TEXT", "JSON")) == "JSON"
#: Both would let anyone who reaches the port run code in a worker.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
