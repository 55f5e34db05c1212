"""What a worker reports while it runs: heartbeats, statistics and log lines."""
