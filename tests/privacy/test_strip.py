from typing import Any

import pytest

from realestate.privacy import MARK, strip_persons


def stripped(**fields: Any) -> dict[str, Any]:
    return strip_persons(fields, "AZ").fields


def test_free_text_is_scrubbed() -> None:
    assert stripped(title="Villa 050 123 45 67", description="a@b.az\nikinci sətir", street=None) == {
        "title": f"Villa {MARK}",
        "description": f"{MARK}\nikinci sətir",
        "street": None,
    }


def test_the_seller_of_an_owners_advert_is_a_person() -> None:
    result = strip_persons({"seller_type": "owner", "agency_name": "Nümunə Nümunəyev 0501234567"}, "AZ")
    assert result.fields["agency_name"] is None
    assert (result.names, result.contacts) == (["Nümunə Nümunəyev"], ["+994501234567"])


@pytest.mark.parametrize("seller", ["agency", "developer", None])
def test_a_company_name_stays_without_the_telephone_in_it(seller: str | None) -> None:
    assert stripped(seller_type=seller, agency_name="Ev & Bağ MMC") == {
        "seller_type": seller,
        "agency_name": "Ev & Bağ MMC",
    }
    assert stripped(seller_type=seller, agency_name="Ev & Bağ, 050 123 45 67")["agency_name"] == "Ev & Bağ,"
    assert stripped(seller_type=seller, agency_name="050 123 45 67")["agency_name"] is None


def test_a_reference_with_a_telephone_is_dropped() -> None:
    assert stripped(agency_ref="MDP-88")["agency_ref"] == "MDP-88"
    assert stripped(agency_ref="1234567")["agency_ref"] == "1234567"
    assert stripped(agency_ref="tel 0501234567")["agency_ref"] is None


@pytest.mark.parametrize(
    "key",
    [
        *(
            "phone",
            "phones",
            "phoneNumber",
            "PHONE",
            "telephone",
            "tel",
            "mobile",
            "mobilePhone",
            "fax",
            "e-mail",
            "email",
        ),
        *(
            "contact",
            "contactPhone",
            "contact_name",
            "owner_name",
            "sellerName",
            "agent.name",
            "firstName",
            "last_name",
        ),
        *("property.location.phone", "whatsapp", "Telefon", "Əlaqə nömrəsi", "Satıcı", "seller", "userName", "surname"),
    ],
)
def test_keys_for_persons_or_contacts_are_dropped(key: str) -> None:
    assert stripped(extra={key: "Sınaq", "views": 3}) == {"extra": {"views": 3}}
    assert stripped(extra={"inner": [{key: "Sınaq", "x": 1}]}) == {"extra": {"inner": [{"x": 1}]}}


@pytest.mark.parametrize(
    "key",
    ["views", "hotel", "project.name", "name", "price.mainValue", "isNew", "subtype", "mailbox", "telephonie", "metro"],
)
def test_other_keys_stay(key: str) -> None:
    assert stripped(extra={key: "Sınaq"}) == {"extra": {key: "Sınaq"}}


def test_booleans_are_not_contacts() -> None:
    result = {"hasDoorPhone": True, "isAlertEmailSet": False, "contact": None}
    assert stripped(extra=result) == {"extra": result}


def test_of_a_person_object_only_name_and_contacts_are_dropped() -> None:
    seller = {"name": "Sınaq xanım", "phones": ["50 123 45 67", 994557654321], "type": "private", "since": 2019}
    result = strip_persons({"extra": {"seller": seller, "project": {"name": "Ümid"}}}, "AZ")
    assert result.fields["extra"] == {"seller": {"type": "private", "since": 2019}, "project": {"name": "Ümid"}}
    assert result.names == ["Sınaq xanım"]
    assert result.contacts == ["+994501234567", "+994557654321"]


def test_every_text_in_extra_is_scrubbed_however_deep() -> None:
    deep = {"a": [{"b": ("zəng 050-123-45-67", {"c": "x@y.az", "0501234567": 1})}], "n": 994501234567, "id": 21500123}
    assert stripped(extra=deep)["extra"] == {
        "a": [{"b": (f"zəng {MARK}", {"c": MARK, MARK: 1})}],
        "n": MARK,
        "id": 21500123,
    }


def test_sets_and_bytes_are_scrubbed_and_other_types_stay() -> None:
    marker = object()
    result = stripped(features=frozenset({"lift", "tel 0501234567"}), title=b"zeng 0501234567", city=marker, district=7)
    assert result == {
        "features": frozenset({"lift", f"tel {MARK}"}),
        "title": f"zeng {MARK}",
        "city": marker,
        "district": 7,
    }


def test_a_record_without_persons_does_not_change() -> None:
    fields = {
        "title": "3 otaqlı, 85 m²",
        "seller_type": "owner",
        "agency_name": None,
        "extra": {"a": [1, "b", None, 1.5]},
    }
    assert strip_persons(fields, "AZ") == (fields, [], [])
