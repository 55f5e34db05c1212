"""HOW a portal is written: its first file, its recorded pages, what its parser makes of a document.

Tools for a person with a checkout of the project. They need no Redis and no store.
"""


class Unfit(Exception):
    """Why it cannot be done, in one line."""
