"""Places of countries with one small portal: real places, with a rough centre and an invented price level."""

from realestate.simulator.places import Place

#: country | language | postal code | city | district | region | latitude | longitude | price per square metre
_PLACES = """
IE|en|D06XY00|Rathmines|Dublin 6|Dublin|53.3220|-6.2650|6400
IE|en|T12XY00|Cork|Douglas|Cork|51.8760|-8.4360|4100
IE|en|H91XY00|Galway|Salthill|Galway|53.2590|-9.0730|4300
IE|en|V94XY00|Limerick|Castletroy|Limerick|52.6680|-8.5500|3200
IE|en|A86XY00|Dunboyne|Dunboyne|Meath|53.4190|-6.4740|3900
AT|de|1020|Wien|02. Bezirk, Leopoldstadt|Wien|48.2167|16.4000|5900
AT|de|1100|Wien|10. Bezirk, Favoriten|Wien|48.1730|16.3810|4700
AT|de|8010|Graz|Graz(Stadt)|Steiermark|47.0707|15.4395|3900
AT|de|5020|Salzburg|Salzburg(Stadt)|Salzburg|47.8095|13.0550|6100
AT|de|4020|Linz|Linz(Stadt)|Oberösterreich|48.3069|14.2858|4200
PL|pl|00-001|Warszawa|Mokotów|mazowieckie|52.1935|21.0450|16500
PL|pl|30-001|Kraków|Podgórze|małopolskie|50.0330|19.9640|14800
PL|pl|80-001|Gdańsk|Wrzeszcz|pomorskie|54.3810|18.6060|13900
PL|pl|50-001|Wrocław|Krzyki|dolnośląskie|51.0770|17.0190|12800
PL|pl|90-001|Łódź|Śródmieście|łódzkie|51.7720|19.4600|8200
GB|en|RG17 0XX|Hungerford|Great Shefford|Berkshire|51.4756|-1.4481|4300
GB|en|BN2 0XX|Brighton|Elm Grove|East Sussex|50.8330|-0.1180|5200
GB|en|M20 0XX|Manchester|Didsbury|Greater Manchester|53.4160|-2.2310|3900
GB|en|LS6 0XX|Leeds|Headingley|West Yorkshire|53.8190|-1.5760|3300
GB|en|EH6 0XX|Edinburgh|Leith|Midlothian|55.9710|-3.1710|4100
ZA|en|8001|Cape Town|Gardens|Western Cape|-33.9350|18.4130|31000
ZA|en|2196|Johannesburg|Sandton|Gauteng|-26.1070|28.0560|19500
ZA|en|4001|Durban|Berea|KwaZulu Natal|-29.8480|31.0010|14200
ZA|en|3201|Pietermaritzburg|Prestbury|KwaZulu Natal|-29.6010|30.3450|9800
ZA|en|0081|Pretoria|Menlo Park|Gauteng|-25.7690|28.2570|15100
"""


def _place(line: str) -> Place:
    country, language, code, city, district, region, latitude, longitude, price = line.split("|")
    return Place(
        country=country,
        city=city,
        district=district,
        latitude=float(latitude),
        longitude=float(longitude),
        price_m2=int(price),
        language=language,
        postal_code=code,
        region=region,
    )


_ALL = [_place(line) for line in _PLACES.split("\n") if line]
ABROAD = {
    country: tuple(place for place in _ALL if place.country == country) for country in ("IE", "AT", "PL", "GB", "ZA")
}
