"""The jobs of the fleet, for the commands that submit, show or change them; wrong arguments become one line."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from realestate.cli.connections import Addresses
    from realestate.jobs.manage import JobDesk
    from realestate.jobs.order import CheckedOrder, JobOrder

T = TypeVar("T")


@contextmanager
def job_desk() -> "Iterator[JobDesk]":
    """The jobs that are kept, also while nothing runs: the embedded services are started for the moment."""
    from realestate.cli.connections import kept

    with kept() as addresses, _desk_at(addresses) as desk:
        yield desk


@contextmanager
def running_desk() -> "Iterator[JobDesk]":
    """The jobs of the fleet that is configured, or that runs on this machine. Starts nothing: services that were
    started for a job alone would stop with this command."""
    from realestate.cli.connections import running_addresses

    with _desk_at(running_addresses()) as desk:
        yield desk


@contextmanager
def _desk_at(addresses: "Addresses") -> "Iterator[JobDesk]":
    from realestate import settings
    from realestate.cli.connections import connect_redis
    from realestate.jobs.manage import JobDesk
    from realestate.storage import open_store

    store = open_store(addresses.store_url)
    try:
        with connect_redis(addresses.redis_url) as server:
            yield JobDesk(store, server, settings.SIMULATOR_URL)
    finally:
        store.close()


def checked(act: Callable[[], T]) -> T:
    """Do it; a UsageError if it cannot be done."""
    from realestate.cli.errors import UsageError
    from realestate.jobs.manage import JobConflict, NoSuchJobId
    from realestate.jobs.order import BadOrder
    from realestate.jobs.timetable.entries import BadTimetable

    try:
        return act()
    except (BadOrder, BadTimetable, JobConflict, NoSuchJobId) as error:
        raise UsageError(str(error)) from error


def read_checked(order: Mapping[str, Any]) -> "JobOrder":
    """The order in a JSON value; a UsageError if it is not one."""
    from realestate.jobs.order import read_order

    return checked(lambda: read_order(order))


def check(order: "JobOrder", simulator: str | None) -> "CheckedOrder":
    """The order with its start URLs; a UsageError if its portal cannot do it."""
    from realestate.cli.connections import check_portals
    from realestate.jobs.order import check_order

    check_portals([order.portal])
    return checked(lambda: check_order(order, simulator))


def check_is_name(portal: str, command: str) -> None:
    """A UsageError if a URL was given in the place of the portal's name: it says what to type."""
    from realestate.cli.errors import UsageError
    from realestate.jobs.work import portal_of_url

    if "://" not in portal:
        return
    name = portal_of_url(portal)
    if name:
        raise UsageError(f"the name of the portal comes first: `realestate {command} {name} '{portal}'`")
    raise UsageError(
        f"no portal reads {urlsplit(portal).netloc}: `realestate portals` lists the sites, and"
        " `realestate portal new --help` says how to add one"
    )


def say_what_is_checked_later(portal: str, parts: Sequence[str]) -> None:
    """Say which parts of the scope the site cannot apply: they cost requests."""
    from realestate.cli.errors import print_note

    if parts:
        rest = " or ".join(parts)
        print_note(f"{portal} cannot search by {rest}: each result is checked instead, which takes longer")
