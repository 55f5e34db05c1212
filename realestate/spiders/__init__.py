"""WHERE listings come from: one file a portal."""
