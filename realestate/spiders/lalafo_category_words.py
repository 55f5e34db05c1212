"""What lalafo's categories offer: read from the site's own tree of categories, from a table of ids, or from words.

The ids differ between the countries of the platform, and new ones appear. The tree (`TREE`) has their names, so it is
asked for first when a search is split. The table is the fallback. An advert whose category neither names is understood
by its words, and has the flag `category_unknown`.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple
from urllib.parse import quote, unquote, urldefrag, urlsplit

from realestate.crawling import parameters, with_parameters
from realestate.items import Operation, PropertyType, RentPeriod
from realestate.parsing import numbers, periods
from realestate.parsing.embedded import at, decoded
from realestate.parsing.text import fold, line

#: The path of the tree of categories.
TREE = "/api/proxy/catalog/v3/categories/tree"
#: The category of all real estate.
ROOT = "2029"
#: The flag of an advert whose category is not known.
UNKNOWN = "category_unknown"
#: The flag of an advert whose own words say another operation than its category.
CONTRADICTED = "category_contradicted"
#: More categories, or a deeper tree, no site has.
_MOST_NODES = 20_000
_MOST_LEVELS = 12
#: The offer is named at the beginning of a text. Further down, a text may name anything.
_TEXT_BEGIN = 300


class Category(NamedTuple):
    """What a category offers. Only homes have separate categories for rents by the month and by the day."""

    property_type: PropertyType | None = None
    operation: Operation | None = None
    rent_period: RentPeriod | None = None
    subtype: str | None = None


#: Ids that the platform has in Azerbaijan or in Kyrgyzstan.
_CATEGORIES: dict[Category, tuple[int, ...]] = {
    Category("apartment", "sale"): (2046,),
    Category("apartment", "sale", None, "new_building"): (4560, 4793),
    Category("apartment", "sale", None, "old_building"): (4800,),
    Category("apartment", "rent", "month"): (2044,),
    Category("apartment", "rent", "day"): (2045, 12767),
    Category("house", "sale"): (2031, 12188, 12189, 12193, 12194, 12205),
    Category("house", "sale", None, "townhouse"): (12190,),
    Category("house", "sale", None, "garden_house"): (5952, 12191),
    Category("house", "rent", None, "garden_house"): (5953,),
    Category("house", "rent", "month"): (2033,),
    Category("house", "rent", "day"): (2034, 12743, 12771),
    Category("room", "sale"): (2050,),
    Category("room", "rent", "month"): (2052,),
    Category("room", "rent", "day"): (2053, 12666, 12792, 12798),
    Category("land", "sale"): (2038,),
    Category("land", "rent"): (2039,),
    Category("garage", "sale"): (5301, 5304),
    Category("garage", "rent"): (5299, 5305),
    Category("garage"): (5302, 5303, 5314),
    Category("office", "sale"): (2056,),
    Category("office", "rent"): (2068, 8041),
    Category("building", "sale"): (2061,),
    Category("building", "rent"): (2070,),
    Category("commercial", "sale", None, "shop"): (2057, 6041),
    Category("commercial", "rent", None, "shop"): (2066, 7248),
    Category("commercial", "sale", None, "restaurant"): (2058,),
    Category("commercial", "rent", None, "restaurant"): (2067,),
    Category("commercial", "sale", None, "warehouse"): (2059,),
    Category("commercial", "rent", None, "warehouse"): (2065,),
    Category("commercial", "sale"): (2055, 2060, 2062, 2063, 6039, 6040, 6042, 7090, 7091, 7092, 7093, 8149),
    Category("commercial", "rent"): (2069, 2071, 2072, 7249, 8036, 8037, 8038, 8039, 8040, 8042, 8150),
    Category("other", "rent", "day"): (12769, 12791, 12885),
}
CATEGORIES = {number: category for category, numbers_of in _CATEGORIES.items() for number in numbers_of}
#: Categories of people who look for a home.
WANTED = frozenset({2035, 2036, 2041, 2042, 2048, 2049, 5294, 5298, 5300, 8151})
#: The parts into which a search of the root is split if the tree cannot be read.
SEARCHED_CATEGORIES = tuple(str(number) for number in sorted({*CATEGORIES, *WANTED}))


# ----- words

#: Words that name the operation. Many people write without the letters of the Azerbaijani alphabet.
_OPERATIONS: dict[Operation, re.Pattern[str]] = {
    "rent": re.compile(
        r"\b(?:kiray[əe]|icar[əe]|arenda|g[üu]nl[üu]k|sutkalıq|аренд|сда[её]т|сдаю|посуточн|rent(?!g)|daily)"
    ),
    "sale": re.compile(r"\b(?:sat[ıi]l[ıi]r|sat[ıi]ram|sat[ıi][şs]|прода|sale\b|selling|for sale)"),
}
#: Words of people who look for a home.
_WANTED = re.compile(
    r"\b(?:axtar[ıi]ram|axtar[ıi]l[ıi]r|al[ıi]ram|almaq ist[əe]yir[əe]m|g[öo]t[üu]r[üu]r[əe]m"
    r"|куплю|сниму|looking for|wanted)"
)
#: Words that name the type, the more exact first: "bağ evi" before "ev", "torpaq" before the house on it.
_TYPES: tuple[tuple[re.Pattern[str], PropertyType, str | None], ...] = (
    (re.compile(r"\byeni tikili|новострой"), "apartment", "new_building"),
    (re.compile(r"\bk[öo]hn[əe] tikili|вторичн"), "apartment", "old_building"),
    (re.compile(r"\bm[əe]nzil|\bквартир|\bapartment|\bflats?\b"), "apartment", None),
    (re.compile(r"\bba[ğg] ev|\bдач[аи]|\bdacha"), "house", "garden_house"),
    (re.compile(r"\btaunhaus|\bтаунхаус|\btown ?house"), "house", "townhouse"),
    (
        re.compile(r"\bh[əe]y[əe]t ev|\bvilla|\bkottec|\bframe house|\bдом(?:а|ов)?\b|\bкоттедж|\bhouses?\b"),
        "house",
        None,
    ),
    (re.compile(r"\bqaraj|\bгараж|\bgarage|\bпаркинг|\bparkinq"), "garage", None),
    (re.compile(r"\bofis|\bофис|\boffice"), "office", None),
    (re.compile(r"\brestoran|\bkafe|\bресторан|\bкафе"), "commercial", "restaurant"),
    (re.compile(r"\bma[ğg]aza|\bd[üu]kan|\bмагазин|\bбутик"), "commercial", "shop"),
    (re.compile(r"\banbar|\bсклад"), "commercial", "warehouse"),
    (re.compile(r"\bobyekt|\bkommersiya|\bqeyri[- ]yaşayış|\bкоммерческ|\bcommercial|\bsalon\b"), "commercial", None),
    (re.compile(r"\btorpaq|\bучаст(?:ок|к)|\bземл|\bland\b"), "land", None),
    (re.compile(r"\bbinalar|\bbina(?:nın)? sat|\bздани"), "building", None),
    (
        re.compile(r"\botaqlar|\botağ(?:ın|ı)|\bkiray[əe] otaq|\bотаг|\bкомнаты?\b(?! )|\bкомнат\b|\brooms?\b"),
        "room",
        None,
    ),
    (re.compile(r"\bevl[əe]r|\bev (?:sat|kir|icar)"), "house", None),
)

#: Params that only homes for sale have, and those that only homes for rent have.
_OF_SALES = frozenset(map(fold, ("Kredit", "Sənədlər", "Sənəd")))
_OF_RENTS = frozenset(map(fold, ("Heyvanlar", "İcarə növü")))


def by_words(text: str | None) -> Category:
    """What a text offers. An operation that is not clear, because both are named, is None."""
    words = fold(text or "")
    operations = [operation for operation, form in _OPERATIONS.items() if form.search(words)]
    operation = operations[0] if len(operations) == 1 else None
    period = periods.parse(words) if operation == "rent" else None
    for form, property_type, subtype in _TYPES:
        if form.search(words):
            return Category(property_type, operation, period, subtype)
    return Category(None, operation, period)


def first_of(categories: Iterable[Category]) -> Category:
    """For each value the first that is known. The subtype belongs to the type."""
    known = tuple(categories)
    typed = next((each for each in known if each.property_type), Category())
    dealt = next((each for each in known if each.operation), Category())
    period = next((each.rent_period for each in known if each.rent_period and each.operation == dealt.operation), None)
    return Category(typed.property_type, dealt.operation, period, typed.subtype)


# ----- the tree


class Leaf(NamedTuple):
    """A category without categories below it."""

    number: int
    names: tuple[str, ...]
    """Its own name and those above it, its own last. The root is left out."""


def leaves_in(document: str) -> list[Leaf]:
    """The categories of real estate, as the site's tree names them; [] if it is no tree."""
    nodes = list(_nodes(decoded(document)))
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for number, parent, name in nodes:
        names.setdefault(number, name)
        if parent is not None and number not in children.get(parent, []):
            children.setdefault(parent, []).append(number)
    return list(_leaves(int(ROOT), (), children, names))


