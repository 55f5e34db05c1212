"""The pre-check rejects no text that contains a contact, and texts read together do not affect each other."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from realestate.privacy import (
    COUNTRIES,
    digit_groups,
    emails,
    find_contacts,
    messengers,
    phones,
    precheck,
    scrub,
    spelled_numbers,
    strip_persons,
)
from realestate.privacy.contacts import scrub_many, search
from realestate.privacy.numbering_plans import plan_of

ANY_COUNTRY = st.sampled_from((*sorted(COUNTRIES), "FR"))
NUMBER_WORDS = sorted(form.decode() for form in spelled_numbers.WORD_FORMS)
CONTACT_WORDS = sorted(word.decode() for word in emails.WORDS | messengers.WORDS)
SEPARATORS = (
    *" .-/()+,:_|€@<>[]{}\n\t",
    "",
    " ",
    "\u00a0",
    "\u200b",
    "\ufe0f\u20e3",
    "📞",
    "ə",
    "й",
    "\ud800",
    "(a)",
    "[at]",
)
OTHER_PIECES = ("wa.me/", "t.me/", "ok.ru/x1", "viber://", "gmail.com", "anna_92", "Tel", "ref", "m2", "otaq")
#: Words are drawn from one list, not from one strategy each: an example is drawn twice as fast.
WORDS = st.sampled_from((*NUMBER_WORDS, *CONTACT_WORDS, *map(str.upper, NUMBER_WORDS), *OTHER_PIECES))
PIECES = st.one_of(st.text("0123456789٣３③❼𝟗oOоО", min_size=1, max_size=8), WORDS, WORDS, st.text(max_size=4))
TEXTS = st.lists(st.tuples(PIECES, st.sampled_from(SEPARATORS)), max_size=14).map(
    lambda parts: "".join(map("".join, parts))
)
#: Numbers alone: some of these are passed without a search.
NUMBERS = st.from_regex(r"\A[€$£+0]?[0-9](?:[., -]?[0-9]){4,10}[ ]?[€$£₼]?\Z")

#: Values that many listings have.
HARMLESS = st.sampled_from(
    ("ev", "€1,530 (+ €170)", "2026-03004779-RES-1", "1234567", "2026-02-19T10:01:28Z", "3 otaq")
)
DATES_AND_DIGITS = st.lists(
    st.sampled_from(("12.05.2026", "2026-05-12", "10:00-18:00", "40.4093, 49.8671", "0475", "994", "50", "1234567")),
    max_size=6,
).flatmap(lambda parts: st.sampled_from((" ", "-", "/", ", ")).map(lambda separator: separator.join(parts)))


@given(TEXTS | NUMBERS | st.text(), ANY_COUNTRY)
@example("een 12345678", "BE")
@example("one 2 3 4 5", "BE")
@example("12 əlli 345 67", "AZ")
@example("call anna at box point be", "BE")
@settings(max_examples=120)
def test_every_contact_that_the_search_finds_is_removed(text: str, country: str) -> None:
    contacts = search(text, country)
    assert precheck.may_contain_contact(text) or not contacts
    first = (scrub(text, country), find_contacts(text, country))
    assert first[1] == list(dict.fromkeys(each.value for each in contacts if each.value))
    assert (first[0] == text) == (not contacts)
    assert (scrub(text, country), find_contacts(text, country)) == first, "the cache changes nothing"


@given(st.lists(TEXTS | NUMBERS | HARMLESS, min_size=4, max_size=4, unique=True), ANY_COUNTRY)
@example(["sıfır 301234567", "3 otaq", "a", "b"], "AZ")  # seven digits, and the word is part of the number
@example(["05012\x1e34567", "050 123 45 67", "a", "b"], "AZ")
@example(["050 123", "45 67", "a", "b"], "AZ")
@example(["call anna at", "box point be", "a", "b"], "BE")
@example(["ev", "oтaq", "O5O 1234567", "b"], "AZ")
@settings(max_examples=100)
def test_a_text_among_others_is_scrubbed_as_if_it_were_alone(texts: list[str], country: str) -> None:
    """Both when many texts are scrubbed in one call and when they are the fields of one record."""
    alone = {text for text in texts if search(text, country)}
    any_kind, phones_only = precheck.candidates(texts)
    assert alone <= {*any_kind, *phones_only}
    assert scrub_many(texts, country) == {
        text: (scrub(text, country), tuple(find_contacts(text, country))) for text in texts if text in alone
    }
    title, description, deep, feature = texts
    fields = {"title": title, "description": description, "features": frozenset({feature})}
    stripped = strip_persons({**fields, "extra": {"a": [{"b": deep}], "c": 7}}, country)
    assert stripped.fields == {
        "title": scrub(title, country),
        "description": scrub(description, country),
        "features": frozenset({scrub(feature, country)}),
        "extra": {"a": [{"b": scrub(deep, country)}], "c": 7},
    }
    order = (title, description, feature, deep)
    assert stripped.contacts == list(dict.fromkeys(value for text in order for value in find_contacts(text, country)))


@given(TEXTS | NUMBERS | DATES_AND_DIGITS, ANY_COUNTRY)
@settings(max_examples=100)
def test_if_a_run_of_digits_may_contain_no_telephone_no_part_of_it_may(text: str, country: str) -> None:
    """Runs are checked before dates are cut out of them: the cut costs more than the check."""
    plan = plan_of(country)
    for run in digit_groups.digit_runs(text):
        for part in digit_groups.without_harmless(text, run):
            assert phones.may_contain_phone(text, run, plan) or not phones.may_contain_phone(text, part, plan)


@given(st.lists(st.sampled_from((*NUMBER_WORDS[::9], "1", "23", "456", "7890", "12345", "123456", "ev")), max_size=9))
@settings(max_examples=100)
def test_numbers_in_words_are_never_overlooked(words: list[str]) -> None:
    text = " ".join(words)
    assert precheck.may_contain_contact(text) or not spelled_numbers.may_contain(text.encode().lower().split())


def test_a_word_has_one_kind() -> None:
    """The pre-check keeps one letter for each word: a number word that is a mail provider too would hide one."""
    kinds = (spelled_numbers.WORD_FORMS, emails.AT_WORDS, emails.DOMAIN_WORDS, messengers.WORDS)
    assert sum(map(len, kinds)) == len(frozenset().union(*kinds))
