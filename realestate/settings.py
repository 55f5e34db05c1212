"""HOW it is configured: Scrapy's settings, in the order of the flow.

docs/settings.md lists every variable of the environment that is asked for here.
"""

import os
from pathlib import Path

from realestate import __version__
from realestate.environment import (
    fernet_keys,
    file,
    form,
    number,
    place,
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

# --- where things are ------------------------------------------------------------------

#: Unset means: the `realestate` command starts its own (docs/decisions/0003-embedded-services.md).
REDIS_URL = redis_url()
STORE_URL = store_url()
#: Where the embedded services keep their data, and what a crawl on a laptop leaves behind.
REALESTATE_HOME = Path(variable("REALESTATE_HOME") or ".realestate")
#: Where raw pages are kept: a folder or s3://bucket/prefix. Unset, only those that failed, on this machine.
SNAPSHOTS_URL = place("SNAPSHOTS_URL", REALESTATE_HOME / "snapshots")
#: Set: the portals are those the simulator names at $SIMULATOR_URL/_portals, not the real sites.
SIMULATOR_URL = variable("SIMULATOR_URL")

# --- the project -----------------------------------------------------------------------

BOT_NAME = "realestate"
SPIDER_MODULES = ["realestate.spiders"]
NEWSPIDER_MODULE = "realestate.spiders"
SPIDER_LOADER_CLASS = "realestate.accelerate.spiders.SpiderLoader"
#: Twice the callbacks a second of the default loop, where it is to be had.
ASYNCIO_EVENT_LOOP = "uvloop.Loop" if os.name == "posix" else None
#: Parts of Scrapy that find out with every page what never changes, in a form that does not (docs/performance.md).
ADDONS = {"realestate.accelerate.signals.Signals": 0, "realestate.accelerate.memory.Collection": 1}
DOWNLOADER = "realestate.accelerate.downloader.Downloader"
ITEM_PROCESSOR = "realestate.accelerate.items.Pipelines"
LOG_FORMATTER = "realestate.accelerate.logs.LogFormatter"

# --- seeds and the queue ---------------------------------------------------------------

REDIS_START_URLS_KEY = keys.START_URLS
#: A worker ends by itself when nothing is left (`realestate work --until-done`).
UNTIL_DONE = False
SCHEDULER = "realestate.queue.scheduler.Scheduler"
SCHEDULER_QUEUE_CLASS = "realestate.queue.request_queue.RequestQueue"
#: The queue is the fleet's: no worker's end may clear it.
SCHEDULER_PERSIST = True
DUPEFILTER_CLASS = "realestate.queue.dupefilter.DupeFilter"
REQUEST_FINGERPRINTER_CLASS = "realestate.queue.fingerprints.Fingerprinter"
#: Requests a job is expected to make; at twice as many the fingerprints still pack into 9 bytes each.
DUPEFILTER_EXPECTED = 1_000_000
#: A job's fingerprints outlive the longest crawl we know of, then make room.
DUPEFILTER_KEEP_SECONDS = 7 * 24 * 3600
#: Whether a page is fetched once a `job`, or once a `portal` for as long as it is remembered.
DUPEFILTER_SCOPE = "job"
#: Remember when a request was last seen too: 18 bytes each instead of 9.
DUPEFILTER_LAST_SEEN = False
#: Enough to see what went wrong in a bad night, bounded so that it cannot fill Redis.
DEADLETTERS_KEEP = 10_000
#: A worker silent for so long is taken for dead and its requests are ready again: two beats and a half.
LEASE_SECONDS = 9.0
#: A request that took so many workers down with it is given up: once may be chance, twice bad luck.
POISON_WORKERS = 3
#: Before the first retry a request waits up to so long, each time twice as long; any worker may then take it.
RETRY_DELAY_SECONDS = number("RETRY_DELAY_SECONDS", 2.0)
#: How often a request is tried again; some kinds of trouble deserve more patience (middlewares/policies.py).
RETRY_TIMES = int(number("RETRY_TIMES", 4))

# --- the pace: one for the whole fleet -------------------------------------------------

#: Requests a second to one site, by all workers together: one is what a person clicking fast would do.
#: 0 is no limit, for our own simulator.
PACE_RATE = number("PACE_RATE", 0.0 if SIMULATOR_URL else 1.0)
PACE_BURST = 1
#: Requests on their way to one site at a time, by all workers together; 0 is no limit.
PACE_CONCURRENCY = 0
#: The share of an interval by which a request may be later than it could be.
PACE_JITTER = 0.1
#: How far ahead of its moment a request is leased: long enough to keep a worker busy, short enough to hand back.
PACE_AHEAD_SECONDS = 2.0
#: After a refusal the rate, halved, is doubled again each time so long has passed without another.
PACE_RECOVER_SECONDS = 30.0

# --- fetching --------------------------------------------------------------------------

#: Where a site's owner can write to whoever runs this: a mail address, or a page.
CONTACT_ADDRESS = form("CONTACT_ADDRESS", r"https?://[^\s()]+|[^\s()@]+@[^\s()@]+", "crawler@example.org, or a page")
USER_AGENT = variable("USER_AGENT") or f"realestate/{__version__}" + (
    f" (+{CONTACT_ADDRESS})" if CONTACT_ADDRESS else ""
)
#: Where a portal sets it aside, its spider says why.
ROBOTSTXT_OBEY = True
#: What a site's robots.txt says counts for so long, for the whole fleet; RFC 9309 allows a day.
ROBOTSTXT_SECONDS = 24 * 3600.0
CONCURRENT_REQUESTS = 16
#: The pace is decided for the whole fleet when a request is taken; Scrapy's own limits are one worker's.
CONCURRENT_REQUESTS_PER_DOMAIN = CONCURRENT_REQUESTS
DOWNLOAD_DELAY = 0
DOWNLOAD_TIMEOUT = 30
#: Who is reached at all is reached in a fraction of it; a dead proxy is not to hold a slot for longer.
CONNECT_SECONDS = 10.0
#: So long nothing may come: a server that thinks longer is in trouble.
STALL_SECONDS = 15.0
#: The largest page seen on any portal is under 2 MB.
DOWNLOAD_MAXSIZE = 16 * 1024 * 1024
DOWNLOAD_WARNSIZE = 4 * 1024 * 1024
DOWNLOAD_VERIFY_CERTIFICATES = True
#: On for a portal in one's own network. Else nothing makes a worker ask this machine, its network or its cloud.
ALLOW_PRIVATE_ADDRESSES = word("ALLOW_PRIVATE_ADDRESSES", ("OFF", "ON")) == "ON"
#: Who we are: `named`, by USER_AGENT; `sticky`, a browser for each exit until it is refused; `rotate`, for a session.
IDENTITY = word("IDENTITY", ("NAMED", "STICKY", "ROTATE")).lower()
SESSION_REQUESTS = 200
SESSION_SECONDS = 1800.0
#: How often a worker asks what was erased. The store refuses it at once; this spares the site, and the raw pages.
ERASED_SECONDS = 60.0
#: Ours knows more kinds of trouble (middlewares/policies.py).
RETRY_ENABLED = False
#: What our handler tells (middlewares/mishaps.py). Scrapy's list names what only its own handlers raise, and to know
#: those errors they are all imported: a tenth of a second of every start.
RETRY_EXCEPTIONS = [
    "scrapy.exceptions.CannotResolveHostError",
    "scrapy.exceptions.DownloadConnectionRefusedError",
    "scrapy.exceptions.DownloadFailedError",
    "scrapy.exceptions.DownloadTimeoutError",
    "scrapy.exceptions.ResponseDataLossError",
    OSError,
]
#: A file of the user's own rules by which walls are recognised, beside middlewares/blocks.toml.
BLOCK_RULES = variable("BLOCK_RULES")
#: By which bina.az knows the query of its searches; seen on its pages in September 2026. It changes with the site.
BINA_QUERY_HASH = sha256("BINA_QUERY_HASH", "b781511a943a4d710eefdf811a24dd4ae353e55d836952603ce0b37fde97d073")

# --- the ways out (docs/proxies.md); none: our own address -----------------------------

PROXIES = proxies("PROXIES")
#: One proxy a line; may change at any time, and need not be there yet.
PROXIES_FILE = Path(name) if (name := variable("PROXIES_FILE")) else None
#: Tells the country of who asks, as JSON: what a provider and a free proxy have to show that they can.
PROXY_GEO_URL = form("PROXY_GEO_URL", _PAGE, "https://host/geo.json") or "https://geo.brdtest.com/mygeo.json"
PROXY_PROVIDER_CUSTOMER = form("PROXY_PROVIDER_CUSTOMER", r"\w+", "hl_1a2b3c4d")
PROXY_PROVIDER_ZONE = form("PROXY_PROVIDER_ZONE", r"\w+", "residential1")
PROXY_PROVIDER_PASSWORD = variable("PROXY_PROVIDER_PASSWORD")
PROXY_PROVIDER_ADDRESS = proxies("PROXY_PROVIDER_ADDRESS", "brd.superproxy.io:33335")[0]
#: Unset: that of the portal.
PROXY_PROVIDER_COUNTRY = form("PROXY_PROVIDER_COUNTRY", r"[A-Za-z]{2}|any", "be, or any")
#: Each is an exit of its own, with an address that stays for a while.
PROXY_PROVIDER_SESSIONS = max(1, int(number("PROXY_PROVIDER_SESSIONS", 8)))
PROXY_PROVIDER_TIER = word("PROXY_PROVIDER_TIER", ("RESIDENTIAL", "DATACENTRE")).lower()
#: Residential zones show certificates of the provider's own.
PROXY_PROVIDER_CA = file("PROXY_PROVIDER_CA")
if PROXY_PROVIDER_CUSTOMER and not (PROXY_PROVIDER_ZONE and PROXY_PROVIDER_PASSWORD):
    raise SystemExit(
        "realestate: PROXY_PROVIDER_CUSTOMER needs PROXY_PROVIDER_ZONE and PROXY_PROVIDER_PASSWORD beside it"
    )
#: A page that lists free proxies; so many of those that work are used, and it is asked again after so long.
PROXY_LIST_URL = form("PROXY_LIST_URL", _PAGE, "https://host/list.txt")
PROXY_LIST_MOST = 50
PROXY_LIST_SECONDS = 600.0
#: Where gateways of Amazon's are made, as exits.
PROXY_AWS_REGIONS = form("PROXY_AWS_REGIONS", rf"{_REGION}(\s*,\s*{_REGION})*", "eu-central-1, eu-west-1")

# --- the middlewares -------------------------------------------------------------------

#: No site is asked by FTP, for which Scrapy would get ready at every start.
DOWNLOAD_HANDLERS = {
    **dict.fromkeys(("http", "https"), "realestate.middlewares.handler.ExitHandler"),
    **dict.fromkeys(("ftp", "s3")),
}
#: Our handler unpacks; what is damaged never gets past it.
COMPRESSION_ENABLED = False
#: Each handles every page, and none has anything to do here: no portal redirects in its HTML, who we are comes with the
#: exit, and so does the proxy; how deep a request lies, where it came from and how long it is, nobody asks.
METAREFRESH_ENABLED = HTTPPROXY_ENABLED = DOWNLOADER_STATS = False
_NO_USE_BEFORE = (
    "scrapy.downloadermiddlewares.httpauth.HttpAuthMiddleware",
    "scrapy.downloadermiddlewares.downloadtimeout.DownloadTimeoutMiddleware",
    "scrapy.downloadermiddlewares.defaultheaders.DefaultHeadersMiddleware",
    "scrapy.downloadermiddlewares.useragent.UserAgentMiddleware",
)
_DONE_IN_LESS = (
    "scrapy.downloadermiddlewares.offsite.OffsiteMiddleware",
    "scrapy.downloadermiddlewares.redirect.RedirectMiddleware",
    "scrapy.downloadermiddlewares.cookies.CookiesMiddleware",
)
_NO_USE_AFTER = (
    "scrapy.spidermiddlewares.start.StartSpiderMiddleware",
    "scrapy.spidermiddlewares.referer.RefererMiddleware",
    "scrapy.spidermiddlewares.urllength.UrlLengthMiddleware",
    "scrapy.spidermiddlewares.depth.DepthMiddleware",
    "scrapy.spidermiddlewares.metacopy.MetaCopyDetectionMiddleware",
)
SPIDER_MIDDLEWARES = {
    "realestate.middlewares.snapshots.SnapshotMiddleware": 60,  # after HttpError (50) has sorted out the refused
    "realestate.middlewares.leases.LeaseMiddleware": 950,  # before HttpError passes over a status that nobody takes
    **dict.fromkeys(_NO_USE_AFTER),
}
DOWNLOADER_MIDDLEWARES = {
    "realestate.middlewares.failures.FailureMiddleware": 10,  # nearest the engine: sees what all others left
    "realestate.middlewares.erased.ErasedMiddleware": 20,  # before robots.txt is asked for its sake
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "realestate.middlewares.robots.RobotsMiddleware": 100,  # in its place
    "realestate.middlewares.exits.ExitsMiddleware": 350,  # before DefaultHeaders (400) and UserAgent (500) say other
    "realestate.middlewares.signing.SigningMiddleware": 580,  # what it sets is fresh, also for a retry
    "realestate.middlewares.backoff.BackoffMiddleware": 610,  # sees a redirect before it is followed (600)
    "realestate.middlewares.conditional.ConditionalMiddleware": 620,  # tells Backoff which 304 was asked for
    "realestate.middlewares.moments.MomentMiddleware": 990,  # nearest the site: whatever held a request up is over
    **dict.fromkeys(_NO_USE_BEFORE),
    **dict.fromkeys(_DONE_IN_LESS),
    "realestate.accelerate.offsite.OffsiteMiddleware": 50,  # these where Scrapy has its own
    "realestate.accelerate.plain.RedirectMiddleware": 600,
    "realestate.accelerate.plain.CookiesMiddleware": 700,
}

# --- persons ---------------------------------------------------------------------------

#: Off: names, telephones and e-mails are taken out and forgotten. On: what was taken out is kept apart, encrypted.
CONTACTS = word("CONTACTS", ("OFF", "ON")) == "ON"
#: The newest first: it seals, the others still open, the last makes the marks by which an erased contact is known.
CONTACTS_KEYS = fernet_keys("CONTACTS_KEYS")
#: How long they are kept after they were last seen.
CONTACTS_DAYS = 90
if CONTACTS and not CONTACTS_KEYS:
    raise SystemExit(
        "realestate: CONTACTS is on and CONTACTS_KEYS is not set (docs/settings.md says how to make a key)"
    )

# --- what happens to one listing -------------------------------------------------------

ITEM_PIPELINES = {
    "realestate.pipelines.privacy.PrivacyPipeline": 50,  # before validation: quarantine keeps no persons either
    "realestate.pipelines.clean.CleanPipeline": 100,
    "realestate.pipelines.validate.ValidatePipeline": 200,
    "realestate.pipelines.store.StorePipeline": 900,
}
#: What is usual in a district changes slowly, and asking reads a good part of the table.
MEDIANS_SECONDS = 1800
#: A batch of 500 costs PostgreSQL little more than one of 50; half a second is how stale a reader may find it.
STORE_BATCH_SIZE = 500
STORE_BATCH_SECONDS = 0.5
#: Items waiting for a slow database before the crawl itself waits.
STORE_WAITING_MAX = 2_000

# --- the raw pages ---------------------------------------------------------------------

#: The share of pages that is kept though nothing failed, for trying out tomorrow's parsers; 1 keeps all.
SNAPSHOTS_SAMPLE = share("SNAPSHOTS_SAMPLE", 0.01 if variable("SNAPSHOTS_URL") else 0.0)
#: A file ends with the page that takes it so far: large enough for S3, small enough for memory.
SNAPSHOTS_FILE_BYTES = 64 * 1024 * 1024
#: Or when it is so old: pages in a bucket's spool are lost with their machine.
SNAPSHOTS_FILE_SECONDS = 15 * 60.0
#: Pages waiting for a slow disk, in memory; more of the sample are not kept.
SNAPSHOTS_WAITING_BYTES = 64 * 1024 * 1024

# --- what is let go (`realestate retain`); 0 is for ever -------------------------------

#: A parser is mended within a season, or not at all.
RETAIN_FAILED_DAYS = number("RETAIN_FAILED_DAYS", 90)
#: What tomorrow's parsers are tried on need not be older; a raw page may show a person's telephone.
RETAIN_SAMPLED_DAYS = number("RETAIN_SAMPLED_DAYS", 30)
RETAIN_ALL_DAYS = number("RETAIN_ALL_DAYS", 30)
#: As long as the pages it was read from.
RETAIN_QUARANTINE_DAYS = number("RETAIN_QUARANTINE_DAYS", 90)
#: Adverts come back within months; then nobody needs the texts, and the history is all that counts.
RETAIN_DELISTED_DAYS = number("RETAIN_DELISTED_DAYS", 365)

# --- what a running crawl tells --------------------------------------------------------

STATS_CLASS = "realestate.monitoring.stats.Stats"
EXTENSIONS = {
    "realestate.monitoring.heartbeat.Heartbeat": 500,
    "scrapy.extensions.logstats.LogStats": None,  # `realestate status` shows it for the fleet
}
#: A lease outlives the loss of several beats.
HEARTBEAT_SECONDS = 1.0
LOG_LEVEL = word("LOG_LEVEL", ("INFO", "DEBUG", "WARNING", "ERROR", "CRITICAL"))
#: Both let whoever reaches the port run code in a worker.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
