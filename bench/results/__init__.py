"""What becomes of measures: compared with those of another day, and shown."""
