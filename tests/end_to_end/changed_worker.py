"""A worker with other settings: `python -m tests.end_to_end.changed_worker PORTAL… NAME=number…`.

NAME is a setting, or a constant with its module: `realestate.queue.fleet.LEAVING_SECONDS`. Tests of time use it to
wait for seconds instead of minutes.
"""

import json
import sys
from importlib import import_module

from scrapy.settings import default_settings

from realestate import settings
from realestate.jobs import work


def change(name: str, number: float) -> None:
    module, _, constant = name.rpartition(".")
    owner = import_module(module) if module else settings
    assert hasattr(owner, constant) or hasattr(default_settings, constant), f"there is no {name}"
    setattr(owner, constant, number)


def main(arguments: list[str]) -> None:
    for argument in arguments:
        name, equals, number = argument.partition("=")
        if equals:
            change(name, json.loads(number))
    portals = [argument for argument in arguments if "=" not in argument]
    sys.exit(0 if work.work(portals, settings.REDIS_URL or "", settings.STORE_URL or "") else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
