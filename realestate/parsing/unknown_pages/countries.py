"""Countries by their codes and names, as pages write them."""

from realestate.parsing.unknown_pages.vocabulary import words

#: Names in English, in the country's own languages, and in some others; and codes of three letters.
_NAMES = {
    "AD": "andorra and", "AE": "united arab emirates|uae|are|emirates", "AL": "albania|shqiperi|alb",
    "AM": "armenia|arm", "AR": "argentina|arg", "AT": "austria|osterreich|aut|autriche|oostenrijk",
    "AU": "australia|aus", "AZ": "azerbaijan|azerbaycan|aze|азербайджан", "BA": "bosnia and herzegovina|bosna i hercegovina|bih",
    "BE": "belgium|belgie|belgique|belgien|bel|belgica", "BG": "bulgaria|българия|bgr", "BH": "bahrain|bhr",
    "BR": "brazil|brasil|bra", "BY": "belarus|беларусь|blr", "CA": "canada|can", "CH": "switzerland|schweiz|suisse|svizzera|che",
    "CL": "chile|chl", "CN": "china|chn", "CO": "colombia|col", "CR": "costa rica|cri", "CY": "cyprus|kypros|cyp|κυπρος|kibris",
    "CZ": "czech republic|czechia|cesko|ceska republika|cze", "DE": "germany|deutschland|allemagne|alemania|deu|duitsland",
    "DK": "denmark|danmark|dnk", "DO": "dominican republic|republica dominicana|dom", "EC": "ecuador|ecu",
    "EE": "estonia|eesti|est", "EG": "egypt|egy", "ES": "spain|espana|esp|spanien|espagne|spagna|spanje|hiszpania|espanha",
    "FI": "finland|suomi|fin", "FR": "france|fra|frankreich|francia|frankrijk", "GB": "united kingdom|uk|great britain|england|scotland|wales|northern ireland|gbr|vereinigtes konigreich",
    "GE": "georgia country|geo|грузия", "GR": "greece|ellada|grc|griechenland|ελλαδα|hellas", "HK": "hong kong|hkg",
    "HR": "croatia|hrvatska|hrv|kroatien", "HU": "hungary|magyarorszag|hun|ungarn", "ID": "indonesia|idn",
    "IE": "ireland|irl|eire|republic of ireland", "IL": "israel|isr", "IN": "india|ind", "IS": "iceland|island|isl",
    "IT": "italy|italia|ita|italien|italie", "JO": "jordan|jor", "JP": "japan|jpn", "KE": "kenya|ken",
    "KG": "kyrgyzstan|кыргызстан|kgz", "KR": "south korea|kor", "KW": "kuwait|kwt", "KZ": "kazakhstan|казахстан|kaz",
    "LB": "lebanon|lbn", "LT": "lithuania|lietuva|ltu", "LU": "luxembourg|luxemburg|lux|letzebuerg", "LV": "latvia|latvija|lva",
    "MA": "morocco|maroc|mar", "MC": "monaco|mco", "MD": "moldova|mda", "ME": "montenegro|crna gora|mne",
    "MK": "north macedonia|mkd", "MT": "malta|mlt", "MX": "mexico|mex", "MY": "malaysia|mys", "NG": "nigeria|nga",
    "NL": "netherlands|nederland|nld|the netherlands|holland|niederlande|pays bas|holandia", "NO": "norway|norge|nor",
    "NZ": "new zealand|nzl", "OM": "oman|omn", "PA": "panama|pan", "PE": "peru|per", "PH": "philippines|phl", "PK": "pakistan|pak",
    "PL": "poland|polska|pol|polen|pologne", "PT": "portugal|prt", "PY": "paraguay|pry", "QA": "qatar|qat",
    "RO": "romania|rou", "RS": "serbia|srbija|srb", "RU": "russia|россия|rus|russian federation", "SA": "saudi arabia|sau",
    "SE": "sweden|sverige|swe|schweden", "SG": "singapore|sgp", "SI": "slovenia|slovenija|svn", "SK": "slovakia|slovensko|svk",
    "TH": "thailand|tha", "TN": "tunisia|tunisie|tun", "TR": "turkey|turkiye|tur|turkei", "TW": "taiwan|twn",
    "UA": "ukraine|україна|ukr|украина", "US": "united states|usa|united states of america|us|estados unidos",
    "UY": "uruguay|ury", "UZ": "uzbekistan|uzb", "VE": "venezuela|ven", "VN": "vietnam|viet nam|vnm", "ZA": "south africa|zaf|sudafrika",
}  # fmt: skip
_CODES = frozenset(_NAMES) | frozenset(
    "AF AG AO BB BD BI BJ BN BO BS BT BW BZ CD CF CG CI CM CU CV DJ DM DZ ER ET FJ FO GA GD GH GI GL GM GN GP GQ GT GU GW GY"
    " HN HT IM IQ IR JE JM KH KM KN KY LA LC LI LK LR LS LY MG ML MM MN MO MQ MR MS MU MV MW MZ NA NC NE NI NP PF PG PR PS RE"
    " RW SB SC SD SL SM SN SO SR SS ST SV SY SZ TC TD TG TJ TL TM TO TT TV TZ UG VA VC VG VI VU WS XK YE YT ZM ZW GG".split()
)
_OF_NAME = {words(name): code for code, names in _NAMES.items() for name in names.split("|")}


def code(text: object) -> str | None:
    """Return the ISO 3166-1 code of a country's code or name; None if it is unknown."""
    if not isinstance(text, str) or len(text) > 60:
        return None
    upper = text.strip().upper()
    if upper == "UK":
        return "GB"
    return upper if upper in _CODES else _OF_NAME.get(words(text))
