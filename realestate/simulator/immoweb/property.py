"""The `property` part of an immoweb object: facts and location of the home."""

from typing import Any

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.facts import Facts, charges_of


def empty_keys(names: str) -> dict[str, None]:
    """Return keys that are always present and mostly empty."""
    return dict.fromkeys(names.split())


NO_PLACE = empty_keys(
    "country region province district locality postalCode street number box propertyName floor latitude longitude"
    " distance approximated regionCode type hasSeaView pointsOfInterest placeName"
)
_NO_SPECIFICITIES = empty_keys(
    "internalFixturesAndFittings miscellaneousFixturesAndFittings totalFloorSurface accessDoorCount"
    " sectionalDoorCount slidingDoorCount loadingBayCount coveredBaysCount loadingBayWithLiftingDeviceCount"
    " ceilingHeight maxAvailableHeight minAvailableHeight showroomSurface hasReceptionDesk shopWindowWidth"
    " hasGoodwill goodwillPrice hasOffice office hasWorkspace workspace"
)
_NO_APPLIANCES = empty_keys(
    "hasOven hasMicroWaveOven hasDishwasher hasWashingMachine hasFridge hasFreezer hasSteamOven"
)
_EMPTY = empty_keys(
    "name isHolidayProperty attic hasAttic laundryRoom hasLaundryRoom livingRoom isFirstOccupation hasBarbecue"
    " hasVisiophone hasSecureAccessAlarm hasCableTV hasDoorPhone hasInternet hasFitnessRoom hasTennisCourt"
    " hasSauna hasJacuzzi hasHammam bedroomSurface habitableUnitCount hasCaretakerOrConcierge"
    " hasDisabledAccess"
)
_CERTIFICATES = empty_keys(
    "builtPlanStatus globalInsulationLevel oilTankCertificateStatus primaryEnergyConsumptionLevel"
)
_PERMIT = empty_keys(
    "constructionType floodZoneType isObtained hasObligationToConstruct hasPlotDivisionAuthorization"
    " hasPossiblePriorityPurchaseRight isBreachingUrbanPlanningRegulation floodZoneIconUrl"
    " totalBuildableGroundFloorSurface urbanPlanningInformation pScore gScore"
)
_KITCHENS = ("NOT_INSTALLED", "SEMI_EQUIPPED", "INSTALLED", "USA_INSTALLED", "HYPER_EQUIPPED")


def property_block(advert: Advert, facts: Facts) -> dict[str, Any]:
    """Return all keys, for every kind of home. What does not apply is null."""
    home = advert.home
    return {
        "type": home.kind.upper(),
        "subtype": home.subtype.upper(),
        "title": facts.own_title,
        "description": facts.description,
        **_EMPTY,
        **_rooms(facts),
        "location": location(advert, facts),
        "netHabitableSurface": facts.area_m2,
        "monthlyCosts": charges_of(advert),
        **_building(advert, facts),
        "energy": _energy(facts),
        "land": None if facts.plot_m2 is None else {"surface": facts.plot_m2},
        **_outside(facts),
        **facts.parking,
        "hasAirConditioning": facts.has["air_conditioning"],
        "hasArmoredDoor": facts.has["armored_door"],
        "hasSwimmingPool": facts.has["swimming_pool"],
        "specificities": _NO_SPECIFICITIES,
        "alternativeDescriptions": _translations(facts),
        "fireplaceCount": {True: 1, False: 0, None: -1}[facts.has["fireplace"]],
        "fireplaceExists": facts.has["fireplace"],
    }


def location(advert: Advert, facts: Facts) -> dict[str, Any]:
    """Return the location. If the seller hides the street, the coordinates are hidden too."""
    home = advert.home
    place = advert.home.place
    known = {
        "country": "Belgium",
        "region": place.region,
        "province": place.province,
        "district": place.district,
        "locality": place.city,
        "postalCode": place.postal_code,
        "regionCode": place.region_code,
        "floor": facts.floor,
        "type": "RESIDENTIAL" if facts.bedrooms is not None else None,
    }
    if facts.is_address_hidden:
        return NO_PLACE | known
    return (
        NO_PLACE
        | known
        | {
            "street": home.street,
            "number": facts.number,
            "box": None if facts.floor is None else f"{facts.floor:03}",
            "latitude": home.latitude,
            "longitude": home.longitude,
            "approximated": facts.is_approximate,
            "pointsOfInterest": [
                {"type": point, "distance": advert.home.number * 10} for point in ("SCHOOL", "SHOPS", "TRANSPORT")
            ],
        }
    )


def _rooms(facts: Facts) -> dict[str, Any]:
    is_dwelling = facts.bedrooms is not None
    return {
        "bedroomCount": facts.bedrooms,
        "bedrooms": [{"surface": 16 - 2 * number} for number in range(min(facts.bedrooms or 0, 4))],
        "bathroomCount": facts.bathrooms,
        "bathrooms": [],
        "roomCount": facts.rooms,
        "showerRoomCount": 0 if is_dwelling else None,
        "showerRooms": [],
        "toiletCount": facts.bathrooms,
        "toilets": [],
        "hasDressingRoom": False if is_dwelling else None,
        "diningRoom": {"surface": None} if is_dwelling else None,
        "hasDiningRoom": is_dwelling or None,
        "hasLivingRoom": is_dwelling or None,
        "kitchen": _kitchen(facts) if is_dwelling else None,
    }


def _kitchen(facts: Facts) -> dict[str, Any]:
    kind = None if facts.condition is None else _KITCHENS[len(facts.condition) % len(_KITCHENS)]
    return {"surface": None, "type": kind, **_NO_APPLIANCES}


def _building(advert: Advert, facts: Facts) -> dict[str, Any]:
    is_land = advert.home.kind == "land"
    return {
        "building": {
            "annexCount": None,
            "condition": facts.condition,
            "constructionYear": facts.year,
            "facadeCount": facts.facades,
            "floorCount": facts.floors,
            "streetFacadeWidth": None,
        },
        "propertyCertificates": _CERTIFICATES,
        "hasLift": facts.has["lift"],
        "hasBasement": facts.has["basement"],
        "basement": {"surface": None} if facts.has["basement"] else None,
        "constructionPermit": {
            **_PERMIT,
            "floodZoneType": "NON_FLOOD_ZONE",
            "isObtained": None if is_land else True,
            "totalBuildableGroundFloorSurface": facts.plot_m2 if is_land else 0,
        },
    }


def _energy(facts: Facts) -> dict[str, Any]:
    return {
        "heatingType": facts.heating,
        "hasHeatPump": facts.has["heat_pump"],
        "hasPhotovoltaicPanels": facts.has["photovoltaic_panels"],
        "hasThermicPanels": None,
        "hasCollectiveWaterHeater": None,
        "hasDoubleGlazing": facts.has["double_glazing"],
        "performance": None,
    }


def _outside(facts: Facts) -> dict[str, Any]:
    has = facts.has
    return {
        "hasGarden": has["garden"],
        "gardenSurface": (facts.plot_m2 or 60) // 2 if has["garden"] else None,
        "gardenOrientation": "SOUTH_WEST" if has["garden"] else None,
        "hasTerrace": has["terrace"],
        "terraceSurface": 18 if has["terrace"] else None,
        "terraceOrientation": "SOUTH" if has["terrace"] else None,
        "hasBalcony": has["balcony"],
    }


def _translations(facts: Facts) -> dict[str, str]:
    """Return the seller's text by its language, and an English version of it."""
    own = {} if facts.description == "-" else {facts.language: facts.description}
    return {"en": facts.translated} | own
