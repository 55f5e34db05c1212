"""What all portals share. A portal's file imports everything it needs of it from here.

PortalSpider is the base of a portal of homes, SearchSpider of any other site; EmbeddedJsonSpider and JsonLdSpider are
bases for portals that keep their data in the same way.
"""

from realestate.crawling.embedded_json import EmbeddedJsonSpider, RowPaths
from realestate.crawling.field_tables import (
    absolute,
    assigned_in,
    number,
    page_of,
    place_fields,
    point_fields,
    read_paths,
    read_rows,
    view_count,
)
from realestate.crawling.graphql import (
    graphql_data,
    graphql_request,
    persisted_query_request,
    results_of_connection,
)
from realestate.crawling.json_ld import JsonLdSpider, RowSelectors
from realestate.crawling.old_markup import OldPage, number_on_old_page
from realestate.crawling.page_outcomes import GONE_STATUSES, Banned, BrokenPage, ItemGone, ListingGone
from realestate.crawling.paging import Cursors, Links, Numbers, Offsets
from realestate.crawling.portal_spider import PortalSpider
from realestate.crawling.results import Found, Link, Results
from realestate.crawling.scope import Covers, Scope, city_key
from realestate.crawling.search_spider import SearchSpider
from realestate.crawling.search_splitting import Axis, Band, Choice
from realestate.crawling.search_urls import parameters, with_parameters
from realestate.crawling.seeds import BadSeed
from realestate.crawling.sitemaps import read as read_sitemap
from realestate.crawling.telephones import numbers_in

__all__ = [
    "GONE_STATUSES",
    "Axis",
    "BadSeed",
    "Band",
    "Banned",
    "BrokenPage",
    "Choice",
    "Covers",
    "Cursors",
    "EmbeddedJsonSpider",
    "Found",
    "ItemGone",
    "JsonLdSpider",
    "Link",
    "Links",
    "ListingGone",
    "Numbers",
    "Offsets",
    "OldPage",
    "PortalSpider",
    "Results",
    "RowPaths",
    "RowSelectors",
    "Scope",
    "SearchSpider",
    "absolute",
    "assigned_in",
    "city_key",
    "graphql_data",
    "graphql_request",
    "number",
    "number_on_old_page",
    "numbers_in",
    "page_of",
    "parameters",
    "persisted_query_request",
    "place_fields",
    "point_fields",
    "read_paths",
    "read_rows",
    "read_sitemap",
    "results_of_connection",
    "view_count",
    "with_parameters",
]
