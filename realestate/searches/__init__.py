"""Saved searches: who gets which events, at which address, and the feed of a search."""
