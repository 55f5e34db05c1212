"""The places of the invented homes: real places, with a rough centre and an invented price level."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A Belgian municipality, or a district of an Azerbaijani city."""

    country: str
    city: str
    district: str | None
    latitude: float
    longitude: float
    price_m2: int
    """Usual asking price for a square metre of flat, in the country's currency."""

    language: str = "az"
    """The language sellers write in."""

    postal_code: str | None = None
    province: str | None = None
    region: str | None = None
    region_code: str | None = None
    metros: tuple[str, ...] = ()
    settlements: tuple[str, ...] = ()


#: province: (region as the English pages name it, its code, the language sellers write in)
_PROVINCES = {
    "Antwerp": ("Flanders", "FLANDERS", "nl"),
    "Flemish Brabant": ("Flanders", "FLANDERS", "nl"),
    "East Flanders": ("Flanders", "FLANDERS", "nl"),
    "West Flanders": ("Flanders", "FLANDERS", "nl"),
    "Limburg": ("Flanders", "FLANDERS", "nl"),
    "Brussels": ("Brussels", "BRUSSELS", "fr"),
    "Walloon Brabant": ("Wallonie", "WALLONIE", "fr"),
    "Hainaut": ("Wallonie", "WALLONIE", "fr"),
    "Liège": ("Wallonie", "WALLONIE", "fr"),
    "Namur": ("Wallonie", "WALLONIE", "fr"),
    "Luxembourg": ("Wallonie", "WALLONIE", "fr"),
}

#: postal code | municipality | district | province | latitude | longitude | EUR a square metre
_BELGIUM = """
2000|Antwerpen|Antwerpen|Antwerp|51.2199|4.4003|3100
2930|Brasschaat|Antwerpen|Antwerp|51.2912|4.4918|3300
2650|Edegem|Antwerpen|Antwerp|51.1566|4.4458|3000
2500|Lier|Mechelen|Antwerp|51.1311|4.5704|2800
2800|Mechelen|Mechelen|Antwerp|51.0259|4.4776|2900
2300|Turnhout|Turnhout|Antwerp|51.3228|4.9449|2300
2200|Herentals|Turnhout|Antwerp|51.1766|4.8325|2400
3000|Leuven|Leuven|Flemish Brabant|50.8798|4.7005|3900
3080|Tervuren|Leuven|Flemish Brabant|50.8233|4.5144|3700
3300|Tienen|Leuven|Flemish Brabant|50.8072|4.9378|2300
3200|Aarschot|Leuven|Flemish Brabant|50.9853|4.8367|2500
1800|Vilvoorde|Halle-Vilvoorde|Flemish Brabant|50.9281|4.4245|2700
1500|Halle|Halle-Vilvoorde|Flemish Brabant|50.7333|4.2333|2600
1780|Wemmel|Halle-Vilvoorde|Flemish Brabant|50.9083|4.3061|2900
9000|Gent|Gent|East Flanders|51.0543|3.7174|3500
9800|Deinze|Gent|East Flanders|50.9817|3.5317|2700
9100|Sint-Niklaas|Sint-Niklaas|East Flanders|51.1651|4.1437|2500
9300|Aalst|Aalst|East Flanders|50.9378|4.0400|2400
9200|Dendermonde|Dendermonde|East Flanders|51.0281|4.1011|2300
9700|Oudenaarde|Oudenaarde|East Flanders|50.8436|3.6044|2300
9900|Eeklo|Eeklo|East Flanders|51.1858|3.5642|2200
8000|Brugge|Brugge|West Flanders|51.2093|3.2247|3200
8300|Knokke-Heist|Brugge|West Flanders|51.3450|3.2870|6100
8400|Oostende|Oostende|West Flanders|51.2300|2.9200|2900
8500|Kortrijk|Kortrijk|West Flanders|50.8280|3.2649|2200
8800|Roeselare|Roeselare|West Flanders|50.9447|3.1233|2200
8900|Ieper|Ieper|West Flanders|50.8514|2.8857|2000
8670|Koksijde|Veurne|West Flanders|51.1167|2.6333|3400
3500|Hasselt|Hasselt|Limburg|50.9307|5.3325|2600
3600|Genk|Hasselt|Limburg|50.9661|5.5021|2100
3800|Sint-Truiden|Hasselt|Limburg|50.8157|5.1864|2100
3700|Tongeren|Tongeren|Limburg|50.7806|5.4644|2000
1000|Bruxelles|Brussels|Brussels|50.8467|4.3525|3700
1030|Schaerbeek|Brussels|Brussels|50.8676|4.3737|3200
1040|Etterbeek|Brussels|Brussels|50.8325|4.3886|3700
1050|Ixelles|Brussels|Brussels|50.8333|4.3667|4300
1060|Saint-Gilles|Brussels|Brussels|50.8267|4.3457|3700
1070|Anderlecht|Brussels|Brussels|50.8333|4.3072|2600
1080|Molenbeek-Saint-Jean|Brussels|Brussels|50.8547|4.3383|2600
1090|Jette|Brussels|Brussels|50.8775|4.3258|2900
1150|Woluwe-Saint-Pierre|Brussels|Brussels|50.8289|4.4430|4300
1180|Uccle|Brussels|Brussels|50.8018|4.3372|4100
1190|Forest|Brussels|Brussels|50.8111|4.3178|3200
1200|Woluwe-Saint-Lambert|Brussels|Brussels|50.8433|4.4290|3900
1300|Wavre|Nivelles|Walloon Brabant|50.7172|4.6014|2900
1340|Ottignies-Louvain-la-Neuve|Nivelles|Walloon Brabant|50.6683|4.6119|3500
1400|Nivelles|Nivelles|Walloon Brabant|50.5983|4.3285|2700
1410|Waterloo|Nivelles|Walloon Brabant|50.7147|4.3991|3500
1420|Braine-l'Alleud|Nivelles|Walloon Brabant|50.6837|4.3678|2900
4000|Liège|Liège|Liège|50.6326|5.5797|2000
4100|Seraing|Liège|Liège|50.5833|5.5000|1500
4500|Huy|Huy|Liège|50.5192|5.2406|1800
4800|Verviers|Verviers|Liège|50.5891|5.8628|1400
4900|Spa|Verviers|Liège|50.4922|5.8642|2000
5000|Namur|Namur|Namur|50.4669|4.8675|2400
5030|Gembloux|Namur|Namur|50.5617|4.6986|2500
5500|Dinant|Dinant|Namur|50.2606|4.9122|1700
5590|Ciney|Dinant|Namur|50.2964|5.1003|1900
6000|Charleroi|Charleroi|Hainaut|50.4108|4.4446|1300
7000|Mons|Mons|Hainaut|50.4542|3.9523|1800
7100|La Louvière|La Louvière|Hainaut|50.4783|4.1886|1500
7500|Tournai|Tournai-Mouscron|Hainaut|50.6056|3.3878|1800
7700|Mouscron|Tournai-Mouscron|Hainaut|50.7440|3.2063|1600
7800|Ath|Ath|Hainaut|50.6303|3.7772|1900
6600|Bastogne|Bastogne|Luxembourg|50.0004|5.7154|1900
6700|Arlon|Arlon|Luxembourg|49.6833|5.8167|2500
6840|Neufchâteau|Neufchâteau|Luxembourg|49.8400|5.4350|1700
6900|Marche-en-Famenne|Marche-en-Famenne|Luxembourg|50.2267|5.3444|1900
"""

