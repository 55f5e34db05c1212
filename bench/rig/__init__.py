"""What the suites are built of: a fresh Redis, a relay before it, realistic requests, a crawl."""
