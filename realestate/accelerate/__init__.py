"""Optional faster parts of Scrapy, switched by one setting, `ACCELERATE` (default on).

Nothing but speed depends on them: with `ACCELERATE=off` Scrapy's own parts run, and every test of durability passes.
Each part behaves like the one that it replaces, and calls it where it cannot know better
(docs/decisions/0012-optional-acceleration.md). The add-on `Accelerate` (addon.py) installs all of them.

These private names of Scrapy and PyDispatcher are used. tests/accelerate/test_private_names.py looks them up.

    scrapy.core.engine.ExecutionEngine._slot
    scrapy.core.engine.ExecutionEngine._start_scheduled_request
    scrapy.core.engine.ExecutionEngine._download
    scrapy.core.engine._Slot.add_request
    scrapy.core.engine._Slot.remove_request
    scrapy.core.engine._Slot.nextcall
    scrapy.core.scraper.Scraper._scrape
    scrapy.core.scraper.Scraper._check_if_closing
    scrapy.core.scraper.Scraper.call_spider_async
    scrapy.core.scraper.Scraper.handle_spider_output_async
    scrapy.core.scraper.Scraper.handle_spider_error
    scrapy.core.scraper.Slot.add_response_request
    scrapy.core.scraper.Slot.next_response_request_deferred
    scrapy.core.scraper.Slot.finish_response
    scrapy.core.spidermw.SpiderMiddlewareManager._process_callback_output
    scrapy.core.spidermw.SpiderMiddlewareManager._evaluate_iterable
    scrapy.core.spidermw.SpiderMiddlewareManager.scrape_response_async
    scrapy.core.downloader.Downloader._enqueue_request
    scrapy.core.downloader.Downloader.active
    scrapy.core.downloader.handlers.DownloadHandlers._handlers
    scrapy.core.downloader.handlers.DownloadHandlers._old_style_handlers
    scrapy.downloadermiddlewares.cookies.CookiesMiddleware.jars
    scrapy.downloadermiddlewares.offsite.OffsiteMiddleware._update_host_regex
    scrapy.downloadermiddlewares.offsite.OffsiteMiddleware.get_host_regex
    scrapy.downloadermiddlewares.offsite.OffsiteMiddleware.should_follow
    scrapy.downloadermiddlewares.redirect.RedirectMiddleware._engine_started
    scrapy.downloadermiddlewares.redirect.RedirectMiddleware._referer_spider_middleware
    scrapy.middleware.MiddlewareManager.methods
    scrapy.middleware.MiddlewareManager._mw_methods_requiring_spider
    scrapy.utils.defer._process_pending_io
    scrapy.utils.python.MutableAsyncChain
    pydispatch.dispatcher.WEAKREF_TYPES
    pydispatch.dispatcher.getAllReceivers
"""
