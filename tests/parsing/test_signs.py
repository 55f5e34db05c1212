"""The cheap question never says no where the search would find something, and nothing else is lost on the way."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from realestate.parsing import mails, messengers, numerals, signs
from realestate.parsing.contacts import found, scrub, searched
from realestate.parsing.dialling import PLANS

COUNTRIES = st.sampled_from((*PLANS, "FR"))
NUMERALS = sorted(form.decode() for form in numerals.FORMS)
SIGNS = sorted(sign.decode() for sign in mails.SIGNS | messengers.SIGNS)
ZERO_TO_NINE = st.sampled_from("0123456789٣３③❼𝟗oOоО")
SEPARATORS = st.sampled_from(
    (*" .-/()+,:_|€@<>[]{}\n\t", "", " ", "\u00a0", "\u200b", "\ufe0f\u20e3", "📞", "ə", "й", "\ud800", "(a)", "[at]")
)
PIECES = st.one_of(
    st.text(ZERO_TO_NINE, min_size=1, max_size=8),
    st.sampled_from(NUMERALS),
    st.sampled_from(SIGNS),
    st.sampled_from(NUMERALS).map(str.upper),
    st.sampled_from(("wa.me/", "t.me/", "ok.ru/x1", "viber://", "gmail.com", "anna_92", "Tel", "ref", "m2", "otaq")),
    st.text(max_size=4),
)
TEXTS = st.lists(st.tuples(PIECES, SEPARATORS), max_size=14).map(lambda parts: "".join(map("".join, parts)))
#: Numbers alone: of these some are let through without a look.
NUMBERS = st.from_regex(r"\A[€$£+0]?[0-9](?:[., -]?[0-9]){4,10}[ ]?[€$£₼]?\Z")


@given(TEXTS | NUMBERS | st.text(), COUNTRIES)
@example("een 12345678", "BE")
@example("one 2 3 4 5", "BE")
@example("12 əlli 345 67", "AZ")
@example("call anna at box point be", "BE")
@settings(max_examples=800, deadline=None)
def test_what_the_search_finds_is_taken_out(text: str, country: str) -> None:
    contacts = searched(text, country)
    assert signs.may_hold(text) or not contacts
    assert found(text, country) == list(dict.fromkeys(each.value for each in contacts if each.value))
    assert (scrub(text, country) == text) == (not contacts)


@given(TEXTS, COUNTRIES)
@settings(max_examples=100, deadline=None)
def test_what_was_remembered_is_told_again(text: str, country: str) -> None:
    assert (scrub(text, country), found(text, country)) == (scrub(text, country), found(text, country))


@given(st.lists(st.sampled_from((*NUMERALS[::9], "1", "23", "456", "7890", "12345", "123456", "ev")), max_size=9))
@settings(max_examples=400, deadline=None)
def test_numbers_in_words_are_never_overlooked(words: list[str]) -> None:
    text = " ".join(words)
    assert signs.may_hold(text) or not numerals.may_be_spelled(text.encode().lower().split())
