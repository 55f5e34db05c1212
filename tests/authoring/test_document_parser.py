"""`realestate portal parse`: what a portal's parser returns for a saved document, in any wrapping."""

import json
import re
from html import escape
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from realestate.authoring import AuthoringError, document_url, parser_output
from realestate.authoring.document_parser import parse
from realestate.cli import app
from realestate.items.others import OTHERS
from tests import recorded

IMMOWEB = recorded.FOLDER / "immoweb" / "listing-house-sale.html"
EMLAK = recorded.FOLDER / "emlak" / "listing-flat-sale.html"


def classified() -> dict[str, Any]:
    found = re.search(r"window\.classified = (\{.*?\n\});", IMMOWEB.read_text("utf-8"), re.DOTALL)
    assert found
    given: dict[str, Any] = json.loads(found[1])
    return given


@pytest.mark.parametrize("expected", recorded.expectations(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_recorded_page_is_parsed_without_its_url(expected: Path) -> None:
    """The values are those of the test of recorded pages. Only the URL may be spelled differently."""
    given = json.loads(expected.read_text("utf-8"))
    page = recorded.page_of(expected)
    parsed = parse(expected.parent.name, page.read_bytes(), hints=given.get("hints"), file_name=page.name)
    made = parser_output.without_defaults(parsed.values)
    if "found" in given:
        assert [each["ref"] for each in made["found"]] == [each["ref"] for each in given["found"]]
    elif "gone" in given:
        assert made == {"gone": given["gone"]}
    else:
        (kind,) = given.keys() & {"listing", *OTHERS}
        differing = {"url"} | ({"ref"} if parsed.is_made_up else set())
        assert without(made[kind], differing) == without(given[kind], differing)


def without(listing: dict[str, Any], names: set[str]) -> dict[str, Any]:
    return {name: value for name, value in listing.items() if name not in names and name != "photos"}


@pytest.mark.parametrize(
    "envelope",
    [
        lambda ad: json.dumps(ad),
        lambda ad: "\ufeff \n" + json.dumps(ad, indent=2),
        lambda ad: json.dumps({"classified": ad}),
        lambda ad: json.dumps([ad]),
        lambda ad: f"window.classified = {json.dumps(ad)};",
        lambda ad: f"<html><script>window.classified={json.dumps(ad)};window.x=1</script></html>",
    ],
    ids=["bare", "with a mark", "inside", "in a list", "assigned", "in a page"],
)
def test_the_object_of_the_script_is_parsed_like_the_page(envelope: Any) -> None:
    parsed = parse("immoweb", envelope(classified()).encode())
    listing = parsed.values["listing"]
    assert (listing["ref"], listing["price"], listing["area_m2"], listing["city"]) == (
        "21500123",
        749000,
        176.0,
        "Braine-le-Château",
    )
    assert listing["floor"] is None, "missing values are listed too"


def test_the_url_is_the_one_in_the_document() -> None:
    page = EMLAK.read_bytes()
    canonical = b'<link rel="canonical" href="https://emlak.az/840001-satilir.html"></head>'
    assert parse("emlak", page.replace(b"</head>", canonical)).url == "https://emlak.az/840001-satilir.html"
    given = parse("emlak", page)
    assert (given.url, given.is_made_up) == ("https://emlak.az/840001-.html", False)
    assert (
        parse("emlak", page.replace(b"840001", b""), file_name="emlak-840777.html").values["listing"]["ref"] == "840777"
    )
    assert parse("emlak", page.replace(b"840001", b"")).is_made_up
    assert parse("emlak", page.replace(b"840001", b""), url="/840009-a.html").values["listing"]["ref"] == "840009"


def test_the_page_of_another_listing_than_the_one_asked_for_is_refused() -> None:
    with pytest.raises(AuthoringError, match="the page is of 840001, and 840009 was asked for"):
        parse("emlak", EMLAK.read_bytes(), url="/840009-a.html")


@pytest.mark.parametrize(
    ("portal", "ref", "url"),
    [
        ("bina", "123", "https://bina.az/items/123"),
        ("finance", "XX0000000037", "https://quotes.example/quotes/XX0000000037"),
        ("bina", "abc", None),
        ("bina", "../1", None),
        ("immoweb", "1", None),
    ],
)
def test_a_url_in_the_portals_form(portal: str, ref: str, url: str | None) -> None:
    assert document_url.url_of_ref(recorded.spider(portal), ref) == url


@pytest.mark.parametrize("document", [b"", b"nothing", b"{", b"[]", b"{}", b"null", b"\xff\xfe\x00", b"<p>", b"[[[["])
@pytest.mark.parametrize("portal", sorted({path.parent.name for path in recorded.expectations()}))
def test_a_document_that_cannot_be_parsed_is_one_line_of_error(portal: str, document: bytes) -> None:
    with pytest.raises(AuthoringError) as given:
        parse(portal, document)
    assert "\n" not in str(given.value)
    assert "extract: " in str(given.value)
    if not document.startswith((b"{", b"[")) or portal != "generic":  # it is searched by its sitemaps, which are XML
        assert "discover: " in str(given.value)


@pytest.mark.parametrize("document", [b"<!DOCTYPE html><p>Nothing", b"<html><h1>Nothing</h1>", b'{"results": []}'])
def test_a_page_of_a_portal_with_sitemaps_is_not_called_a_broken_sitemap(document: bytes) -> None:
    with pytest.raises(AuthoringError) as given:
        parse("generic", document)
    assert str(given.value) == "extract: the page has no data about a home that we can read"
    with pytest.raises(AuthoringError, match="discover: the sitemap is cut short"):
        parse("generic", b"<urlset><url>")


def test_a_page_of_any_site_needs_no_address() -> None:
    """`generic` makes its ids from the URL: for a page without one, a URL without an id is made up."""
    listing = (
        b"<h1>Stone house for sale in Leeds</h1><dl><dt>Price</dt><dd>GBP 250,000</dd><dt>Bedrooms</dt><dd>3</dd></dl>"
    )
    parsed = parse("generic", b"<!DOCTYPE html>" + listing)
    assert parsed.values["listing"]["price"] == 250000
    assert parsed.is_made_up
    assert "made up" in parsed.notes[0]
    results = "".join(f"<h2>House {n}</h2><p>GBP {n}50,000</p>" for n in range(1, 20))
    with pytest.raises(AuthoringError, match="the page shows several homes"):
        parse("generic", f"<!DOCTYPE html><h1>Houses for sale</h1>{results}".encode())


def test_the_command_prints_json(tmp_path: Path) -> None:
    file = tmp_path / "classified.json"
    file.write_text(json.dumps(classified()), "utf-8")
    done = CliRunner().invoke(app, ["portal", "parse", "immoweb", str(file), "--stage", "extract"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["listing"]["price"] == 749000
    page = recorded.FOLDER / "emlak" / "listing-house-rent-daily.html"
    done = CliRunner().invoke(app, ["portal", "parse", "emlak", str(page), "--hints", '{"rent_period": "day"}'])
    assert json.loads(done.stdout)["listing"]["rent_period"] == "day"
    done = CliRunner().invoke(app, ["portal", "parse", "emlak", str(recorded.FOLDER / "emlak" / "search.html")])
    given = json.loads(done.stdout)
    assert (len(given["found"]), given["total"], len(given["searches"])) == (3, 45, 2)


@pytest.mark.parametrize(
    ("given", "period", "price"),
    [
        ({"mainValue": 940, "type": "residential_monthly_rent"}, "month", 940),
        ({"mainValue": 12000, "type": "commercial_yearly_rent", "monthly": 1000, "yearly": 12000}, "year", 12000),
        ({"mainValue": 12000, "monthly": 1000, "yearly": 12000}, "year", 12000),
        ({"mainValue": 1000, "monthly": 1000, "yearly": 12000}, "month", 1000),
        ({"mainValue": None, "yearly": 12000}, "year", 12000),
        ({"mainValue": 1000}, None, 1000),
    ],
)
def test_a_rent_never_has_a_wrong_period(given: dict[str, Any], period: str | None, price: int) -> None:
    ad = classified()
    ad["price"] = {name: given.get(name) for name in ("mainValue", "type")}
    rental = {f"{each}RentalPrice": given.get(each) for each in ("monthly", "yearly")}
    ad["transaction"] |= {"type": "FOR_RENT", "sale": None, "rental": rental}
    listing = parse("immoweb", json.dumps(ad).encode()).values["listing"]
    assert (listing["rent_period"], listing["price"]) == (period, price)


@pytest.mark.parametrize(
    ("name", "code"), [("België", "BE"), (None, "BE"), ("Frankrijk", "FR"), ("Elsewhere", "Elsewhere")]
)
def test_a_home_abroad_has_its_own_country(name: str | None, code: str) -> None:
    """An unknown country fails validation under its name."""
    ad = classified()
    ad["property"]["location"]["country"] = name
    assert parse("immoweb", json.dumps(ad).encode()).values["listing"]["country"] == code


def test_a_page_of_2024_has_the_object_in_an_attribute() -> None:
    page = f"<iw-load-advertisements :classified='{escape(json.dumps(classified()))}'></iw-load-advertisements>"
    assert parse("immoweb", page.encode()).values["listing"]["price"] == 749000


# ----- what a crawl would do with the document


def lalafo_document(**changes: Any) -> bytes:
    page = recorded.FOLDER / "lalafo" / "listing-flat-sale.page.json"
    return json.dumps(json.loads(page.read_text("utf-8")) | changes).encode()


def test_a_listing_that_would_be_quarantined_says_why() -> None:
    rows = [{"id": 226, "name": "Mərtəbə", "value": "19"}, {"id": 1, "name": "Mərtəbələrin sayı", "value": "5"}]
    notes = parse("lalafo", lalafo_document(params=rows)).notes
    assert [note for note in notes if note.startswith("would be quarantined: floor_above_building")]


def test_a_listing_with_flags_names_them() -> None:
    notes = parse("lalafo", lalafo_document(category_id=99_999, title="Mənzil satılır")).notes
    assert [note for note in notes if "category_unknown" in note and note.startswith("would be stored")]


def test_a_good_listing_with_its_address_has_no_notes() -> None:
    page = EMLAK.read_bytes()
    canonical = b'<link rel="canonical" href="https://emlak.az/840001-satilir.html"></head>'
    assert parse("emlak", page.replace(b"</head>", canonical)).notes == ()


def test_values_that_are_made_up_are_named() -> None:
    (note,) = parse("emlak", EMLAK.read_bytes()).notes
    assert "`url` is made from its id" in note
    (note,) = parse("emlak", EMLAK.read_bytes().replace(b"840001", b"")).notes
    assert "`ref` and `url` are made up" in note


def test_a_ban_page_is_named() -> None:
    body = b"<html><title>Just a moment...</title><script>window._cf_chl_opt={}</script></html>"
    with pytest.raises(AuthoringError, match="this is a ban page \\(cloudflare\\)"):
        parse("emlak", body)


def test_the_command_prints_only_json_and_the_notes_apart(tmp_path: Path) -> None:
    file = tmp_path / "advert.json"
    file.write_bytes(lalafo_document(category_id=99_999, title="Mənzil satılır"))
    done = CliRunner().invoke(app, ["portal", "parse", "lalafo", str(file)])
    assert json.loads(done.stdout)["listing"]["property_type"] == "apartment"
    assert "category_unknown" in done.stderr
    assert len(done.stderr.splitlines()) == 1
