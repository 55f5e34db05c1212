"""A world that is hard to link: what makes adverts of one home differ, and adverts of different homes look alike.

`World(seed, listings, traps=Traps())` has these traps in Azerbaijan, the country with four portals. Each changes what
an advert shows, never the true home:

- blocks of new flats that agree on everything but floor and layout (three layouts, each once on a floor); one agency
  advertises many flats of its block with one text;
- rounded areas, prices that differ between sellers or were lowered on one portal only;
- a wrong floor or room count, each in WRONG of the adverts;
- coordinates that are vague although the portal calls them exact;
- texts that each agency words anew, and floors and agency codes that stand in the text only;
- adverts that are removed and posted again under a new reference;
- a price level that drifts from week to week while the mix of homes changes.
"""

from dataclasses import dataclass, replace
from random import Random

from realestate.simulator.adverts import dice
from realestate.simulator.homes import Home, make_home

COUNTRY = "AZ"
#: As `READVERTISED` and `ELSEWHERE_TOO` of the world: with traps, more homes are on several portals.
READVERTISED = 0.07
ELSEWHERE_TOO = 0.42
#: Share of new homes that begin a block, and the flats of a block.
BLOCK_BEGINS = 0.006
FLATS = (10, 40)
#: Share of adverts with a wrong floor, and share with a wrong room count. A pair has two adverts.
WRONG = 0.006
#: Share of homes that the owner advertises on each portal alone, with one text.
OWNERS = 0.3
#: Share of a block's adverts by its own agency.
BLOCK_AGENCY = 0.7
ROUNDED_AREA = 0.3
VAGUE_POINT = 0.25
LOWERED = 0.1
FLOOR_IN_TEXT = 0.35
CODE_IN_TEXT = 0.35
#: Share of texts that name a place near the home. Each home has two such places.
NEAR_IN_TEXT = 0.6
#: Share of a portal's removed adverts that are posted again each day under a new reference.
POSTED_ANEW_A_DAY = 0.02

AGENCIES = (
    "Günəş Əmlak",
    "Xəzər Daşınmaz",
    "Qala Evləri",
    "Mərkəz Əmlak MMC",
    "Uydurma Əmlak",
    "Mavi Qapı Əmlak",
    "Xəyali Evlər MMC",
    "Nümunə Əmlak Evi",
    "Sınaq Ev Agentliyi",
    "Örnək Tərəfdaşlar",
    "Bahar Mənzil",
    "Zirvə Əmlak",
)
#: What a seller may say, in two wordings.
SAID = (
    ("Mənzil təmirlidir, köçməyə hazırdır.", "Yaxşı təmir olunub, dərhal yaşamaq mümkündür."),
    ("Qaz, su və işıq daimidir.", "Bütün kommunal xətlər fasiləsiz işləyir."),
    ("Metroya piyada beş dəqiqədir.", "Metro stansiyası çox yaxındadır, gediş rahatdır."),
    ("Kupçası var, ipotekaya yararlıdır.", "Çıxarış mövcuddur və bank krediti mümkündür."),
    ("Pəncərələr dənizə baxır.", "Otaqlardan açıq dəniz mənzərəsi görünür."),
    ("Həyətdə uşaq meydançası var.", "Binanın qarşısında uşaqlar üçün park salınıb."),
    ("Qonşuluqda məktəb və bağça yerləşir.", "Yaxın ərazidə təhsil müəssisələri fəaliyyət göstərir."),
    ("Kombi sistemi quraşdırılıb.", "İstilik fərdi qazanxana ilə təmin edilir."),
    ("Tavanların hündürlüyü üç metrdir.", "Evin tavanı çox yüksəkdir, hava boldur."),
    ("Mebel və məişət texnikası qalır.", "Bütün əşyalar alıcıya verilir."),
    ("Qapalı qaraj qiymətə daxildir.", "Yeraltı dayanacaqda bir yer ayrılıb."),
    ("Bina yeni istismara verilib.", "Tikinti bu il başa çatıb, sakinlər köçür."),
    ("Döşəmə parketdir, divarlar rənglidir.", "Laminat döşənib, divar kağızları təzədir."),
    ("Balkon geniş və şüşəlidir.", "Eyvan bağlıdır və otaq kimi istifadə olunur."),
    ("Lift gecə-gündüz işləyir.", "Binada iki müasir lift var."),
    ("Mühafizə xidməti və kameralar var.", "Həyət müşahidə kameraları ilə qorunur."),
    ("Satıcı tələsir, endirim mümkündür.", "Real alıcıya qiymətdə güzəşt olacaq."),
    ("Mətbəx qonaq otağı ilə birləşib.", "Studiya tipli mətbəxdir, işıqlıdır."),
)

