"""Nothing in these spiders knows about the queue."""
