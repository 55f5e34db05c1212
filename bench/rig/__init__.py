"""Parts of the suites: an empty Redis, a relay before it, realistic requests, a crawl."""
