"""Saved searches: who is told of which events, by which address, and the feed of a search."""
