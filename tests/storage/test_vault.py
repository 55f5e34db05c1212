import pytest
from cryptography.fernet import Fernet

from realestate.storage.contacts import Contacts
from realestate.storage.vault import Vault, VaultError

OLD, NEW, OTHER = (Fernet.generate_key().decode() for _ in range(3))
CONTACTS = Contacts.of(
    "immoweb", "1", ["J. Proefman"], ["+32475123456", "jan@voorbeeld.be", "@proef_man", "0612345678"]
)


def test_contacts_are_sorted_by_their_form() -> None:
    assert CONTACTS.phones == ("+32475123456", "0612345678")
    assert (CONTACTS.emails, CONTACTS.handles) == (("jan@voorbeeld.be",), ("@proef_man",))
    assert CONTACTS
    assert not Contacts(portal="immoweb", ref="1")


def test_sealed_contacts_can_be_opened_but_not_read() -> None:
    sealed = Vault([OLD]).seal(CONTACTS)
    assert Vault([OLD]).open(sealed) == CONTACTS
    assert b"475" not in sealed
    assert Vault([OLD]).seal(CONTACTS) != sealed, "sealing twice gives different bytes"


def test_another_key_opens_nothing() -> None:
    with pytest.raises(VaultError, match="another key, or changed"):
        Vault([OTHER]).open(Vault([OLD]).seal(CONTACTS))
    with pytest.raises(VaultError, match="another key, or changed"):
        Vault([OTHER]).rotate(Vault([OLD]).seal(CONTACTS))


@pytest.mark.parametrize("place", [0, 1, 12, 40, -5])
def test_changed_bytes_are_not_opened(place: int) -> None:
    sealed = bytearray(Vault([OLD]).seal(CONTACTS))
    sealed[place] ^= 1
    with pytest.raises(VaultError):
        Vault([OLD]).open(bytes(sealed))


@pytest.mark.parametrize("sealed", [b"", b"gAAAA", b"\xff" * 100, "ə".encode() * 60])
def test_bytes_that_were_never_sealed_are_not_opened(sealed: bytes) -> None:
    with pytest.raises(VaultError):
        Vault([OLD]).open(sealed)


def test_keys_are_rotated_without_a_gap() -> None:
    before = Vault([OLD]).seal(CONTACTS)
    both = Vault([NEW, OLD])
    assert both.open(before) == CONTACTS, "contacts sealed with the old key can still be opened"
    after = both.rotate(before)
    assert Vault([NEW]).open(after) == CONTACTS, "once rotated, the old key is not needed"
    with pytest.raises(VaultError):
        Vault([OLD]).open(after)
    assert Vault([NEW]).open(both.seal(CONTACTS)) == CONTACTS, "the newest key seals"


def test_a_lookup_finds_a_contact_and_does_not_reveal_it() -> None:
    vault = Vault([OLD])
    mark = vault.lookup("+32475123456")
    assert mark == Vault([OLD]).lookup(" +32475123456 ")
    assert vault.lookup("Jan@Voorbeeld.be") == vault.lookup("jan@voorbeeld.be")
    assert mark != vault.lookup("+32475123457")
    assert mark != Vault([OTHER]).lookup("+32475123456"), "without the key the numbers cannot be tried"
    assert "475" not in mark.partition(":")[0]
    assert vault.lookups(CONTACTS) == tuple(map(vault.lookup, CONTACTS.ways))
    assert len(set(vault.lookups(CONTACTS))) == 4


def test_lookups_stay_valid_with_a_new_key() -> None:
    mark = Vault([OLD]).lookup("+32475123456")
    assert Vault([NEW, OLD]).lookup("+32475123456") == mark
    assert Vault([NEW, OLD]).made(mark)
    assert not Vault([NEW]).made(mark), "the vault knows that it cannot make this lookup without its key"


@pytest.mark.parametrize("keys", [[], ["short"], [OLD, "x" * 44], ["ə" * 44]])
def test_the_error_about_a_bad_key_does_not_contain_the_key(keys: list[str]) -> None:
    with pytest.raises(VaultError, match="CONTACTS_KEYS") as refusal:
        Vault(keys)
    assert not any(key in str(refusal.value) for key in keys)
    assert refusal.value.__cause__ is None


def test_repr_shows_no_contacts_and_no_keys() -> None:
    assert repr(CONTACTS) == "Contacts(portal='immoweb', ref='1', source='page')"
    assert OLD not in repr(vars(Vault([OLD])))