def is_wanted(number: int, names: str | None) -> bool:
    """Whether a category is of people who look for a home, by its names in the tree or by its number. It is searched
    too, because the total of a larger search counts its adverts; but they are left out."""
    return _WANTED.search(fold(names)) is not None if names else number in WANTED


def _nodes(tree: Any) -> Iterator[tuple[int, int | None, str]]:
    """The categories with the number of the one above. The tree is nested, or a list that names the parents."""
    waiting: list[tuple[Any, int | None, int]] = [(tree, None, 0)]
    for _ in range(_MOST_NODES):
        if not waiting:
            return
        each, parent, level = waiting.pop()
        if level > _MOST_LEVELS:
            continue
        if isinstance(each, list):
            waiting += [(child, parent, level) for child in reversed(each)]
        elif isinstance(each, dict):
            number = each.get("id")
            name = line(each.get("name")) or line(each.get("title"))
            if isinstance(number, int) and name:
                yield number, parent if parent is not None else numbers.whole(each.get("parent_id")), name
                parent = number
            below = [value for value in each.values() if isinstance(value, list | dict)]
            waiting += [(value, parent, level + 1) for value in below]


def _leaves(
    number: int, above: tuple[str, ...], children: dict[int, list[int]], names: dict[int, str]
) -> Iterator[Leaf]:
    for child in children.get(number, []):
        path = (*above, names[child])
        if len(path) > _MOST_LEVELS:
            continue
        if children.get(child):
            yield from _leaves(child, path, children, names)
        else:
            yield Leaf(child, path)