#: city | district | latitude | longitude | AZN a square metre | metro stations | settlements
_AZERBAIJAN = """
Bakı|Nəsimi|40.3859|49.8390|3100|28 May,Cəfər Cabbarlı,Memar Əcəmi|
Bakı|Nizami|40.3930|49.9350|2300|Qara Qarayev,Neftçilər,Xalqlar Dostluğu|8-ci kilometr
Bakı|Yasamal|40.3790|49.8110|2700|Elmlər Akademiyası,İnşaatçılar,20 Yanvar,Nizami|Yeni Yasamal
Bakı|Xətai|40.3770|49.8950|2600|Həzi Aslanov,Əhmədli,Şah İsmayıl Xətai|Əhmədli
Bakı|Binəqədi|40.4430|49.8250|1900|Azadlıq prospekti,Dərnəgül,Nəsimi|Biləcəri,Binəqədi,Rəsulzadə
Bakı|Səbail|40.3610|49.8330|4200|İçərişəhər,Sahil|Badamdar,Bayıl
Bakı|Nərimanov|40.4080|49.8680|3000|Gənclik,Nəriman Nərimanov,Ulduz|
Bakı|Suraxanı|40.4030|50.0060|1500||Hövsan,Qaraçuxur,Yeni Günəşli
Bakı|Sabunçu|40.4420|49.9450|1500|Koroğlu|Bakıxanov,Zabrat,Maştağa
Bakı|Xəzər|40.4750|50.1050|1400||Binə,Mərdəkan,Şüvəlan,Buzovna
Bakı|Qaradağ|40.3250|49.7500|1200||Lökbatan,Sahil
Sumqayıt||40.5897|49.6686|1300||
Gəncə|Kəpəz|40.6700|46.3300|950||
Gəncə|Nizami|40.6950|46.3700|900||
"""


def _belgian(line: str) -> Place:
    code, city, district, province, latitude, longitude, price = line.split("|")
    region, region_code, language = _PROVINCES[province]
    return Place(
        country="BE",
        city=city,
        district=district,
        latitude=float(latitude),
        longitude=float(longitude),
        price_m2=int(price),
        language=language,
        postal_code=code,
        province=province,
        region=region,
        region_code=region_code,
    )


def _azerbaijani(line: str) -> Place:
    city, district, latitude, longitude, price, metros, settlements = line.split("|")
    return Place(
        country="AZ",
        city=city,
        district=district or None,
        latitude=float(latitude),
        longitude=float(longitude),
        price_m2=int(price),
        metros=tuple(filter(None, metros.split(","))),
        settlements=tuple(filter(None, settlements.split(","))),
    )


BELGIUM = tuple(_belgian(line) for line in _BELGIUM.split("\n") if line)
AZERBAIJAN = tuple(_azerbaijani(line) for line in _AZERBAIJAN.split("\n") if line)
