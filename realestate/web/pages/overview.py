"""The overview: what runs, what each portal has, what changed today, and what needs attention."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from realestate.jobs.state import JobState
from realestate.monitoring.alerts import open_alerts, silences
from realestate.storage import FullStore, StoreError
from realestate.storage.event_counts import Changes
from realestate.storage.history import Event
from realestate.web.pages.formats import Formats
from realestate.web.pages.jobs import newest_jobs
from realestate.web.pages.portals import Fleet, Health, Portal
from realestate.web.pages.quality import by_portal, quality_of
from realestate.web.pages.site import Site

#: The newest jobs and events that are shown.
JOBS = 8
EVENTS = 12
#: Events that a reader of the overview wants to see.
_SHOWN = ("price_changed", "delisted", "sold", "rented", "relisted", "listed")


@dataclass(frozen=True, slots=True)
class EventLine:
    """An event in one line."""

    portal: str
    ref: str
    type: str
    at: datetime
    old: Decimal | None = None
    new: Decimal | None = None
    currency: str | None = None
    percent: float | None = None
    title: str | None = None


@dataclass(frozen=True, slots=True)
class AlertLine:
    """An alert that fires: what is wrong, and what to do."""

    key: str
    severity: str
    text: str
    remedy: str
    since: datetime
    is_silenced: bool


@dataclass(frozen=True, slots=True)
class Overview:
    fleet: Fleet
    jobs: Sequence[JobState] = ()
    events: Sequence[EventLine] = ()
    alerts: Sequence[AlertLine] = ()
    quality: Mapping[str, Health | None] = field(default_factory=dict)
    """The data of each portal in words."""

    @property
    def changes(self) -> Changes:
        total = Changes()
        for portal in self.fleet.portals:
            for name in ("new", "cheaper", "dearer", "gone", "back"):
                setattr(total, name, getattr(total, name) + getattr(portal.changes, name))
        return total

    @property
    def portals(self) -> Sequence[Portal]:
        """Those that have or had anything to do."""
        return [each for each in self.fleet.portals if each.listings or _is_busy(each)]

    @property
    def idle(self) -> Sequence[str]:
        """Those that were never crawled."""
        shown = {each.name for each in self.portals}
        return [each.name for each in self.fleet.portals if each.name not in shown]

    @property
    def running(self) -> Sequence[JobState]:
        return [each for each in self.jobs if not each.is_over]


def _is_busy(portal: Portal) -> bool:
    state = portal.state
    return state is not None and (not state.finished or bool(state.dead) or state.rate_limit.paused)


def read_overview(site: Site, fmt: Formats) -> Overview:
    fleet = site.fleet.get()
    try:
        events, alerts = site.ask(lambda store: (_newest(store), alert_lines(store)))
    except StoreError:
        return Overview(fleet)
    return Overview(fleet, newest_jobs(site, JOBS), events, alerts, _quality(site, fleet, fmt))


def _quality(site: Site, fleet: Fleet, fmt: Formats) -> Mapping[str, Health | None]:
    days = by_portal(site.coverage.soon() or ())
    return {
        each.name: quality_of(days.get(each.name, ()), each.listings or 0, each.quarantined or 0, fmt)
        for each in fleet.portals
    }


def alert_lines(store: FullStore) -> list[AlertLine]:
    """The alerts that `realestate watch` found, the critical ones first, the silenced ones last."""
    quiet = silences(store, datetime.now(UTC))
    found = [
        AlertLine(
            key=each.key,
            severity=each.severity,
            text=each.title.removeprefix(f"{each.severity}: "),
            remedy=each.body.partition("\n")[0],
            since=datetime.fromisoformat(each.since),
            is_silenced=any(each.key.startswith(beginning) for beginning in quiet),
        )
        for each in open_alerts(store)
    ]
    return sorted(found, key=lambda each: (each.is_silenced, each.severity != "critical", each.since, each.key))


def _newest(store: FullStore) -> list[EventLine]:
    """The newest events, the last one first."""
    last = store.last_event()
    found = store.events(max(0, last - 4 * EVENTS), 4 * EVENTS)
    shown = [each.event for each in reversed(found) if each.event.type in _SHOWN][:EVENTS]
    refs: dict[str, list[str]] = {}
    for event in shown:
        refs.setdefault(event.portal, []).append(event.ref)
    kept = {
        (portal, ref): current.state.listing.title
        for portal, names in refs.items()
        for ref, current in store.current(portal, names).items()
    }
    return [event_line(event, kept.get((event.portal, event.ref))) for event in shown]


def event_line(event: Event, title: str | None = None) -> EventLine:
    """The event with its prices, if it is about one."""
    data: Mapping[str, Any] = event.data
    return EventLine(
        event.portal,
        event.ref,
        event.type,
        event.at,
        old=_amount(data.get("old")),
        new=_amount(data.get("price") if event.type == "listed" else data.get("new")),
        currency=data.get("currency"),
        percent=data.get("percent"),
        title=title,
    )


def _amount(value: Any) -> Decimal | None:
    return None if value is None else Decimal(str(value))
