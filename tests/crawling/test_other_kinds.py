"""A shop and a table of quotes on the same engine: pages that are not what they promise, and what becomes of each."""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse

from realestate.crawling import seeds
from realestate.crawling.page_outcomes import BrokenPage
from realestate.items.others import Quote
from realestate.queue.codec import encode
from realestate.spiders.ecommerce import EcommerceSpider
from realestate.spiders.finance import FinanceSpider
from realestate.storage.handle import provide_store
from tests.crawling.fake_fleet import FakeFleet
from tests.crawling.test_portal_spider import read
from tests.handles import DirectHandle

SHOP = "https://shop.example/products"
QUOTES = "https://quotes.example/quotes"
ROW = '<tr data-price="5" data-currency="EUR" data-volume="1"><td><a href="{}">{}</a></td></tr>'


def page(url: str, body: str, status: int = 200, stage: str = "extract", mode: str = "full") -> HtmlResponse:
    request = Request(url, meta={"stage": stage, "job": "j", "mode": mode})
    return HtmlResponse(url, status=status, body=body.encode(), encoding="utf-8", request=request)


@pytest.mark.parametrize(
    ("spider", "url", "body"),
    [
        (EcommerceSpider, SHOP, "<h1>Something went wrong</h1>"),
        (EcommerceSpider, SHOP, '<h1 data-total="many"></h1>'),
        (EcommerceSpider, SHOP, '<h1 data-total="5"></h1>'),
        (EcommerceSpider, SHOP, '<h1 data-total="5"></h1><li class="product"><a href="/cart">x</a></li>'),
        (FinanceSpider, QUOTES, "<table></table>"),
        (FinanceSpider, QUOTES, '<table data-total="5"></table>'),
        (FinanceSpider, QUOTES, f'<table data-total="5">{ROW.format("/quotes/x", "ABC")}</table>'),
        (FinanceSpider, QUOTES, f'<table data-total="5">{ROW.format("/quotes/XX0000000011", "")}</table>'),
    ],
)
def test_a_list_that_is_none_is_broken(spider: Any, url: str, body: str) -> None:
    with pytest.raises(BrokenPage):
        spider().parse_search(page(url, body))


@pytest.mark.parametrize(
    ("spider", "url", "body"),
    [
        (EcommerceSpider, f"{SHOP}/1", "<h1>Something went wrong</h1>"),
        (EcommerceSpider, f"{SHOP}/1", '<meta itemprop="sku" content="2"><h1 itemprop="name">Another</h1>'),
        (EcommerceSpider, f"{SHOP}/1", '<meta itemprop="sku" content="1"><h1 itemprop="name"> </h1>'),
        (FinanceSpider, f"{QUOTES}/XX0000000011", "<table></table>"),
        (FinanceSpider, f"{QUOTES}/XX0000000011", f"<table>{ROW.format('/quotes/XX0000000011', 'A') * 2}</table>"),
    ],
)
def test_a_page_that_is_none_is_broken(spider: Any, url: str, body: str) -> None:
    with pytest.raises(BrokenPage):
        list(spider().parse_page(page(url, body)))


@pytest.mark.parametrize("price", ["12,50", "1e5", "-3", "NaN", "Infinity", "0", "٣", " 5", "1" * 400])
def test_what_is_no_plain_number_is_missing_and_so_is_its_currency(price: str) -> None:
    told = f'<meta itemprop="price" content="{price}"><meta itemprop="priceCurrency" content="EUR">'
    body = f'<meta itemprop="sku" content="1"><h1 itemprop="name">x</h1>{told}'
    (product,) = EcommerceSpider().parse_page(page(f"{SHOP}/1", body))
    assert (product.price, product.currency) in [(None, None), (5, "EUR")]
    assert product.price is None or price == " 5"


# ----- on the engine


@pytest.fixture
def fleet() -> FakeFleet:
    return FakeFleet()


@pytest.fixture
def serve(fleet: FakeFleet, make_crawler: Callable[..., Crawler]) -> Callable[[Any], Any]:
    def serve(kind: Any) -> Any:
        crawler = make_crawler(kind)
        fleet.register(crawler)
        spider = crawler.spider = kind.from_crawler(crawler)

        store = SimpleNamespace(keep_part=lambda *values: None, watermark=lambda *values: None)
        provide_store(crawler, DirectHandle(store))
        return spider

    return serve


@pytest.mark.parametrize("mode", ["full", "sweep", "incremental"])
def test_products_are_read_one_by_one_and_quotes_where_they_stand(serve: Callable[[Any], Any], mode: str) -> None:
    body = '<h1 data-total="30"></h1><li class="product"><a href="/products/7">x</a></li>'
    made = read(serve(EcommerceSpider).read_search(page(f"{SHOP}?page=1", body, stage="plan", mode=mode)))
    assert [(each.url, each.meta["stage"]) for each in made] == [
        (f"{SHOP}?page=2", "discover"),
        (f"{SHOP}/7", "extract"),
    ]
    body = f'<table data-total="1">{ROW.format("/quotes/XX0000000011", "ABC")}</table>'
    made = read(serve(FinanceSpider).read_search(page(f"{QUOTES}?page=1", body, stage="plan", mode=mode)))
    assert [type(each) for each in made] == [Quote]


def test_a_product_that_is_gone_is_counted_and_tells_the_store_nothing(
    serve: Callable[[Any], Any], fleet: FakeFleet
) -> None:
    spider = serve(EcommerceSpider)
    assert read(spider.read_page(page(f"{SHOP}/7", "", status=404))) == []
    assert spider.crawler.stats.get_value("page/extract/gone") == 1
    assert fleet.dead_letters == []
    assert fleet.jobs.opened == []


def test_a_broken_page_is_a_dead_letter(serve: Callable[[Any], Any], fleet: FakeFleet) -> None:
    assert read(serve(EcommerceSpider).read_page(page(f"{SHOP}/7", "<h1>Oops</h1>"))) == []
    assert [letter["reason"] for letter in fleet.dead_letters] == ["parse"]


@pytest.mark.parametrize(
    ("spider", "url", "stage"),
    [
        (EcommerceSpider, f"{SHOP}/7", "extract"),
        (EcommerceSpider, f"{SHOP}?sort=new", "plan"),
        (FinanceSpider, f"{QUOTES}/XX0000000011", "extract"),
        (FinanceSpider, QUOTES, "plan"),
    ],
)
def test_a_seed_is_told_by_its_form(serve: Callable[[Any], Any], spider: Any, url: str, stage: str) -> None:
    served = serve(spider)
    request = served.seed_request(seeds.parse(url.encode()))
    encode(request, served)
    assert request.meta["stage"] == stage
