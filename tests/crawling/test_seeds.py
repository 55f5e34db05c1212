import pytest

from realestate.crawling.seeds import BadSeed, Seed, parse


@pytest.mark.parametrize(
    ("data", "seed"),
    [
        (b"https://bina.az/", Seed(url="https://bina.az/")),
        (b"  https://bina.az/ \n", Seed(url="https://bina.az/")),
        (b'{"url": "https://bina.az/"}', Seed(url="https://bina.az/")),
        (
            b'{"url": "https://bina.az/", "method": "POST", "headers": {"A": "b"}, "body": "x", "meta": {"k": 1},'
            b' "priority": 5, "job": "j", "mode": "sweep"}',
            Seed("https://bina.az/", "POST", {"A": "b"}, "x", {"k": 1}, 5, "j", "sweep"),
        ),
    ],
)
def test_a_seed_is_an_address_or_an_object(data: bytes, seed: Seed) -> None:
    assert parse(data) == seed


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "not an http URL"),
        (b"bina.az", "not an http URL"),
        (b"ftp://bina.az/", "not an http URL"),
        (b"https://bina.az/ https://tap.az/", "not an http URL"),
        (b"javascript:alert(1)", "not an http URL"),
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not a seed"),
        (b"{}", "url"),
        (b'{"url": 5}', "url"),
        (b'{"url": "/relative"}', "not an http URL"),
        (b'{"url": "https://bina.az/", "formdata": {"a": "b"}}', "formdata"),
        (b'{"url": "https://bina.az/", "mode": "fast"}', "mode"),
        (b'{"url": "https://bina.az/", "priority": "high"}', "priority"),
        (b'["https://bina.az/"]', "not an http URL"),
        (b"null", "not an http URL"),
        (b"\x80\x04\x95\x10pickled", "not UTF-8"),
    ],
)
def test_anything_else_is_refused_with_its_reason(data: bytes, reason: str) -> None:
    with pytest.raises(BadSeed, match=reason):
        parse(data)
