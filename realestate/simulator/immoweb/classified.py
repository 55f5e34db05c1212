"""The `window.classified` object of an immoweb page: every key the portal has, with invented values."""

from datetime import datetime, timedelta
from typing import Any

from realestate.simulator.adverts import Advert
from realestate.simulator.immoweb.facts import Facts, charges_of, facts_of
from realestate.simulator.immoweb.prices import price_block
from realestate.simulator.immoweb.projects import cluster
from realestate.simulator.immoweb.property import NO_PLACE, empty_keys, property_block

PICTURES = "https://pictures.example.com"

_NO_FEATURES = dict.fromkeys(
    empty_keys("page404 investorFlag relatedClassifieds leafletsCTA leadQualification recommendation"), False
)
_NO_INVESTOR = empty_keys(
    "isInvestmentProperty currentMonthlyRentalIncome currentReturnOnInvestment expectedMonthlyRentalIncome"
    " expectedMonthlyRentalIncomeDescription expectedReturnOnInvestment habitableUnitCount occupancyRate"
)
_NO_STATISTICS = empty_keys(
    "bookmarkCount viewCount alertPrice creationDate description isAlertEmailSet rating wasOwnerContacted"
    " wasPropertyVisited"
)


def classified(advert: Advert, units: list[Advert]) -> dict[str, Any]:
    """Return the whole object, with the homes of a project. A removed advert with a page is marked sold or rented."""
    facts = facts_of(advert)
    return {
        "id": advert.ref,
        "cluster": cluster(advert, units) if advert.home.is_project else None,
        "customers": [_customer(advert, facts)],
        "premiumProjectPage": empty_keys("medias options promoter tabs"),
        "flags": _flags(advert, facts),
        "media": {
            "pictures": pictures(advert, facts.pictures),
            "virtualTourUrl": None,
            "floorPlans": None,
            "specifications": None,
            "virtualExperienceUrl": None,
        },
        "property": property_block(advert, facts),
        "publication": _publication(advert, facts),
        "transaction": _transaction(advert, facts),
        "priceType": None,
        "price": price_block(advert),
        "externalReference": facts.seller_ref,
        "isBookmarked": False,
        "hasSectionsArray": {
            "hasGeneralSection": True,
            "hasInteriorSection": facts.bedrooms is not None,
            "hasExteriorSection": True,
            "hasFacilitiesSection": facts.bedrooms is not None,
            "hasEnergySection": facts.heating is not None,
            "hasPlanningSection": True,
            "hasFinancialSection": True,
            "hasPublicSaleSection": False,
        },
        "unitGroupings": [],
        "displayFlags": display_flags(advert, facts),
        "statistics": {**_NO_STATISTICS, "viewCount": advert.ref % 9000, "bookmarkCount": advert.ref % 60},
    }


def pictures(advert: Advert, count: int) -> list[dict[str, Any]]:
    """Return each picture in its sizes."""
    folder = f"{PICTURES}/classifieds/{advert.ref}"
    return [
        {
            "smallUrl": f"{folder}/100x100/{number}.jpg",
            "mediumUrl": f"{folder}/300x300/{number}.jpg",
            "largeUrl": f"{folder}/736x736/{number}.jpg",
            "isVertical": number % 5 == 4,
        }
        for number in range(count)
    ]


def display_flags(advert: Advert, facts: Facts) -> dict[str, Any]:
    main = "under_option" if advert.is_reserved else "new_price" if advert.old_price else "new"
    return {"main": main if main != "new" or facts.is_new else None, "secondary": [], "percentSold": None}


def date_text(when: datetime, facts: Facts) -> str:
    """Both forms occur on the portal."""
    text = when.isoformat(timespec="milliseconds").removesuffix("+00:00")
    return text + ("Z" if facts.has_plain_utc else "+0000")


