"""Item pipelines, in this order: privacy, clean, validate, store."""
