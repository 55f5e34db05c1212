"""`make attack`: kills processes of a running fleet at random, and compares the store with the truth."""
