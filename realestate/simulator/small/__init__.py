"""Smaller simulated portals, each in one file: searches, pages and truth."""
