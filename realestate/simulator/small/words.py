"""The texts of the invented sellers of the small portals. None is copied."""

NOUNS = {
    "en": {"house": "house", "apartment": "apartment", "land": "site", "office": "office", "shop": "shop"},
    "de": {"house": "Haus", "apartment": "Wohnung", "land": "Grundstück", "office": "Büro", "shop": "Geschäftslokal"},
    "pl": {"house": "dom", "apartment": "mieszkanie", "land": "działka", "office": "biuro", "shop": "lokal użytkowy"},
}
TITLES = {
    "en": ("Bright {noun} in {city}", "{city}: {noun} with a view", "Well kept {noun} near the station"),
    "de": ("Helle {noun} in {city}", "{city}: {noun} mit Aussicht", "Gepflegt & ruhig: {noun} nahe der Bahn"),
    "pl": ("Przestronne: {noun}, {city}", "{city} – {noun} z widokiem", "Zadbane {noun} blisko stacji"),
}
SENTENCES = {
    "en": (
        "A pleasant {noun} in {city}, close to shops & schools.",
        "The rooms look out on the green at the back; the plan is {{open}}.",
        "The kitchen was renewed a few years ago.",
        'Known as "The Limes"; roof and windows were checked.',
        "Free at once. Ask for a visit today!",
    ),
    "de": (
        "Angenehme Lage in {city}, Geschäfte & Schulen in der Nähe.",
        "Die Räume blicken ins Grüne; Grundriss {{offen}}.",
        "Die Küche wurde vor einigen Jahren erneuert.",
        'Bekannt als "Lindenhof"; Dach und Fenster sind geprüft.',
        "Sofort beziehbar. Vereinbaren Sie eine Besichtigung!",
    ),
    "pl": (
        "Spokojna okolica w mieście {city}, blisko sklepów & szkół.",
        "Okna wychodzą na zieleń; plan {{otwarty}}.",
        "Kuchnia odnowiona kilka lat temu.",
        'Budynek znany jako "Lipowy Dwór"; dach po przeglądzie.',
        "Dostępne od zaraz. Zapraszamy na prezentację!",
    ),
}
ADDED = {
    "en": ("Visits on Saturdays, by appointment.", "New: the boiler was replaced this month."),
    "de": ("Besichtigung samstags nach Vereinbarung.", "Neu: die Therme wurde getauscht."),
    "pl": ("Prezentacje w soboty, po umówieniu.", "Nowość: wymieniono piec."),
}
AGENCIES = {
    "en": ("Lantern & Gate Estates", "Three Bridges Property", "Oak Door Homes"),
    "de": ("Sieben Linden Immobilien", "Haustor Makler GmbH", "Wohnraum & Partner"),
    "pl": ("Cztery Kąty Nieruchomości", "Klucz i Próg", "Dom na Wzgórzu"),
}
PERSONS = ("A. Nobody", "Somebody Invented", "J. Example")
