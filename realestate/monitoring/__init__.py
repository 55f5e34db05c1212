"""WHAT a running crawl tells the world."""
