"""The schema, one numbered SQL file a step, forward only."""
