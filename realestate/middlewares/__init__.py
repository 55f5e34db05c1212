"""HOW we fetch, and what a request hands on to the next."""
