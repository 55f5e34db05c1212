"""A market: a table of quotes. Each row has all data of a quote."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from html import escape
from random import Random

from realestate.items.others import Quote
from realestate.simulator.others.other_site import OtherSite


class Quotes(OtherSite):
    portal = "finance"
    index = "/quotes?page=1"
    path = "/quotes"
    size = 50

    def make(self, number: int, rng: Random, now: datetime) -> Quote:
        ref = f"XX{number:09}{number % 10}"
        letters = "".join(rng.choices("ABCDEFGHKLMNOPRSTVZ", k=rng.randint(2, 4)))
        price = Decimal(rng.randint(1, 900_000)) / 1000 if rng.random() > 0.04 else None
        return Quote(
            portal=self.portal,
            ref=ref,
            url=self.address(ref),
            ticker=f"{letters}{'&B' if number % 11 == 0 else ''}",
            price=price,
            currency=rng.choice(("EUR", "USD", "AZN")) if price else None,
            volume=rng.randint(0, 9_000_000),
            quoted_at=now,
        )

    def change(self, item: Quote, rng: Random, now: datetime, *, is_quiet: bool) -> Quote:
        """Change the quote. On a quiet day only its time changes."""
        if is_quiet:
            return replace(item, quoted_at=now)
        price = (item.price or Decimal(10)) + Decimal(rng.randint(1, 999)) / 1000
        volume = (item.volume or 0) + rng.randint(1, 50_000)
        return replace(item, price=price, currency=item.currency or "EUR", volume=volume, quoted_at=now)

    def render(self, item: Quote) -> str:
        return self.listed([item], 1)

    def listed(self, items: list[Quote], total: int) -> str:
        rows = "".join(map(_row, items))
        head = "<tr><th>Ticker</th><th>Price</th><th>Volume</th><th>Time</th></tr>"
        return f'<table data-total="{total}"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _row(item: Quote) -> str:
    price, currency = (f"{item.price:.3f}", item.currency) if item.price else ("", "")
    quoted_at = item.quoted_at.isoformat() if item.quoted_at else ""
    return (
        f'<tr data-price="{price}" data-currency="{currency}" data-volume="{item.volume}">'
        f'<td><a href="/quotes/{item.ref}">{escape(item.ticker)}</a></td><td>{price or "–"} {currency}</td>'
        f'<td>{item.volume:,}</td><td><time datetime="{quoted_at}">{quoted_at}</time></td></tr>'
    )
