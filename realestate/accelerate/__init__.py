"""WHAT SCRAPY DOES BESIDE, done once: parts of its own that find out with every page what never changes.

Each takes a part's place, behaves like it, and falls back on it where it cannot know better
(docs/decisions/0012-lean-parts-of-scrapy.md).
"""
