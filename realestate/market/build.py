"""Makes the market figures of a store: reads its homes, listings and events, and stores the figures by week."""

from datetime import date, timedelta

from realestate.market.loading import Progress, load
from realestate.market.weekly import GAP_DAYS, WEEK, Market, monday, weeks_between
from realestate.storage import FullStore
from realestate.storage.homes import MarketWeek

#: Figures of earlier weeks do not change any more: a home that returns later is a new stay.
SETTLED = timedelta(days=GAP_DAYS) + WEEK


def build(
    store: FullStore, *, since: date | None = None, progress: Progress = lambda what, count: None
) -> list[MarketWeek]:
    """Make and store the figures of the weeks that are not settled yet, or of all weeks from `since` on.

    Return the figures made. The current week is left out: it is not over."""
    import duckdb

    today = store.server_state().now.date()
    with duckdb.connect() as database:
        load(database, store, progress)
        market = Market(database)
        first = market.first_day()
        last = monday(today) - WEEK
        if first is None or first > last + WEEK:
            return []
        known = store.market_weeks()
        begin = monday(first)
        if since is not None:
            begin = max(begin, monday(since))
        elif known:
            begin = max(begin, monday(max(row.week for row in known) - SETTLED))
        if begin > last:
            return []
        progress("weeks", 0)
        rows = market.weeks(weeks_between(begin, last))
        rows = market.indexed(rows, min([begin, *(row.week for row in known if row.week < begin)]))
    store.save_market(rows, begin)
    return rows
