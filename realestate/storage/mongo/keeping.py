"""Keeping house in MongoDB."""

from realestate.storage.mongo.forgetting import Forgetting
from realestate.storage.mongo.looking import Looking
from realestate.storage.mongo.moving import Moving
from realestate.storage.mongo.releasing import Releasing
from realestate.storage.mongo.upkeep import Upkeep


class Keeping(Releasing, Looking, Forgetting, Upkeep, Moving):
    """See `storage.keeping.Keeping`."""