def is_tree(url: str) -> bool:
    return urlsplit(url).path == TREE


def searches_of_tree(document: str, root: str) -> list[str]:
    """A search for each category of the tree, with the category's names as its fragment. Without a tree: by the table.

    The fragment is not sent. It tells the parser, in whichever worker, what the site calls the category."""
    leaves = leaves_in(document)
    if not leaves:
        return [with_parameters(root, {"category_id": number}) for number in SEARCHED_CATEGORIES]
    return [
        with_parameters(root, {"category_id": leaf.number}) + "#" + quote("/".join(leaf.names), safe="/")
        for leaf in leaves
    ]


def names_in(search: str) -> str | None:
    """The names of the category that a search is in, as its fragment has them."""
    return line(unquote(urldefrag(search).fragment))


# ----- an advert


def number_of(ad: Any) -> int:
    """The number of the advert's category; 0 if it has none."""
    return numbers.whole(ad.get("category_id")) or 0


def of_search(item: Any, search: str) -> str | None:
    """The names of an advert's category, if it is the category of the search that found it."""
    return names_in(search) if parameters(search).get("category_id") == str(number_of(item)) else None


def by_names(names: str | None) -> Category | None:
    """What a category offers by its names in the tree: those nearest to it count first. None if they say nothing."""
    parts = [by_words(each) for each in reversed((names or "").split("/"))]
    category = first_of(parts)
    return category if category.operation or category.property_type else None


def by_number(number: int) -> Category | None:
    return CATEGORIES.get(number)


def of_advert(
    ad: Any, params: dict[str, Any], rest: dict[str, Any], names: str | None, label: str | None
) -> tuple[Category, frozenset[str]]:
    """What an advert offers, and the flags of what is doubtful.

    Its category decides. If that is not known, its label, its title, its params, its address and its text do, in this
    order. If title and text clearly say the other operation, the seller chose a wrong category, and the words decide.
    """
    named = by_names(names)
    listed = by_number(number_of(ad))
    said = by_words(line(ad.get("title")))
    if named is None and listed is None:
        return first_of(_evidence(ad, params, rest, said, label)), frozenset({UNKNOWN})
    category = first_of(each for each in (named, listed) if each)
    if category.operation is None:
        return first_of((category, by_words(label), said)), frozenset()
    whole = by_words(f"{line(ad.get('title'))} {line(ad.get('description'))}")
    if said.operation not in (None, category.operation) and whole.operation == said.operation:
        return first_of((said, category)), frozenset({CONTRADICTED})
    return category, frozenset()


def _evidence(
    ad: Any, params: dict[str, Any], rest: dict[str, Any], said: Category, label: str | None
) -> Iterator[Category]:
    """What an advert of an unknown category says itself, the surest first."""
    yield by_words(label)
    yield said
    yield by_params(params, rest)
    yield by_words((line(ad.get("url")) or "").rpartition("/")[2].replace("-", " "))
    yield by_words((line(ad.get("description")) or "")[:_TEXT_BEGIN])


def by_params(params: dict[str, Any], rest: dict[str, Any]) -> Category:
    """What the params say: only homes for sale have documents or a credit; rooms with land are a house's."""
    labels = {fold(label) for label in rest}
    operation: Operation | None = None
    if params.get("has_deed") is not None or not labels.isdisjoint(_OF_SALES):
        operation = "sale"
    elif params.get("period") or not labels.isdisjoint(_OF_RENTS):
        operation = "rent"
    if params.get("rooms") is not None or params.get("floors_total") is not None:
        if params.get("plot"):
            return Category("house", operation)
        return Category("apartment" if params.get("floor") is not None else None, operation)
    return Category("land" if params.get("plot") else None, operation)


def looks_like_a_home(item: Any) -> bool:
    """Whether the words of an advert of an unknown category are those of a home."""
    category = first_of((by_words(line(at(item, "ad_label"))), by_words(line(at(item, "title")))))
    return category.property_type is not None
