import pytest

from realestate.middlewares.backoff import retry_after

SERVED = "Mon, 16 Nov 2026 01:00:00 GMT"


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("120", 120),
        (" 0 ", 0),
        ("Mon, 16 Nov 2026 03:00:00 GMT", 7200),
        ("Mon, 16 Nov 2026 00:00:00 GMT", 0),
        ("", 0),
        ("soon", 0),
        ("-5", 0),
        ("9" * 400, 0),
        ("999999999", 86_400),
        ("²", 0),
        ("Mon, 16 Nov 2026 03:00:00 -0000", 0),
        ("Mon, 16 Nov 2026 03:00:00 +99999999", 0),
        ("Mon, 16 Nov 9999 03:00:00 GMT", 86_400),
    ],
)
def test_how_long_a_site_wants_to_be_left_alone(value: str, seconds: float) -> None:
    assert retry_after(value, SERVED) == seconds


def test_a_date_is_told_from_the_sites_own_clock_or_not_at_all() -> None:
    assert retry_after("Mon, 16 Nov 2026 03:00:00 GMT", None) == 0
