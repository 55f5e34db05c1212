import re
from collections import Counter

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from phonenumbers import PhoneMetadata, PhoneNumberFormat, PhoneNumberType

from realestate.privacy import COUNTRIES, MARK, emails, find_contacts, messengers, phones, scrub
from tests.privacy import harmless_texts, phone_spellings

#: France has no numbering plan here.
EVERYWHERE = (*sorted(COUNTRIES), "FR")


# --- telephones --------------------------------------------------------------------------


def leaks(cases: list[phone_spellings.Case]) -> list[str]:
    """Return the cases in which a telephone stayed, too much was removed, or another number was read."""
    wrong = []
    for case in cases:
        scrubbed = scrub(case.text, case.country)
        numbers = find_contacts(case.text, case.country)
        if scrubbed != case.scrubbed(MARK):
            wrong.append(f"{case.country}: {case.text!r} -> {scrubbed!r}")
        elif numbers != [case.number]:
            wrong.append(f"{case.country}: {case.text!r} is {numbers}, not {case.number}")
    return wrong


#: Each kind of number in each disguise, eight times: with other forms, separators and sentences.
SPELLINGS = list(
    phone_spellings.cases(seed=20260917, count=8 * len(phone_spellings.RANGES) * len(phone_spellings.DISGUISES))
)


def test_every_spelling_of_a_telephone_is_removed() -> None:
    assert len({case.text for case in SPELLINGS}) > 0.93 * len(SPELLINGS)
    assert leaks(SPELLINGS) == []


def test_every_telephone_in_words_is_removed() -> None:
    assert leaks(list(phone_spellings.spelled_cases(seed=20260917, count=600))) == []


def test_the_spellings_are_of_every_country_form_and_disguise() -> None:
    countries = Counter(case.country for case in SPELLINGS)
    assert countries.keys() == COUNTRIES
    assert min(countries.values()) > 125
    for sign in ("+", "00", "(0)", "\u200b", "\u00a0", "０", "⓪", "𝟎", "\ufe0f\u20e3", "О"):
        assert sum(sign in case.spelling for case in SPELLINGS) > 10, sign


FORMATS = tuple(getattr(PhoneNumberFormat, name) for name in ("NATIONAL", "INTERNATIONAL", "E164", "RFC3966"))
KINDS = tuple(
    getattr(PhoneNumberType, name)
    for name in ("MOBILE", "FIXED_LINE", "TOLL_FREE", "PREMIUM_RATE", "SHARED_COST", "VOIP", "UAN")
)


@pytest.mark.parametrize("country", sorted(COUNTRIES))
def test_every_example_number_of_phonenumbers_is_found(country: str) -> None:
    """The metadata has an example of every kind of number, in the format of its country."""
    for kind in KINDS:
        if number := phonenumbers.example_number_for_type(country, kind):
            for form in FORMATS:
                text = f"Tel: {phonenumbers.format_number(number, form)}!"
                assert re.sub(r"^Tel: (tel:)?", "", scrub(text, country)) == f"{MARK}!", text


def in_force(country: str) -> st.SearchStrategy[str]:
    """Mobile and fixed numbers of the country, without the 0, by the metadata of phonenumbers."""
    plan = PhoneMetadata.metadata_for_region(country)
    assert plan is not None
    patterns = [kind.national_number_pattern for kind in (plan.mobile, plan.fixed_line) if kind is not None]
    strategies = [st.from_regex(re.compile(each, re.ASCII), fullmatch=True) for each in patterns if each is not None]
    return st.one_of(strategies)


@pytest.mark.parametrize(("country", "code"), [("AZ", "994"), ("BE", "32")])
@given(data=st.data())
@settings(max_examples=40, derandomize=True)
def test_every_number_in_force_is_found(country: str, code: str, data: st.DataObject) -> None:
    national = data.draw(in_force(country))
    for text in (f"0{national}", f"+{code} {national}", f"00{code}{national}"):
        assert scrub(text, country) == MARK
        assert find_contacts(text, country) == [f"+{code}{national}"]


def test_a_mobile_of_any_country_is_found_by_its_plus() -> None:
    for region in sorted(phonenumbers.SUPPORTED_REGIONS):
        number = phonenumbers.example_number_for_type(region, PhoneNumberType.MOBILE)
        if number and len(str(number.national_number)) > 6:
            written = phonenumbers.format_number(number, PhoneNumberFormat.INTERNATIONAL)
            assert scrub(f"Call {written} now", "AZ") == f"Call {MARK} now", region
            assert find_contacts(written, "AZ") == [phonenumbers.format_number(number, PhoneNumberFormat.E164)]


