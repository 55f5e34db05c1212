"""Texts with many digits and without a contact: prices, areas, dates, references, places."""

from collections.abc import Iterator
from datetime import date, timedelta
from random import Random

#: Each has a form that a rule could take for a telephone or an address.
STRINGS = (
    "2024-06-19T10:01:28.000+0000",
    "2026-02-19T10:01:28.000+00:00",
    "2026-02-03T08:00:00.000Z",
    "158 000 AZN",
    "158\u00a0000 ₼",
    "€ 239.000",
    "€239.000,-",
    "1 250 000",
    "1.250.000 €",
    "1,250,000",
    "1'250'000 CHF",
    "$ 144 117.00",
    "£1,300 pcm (£300 pw)",
    "1 050 200 1 200 000",
    "1 050 000 950 000 1 200 000 AZN",
    "120.000 - 135.000 - 150.000 EUR",
    "239.000/245.000/251.000",
    "501 234 567 AZN",
    "501234567 AZN",
    "qiymət: 501234567",
    "2 050 000 – 2 150 000 manat",
    "min. 450 000, max. 1 050 000",
    "Loyer 1.050 € + charges 125 €",
    "85 m², 3 otaq, 2/9",
    "85,5 m2; 120.75 m2; 35.04 m2",
    "35.04, 123.45, 67.80 m²",
    "05.04, 12.45, 07.80, 10.05",
    "6 sot, 12 sot, 100 ar",
    "1200 m2 torpaq, 04.5 ha",
    "2 / 9 mərtəbə",
    "01/02/03",
    "4-5-6 otaqlı",
    "12.05.2024 14:30",
    "01.02.2024 14:30",
    "01.02.24 15.30",
    "01/02/2024 09:00 - 05/02/2024 18:00",
    "2024-05-17T14:30:00+04:00",
    "2024-05-17 09:30:00",
    "09.00-18.00 3 kamers",
    "B.e. - C. 09:00-18:00, Ş. 10:00-15:00",
    "Open 09.00 - 18.00, 10.00 - 16.00",
    "1997-2003, 2004-2010, 2011-2020",
    "0-3 yaş, 4-6 yaş, 07-12 yaş",
    "40.409264, 49.867092",
    "(40.409264,49.867092)",
    "50.8503396,4.3517103",
    "50.8503396 4.3517103",
    "4.0501234, 50.9123456",
    "-0.127758312, 51.507351222",
    "51.507351;-0.127758",
    "0.127758",
    "Elanın nömrəsi: 3292947",
    "Elan № 21500123",
    "Ref: 0412345678",
    "Réf. 0475123456",
    "Ref. AZ-2024-000123",
    "kod 501234567",
    "ID 0501234567",
    "№ 3292947",
    "No 3867851",
    "3867851",
    "21500123",
    "Dossier 2024/0123/45",
    "Lot 12/0345 - 0346",
    "EPC 20230516-0002890123-RES-1",
    "UC 20230516012345",
    "PEB n° 20230516012345, 250 kWh/m².an",
    "Code unique : 20230516012345",
    "Kadaster: 12034 A 0123/45 P0000",
    "TVA BE 0403.199.702",
    "BTW BE0403199702",
    "KBO 0403.199.702",
    "BE 0403.199.702 RPM Bruxelles",
    "VÖEN 1401234567",
    "VÖEN: 0501234567",
    "IPI 505.123 - BIV 512.345",
    "BE68 5390 0754 7034",
    "AZ21 NABZ 0000 0000 1370 1000 1944",
    "AZ1000, AZ1010, AZ1069",
    "1000 Bruxelles, 2000 Antwerpen, 9000 Gent",
    "00-950 Warszawa",
    "SW1A 1AA",
    "D02 X285",
    "8001 Cape Town",
    "1010 Wien, 2/3/14",
    "Lindenlaan 12, 01",
    "Füzuli küç. 12-14, mənzil 56",
    "28 May m., 20 Yanvar m.",
    "8 Noyabr pr. 105/107",
    "E40, R0, N275, A12",
    "6f9619ff-8b86-d011-b42d-00cf4fc964ff",
    "https://example.be/homes/21500123?photo=0004.jpg",
    "https://example.az/items/3292947",
    "100% + 3% = 103 000",
    "3+1, 4+1, 5+2",
    "10 x 20 m, 4 × 5 m, 3,20 m",
    "24/7",
    "iki yüz əlli min manat",
    "yüz əlli beş min",
    "min doqquz yüz doxsan beşinci il",
    "üç otaq, iki balkon, bir mətbəx, dörd pəncərə, beş kilometr",
    "deux chambres, trois salles de bain, quatre façades",
    "deux cent cinquante mille euros",
    "een ruim huis met vier slaapkamers, twee badkamers en een garage",
    "tweehonderdvijftigduizend euro",
    "one of two, three or four bedrooms; five minutes away",
    "two hundred and fifty thousand",
    "Look at immoweb.be for more",
    "See it at example.com today",
    "We are at home. Come and look at it.",
    "Meet us at the station, dot your i's",
    "500 AZN @ month",
    "C:\\plans\\Namur \\ 'niveau 1' \t & 'niveau 2' <b>!</b>",
    "(a) garden (b) terrace (c) pool",
    "[a] first floor, [b] second floor",
    "Telegram və WhatsApp ilə yazın",
    "Follow us on Instagram: photos and plans",
    "Viber var, yazın",
    "Tel. nömrəsi elanda göstərilib",
    "Zəng edin 09:00-18:00 arası",
    "Bel ons 9-12 u, 14-18 u",
    "Telefon 2 ədəd, kondisioner 3 ədəd, 1 250 000",
    "Əlaqə: hər gün 10.00-19.00",
    "Call for a price: 1 250 000",
)


