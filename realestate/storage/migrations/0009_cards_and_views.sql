-- What the search page showed of a listing when its own page was last read: a hash. Not part of the listing, nor of a
-- backup: without it, the page is read again when its time comes.
CREATE TABLE cards (
    portal text NOT NULL,
    ref    text NOT NULL,
    card   text NOT NULL,
    PRIMARY KEY (portal, ref)
) WITH (fillfactor = 50); -- a new card changes no index

-- For `realestate events --since`: events are mostly in the order of their times, so this index is tiny.
CREATE INDEX events_at ON events USING brin (at);

-- Views for common questions: see docs/schema.md. Comments on tables, views and columns are set by
-- storage/postgres/comments.py.

CREATE VIEW current_listings AS
SELECT
    portal, ref, url, country, operation, rent_period, property_type, subtype, is_new_building, price,
    currency, price_basis, charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor,
    floors_total, year_built, condition, energy_class, energy_kwh_m2, heating, facades, features, has_deed,
    has_mortgage, region, city, district, metro_station, street, postal_code, latitude, longitude,
    geo_precision, title, description, photos, seller_type, agency_name, agency_ref, posted_at, updated_at,
    first_seen_at, last_seen_at, last_fetched_at, status, quality_flags, extra
FROM listings WHERE status IN ('active', 'reserved');

CREATE VIEW price_changes AS
SELECT
    seq, portal, ref, at, job,
    (CASE type WHEN 'price_changed' THEN data ->> 'old' ELSE data -> 'old' ->> 'price' END)::numeric AS old_price,
    (CASE type WHEN 'price_changed' THEN data ->> 'new' ELSE data -> 'new' ->> 'price' END)::numeric AS new_price,
    coalesce(data ->> 'currency', data -> 'new' ->> 'currency', data -> 'old' ->> 'currency') AS currency,
    (data ->> 'percent')::numeric AS percent,
    data -> 'old' ->> 'price_basis' AS old_basis,
    data -> 'new' ->> 'price_basis' AS new_basis,
    data -> 'old' ->> 'rent_period' AS old_period,
    data -> 'new' ->> 'rent_period' AS new_period
FROM events WHERE type IN ('price_changed', 'price_meaning_changed');

CREATE VIEW time_on_market AS
SELECT
    portal, ref,
    row_number() OVER (PARTITION BY portal, ref ORDER BY seq)::integer AS stay,
    began_at, ended_at, ended_as,
    round(extract(epoch FROM coalesce(ended_at, now()) - began_at) / 86400, 1) AS days
FROM (
    SELECT
        seq, portal, ref, type, data ->> 'status' AS status, at AS began_at,
        lead(type) OVER steps AS ended_as,
        lead(CASE type WHEN 'delisted' THEN coalesce((data ->> 'before')::timestamptz, at) ELSE at END) OVER steps
            AS ended_at
    FROM events WHERE type IN ('listed', 'relisted', 'delisted', 'sold', 'rented')
    WINDOW steps AS (PARTITION BY portal, ref ORDER BY seq)
) AS changes
WHERE type IN ('listed', 'relisted') AND coalesce(status, 'active') IN ('active', 'reserved');
