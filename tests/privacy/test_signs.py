"""The cheap question never says no where the search would find something, and nothing else is lost on the way."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from realestate.privacy import digits, mails, messengers, numerals, signs, telephones
from realestate.privacy.contacts import found, holding, scrub, searched
from realestate.privacy.dialling import PLANS, plan_of
from realestate.privacy.persons import strip_persons

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

#: What listings are full of.
HARMLESS = st.sampled_from(
    ("ev", "€1,530 (+ €170)", "2026-03004779-RES-1", "1234567", "2026-02-19T10:01:28Z", "3 otaq")
)
DATED = st.lists(
    st.sampled_from(("12.05.2026", "2026-05-12", "10:00-18:00", "40.4093, 49.8671", "0475", "994", "50", "1234567")),
    max_size=6,
).flatmap(lambda parts: st.sampled_from((" ", "-", "/", ", ")).map(lambda between: between.join(parts)))


@given(TEXTS | NUMBERS | st.text(), COUNTRIES)
@example("een 12345678", "BE")
@example("one 2 3 4 5", "BE")
@example("12 əlli 345 67", "AZ")
@example("call anna at box point be", "BE")
@settings(max_examples=800)
def test_what_the_search_finds_is_taken_out(text: str, country: str) -> None:
    contacts = searched(text, country)
    assert signs.may_hold(text) or not contacts
    assert found(text, country) == list(dict.fromkeys(each.value for each in contacts if each.value))
    assert (scrub(text, country) == text) == (not contacts)


@given(st.lists(TEXTS | NUMBERS | PIECES | HARMLESS, min_size=1, max_size=6, unique=True), COUNTRIES)
@example(["sıfır 301234567", "3 otaq"], "AZ")  # seven digits and more show it, but the word is part of it
@example(["05012\x1e34567", "050 123 45 67"], "AZ")
@example(["050 123", "45 67"], "AZ")
@example(["call anna at", "box point be"], "BE")
@example(["ev", "oтaq", "O5O 1234567"], "AZ")
@settings(max_examples=800)
def test_a_text_among_others_is_asked_as_if_it_were_alone(texts: list[str], country: str) -> None:
    alone = {text for text in texts if searched(text, country)}
    of_any, of_digits = signs.suspects(texts)
    assert alone <= {*of_any, *of_digits}
    assert holding(texts, country) == {
        text: (scrub(text, country), tuple(found(text, country))) for text in texts if text in alone
    }


@given(st.lists(TEXTS | NUMBERS | HARMLESS, min_size=4, max_size=4), COUNTRIES)
@settings(max_examples=300)
def test_a_field_among_others_is_scrubbed_as_if_it_were_alone(texts: list[str], country: str) -> None:
    title, description, deep, feature = texts
    fields = {"title": title, "description": description, "features": frozenset({feature})}
    told = strip_persons({**fields, "extra": {"a": [{"b": deep}], "c": 7}}, country)
    assert told.fields == {
        "title": scrub(title, country),
        "description": scrub(description, country),
        "features": frozenset({scrub(feature, country)}),
        "extra": {"a": [{"b": scrub(deep, country)}], "c": 7},
    }
    order = (title, description, feature, deep)
    assert told.contacts == list(dict.fromkeys(value for text in order for value in found(text, country)))


@given(TEXTS | NUMBERS | DATED, COUNTRIES)
@settings(max_examples=400)
def test_what_a_run_of_digits_cannot_hold_no_part_of_it_can(text: str, country: str) -> None:
    """Runs are asked before they are cut where dates stand, which costs more than the question."""
    plan = plan_of(country)
    for run in digits.runs(text):
        for part in digits.without_harmless(text, run):
            assert telephones.may_hold_one(text, run, plan) or not telephones.may_hold_one(text, part, plan)


@given(TEXTS, COUNTRIES)
@settings(max_examples=100)
def test_what_was_remembered_is_told_again(text: str, country: str) -> None:
    assert (scrub(text, country), found(text, country)) == (scrub(text, country), found(text, country))


@given(st.lists(st.sampled_from((*NUMERALS[::9], "1", "23", "456", "7890", "12345", "123456", "ev")), max_size=9))
@settings(max_examples=400)
def test_numbers_in_words_are_never_overlooked(words: list[str]) -> None:
    text = " ".join(words)
    assert signs.may_hold(text) or not numerals.may_be_spelled(text.encode().lower().split())


def test_a_word_is_a_sign_of_one_thing() -> None:
    """Each is read as one letter: a numeral that is also a mail house would hide one of the two."""
    kinds = (numerals.FORMS, mails.AT_SIGNS, mails.OTHER_SIGNS, messengers.SIGNS)
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))
