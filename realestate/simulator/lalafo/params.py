"""The params of a lalafo advert: an id, a name in the visitor's language, and a value that is a text or a number."""

from collections.abc import Iterator
from typing import Any

from realestate.simulator.adverts import Advert, dice
from realestate.simulator.lalafo.facts import Facts, has_period_of_its_own

#: id of a param -> its name in Azerbaijani and in Russian. The ids of metro and settlement are invented.
NAMES = {
    69: ("Otaqların sayı", "Количество комнат"),
    70: ("Sahə (m2)", "Площадь (м2)"),
    71: ("Torpaq sahəsi (Sot)", "Площадь участка (сотка)"),
    226: ("Mərtəbə", "Этаж"),
    3509: ("Mərtəbələrin sayı", "Количество этажей"),
    872: ("Təmir", "Ремонт"),
    868: ("Sənəd", "Правоустанавливающие документы"),
    357: ("İnzibati rayonlar", "Административные районы"),
    358: ("Metro stansiyası", "Станция метро"),
    359: ("Qəsəbə", "Посёлок"),
    878: ("Əlavə", "Дополнительно"),
    2149: ("Təklifin növü", "Тип предложения"),
    3295: ("İcarə növü", "Тип аренды"),
    3296: ("Tikilinin növü", "Тип строения"),
}
_BUILDINGS = {"new_building": "Yeni tikili", "old_building": "Köhnə tikili"}


def params(advert: Advert, facts: Facts, *, in_russian: bool = False) -> list[dict[str, Any]]:
    """Return the rows that the page shows. Some may be missing, and some pages have another order."""
    rows = [(number, value) for number, value in _all_rows(advert, facts) if value is not None]
    if facts.is_shuffled:
        dice(advert.key, "params").shuffle(rows)
    return [_param(number, value, in_russian) for number, value in rows]


def _all_rows(advert: Advert, facts: Facts) -> Iterator[tuple[int, Any]]:
    home = advert.home
    yield 3296, _BUILDINGS.get(home.kind)
    yield 69, facts.rooms if facts.shape == "number" else facts.rooms and str(facts.rooms)
    yield 70, _size(home.area_m2, facts)
    yield 71, _size(home.plot_m2 and home.plot_m2 / 100, facts)
    yield 226, None if facts.floor is None else str(facts.floor)
    yield 3509, facts.floors
    yield 872, facts.repair
    yield 868, facts.document
    yield 357, facts.district and f"{facts.district} r."
    yield 358, facts.metro and f"{facts.metro} m."
    yield 359, facts.settlement and f"{facts.settlement} q."
    yield 878, ", ".join(facts.amenities) or None
    yield 2149, facts.offerer
    if has_period_of_its_own(advert):
        yield 3295, "Günlük" if advert.rent_period == "day" else "Aylıq"


def _size(size: float | None, facts: Facts) -> Any:
    if size is None or facts.shape == "number":
        return size
    written = f"{size:g}"
    return written.replace(".", ",") if facts.shape == "comma" else written


def _param(number: int, value: Any, in_russian: bool) -> dict[str, Any]:
    value_id = 15_000 + number
    link = {"is_bottom": False, "is_popular": False, "value_id": value_id, "value": value, "url": None}
    return {
        "id": number,
        "name": NAMES[number][in_russian],
        "value": value,
        "value_id": value_id,
        "links": [link],
    }
