"""What portals' own words and numbers mean, where there are many: a table a portal."""