#: Names of what is near, which all sellers of a home call by the same name: a kind of place and its invented name.
_NEAR_KINDS = ("parkı", "marketi", "məktəbi", "bazarı", "klinikası", "bankı", "kinoteatrı", "stadionu")
_NEAR_NAMES = (
    *("Lalə", "Nərgiz", "Şəfəq", "Dəniz", "Zəfər", "Bulaq", "Günəşli", "Çinar", "Sədəf", "Ulduzlu", "Aynur", "Yasəmən"),
    *("Qızılgül", "Mirvari", "Səma", "Ümid", "Dostluq", "Bahar", "Turan", "Odlar", "Körpü", "Şirvan", "Muğan", "Kəpəz"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """What an advert shows in place of the true values."""

    home: Home
    """The home as advertised, with the id of the true one."""
    words: tuple[str, ...]
    agency: str | None
    price_factor: float


class Traps:
    """The traps of one world. `drift_a_week` is the change of the price level in a week: 0.004 is 0.4 %. With
    `is_mix_changing`, homes in cheap places become more common from week to week."""

    def __init__(self, drift_a_week: float = 0.0, *, is_mix_changing: bool = False) -> None:
        self.drift_a_week = drift_a_week
        self.is_mix_changing = is_mix_changing
        self._flats: list[Home] = []
        self.block_of: dict[str, str] = {}
        """home id -> id of its block."""

    def level(self, day: int) -> float:
        """The price level of a day; that of the first day is 1."""
        return float((1 + self.drift_a_week) ** (day / 7))

    def home(self, seed: int, number: int, day: int) -> Home:
        """Return the next home: a flat of the block that is being advertised, or any home."""
        if self._flats:
            flat = replace(self._flats.pop(), id=f"{COUNTRY.lower()}-{number:06}")
            self.block_of[flat.id] = f"{flat.place.district}/{flat.street}/{flat.number}/{flat.latitude}"
            return flat
        rng = dice(seed, "trap", number)
        home = make_home(COUNTRY, number, dice(seed, "home", COUNTRY, number))
        if self.is_mix_changing and rng.random() < min(0.9, day / 70):
            other = make_home(COUNTRY, number, dice(seed, "other home", COUNTRY, number))
            home = min(home, other, key=lambda each: each.place.price_m2)
        if rng.random() < BLOCK_BEGINS:
            self._flats = _block(home, rng)
        return home if home.area_m2 is None else replace(home, area_m2=round(home.area_m2 + rng.random(), 1))

    def show(self, home: Home, seed: int, portal: str, seller: int) -> Shown:
        """Return what the advert of a seller on a portal shows."""
        rng = dice(seed, "shown", portal, home.id, seller)
        agency = self._agency(home, seed, portal, seller, rng)
        shown = _rounded(home, rng)
        words = self._words(home, shown, agency, seed, rng)
        return Shown(
            home=shown,
            words=words,
            agency=agency,
            price_factor=rng.uniform(0.92, 0.98) if rng.random() < LOWERED else 1.0,
        )

    def _agency(self, home: Home, seed: int, portal: str, seller: int, rng: Random) -> str | None:
        block = self.block_of.get(home.id)
        if block is not None and rng.random() < BLOCK_AGENCY:
            return dice(seed, "agency", block).choice(AGENCIES)
        if dice(seed, "owner", home.id).random() < OWNERS:
            return None
        return rng.choice(AGENCIES)

    def _words(self, home: Home, shown: Home, agency: str | None, seed: int, rng: Random) -> tuple[str, ...]:
        """Return the text: one for all portals if the owner or the same agency wrote it."""
        block = self.block_of.get(home.id)
        what = dice(seed, "said", block or home.id).sample(SAID, 7)
        wording = dice(seed, "worded", agency, block if agency else home.id)
        chosen = wording.sample(what, wording.randint(4, 7))
        words = [pair[0] if agency is None else wording.choice(pair) for pair in chosen]
        near = dice(seed, "near", block or home.id)
        names = [f"{near.choice(_NEAR_NAMES)} {near.choice(_NEAR_KINDS)}" for _ in range(2)]
        words += [f"Yaxınlıqda {name} var." for name in names if wording.random() < NEAR_IN_TEXT]
        if shown.floor is not None and rng.random() < FLOOR_IN_TEXT:
            words.append(f"Mənzil {shown.floor}-ci mərtəbədə yerləşir.")
        code = dice(seed, "code", agency, home.id)
        if agency is not None and code.random() < CODE_IN_TEXT:
            words.append(f"Kod: {code.randint(10_000, 99_999)}")
        return tuple(words)


def _block(first: Home, rng: Random) -> list[Home]:
    """Return the flats of a new block: floors of the same few layouts. Its place is that of another home."""
    floors = rng.randint(9, 20)
    layouts = [(count, round(22 + 24 * count + rng.uniform(0, 16), 1)) for count in rng.sample(range(1, 5), 3)]
    price_m2 = first.place.price_m2 * rng.uniform(0.95, 1.3)
    places = [(floor, layout) for floor in range(2, floors + 1) for layout in layouts]
    chosen = rng.sample(places, min(len(places), rng.randint(*FLATS)))
    flats = [
        replace(
            first,
            kind="new_building",
            subtype="new_building",
            operation="sale",
            rent_period=None,
            value=round(price_m2 * area),
            plot_m2=None,
            area_m2=area,
            rooms=count,
            bedrooms=count - 1,
            floor=floor,
            floors=floors,
            quality=0.7,
        )
        for floor, (count, area) in chosen
    ]
    rng.shuffle(flats)
    return flats


def _rounded(home: Home, rng: Random) -> Home:
    """Return the home as this seller describes it."""
    area = home.area_m2
    if area is not None and rng.random() < ROUNDED_AREA:
        area = float(round(area))
    floor = home.floor
    if floor is not None and rng.random() < WRONG:
        floor = floor + 1 if floor == 1 or rng.random() < 0.5 else floor - 1
    rooms = home.rooms
    if rooms is not None and rng.random() < WRONG:
        rooms = rooms + 1 if rooms == 1 or rng.random() < 0.5 else rooms - 1
    spread = 0.004 if rng.random() < VAGUE_POINT else 0.0001
    return replace(
        home,
        area_m2=area,
        floor=floor,
        rooms=rooms,
        latitude=round(home.latitude + rng.gauss(0, spread), 7),
        longitude=round(home.longitude + rng.gauss(0, spread), 7),
    )
