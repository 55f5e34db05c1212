"""Keys under which JSON documents of unknown sites have the fields of a listing, as `json_objects.key` writes them."""

#: Field -> keys. Only keys with a clear meaning. A number under an area key counts only with a unit.
KEYS: dict[str, str] = {
    "title": "title headline heading listingtitle adtitle propertytitle subject",
    "description": "description descriptiontext body propertydescription detaileddescription longdescription",
    "rooms": "rooms roomcount numberofrooms roomsnumber roomscount nbrooms totalrooms roomsnum numrooms noofrooms",
    "bedrooms": "bedrooms bedroomcount numberofbedrooms numbedrooms beds bedroomscount nbbedrooms totalbedrooms bedroomsnumber"
    " noofbedrooms bedroomsvalue numberbedrooms",
    "bathrooms": "bathrooms bathroomcount numberofbathrooms numbathrooms baths bathroomscount nbbathrooms totalbathrooms"
    " bathroomsnumber noofbathrooms bathroomsvalue numberbathrooms",
    "area_m2": "areainsquaremeters livingaream2 aream2 minimumareasqm squaremeters livingarea floorarea livingspace livingsurface"
    " floorsize usablearea builtuparea livingareavalue internalarea constructedarea grosslivingarea habitablesurface sqft sqm"
    " squarefeet areasqft areasqm sizesqft sizem2 sizesqm squarefootage surfacearea netarea",
    "area_any": "area size surface totalarea propertysize",
    "plot_m2": "lotsize landsize plotarea plotsize landarea lotarea lotsizesqft landsurface plotaream2 lotareavalue landsizesqm",
    "floor": "floornumber floorno floorlevel",
    "floors_total": "totalfloors numberoffloors floorcount buildingfloors buildingfloorsnum storiescount",
    "year_built": "yearbuilt constructionyear buildyear yearofconstruction buildingyear builtyear",
    "energy_class": "energyclass energyrating epcrating energylabel energyefficiencyclass epcscore energyclassification",
    "posted_at": "dateposted publishedat publicationdate publishdate listeddate datelisted creationdate listdate createdat"
    " datecreated firstpublisheddate publishedon firstvisibledate onlinedate createddate addedat dateadded listingdate",
    "updated_at": "datemodified updatedat modifieddate lastmodified modificationdate lastupdated updateddate",
    "city": "city addresslocality locality town cityname municipality municipalityname",
    "district": "district neighborhood neighbourhood suburb quarter",
    "region": "region addressregion state province regionname statecode provincename",
    "street": "street streetaddress streetname addressline1",
    "postal_code": "postalcode postcode zipcode zip plz",
    "country": "country countrycode addresscountry countryname",
    "property_type": "propertytype hometype realestatetype typology typologytype propertysubtype estatetype propertytypename"
    " unittype objecttype buildingtype propertycategory housetype dwellingtype",
    "operation": "transactiontype operationtype offertype listingtype dealtype transaction operation distributiontype saletype"
    " contracttype purpose businesstype channel marketingtype adtype contract homestatus listingstatus salestatus",
    "seller": "sellertype advertisertype advertizertype publishertype ownertype postertype",
}
#: Weak keys: they name the type only if their value is a known word, and nothing better is there.
WEAK_TYPE_KEYS = frozenset({"type", "category", "subtype", "kind", "typename", "categoryname"})
FIELD_OF_KEY: dict[str, str] = {name: field for field, names in KEYS.items() for name in names.split()}
PRICES = "price priceraw askingprice pricevalue totalprice mainvalue listprice saleprice listingprice rentprice purchaseprice".split()
AMOUNTS = ("value", "amount", "price", "raw", "pricevalue", "main", "listprice", "exact", "numeric")
CURRENCIES = ("currency", "pricecurrency", "currencycode", "currencyiso", "isocode", "unit")
LATITUDES = ("latitude", "lat")
LONGITUDES = ("longitude", "lng", "lon", "long")
IDS = frozenset(
    "id listingid propertyid adid zpid externalid ref reference code uuid slug url identifier sku legacyid globalid publicid"
    " classifiedid objectid exposeid canonicalurl publicationid postingid advertid offerid realestateid displayid".split()
)
#: Parts of an object that are about somebody or something else.
OTHER_SUBJECTS = (
    "agent", "agency", "seller", "user", "publisher", "contact", "similar", "related", "recommend", "nearby", "school",
    "history", "mortgage", "advertiser", "broker", "office", "company", "owner", "branch", "customer", "comparable",
    "breadcrumb", "translation", "config", "feature_flag", "i18n", "locale", "suggest", "pois", "transport", "price_trend", "market", "estimate",
    "tracking", "analytics", "seo", "search", "filter", "review", "promotion", "banner", "menu", "footer", "navigation",
    "developer", "project", "units", "calculator", "finance", "insights", "statistics", "tax",
    "provider", "vendor", "lister", "anbieter", "ansprech", "person", "partner", "inserent", "makler", "realtor", "firm",
    "organi", "account", "profile", "team", "userads", "otherads", "competitor", "attribution",
)  # fmt: skip
#: Keys with a unit in their name, and the unit.
UNITS = (
    ("sqft", "sqft"),
    ("squarefeet", "sqft"),
    ("squarefootage", "sqft"),
    ("m2", "m2"),
    ("sqm", "m2"),
    ("squaremeter", "m2"),
)
#: Keys of the unit beside a size.
UNIT_KEYS = ("unit", "units", "unitcode", "unittext", "areaunit", "sizeunit", "areaunits", "livingareaunits", "livingareaunit",
             "livingareaunitsshort", "lotareaunit", "lotareaunits", "unitofmeasure", "measure")  # fmt: skip
#: Keys of a row's label and value in a list of rows.
ROW_LABELS = ("label", "name", "title", "key", "text")
ROW_VALUES = ("value", "displayvalue", "formattedvalue", "valuetext", "content", "text")
