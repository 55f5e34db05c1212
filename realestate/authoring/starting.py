"""The first files of a portal: a spider and invented pages that pass the tests as they are, for a person to fill in."""

import re
from datetime import date
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, available_timezones

from realestate.authoring import Unfit, project

#: Where a portal's data may sit; each has its templates.
KINDS = ("html", "jsonld", "next", "script", "api")
_TEMPLATES = files("realestate.authoring") / "templates"
#: Expectations are the same for all kinds: they tell of the same invented homes.
_COMMON = ("search.json", "listing-flat.json")


def start(
    name: str,
    kind: str,
    today: date,
    *,
    site: str | None = None,
    country: str | None = None,
    currency: str | None = None,
    timezone: str | None = None,
) -> list[Path]:
    """Write a portal's files, and tell which. What is there already is left alone."""
    facts = _facts(name, today, site, country or "BE", currency or "EUR", timezone or "Europe/Brussels")
    if kind not in KINDS:
        raise Unfit(f"no kind {kind!r}; there are: {', '.join(KINDS)}")
    folder = project.pages_folder(name)
    if folder.exists():
        raise Unfit(f"{folder.relative_to(project.root())} is there already")
    written = {project.spider_file(name): _filled(f"{kind}.py", facts)}
    written |= {folder / page: _filled(f"{kind}.{page}", facts) for page in _pages(kind)}
    written |= {folder / page: _filled(page, facts) for page in _COMMON}
    project.write(written)
    return list(written)


def _pages(kind: str) -> list[str]:
    names = (each.name.removesuffix(".txt") for each in _TEMPLATES.iterdir())
    return sorted(name.removeprefix(f"{kind}.") for name in names if re.match(rf"{kind}\.(?:search|listing)", name))


def _filled(template: str, facts: dict[str, str]) -> str:
    text = (_TEMPLATES / f"{template}.txt").read_text("utf-8")
    return re.sub(r"<<(\w+)>>", lambda found: facts[found[1]], text)


def _facts(name: str, today: date, site: str | None, country: str, currency: str, timezone: str) -> dict[str, str]:
    if not re.fullmatch(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", name):
        raise Unfit(f"{name!r}: a name in lower case is needed, such as example or example_be")
    site = (site or f"https://www.{name.replace('_', '-')}.example").rstrip("/")
    if not re.fullmatch(r"https://[\w.-]+", site):
        raise Unfit(f"{site!r}: an address such as https://www.example.com is needed")
    if not re.fullmatch(r"[A-Z]{2}", country) or not re.fullmatch(r"[A-Z]{3}", currency):
        raise Unfit(f"{country!r}, {currency!r}: codes such as BE and EUR are needed")
    if timezone not in available_timezones():
        raise Unfit(f"{timezone!r}: a time zone such as Europe/Brussels is needed")
    return {
        "name": name,
        "class": name.title().replace("_", ""),
        "site": site,
        "host": urlsplit(site).hostname or "",
        "country": country,
        "currency": currency,
        "timezone": str(ZoneInfo(timezone)),
        "today": f"{today.year}, {today.month}, {today.day}",
    }
