"""`python -m realestate` is the `realestate` command."""

from realestate.cli import main

if __name__ == "__main__":
    main()
