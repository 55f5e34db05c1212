"""A shop: cards that link to products; a product's page has microdata."""

from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from html import escape
from random import Random

from realestate.items.others import Product
from realestate.simulator.others.other_site import OtherSite

_WORDS = ("Kettle", "Lamp", "Chair & table", 'Rug "Sahara"', "Mug <large>", "Clock", "Shelf", "Çaydan", "Étagère")
_SORTS = ("plain", "blue", "oak", "small", "large")
FIRST = 1000


class Shop(OtherSite):
    portal = "ecommerce"
    index = "/products?page=1"
    path = "/products"
    size = 24

    def make(self, number: int, rng: Random, now: datetime) -> Product:
        ref = str(FIRST + 7 * number)
        price = Decimal(rng.randint(199, 99_999)) / 100 if rng.random() > 0.05 else None
        return Product(
            portal=self.portal,
            ref=ref,
            url=self.address(ref),
            name=f"{rng.choice(_WORDS)}, {rng.choice(_SORTS)}",
            price=price,
            currency="EUR" if price else None,
            stock=rng.choice((0, 1, 3, 12, 250, None)),
        )

    def change(self, item: Product, rng: Random, now: datetime, *, is_quiet: bool) -> Product:
        if is_quiet:
            return item
        what = rng.choice(("price", "stock", "both", "name"))
        if what == "name":
            return replace(item, name=f"{item.name} (new)")
        price = item.price
        stock = item.stock
        if what != "stock":
            price = (item.price or Decimal(50)) + Decimal(rng.randint(1, 500)) / 100
        if what != "price":
            stock = (item.stock or 0) + rng.randint(1, 9)
        return replace(item, price=price, currency="EUR" if price else None, stock=stock)

    def render(self, item: Product) -> str:
        stock = "" if item.stock is None else f'<link itemprop="inventoryLevel" content="{item.stock}">'
        offer = (
            f'<data itemprop="price" content="{item.price:.2f}">{item.price:,.2f} €</data>'
            f'<meta itemprop="priceCurrency" content="{item.currency}">'
            if item.price
            else "<p>Ask us for the price.</p>"
        )
        return (
            f'<article itemscope itemtype="https://schema.org/Product"><meta itemprop="sku" content="{item.ref}">'
            f'<h1 itemprop="name">{escape(item.name)}</h1>'
            f'<div itemprop="offers" itemscope itemtype="https://schema.org/Offer">{offer}{stock}</div></article>'
        )

    def listed(self, items: list[Product], total: int) -> str:
        cards = "".join(f'<li class="product"><a href="/products/{i.ref}">{escape(i.name)}</a></li>' for i in items)
        return f'<h1 data-total="{total}">{total} products</h1><ul>{cards}</ul>'
