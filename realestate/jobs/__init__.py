"""Jobs: submit one, run workers for it, watch its progress, parse its raw pages again."""
