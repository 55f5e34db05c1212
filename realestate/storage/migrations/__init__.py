"""The schema: one numbered SQL file for each step, forward only."""
