"""The words of the invented sellers: streets, firms, people and sentences. None is copied."""

STREETS = {
    "nl": (
        "Lindenlaan",
        "Molenstraat",
        "Kastanjedreef",
        "Oude Steenweg",
        "Wilgenpad",
        "Zonnebloemstraat",
        "Kerkhofdreef",
        "Nieuwe Vaart",
        "Vlierbeekhof",
        "Sint-Jozefsplein",
    ),
    "fr": (
        "Rue des Tilleuls",
        "Avenue du Parc",
        "Chaussée de l'Étang",
        "Place aux Herbes",
        "Rue du Vieux Moulin",
        "Allée des Érables",
        "Rue Sainte-Gudule",
        "Clos du Verger",
        "Avenue des Acacias",
        "Rue de la Fontaine",
    ),
    "en": ("Lime Avenue", "Old Mill Lane", "Church Hill", "Station Road", "The Paddocks"),
    "de": ("Lindengasse", "Mühlweg", "Kirchberg", "Bahnhofstraße", "Am Anger"),
    "pl": ("ul. Lipowa", "ul. Młyńska", "ul. Kościelna", "ul. Dworcowa", "al. Kasztanowa"),
    "az": (
        "Füzuli küç.",
        "Azadlıq pr.",
        "Şəfaət Mehdiyev küç.",
        "Nizami küç.",
        "Həsən bəy Zərdabi pr.",
        "Əhməd Rəcəbli küç.",
        "Təbriz küç.",
        "Heydər Əliyev pr.",
        "İnşaatçılar pr.",
        "Üzeyir Hacıbəyov küç.",
    ),
}

AGENCIES = (
    "Zevenster Vastgoed",
    "Ginkgo & Fils Immobilier",
    "Maison Clairvoie",
    "Huis & Haard Makelaars",
    'Bureau "Les Deux Ponts"',
    "Vierkante Meter BV",
    "Immo Grand-Large",
    "De Groene Sleutel",
    "Àgora Habitat",
    "Noorderlicht Immo",
)
NOTARIES = ("Notariskantoor Eikenhof", "Étude notariale du Beffroi")
DEVELOPERS = ("Stadsrand Ontwikkeling", "Promotions Val-Doré", "Horizon 360 Projects")
PERSONS_BE = ("A. Voorbeeld", "Mme Exemple", "J. Proefman", "C. Modèle")
PERSONS_AZ = ("Nümunə Nümunəyev", "Sınaq xanım", "Örnək bəy", "İlkin Təcrübəli", "Şəbnəm Misal")

#: kind of home -> language -> the word for it in a seller's sentence.
NOUNS = {
    "house": {"nl": "huis", "fr": "maison", "en": "house"},
    "apartment": {"nl": "appartement", "fr": "appartement", "en": "apartment"},
    "house_group": {"nl": "nieuwbouwproject", "fr": "projet neuf", "en": "new project of houses"},
    "apartment_group": {"nl": "residentie", "fr": "résidence neuve", "en": "new residence"},
    "office": {"nl": "kantoor", "fr": "bureau", "en": "office"},
    "business": {"nl": "handelspand", "fr": "surface commerciale", "en": "commercial space"},
    "industry": {"nl": "magazijn", "fr": "entrepôt", "en": "warehouse"},
    "land": {"nl": "bouwgrond", "fr": "terrain", "en": "plot of land"},
    "garage": {"nl": "garage", "fr": "garage", "en": "garage"},
    "kot": {"nl": "studentenkamer", "fr": "kot", "en": "student room"},
}

TITLES = {
    "nl": (
        "Ruim {noun} op wandelafstand van het centrum",
        "{city}: {noun} met karakter",
        "Instapklaar {noun} in {city}",
        "  Uniek  {noun} nabij het station ",
        'Te bezoeken: {noun} "De Linde"',
    ),
    "fr": (
        "Superbe {noun} au cœur de {city}",
        "{city} : {noun} à découvrir sans tarder",
        "À saisir – {noun} lumineux",
        "Idéalement situé\u00a0: {noun} proche de tout",
        "Coup de cœur assuré !  {noun}",
    ),
    "en": (
        "Bright {noun} in a quiet street",
        "{noun} for those who love {city}",
        "Well kept {noun}, ready to move in",
    ),
}

