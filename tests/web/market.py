"""A small market for tests and screenshots of the pages: two cities, prices that move, and hostile texts."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from decimal import Decimal

from realestate.items import Gone, Listing
from realestate.pipelines.clean import clean
from realestate.simulator.hostile_texts import HOSTILE_TEXTS
from realestate.storage import Batch, FullStore
from realestate.storage.clock import Seen, steady
from realestate.storage.history import Observed
from realestate.storage.homes import MarketWeek
from tests.examples import a_listing

CITIES = (("Bakı", "AZ", "AZN", 40.4093, 49.8671), ("Gent", "BE", "EUR", 51.0543, 3.7174))
DISTRICTS = {"Bakı": ("Nəsimi", "Yasamal", "Səbail"), "Gent": ("Centrum", "Ledeberg", "Muide")}
TYPES = ("apartment", "house", "apartment")


def listings(count: int = 120) -> Iterator[Listing]:
    """Listings of two cities, on two portals; the first ones have hostile titles and descriptions."""
    for number in range(count):
        city, country, currency, latitude, longitude = CITIES[number % 2]
        district = DISTRICTS[city][number // 2 % 3]
        is_rent = number % 5 == 4
        area = float(40 + number * 7 % 160)
        per_m2 = (9 if is_rent else 1500) * (1 + number % 7 / 5)
        text = HOSTILE_TEXTS[number] if number < len(HOSTILE_TEXTS) else ""
        yield clean(
            a_listing(
                portal="immoweb" if country == "BE" else "bina",
                ref=str(1000 + number),
                url=f"https://www.example.org/{1000 + number}",
                country=country,
                operation="rent" if is_rent else "sale",
                rent_period="month" if is_rent else None,
                property_type=TYPES[number % 3],
                subtype=None,
                price=Decimal(round(area * per_m2)),
                currency=currency,
                area_m2=area,
                plot_m2=None,
                rooms=1 + number % 5,
                bedrooms=None,
                city=city,
                district=district,
                latitude=latitude + (number % 11 - 5) / 100,
                longitude=longitude + (number % 13 - 6) / 100,
                title=text or f"{1 + number % 5} rooms in {district}",
                description=text or "Bright, quiet, near the park.",
                photos=[f"https://photos.example/{number}/{place}.jpg" for place in range(3)],
            )
        )


def fill(store: FullStore, count: int = 120, days: float = 40) -> None:
    """Store the market as it was seen over some weeks: prices fall and rise, some listings leave."""
    every = list(listings(count))
    for portal in ("bina", "immoweb"):
        store.begin_job("first", portal, "full", "all")
        store.begin_job("second", portal, "full", "all")
    store.write(Batch([_seen(each, "first", days) for each in every]))
    cheaper = [_priced(each, "0.93") for number, each in enumerate(every) if number % 4 == 0]
    store.write(Batch([_seen(each, "first", days * 0.7 - number % 9) for number, each in enumerate(cheaper)]))
    dearer = [_priced(each, "1.05") for number, each in enumerate(every) if number % 6 == 1]
    store.write(Batch([_seen(each, "second", days * 0.3) for each in dearer]))
    again = [_priced(each, "0.97") for number, each in enumerate(cheaper) if number % 3 == 0]
    store.write(Batch([_seen(each, "second", 0.2) for each in again]))
    left = [each for number, each in enumerate(every) if number % 15 == 7]
    gone = [Gone(portal=each.portal, ref=each.ref, url=each.url, evidence="404", detail="404") for each in left]
    store.write(Batch([_seen(each, "second", 0.1) for each in gone]))
    for portal in ("bina", "immoweb"):
        store.end_sweep("second", portal, complete=True)
        store.conclude("second", portal, force=True)


def fill_market(store: FullStore, weeks: int = 30) -> None:
    """Store market figures of two places: one with all figures, one with too few homes for some."""
    monday = date.today() - timedelta(days=date.today().weekday())
    rows = []
    for number in range(weeks):
        price = 1800 + 12 * number + 40 * (number % 3)
        rows.append(
            MarketWeek(
                week=monday - timedelta(weeks=weeks - 1 - number),
                country="AZ",
                city="Bakı",
                property_type="apartment",
                operation="sale",
                currency="AZN",
                stock=400 + number,
                new=20 + number % 5,
                gone=18 + number % 4,
                median_price=price * 80.0,
                price_low=price * 60.0,
                price_high=price * 110.0,
                median_price_per_m2=float(price),
                price_per_m2_low=price * 0.8,
                price_per_m2_high=price * 1.25,
                median_days_on_market=40.0 + number % 6,
                cut_share=0.05 + number % 4 / 100,
                median_cut=0.04,
                gross_yield=0.061,
                price_index=100.0 + number / 3,
            )
        )
    small = {"country": "BE", "city": "Gent", "property_type": "house", "operation": "rent", "currency": "EUR"}
    rows.append(MarketWeek(week=monday, **small, rent_period="month", stock=3, new=1, gone=0))  # type: ignore[arg-type]
    store.save_market(rows, monday - timedelta(weeks=weeks))


def _seen(item: Observed, job: str, days_ago: float) -> Seen:
    return Seen(item, job, steady() - days_ago * 86400)


def _priced(listing: Listing, factor: str) -> Listing:
    """The listing with another price."""
    assert listing.price is not None
    return clean(replace(listing, price=(listing.price * Decimal(factor)).quantize(Decimal(1))))
