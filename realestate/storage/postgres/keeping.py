"""Keeping house in PostgreSQL."""

from realestate.storage.postgres.dumping import Dumping
from realestate.storage.postgres.forgetting import Forgetting
from realestate.storage.postgres.looking import Looking
from realestate.storage.postgres.releasing import Releasing
from realestate.storage.postgres.upkeep import Upkeep


class Keeping(Releasing, Looking, Forgetting, Upkeep, Dumping):
    """See `storage.keeping.Keeping`; with it comes the writing of listings."""