SENTENCES = {
    "nl": (
        "Dit {noun} ligt in een rustige straat van {city}, op enkele stappen van winkels en scholen.",
        "De bewoonbare oppervlakte bedraagt ongeveer {area} m².",
        "Op de verdieping bevinden zich de slaapkamers en een badkamer met inloopdouche.",
        "De  keuken werd enkele jaren geleden vernieuwd en is volledig ingericht.",
        "Vanuit de leefruimte kijkt u uit op het groen achteraan.",
        "Openbaar vervoer en invalswegen zijn vlakbij; de fietsenstalling is gemeenschappelijk.",
        "Het dak en het schrijnwerk werden recent nagekeken: alles is in orde.",
        "Wie ruimte zoekt zonder de stad te verlaten, vindt hier wat hij wenst.",
        "Onmiddellijk vrij. Maak vandaag nog een afspraak voor een bezoek!",
    ),
    "fr": (
        "Ce bien situé à {city} vous séduira par son calme et sa luminosité.",
        "La surface habitable est d'environ {area}\u00a0m².",
        "À l'étage\u00a0: un hall de nuit, les chambres et une salle de bains équipée.",
        "La cuisine, refaite il y a peu, s'ouvre sur un séjour généreux.",
        "Écoles, commerces et transports en commun se trouvent à quelques minutes à pied.",
        "La toiture a été revue et l'installation électrique est conforme.",
        "L'ensemble convient aussi bien à une famille qu'à un investisseur.",
        "Libre à l'acte. N'hésitez pas à demander une visite\u00a0!",
        "Cave, local vélos et buanderie complètent ce bien.",
    ),
    "en": (
        "A pleasant {noun} in {city}, close to shops, schools and the station.",
        "The living area is about {area} m², well laid out.",
        "Upstairs you will find the bedrooms and a bathroom with a walk-in shower.",
        "The kitchen was renewed a few years ago and comes with all appliances.",
        "Large windows look out on the green at the back.",
        "Roof and window frames were checked recently: nothing left to do.",
        "Free at once. Ask for a visit today!",
    ),
}

#: Texts that break a careless reader of `window.classified`.
MISLEADING_TEXTS = (
    "Indeling: {{gelijkvloers}}; verdieping {{2 kamers}}; zolder.",
    'Le propriétaire précise : "tout est à rafraîchir";\nprix = {{ferme}};',
    "Plan: <script>var plan = {{rooms: 3}};</script> (see the window.classified = {{}}; of our own site)",
    "C:\\plans\\{city} \\ 'niveau 1' \t & 'niveau 2' <b>!</b>",
)

#: Sentences that a seller adds later.
ADDED = {
    "nl": (
        "Nieuw: de ketel werd deze maand vervangen.",
        "Bezoek mogelijk op zaterdag na afspraak.",
        "Het EPC-attest is intussen beschikbaar.",
    ),
    "fr": (
        "Nouveau\u00a0: la chaudière vient d'être remplacée.",
        "Visites possibles le samedi sur rendez-vous.",
        "Le certificat PEB est désormais disponible.",
    ),
    "en": (
        "New: the boiler was replaced this month.",
        "Visits on Saturdays, by appointment.",
        "The energy certificate has come in.",
    ),
}
ADDED_AZ = (
    "Qiymətdə kiçik endirim mümkündür.",
    "Yeni kombi quraşdırılıb.",
    "Baxış şənbə günləri, əvvəlcədən razılaşma əsasında.",
)

AZ_NOUNS = {
    "new_building": "yeni tikili",
    "old_building": "köhnə tikili",
    "yard_house": "həyət evi",
    "garden_house": "bağ evi",
    "villa": "villa",
    "office": "ofis",
    "garage": "qaraj",
    "land": "torpaq",
    "shop": "obyekt",
}

AZ_SENTENCES = (
    "{city} şəhərində {noun} təklif olunur.",
    "Ümumi sahəsi {area}, planı rahatdır.",
    "Su, qaz, işıq daimidir; mərkəzi istilik sistemi var.",
    "Ətrafda məktəb, bağça, aptek və  marketlər yerləşir.",
    "Həyətdə uşaq meydançası və avtomobil üçün yer var.",
    "Sənədləri qaydasındadır, heç bir problemi yoxdur.",
    "Əşyalarla birgə verilir: mətbəx mebeli, kondisioner, soyuducu & paltaryuyan.",
    "Pəncərələrdən dənizə gözəl mənzərə açılır.",
    "İlkin baxışdan sonra qiymətdə razılaşmaq olar.",
    'Bina "Ümid" yaşayış kompleksindədir, lift işləyir.',
    "Işıqlı və geniş otaqlar, yüksək tavan (3,2 m).",
    "Təcili olduğu üçün qiymət aşağı salınıb!",
)
