"""`realestate homes …`: which adverts are the same home, why, and corrections by people."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from realestate.cli.help_page import command_group
from realestate.cli.options import JsonFlag

if TYPE_CHECKING:
    from collections.abc import Container

    from realestate.storage import FullStore

app = command_group("Show and correct which adverts are the same home. Needs the extra `analysis`.")

HomeArgument = Annotated[str, typer.Argument(help="The id of a home, or one of its adverts as portal/ref.")]
FirstListing = Annotated[str, typer.Argument(help="An advert, as portal/ref.")]
SecondListing = Annotated[str, typer.Argument(help="Another advert, as portal/ref.")]
#: The modules that the extra brings.
_NEEDED = ("duckdb", "numpy", "pyarrow", "rensa", "scipy")


@app.command(epilog="Example: realestate homes build")
def build(
    again: Annotated[bool, typer.Option("--again", help="Link all listings again, not only what is new.")] = False,
    json: JsonFlag = False,
) -> None:
    """Find out which adverts are the same home, and store the homes.

    Looks only at listings that are new or changed since the last run. Safe to repeat at any time: ids of homes stay,
    and what people joined or split stays so. Until it is complete, everybody sees the homes of the last complete run.
    """
    demand_analysis()
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.homes.build import build as build_homes

    with opened_store() as store, terminal.console.status("reading listings") as status:
        run = build_homes(store, lambda what, count: status.update(f"{what} {count or ''}".strip()), again=again)
    if json:
        terminal.print_json(asdict(run))
        return
    print(f"{run.listings} listings are adverts of {run.homes} homes; {run.candidates} pairs compared")
    print(f"{run.in_blocks} listings are in blocks of alike homes: there only an equal floor or reference links them")
    for portal, share in run.coverage.items():
        print(f"{portal}: {share:.0%} of listings have an agency's reference")
    if run.skipped_keys:
        print(
            f"{run.skipped_listings} listings share one of {run.skipped_keys} keys with more than 500 others:"
            " too common to compare all of them"
        )


@app.command(epilog="Example: realestate homes show bina/6150445")
def show(home: HomeArgument, json: JsonFlag = False) -> None:
    """Show a home, its adverts, and why they are one home."""
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store

    with opened_store() as store:
        id = _home_id(store, home)
        found = store.home(id)
        members = store.home_members(id)
        links = store.home_links(id)
    if json:
        terminal.print_json(
            {
                "home": asdict(found) if found else None,
                "listings": [f"{each.portal}/{each.ref}" for each in members],
                "links": [asdict(each) for each in links],
            }
        )
        return
    if found is not None:
        place = ", ".join(filter(None, (found.district, found.city, found.country)))
        what = " ".join(filter(None, (found.property_type, f"for {found.operation}" if found.operation else None)))
        size = f"{found.area_m2:g} m²" if found.area_m2 else "size unknown"
        price = f"{found.price:,.0f} {found.currency}" if found.price else "no price"
        state = "on the market" if found.is_active else "gone"
        print(f"{id}: {what}, {place}, {size}, {price}, {state} since {found.first_seen_at:%Y-%m-%d}")
    for member in members:
        print(f"  {member.name}")
    for link in links:
        agreed = ", ".join(name for name, weight in link.reasons if weight > 0)
        against = ", ".join(name for name, weight in link.reasons if weight < 0)
        print(f"  {link.a} = {link.b}  {link.score:.2f}  for: {agreed or '-'}; against: {against or '-'}")


@app.command(epilog="Example: realestate homes explain bina/6150445 tap/48000031")
def explain(a: FirstListing, b: SecondListing, json: JsonFlag = False) -> None:
    """Say why two adverts are one home, or are not: what agrees, what differs, and what it counts."""
    demand_analysis()
    from realestate.cli import terminal
    from realestate.cli.connections import opened_store
    from realestate.homes.build import facts_by_name
    from realestate.homes.explain import reasons
    from realestate.homes.scorer import shipped

    with opened_store() as store:
        known = facts_by_name(store, [_listing(a), _listing(b)])
        _demand_known(known, a, b)
        homes = [store.home_of(*name.split("/", 1)) for name in (a, b)]
        pins = [pin for pin in store.pins() if {pin.a, pin.b} == {a, b}]
    found = reasons(known[a], known[b], shipped())
    is_one = homes[0] is not None and homes[0] == homes[1]
    if json:
        terminal.print_json({"one_home": is_one, "pinned": pins[0].kind if pins else None, **asdict(found)})
        return
    print(f"{a} and {b} are {'one home' if is_one else 'not one home'} since the last `realestate homes build`")
    if pins:
        print(f"a person decided: {pins[0].kind}")
    for veto in found.vetoes:
        print(f"  contradiction: {veto}")
    for name, weight in found.counted:
        print(f"  {weight:+6.2f}  {name}")
    print(f"probability by the scorer: {found.score:.2f}; linked from {shipped().threshold:.2f} on")


@app.command(epilog="Example: realestate homes split bina/6150445 tap/48000031")
def split(a: FirstListing, b: SecondListing) -> None:
    """Decide that two adverts are not one home. It holds from the next `realestate homes build` on."""
    _pin("split", a, b)


@app.command(epilog="Example: realestate homes join bina/6150445 tap/48000031")
def join(a: FirstListing, b: SecondListing) -> None:
    """Decide that two adverts are one home, whatever they say. It holds from the next `realestate homes build` on."""
    _pin("join", a, b)


@app.command(epilog="Example: realestate homes train --seed 12 --listings 25000 --out parameters.json")
def train(
    out: Annotated[Path, typer.Option(help="The file to write the parameters to.")],
    seed: Annotated[int, typer.Option(help="Seed of the simulated world to learn from.")] = 12,
    listings: Annotated[int, typer.Option(min=100, help="Listings on each of its four portals.")] = 25_000,
) -> None:
    """Estimate the scorer's parameters again, from a simulated world whose homes are known.

    The file replaces realestate/homes/parameters.json. Tests measure it on a seed that was not used here.
    """
    demand_analysis()
    import msgspec

    from realestate.homes.facts import facts_of_all
    from realestate.homes.training import trained
    from realestate.simulator import truth_of_homes

    shown = truth_of_homes(seed, listings)
    by_name = {each.name: each for each in shown}
    found = trained(
        facts_of_all([each.listing for each in shown]),
        {name: each.home for name, each in by_name.items()},
        lambda name: by_name[name].block is not None,
        f"simulated world with traps, seed {seed}, {len(shown)} listings",
    )
    out.write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    print(f"{out}: linked from {found.threshold:.2f} on")


def is_analysis_installed() -> bool:
    """Whether the extra is installed that linking needs."""
    return not _missing()


def _missing() -> list[str]:
    from importlib.util import find_spec

    return [name for name in _NEEDED if find_spec(name) is None]


def demand_analysis() -> None:
    """Raise a UsageError with the remedy if the extra is not installed."""
    from realestate.cli.errors import UsageError

    if missing := _missing():
        raise UsageError(f"{', '.join(missing)} not installed: pip install 'realestate[analysis]'")


def _pin(kind: str, a: str, b: str) -> None:
    from realestate.cli.connections import opened_store
    from realestate.cli.errors import UsageError
    from realestate.storage.homes import Pin

    if _listing(a) == _listing(b):
        raise UsageError(f"{a} and {b} are the same advert")
    with opened_store() as store:
        _demand_known([name for name in (a, b) if _is_stored(store, name)], a, b)
        store.pin(Pin("join" if kind == "join" else "split", a, b))
    print(f"{kind}: {a} and {b}; `realestate homes build` applies it")


def _is_stored(store: "FullStore", name: str) -> bool:
    portal, _, ref = name.partition("/")
    return bool(store.current(portal, [ref]))


def _demand_known(known: "Container[str]", a: str, b: str) -> None:
    from realestate.cli.errors import UsageError

    for name in (a, b):
        if name not in known:
            raise UsageError(f"there is no listing {name}")


def _listing(name: str) -> str:
    from realestate.cli.errors import UsageError

    portal, _, ref = name.partition("/")
    if not portal or not ref:
        raise UsageError(f"{name!r} is not an advert: write portal/ref, such as bina/6150445")
    return name


def _home_id(store: "FullStore", home: str) -> str:
    from realestate.cli.errors import UsageError

    if store.homes_run() is None:
        raise UsageError("there are no homes yet: run `realestate homes build` first")
    portal, is_listing, ref = home.partition("/")
    id = store.home_of(portal, ref) if is_listing else home
    if id is None or store.home(id) is None:
        raise UsageError(f"there is no home {home!r}")
    return id