@pytest.mark.parametrize(
    ("text", "country", "number"),
    [
        ("Sıfır əlli, iki yüz otuz dörd, əlli altı, yetmiş səkkiz", "AZ", "+994502345678"),
        ("sıfır əlli beş iki üç dörd beş altı yeddi səkkiz", "AZ", "+994552345678"),
        ("sifir elli 2345678", "AZ", "+994502345678"),
        ("zéro quatre soixante-quinze douze trente-quatre cinquante-six", "BE", "+32475123456"),
        ("zéro quatre septante-cinq douze trente-quatre nonante-six", "BE", "+32475123496"),
        ("nul vier vijfenzeventig twaalf vierendertig zesenvijftig", "BE", "+32475123456"),
        ("zero four seven five one two three four five six", "BE", "+32475123456"),
        ("oh four seven five, twelve, thirty-four, fifty-six", "BE", "+32475123456"),
        ("06 12 34 56 78", "BE", "0612345678"),
        ("Tel. 565 12 34", "AZ", "5651234"),
        ("tel0501234567", "AZ", "+994501234567"),
        ("+32(0)475123456", "AZ", "+32475123456"),
        ("994501234567", "AZ", "+994501234567"),
        ("501234567", "AZ", "+994501234567"),
    ],
)
def test_telephones_from_real_adverts(text: str, country: str, number: str) -> None:
    assert find_contacts(text, country) == [number]
    assert not re.search(r"\d{3}|sıfır|zéro|nul|zero", scrub(text, country))


def test_several_telephones_are_found_each_once_in_their_order() -> None:
    text = "050 123 45 67, (055) 765-43-21 / 0501234567"
    assert find_contacts(text, "AZ") == ["+994501234567", "+994557654321"]
    assert scrub(text, "AZ") == f"{MARK}, {MARK} / {MARK}"
    assert find_contacts("050 123 45 67, 765 43 22", "AZ") == ["+994501234567", "7654322"], (
        "the second without its area"
    )


# --- e-mails and messengers --------------------------------------------------------------


AT = ("@", " @ ", "＠", " [at] ", "(at)", " (a) ", "{at}", " at ", " AT ", "[@]", "@\u200b")
DOT = (".", " . ", " (dot) ", "[dot]", " dot ", "(.)", ". ")


@pytest.mark.parametrize("dot", DOT)
@pytest.mark.parametrize("at", AT)
def test_every_spelling_of_an_address_is_removed(at: str, dot: str) -> None:
    for local in ("name", "first.last", "a_b-c", "name99", "İsmayıl"):
        for house, ending in (("gmail", "com"), ("mail", "ru")):
            for sentence in ("{}", "Yazın: {}.", "E-mail {}, tel. sonra", "<{}>"):
                text = sentence.format(f"{local}{at}{house}{dot}{ending}")
                assert scrub(text, "AZ") == sentence.format(MARK)
                assert find_contacts(text, "AZ") == [f"{local}@{house}.{ending}".lower()]


@pytest.mark.parametrize(
    ("text", "scrubbed", "values"),
    [
        ("Mail info@zevenster.be. Bedankt", "Mail […]. Bedankt", ["info@zevenster.be"]),
        ("mailto:Info@Example.co.uk?subject=x", "mailto:[…]?subject=x", ["info@example.co.uk"]),
        ("jan@huis.immo. Be welcome", "[…]. Be welcome", ["jan@huis.immo"]),
        ("info (at) zevenster (dot) be", "[…]", ["info@zevenster.be"]),
        ("jean.dupont arobase skynet.be", "[…]", ["jean.dupont@skynet.be"]),
        ("0501234567@mail.ru", "[…]", ["0501234567@mail.ru"]),
        ("wa.me/994501234567", "[…]", ["+994501234567"]),
        ("Yaz https://wa.me/994501234567?text=salam, gözləyirəm", "Yaz […], gözləyirəm", ["+994501234567"]),
        ("https://api.whatsapp.com/send?phone=994501234567", "[…]", ["+994501234567"]),
        ("https://t.me/some_name.", "[…].", ["@some_name"]),
        ("www.instagram.com/some.agency/ baxın", "[…] baxın", ["@some.agency"]),
        ("https://chat.whatsapp.com/AbC123dEf", "[…]", ["@abc123def"]),
        ("viber://chat?number=%2B994501234567", "[…]", ["+994501234567"]),
        ("tel:+994501234567", "tel:[…]", ["+994501234567"]),
        ("Telegram @Some_Name", "Telegram […]", ["@some_name"]),
        ("tg: some_name77", "tg: […]", ["@some_name77"]),
        ("WhatsApp 050-123-45-67 / Telegram @abc", "WhatsApp […] / Telegram […]", ["+994501234567", "@abc"]),
    ],
)
def test_addresses_links_and_handles(text: str, scrubbed: str, values: list[str]) -> None:
    assert scrub(text, "AZ") == scrubbed
    assert sorted(find_contacts(text, "AZ")) == sorted(values)


