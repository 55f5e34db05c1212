"""Questions about listings: the filter language, and what a store returns. Pure: no database is used here.

`parse_filter` reads a filter from text, `matches` evaluates it on one listing, `ListingQuery` adds sort order, cursor
and page size. Both stores translate the same `Filter`; see docs/query.md.
"""

from realestate.storage.query.conditions import EVERYTHING, Box, Comparison, Filter, Polygon, Words
from realestate.storage.query.errors import QueryError
from realestate.storage.query.fields import FACETS, QUERY_FIELDS, ROW_FIELDS
from realestate.storage.query.language import parse_box, parse_filter
from realestate.storage.query.listing_query import DEFAULT_SORT, LARGEST_PAGE, SORTS, ListingQuery
from realestate.storage.query.matching import Facts, facts_of, matcher, matches
from realestate.storage.query.results import (
    Count,
    Facet,
    FacetValue,
    Hexagon,
    ListingDetail,
    MapPoint,
    Page,
    QueryStore,
)

__all__ = [
    "DEFAULT_SORT",
    "EVERYTHING",
    "FACETS",
    "LARGEST_PAGE",
    "QUERY_FIELDS",
    "ROW_FIELDS",
    "SORTS",
    "Box",
    "Comparison",
    "Count",
    "Facet",
    "FacetValue",
    "Facts",
    "Filter",
    "Hexagon",
    "ListingDetail",
    "ListingQuery",
    "MapPoint",
    "Page",
    "Polygon",
    "QueryError",
    "QueryStore",
    "Words",
    "facts_of",
    "matcher",
    "matches",
    "parse_box",
    "parse_filter",
]
