"""Edits of an advert by its seller that all portals show alike."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from random import Random
from typing import Any, ClassVar, Protocol, TypeVar

from realestate.simulator.adverts import Advert, Edit
from realestate.simulator.texts import ADDED_AZ


class Shown(Protocol):
    """The facts of one advert: a dataclass of its portal."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def paragraphs(self) -> tuple[str, ...]: ...

    @property
    def photos(self) -> int: ...


F = TypeVar("F", bound=Shown)


def with_text(facts: F, advert: Advert, rng: Random) -> F:
    return replace(facts, paragraphs=(*facts.paragraphs, rng.choice(ADDED_AZ)))


def with_blanks(facts: F, advert: Advert, rng: Random) -> F:
    return replace(facts, paragraphs=tuple(text.replace(" ", "  ", 2) for text in facts.paragraphs))


def with_photos(facts: F, advert: Advert, rng: Random) -> F:
    return replace(facts, photos=facts.photos + rng.randint(1, 3))


def in_azerbaijan(
    with_rooms: Callable[[F, Advert, Random], F],
) -> Mapping[Edit, Callable[[F, Advert, Random], F]]:
    """All edits. What another number of rooms changes differs between portals."""
    return {"text": with_text, "blanks": with_blanks, "rooms": with_rooms, "photos": with_photos}