def texts(seed: int, count: int) -> Iterator[str]:
    """Yield `count` made-up tables and sentences."""
    rng = Random(seed)
    makers = (_price, _priced, _area, _date, _timestamp, _reference, _place, _floor, _year, _range, _coordinates)
    for _ in range(count):
        maker = rng.choice(makers)
        separator = rng.choice((", ", "; ", " | ", "\n", " · ", "\t", " və "))
        yield rng.choice(("", "Satılır: ", "Te koop! ", "Ünvan, ")) + separator.join(
            (maker if rng.random() < 0.6 else rng.choice(makers))(rng) for _ in range(rng.randint(1, 6))
        )


def _price(rng: Random) -> str:
    amount = rng.choice((rng.randrange(1, 9_999) * 1_000, rng.randrange(10_000, 9_999_999), rng.randrange(100, 9_999)))
    return f"{amount:,}".replace(",", rng.choice((" ", ".", ",", "\u00a0", "\u202f", "\u2009", "'")))


def _priced(rng: Random) -> str:
    return rng.choice(("{} AZN", "{} ₼", "€ {}", "{} €", "{}€", "EUR {}", "{} manat", "£{}", "{} zł")).format(
        _price(rng)
    )


def _area(rng: Random) -> str:
    size = rng.choice((f"{rng.randint(10, 999)}", f"{rng.uniform(10, 999):.1f}", f"{rng.uniform(10, 99):.2f}"))
    return f"{size.replace('.', rng.choice('.,'))}{rng.choice((' m²', ' m2', 'm²', ' sot', ' kv.m', ' ha'))}"


def _day(rng: Random) -> date:
    return date(2020, 1, 1) + timedelta(days=rng.randrange(3_000))


def _date(rng: Random) -> str:
    return _day(rng).strftime(rng.choice(("%d.%m.%Y", "%d/%m/%Y", "%d-%m-%Y", "%Y-%m-%d", "%d.%m.%y", "%d %b %Y")))


def _timestamp(rng: Random) -> str:
    return f"{_date(rng)} {rng.randrange(24):02}:{rng.randrange(60):02}"


def _reference(rng: Random) -> str:
    word = rng.choice(("Ref", "Ref.:", "Réf", "Elanın nömrəsi:", "Kod", "ID:", "№", "No", "Dossier", "Elan №"))
    return f"{word} {rng.randrange(10**5, 10 ** rng.randint(6, 8))}"


def _place(rng: Random) -> str:
    return rng.choice(("AZ{}", "B-{}", "{} Namur", "Lindenlaan {}", "Füzuli küç. {}")).format(rng.randrange(1000, 9999))


def _floor(rng: Random) -> str:
    return f"{rng.randint(1, 20)}{rng.choice(('/', ' / ', '-'))}{rng.randint(1, 25)}"


def _year(rng: Random) -> str:
    return f"{rng.randint(1900, 2026)}"


def _range(rng: Random) -> str:
    return f"{_price(rng)} - {_price(rng)}"


def _coordinates(rng: Random) -> str:
    latitude, longitude = rng.uniform(-60, 60), rng.uniform(0, 60)
    return rng.choice(("{:.6f}, {:.6f}", "{:.5f},{:.5f}", "({:.7f}, {:.7f})", "{:.6f} {:.6f}")).format(
        latitude, longitude
    )
