"""WHO asks for a crawl, and when it is done."""