def _customer(advert: Advert, facts: Facts) -> dict[str, Any]:
    is_private = facts.seller == "PRIVATE"
    place = advert.home.place
    office = {
        "country": "Belgium",
        "locality": place.city,
        "postalCode": place.postal_code,
        "street": "Marktplein",
        "number": "1",
        "latitude": place.latitude,
        "longitude": place.longitude,
    }
    return {
        "id": facts.seller_id,
        "type": facts.seller,
        "email": None if is_private else f"office-{facts.seller_id}@example.com",
        "logoUrl": None if is_private else f"{PICTURES}/logos/{facts.seller_id}.png",
        "phoneNumber": None if is_private else "+32 2 000 00 00",
        "mobileNumber": "+32 400 00 00 00" if is_private else None,
        "name": facts.seller_name,
        "website": None if is_private else "https://agency.example.com",
        "location": NO_PLACE | ({} if is_private else office),
        "ipiNo": None if is_private else "000.000",
        "isOwner": is_private,
        "contactHoursMobile": "anytime" if is_private else None,
        "contactHoursLandline": None,
        "salesRepresentative": None,
        "features": _NO_FEATURES,
    }


def _flags(advert: Advert, facts: Facts) -> dict[str, Any]:
    return {
        "isPublicSale": False,
        "isNewClassified": facts.is_new,
        "isNewPrice": advert.old_price is not None,
        "isInvestmentProject": False,
        "isNewlyBuilt": facts.is_newly_built,
        "isNotarySale": True if facts.seller == "NOTARY" else None,
        "isLifeAnnuitySale": False,
        "adQuality": None,
        "date": None,
        "priceSqm": None,
        "price": None,
        "default": None,
        "isSoldOrRented": advert.gone is not None,
        "isLowEnergy": None,
        "percentSold": None,
        "isPassiveHouse": None,
        "isNewRealEstateProject": advert.home.is_project,
        "isAnInteractiveSale": None,
        "isUnderOption": advert.is_reserved,
    }


def _publication(advert: Advert, facts: Facts) -> dict[str, Any]:
    return {
        "creationDate": date_text(advert.posted_at, facts),
        "expirationDate": date_text(advert.posted_at + timedelta(days=365), facts),
        "publisherId": None,
        "visualisationOption": "L",
        "lastModificationDate": date_text(advert.updated_at, facts),
    }


def _transaction(advert: Advert, facts: Facts) -> dict[str, Any]:
    is_sale = advert.home.operation == "sale"
    score = facts.epc_score
    return {
        "type": "FOR_SALE" if is_sale else "FOR_RENT",
        "subtype": "BUY_REGULAR" if is_sale else "RENT_REGULAR",
        "availabilityPeriodType": "UPON_EXCHANGE_OF_DEEDS" if is_sale else None,
        "availabilityDate": None,
        "certificates": {
            "carbonEmission": None,
            "hasElectricalInstallationComplianceCertificate": None,
            "primaryEnergyConsumptionPerSqm": facts.energy_kwh_m2,
            "primaryEnergyConsumptionYearly": None,
            "epcDescription": None,
            "epcReference": None if score is None else f"2026-{advert.ref}-RES-1",
            "epcScore": score,
            "epcUrl": None if score is None else f"{PICTURES}/epc/{score.replace('+', 'p').lower()}.png",
        },
        "rental": None if is_sale else _rental(advert, facts),
        "sale": _sale(advert, facts) if is_sale else None,
        "investor": {**_NO_INVESTOR, "isInvestmentProperty": False},
    }


def _rental(advert: Advert, facts: Facts) -> dict[str, Any]:
    return {
        "monthlyRentalPrice": advert.price if advert.rent_period == "month" else None,
        "monthlyRentalCosts": charges_of(advert),
        "yearlyRentalPrice": advert.price if advert.rent_period == "year" else None,
        "isFurnished": facts.is_furnished,
        "areSmallPetsAllowed": None,
    }


def _sale(advert: Advert, facts: Facts) -> dict[str, Any]:
    return {
        "price": advert.price,
        "isSubjectToVat": advert.home.is_project,
        "cadastralIncome": advert.ref % 2500 + 300,
        "publicSale": None,
        "pricePerSqm": None,
        "oldPrice": advert.old_price,
        "lifeAnnuity": None,
        "hasStartingPrice": False,
        "isFurnished": facts.is_furnished,
        "homeToBuild": None,
        "newBuildsTotalPrice": "",
        "newBuildsVAT": "",
        "newBuildsLandPrice": "",
        "newBuildsLandTaxes": "",
    }