PROSE = (
    "Bakı şəhərində yeni tikili təklif olunur, sahəsi 85 m², qiyməti 158 000 AZN, mərtəbə 2/9, 3 otaq, 2 balkon. ",
    "Ce bien de 120 m², à 239.000 €, avec deux chambres, une cuisine (équipée) et un jardin ; libre à l'acte. ",
    "Instapklaar huis van 140 m² met vier slaapkamers, gebouwd in 1987, op 5 km van het station: € 350.000. ",
    "A bright house at the edge of town: 3 bedrooms, 2 baths, built in 1987, with 140 m2, asking 350,000 euro. ",
)


# --- texts without contacts ---------------------------------------------------------------


@pytest.mark.parametrize("text", harmless_texts.STRINGS)
def test_a_harmless_text_does_not_change(text: str) -> None:
    assert {scrub(text, country) for country in EVERYWHERE} == {text}


HARMLESS = list(harmless_texts.texts(seed=20260917, count=1_500))


@pytest.mark.parametrize("country", EVERYWHERE)
def test_tables_of_prices_areas_dates_and_references_do_not_change(country: str) -> None:
    assert [(text, after) for text in HARMLESS if (after := scrub(text, country)) != text] == []


@given(st.text(max_size=200), st.sampled_from(EVERYWHERE))
@settings(max_examples=150, derandomize=True)
def test_scrubbing_any_text_twice_changes_nothing_more(text: str, country: str) -> None:
    once = scrub(text, country)
    assert scrub(once, country) == once
    assert bool(once != text) >= bool(find_contacts(text, country))


PIECES = st.sampled_from(
    (
        "0",
        "5",
        "12",
        "050",
        "123",
        "45",
        "67",
        "+",
        "994",
        "00",
        " ",
        "-",
        ".",
        "/",
        "(",
        ")",
        ",",
        "o",
        "\u200b",
        "m2",
        "@",
        "a",
        "az",
    )
)


@given(st.lists(PIECES, max_size=40).map("".join), st.sampled_from(EVERYWHERE))
@settings(max_examples=200, derandomize=True)
def test_scrubbing_many_digits_twice_changes_nothing_more(text: str, country: str) -> None:
    once = scrub(text, country)
    assert scrub(once, country) == once
    assert len(once) <= len(text) + len(MARK) * len(find_contacts(text, country)) + len(MARK)


@pytest.mark.parametrize(
    "text",
    [
        *("1" * 50_000, "0 1 " * 6_000, "12." * 5_000, "0-" * 5_000, "+1" * 2_000, "sıfır " * 3_000, "a@" * 10_000),
        *(
            "[at] " * 10_000,
            "@" * 20_000,
            "(" * 50_000,
            "12.05.2026 " * 2_000,
            "a-" * 25_000 + "t.me/x",
            "\ud800" * 50_000,
        ),
        *("a@" + "b." * 25_000, "x at gmail dot " * 3_000, "0\u200b" * 10_000, "o" * 50_000 + "5"),
    ],
    ids=lambda text: repr(text[:8]),
)
def test_a_hostile_text_is_scrubbed_in_finite_time(text: str) -> None:
    assert isinstance(scrub(text, "AZ"), str)


def test_a_text_without_contacts_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pre-check rejects it: no search begins."""

    def searched(*_: object, **__: object) -> list[object]:
        raise AssertionError("searched")

    for module in (emails, messengers, phones):
        monkeypatch.setattr(module, "find", searched)
    for text in PROSE:
        assert scrub(text * 3, "AZ") == text * 3
    for text in ("050 123 45 67", "a@b.az", "Telegram abc_1", "sıfır beş sıfır bir iki üç dörd"):
        with pytest.raises(AssertionError, match="searched"):
            scrub(text, "AZ")
