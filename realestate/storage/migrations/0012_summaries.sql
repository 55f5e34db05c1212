-- Summaries of listings: the values that searches compare, and that a result row and a map point show. Triggers keep
-- them in the transaction that changes the listing, whoever changes it. Nothing is written for a listing that is only
-- seen again.

-- The text without case, accents and punctuation, with a space before each word: the same as
-- storage/query/folding.py. It does not depend on the language of the server.
CREATE FUNCTION listing_words(text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$ SELECT
    ' ' || translate(
        regexp_replace(normalize($1, NFD), '[\u0300-\u036F]', '', 'g'),
        'ABCDEFGHIJKLMNOPQRSTUVWXYZ' || U&'\018F\0259I\0131\00D8\00F8\0141\0142\0110\0111\00D0\00F0\00DE\00FE\0152\0153\00C6\00E6\0391\0392\0393\0394\0395\0396\0397\0398\0399\039A\039B\039C\039D\039E\039F\03A0\03A1\03A3\03A4\03A5\03A6\03A7\03A8\03A9\03C2\0410\0411\0412\0413\0414\0415\0416\0417\0418\041A\041B\041C\041D\041E\041F\0420\0421\0422\0423\0424\0425\0426\0427\0428\0429\042A\042B\042C\042D\042E\042F\0404\0406\0490'
            || U&'\0009\000A\000D\000B\000C!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~\00A0\00A7\00A9\00AB\00AE\00B0\00B1\00B7\00BB\00BF\00A1\00D7\00F7\2013\2014\2018\2019\201A\201C\201D\201E\2020\2022\2026\2039\203A\20AC\20BC\2116\2122\2009\202F\3000\3001\3002',
        'abcdefghijklmnopqrstuvwxyz' || U&'eeiioollddddttooaa\03B1\03B2\03B3\03B4\03B5\03B6\03B7\03B8\03B9\03BA\03BB\03BC\03BD\03BE\03BF\03C0\03C1\03C3\03C4\03C5\03C6\03C7\03C8\03C9\03C3\0430\0431\0432\0433\0434\0435\0436\0437\0438\043A\043B\043C\043D\043E\043F\0440\0441\0442\0443\0444\0445\0446\0447\0448\0449\044A\044B\044C\044D\044E\044F\0454\0456\0491'
            || repeat(' ', 72))
$$;

-- What a worker computes of a listing, because it takes PostgreSQL much longer: the words of its texts, and its cell of
-- H3 at resolution 9. Workers of older versions leave them empty.
ALTER TABLE listings ADD COLUMN search_words tsvector, ADD COLUMN cell bigint;

CREATE TABLE summaries (
    portal             text NOT NULL,
    ref                text NOT NULL,
    url                text NOT NULL,
    country            text NOT NULL,
    operation          text,
    rent_period        text,
    property_type      text,
    subtype            text,
    is_new_building    boolean,
    price              numeric(14, 2),
    currency           text,
    price_basis        text,
    charges            numeric(14, 2),
    price_per_m2       numeric(14, 2),
    area_m2            double precision,
    plot_m2            double precision,
    rooms              integer,
    bedrooms           integer,
    bathrooms          integer,
    floor              integer,
    floors_total       integer,
    year_built         integer,
    condition          text,
    energy_class       text,
    energy_kwh_m2      double precision,
    heating            text,
    facades            integer,
    features           text[] NOT NULL,
    has_deed           boolean,
    has_mortgage       boolean,
    region             text,
    city               text,
    district           text,
    metro_station      text,
    street             text,
    postal_code        text,
    latitude           double precision,
    longitude          double precision,
    geo_precision      text,
    title              text,
    seller_type        text,
    agency_name        text,
    agency_ref         text,
    posted_at          timestamptz,
    updated_at         timestamptz,
    first_seen_at      timestamptz NOT NULL,
    status             text NOT NULL,
    quality_flags      text[] NOT NULL,
    parser_version     integer NOT NULL,
    delisted_at        timestamptz,
    photo              text,
    photo_count        integer NOT NULL,
    on_market          boolean NOT NULL,
    place              point,
    words              tsvector NOT NULL,
    cell               bigint,
    changed_at         timestamptz NOT NULL,
    price_changed_at   timestamptz,
    cheaper_by         numeric(20, 2),
    PRIMARY KEY (portal, ref)
) WITH (fillfactor = 85);

-- What a summary has of its listing.
CREATE VIEW listing_summaries AS
SELECT
    portal, ref, url, country, operation, rent_period, property_type, subtype, is_new_building, price, currency,
    price_basis, charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor, floors_total,
    year_built, condition, energy_class, energy_kwh_m2, heating, facades, features, has_deed, has_mortgage,
    region, city, district, metro_station, street, postal_code, latitude, longitude, geo_precision, title,
    seller_type, agency_name, agency_ref, posted_at, updated_at, first_seen_at, status, quality_flags,
    parser_version,
    upper(delisted_at) AS delisted_at, photos[1] AS photo, cardinality(photos) AS photo_count,
    status IN ('active', 'reserved') AS on_market, point(longitude, latitude) AS place,
    coalesce(search_words, array_to_tsvector(ARRAY (
        SELECT left(word, 50) FROM unnest(string_to_array(listing_words(concat_ws(' ',
            title, street, district, city, region, metro_station, postal_code, subtype, agency_name, ref
        )), ' ')) AS word WHERE word <> ''
    ))) AS words,
    cell
FROM listings;

-- Without enable_seqscan = off PostgreSQL may read all listings while it has no statistics yet.
CREATE FUNCTION summarize_added() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO summaries (
        portal, ref, url, country, operation, rent_period, property_type, subtype, is_new_building, price,
        currency, price_basis, charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor,
        floors_total, year_built, condition, energy_class, energy_kwh_m2, heating, facades, features, has_deed,
        has_mortgage, region, city, district, metro_station, street, postal_code, latitude, longitude,
        geo_precision, title, seller_type, agency_name, agency_ref, posted_at, updated_at, first_seen_at,
        status, quality_flags, parser_version, delisted_at, photo, photo_count, on_market, place, words, cell, changed_at
    )
    SELECT
        made.portal, made.ref, made.url, made.country, made.operation, made.rent_period, made.property_type,
        made.subtype, made.is_new_building, made.price, made.currency, made.price_basis, made.charges,
        made.price_per_m2, made.area_m2, made.plot_m2, made.rooms, made.bedrooms, made.bathrooms, made.floor,
        made.floors_total, made.year_built, made.condition, made.energy_class, made.energy_kwh_m2, made.heating,
        made.facades, made.features, made.has_deed, made.has_mortgage, made.region, made.city, made.district,
        made.metro_station, made.street, made.postal_code, made.latitude, made.longitude, made.geo_precision,
        made.title, made.seller_type, made.agency_name, made.agency_ref, made.posted_at, made.updated_at,
        made.first_seen_at, made.status, made.quality_flags, made.parser_version, made.delisted_at, made.photo,
        made.photo_count, made.on_market, made.place, made.words, made.cell, made.first_seen_at
    FROM added JOIN listing_summaries AS made USING (portal, ref);
    RETURN NULL;
END $$;

CREATE FUNCTION summarize_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    UPDATE summaries SET (
        url, country, operation, rent_period, property_type, subtype, is_new_building, price, currency,
        price_basis, charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor, floors_total,
        year_built, condition, energy_class, energy_kwh_m2, heating, facades, features, has_deed, has_mortgage,
        region, city, district, metro_station, street, postal_code, latitude, longitude, geo_precision, title,
        seller_type, agency_name, agency_ref, posted_at, updated_at, status, quality_flags, parser_version,
        delisted_at, photo, photo_count, on_market, place, words, cell
    ) = (
        SELECT
            url, country, operation, rent_period, property_type, subtype, is_new_building, price, currency,
            price_basis, charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor,
            floors_total, year_built, condition, energy_class, energy_kwh_m2, heating, facades, features,
            has_deed, has_mortgage, region, city, district, metro_station, street, postal_code, latitude,
            longitude, geo_precision, title, seller_type, agency_name, agency_ref, posted_at, updated_at,
            status, quality_flags, parser_version, delisted_at, photo, photo_count, on_market, place, words, cell
        FROM listing_summaries AS made WHERE made.portal = NEW.portal AND made.ref = NEW.ref
    )
    WHERE portal = NEW.portal AND ref = NEW.ref;
    RETURN NULL;
END $$;

CREATE FUNCTION summarize_removed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM summaries WHERE portal = OLD.portal AND ref = OLD.ref;
    RETURN NULL;
END $$;

-- What follows from events: when the listing changed, and how its price moved.
CREATE FUNCTION summarize_events() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    UPDATE summaries AS summary SET
        changed_at = greatest(summary.changed_at, event.at),
        price_changed_at = coalesce(event.price_at, summary.price_changed_at),
        cheaper_by = CASE WHEN event.price_at IS NULL THEN summary.cheaper_by ELSE event.cheaper_by END
    FROM (
        SELECT
            portal, ref, max(at) AS at,
            (array_agg(at ORDER BY seq DESC) FILTER (WHERE type <> 'other'))[1] AS price_at,
            (array_agg(cheaper_by ORDER BY seq DESC) FILTER (WHERE type <> 'other'))[1] AS cheaper_by
        FROM (
            SELECT portal, ref, seq, at, round(-(data ->> 'percent')::numeric, 2) AS cheaper_by,
                CASE WHEN type IN ('price_changed', 'price_meaning_changed') THEN type ELSE 'other' END AS type
            FROM added WHERE type <> 'listed'
        ) AS changes GROUP BY portal, ref
    ) AS event
    WHERE summary.portal = event.portal AND summary.ref = event.ref;
    RETURN NULL;
END $$;

CREATE TRIGGER summarize_added AFTER INSERT ON listings
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION summarize_added();
-- Not of the times at which a listing was seen.
CREATE TRIGGER summarize_changed AFTER UPDATE OF
    url, country, operation, rent_period, property_type, subtype, is_new_building, price, currency, price_basis,
    charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor, floors_total, year_built,
    condition, energy_class, energy_kwh_m2, heating, facades, features, has_deed, has_mortgage, region, city,
    district, metro_station, street, postal_code, latitude, longitude, geo_precision, title, seller_type,
    agency_name, agency_ref, posted_at, updated_at, status, quality_flags, parser_version, delisted_at, photos,
    description
    ON listings FOR EACH ROW EXECUTE FUNCTION summarize_changed();
CREATE TRIGGER summarize_removed AFTER DELETE ON listings FOR EACH ROW EXECUTE FUNCTION summarize_removed();
CREATE TRIGGER summarize_events AFTER INSERT ON events
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION summarize_events();

-- How many listings have a value: for facets and maps of everything, and of one portal, country or operation. A missing
-- value is written as ''. `hexagon5` and `hexagon7` are cells of H3 at these resolutions.
CREATE TABLE tallies (
    portal    text NOT NULL,
    country   text NOT NULL,
    operation text NOT NULL,
    on_market boolean NOT NULL,
    field     text NOT NULL,
    value     text NOT NULL,
    count     integer NOT NULL,
    PRIMARY KEY (field, value, portal, country, operation, on_market)
) WITH (fillfactor = 50);

-- The cell of H3 that contains this one, at a coarser resolution: its digits after that are set to 7.
CREATE FUNCTION cell_at(cell bigint, resolution integer) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT (cell & ~(15::bigint << 52)) | (resolution::bigint << 52) | ((1::bigint << (3 * (15 - resolution))) - 1)
$$;

CREATE FUNCTION tally_added() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO tallies (portal, country, operation, on_market, field, value, count)
    SELECT portal, country, coalesce(operation, ''), on_market, each.field, coalesce(each.value, ''), sum(by)
    FROM (SELECT *, 1 AS by FROM added) AS moved CROSS JOIN LATERAL (VALUES
        ('status', status), ('property_type', property_type), ('city', city), ('district', district),
        ('rooms', rooms::text), ('seller_type', seller_type), ('currency', currency),
        ('hexagon5', cell_at(cell, 5)::text), ('hexagon7', cell_at(cell, 7)::text)
    ) AS each (field, value)
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(by) <> 0 ORDER BY 5, 6, 1, 2, 3, 4
    ON CONFLICT (field, value, portal, country, operation, on_market)
    DO UPDATE SET count = tallies.count + excluded.count;
    RETURN NULL;
END $$;

CREATE FUNCTION tally_removed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO tallies (portal, country, operation, on_market, field, value, count)
    SELECT portal, country, coalesce(operation, ''), on_market, each.field, coalesce(each.value, ''), sum(by)
    FROM (SELECT *, -1 AS by FROM removed) AS moved CROSS JOIN LATERAL (VALUES
        ('status', status), ('property_type', property_type), ('city', city), ('district', district),
        ('rooms', rooms::text), ('seller_type', seller_type), ('currency', currency),
        ('hexagon5', cell_at(cell, 5)::text), ('hexagon7', cell_at(cell, 7)::text)
    ) AS each (field, value)
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(by) <> 0 ORDER BY 5, 6, 1, 2, 3, 4
    ON CONFLICT (field, value, portal, country, operation, on_market)
    DO UPDATE SET count = tallies.count + excluded.count;
    RETURN NULL;
END $$;

CREATE FUNCTION tally_changed() RETURNS trigger LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    INSERT INTO tallies (portal, country, operation, on_market, field, value, count)
    SELECT portal, country, coalesce(operation, ''), on_market, each.field, coalesce(each.value, ''), sum(by)
    FROM (SELECT *, 1 AS by FROM added UNION ALL SELECT *, -1 FROM removed) AS moved CROSS JOIN LATERAL (VALUES
        ('status', status), ('property_type', property_type), ('city', city), ('district', district),
        ('rooms', rooms::text), ('seller_type', seller_type), ('currency', currency),
        ('hexagon5', cell_at(cell, 5)::text), ('hexagon7', cell_at(cell, 7)::text)
    ) AS each (field, value)
    GROUP BY 1, 2, 3, 4, 5, 6 HAVING sum(by) <> 0 ORDER BY 5, 6, 1, 2, 3, 4
    ON CONFLICT (field, value, portal, country, operation, on_market)
    DO UPDATE SET count = tallies.count + excluded.count;
    RETURN NULL;
END $$;

CREATE TRIGGER tally_added AFTER INSERT ON summaries
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION tally_added();
CREATE TRIGGER tally_changed AFTER UPDATE ON summaries
    REFERENCING NEW TABLE AS added OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION tally_changed();
CREATE TRIGGER tally_removed AFTER DELETE ON summaries
    REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION tally_removed();

-- The listings that are stored already.
INSERT INTO summaries (
    portal, ref, url, country, operation, rent_period, property_type, subtype, is_new_building, price, currency,
    price_basis, charges, price_per_m2, area_m2, plot_m2, rooms, bedrooms, bathrooms, floor, floors_total,
    year_built, condition, energy_class, energy_kwh_m2, heating, facades, features, has_deed, has_mortgage,
    region, city, district, metro_station, street, postal_code, latitude, longitude, geo_precision, title,
    seller_type, agency_name, agency_ref, posted_at, updated_at, first_seen_at, status, quality_flags,
    parser_version, delisted_at, photo, photo_count, on_market, place, words, cell, changed_at, price_changed_at,
    cheaper_by
)
SELECT
    made.portal, made.ref, made.url, made.country, made.operation, made.rent_period, made.property_type,
    made.subtype, made.is_new_building, made.price, made.currency, made.price_basis, made.charges,
    made.price_per_m2, made.area_m2, made.plot_m2, made.rooms, made.bedrooms, made.bathrooms, made.floor,
    made.floors_total, made.year_built, made.condition, made.energy_class, made.energy_kwh_m2, made.heating,
    made.facades, made.features, made.has_deed, made.has_mortgage, made.region, made.city, made.district,
    made.metro_station, made.street, made.postal_code, made.latitude, made.longitude, made.geo_precision,
    made.title, made.seller_type, made.agency_name, made.agency_ref, made.posted_at, made.updated_at,
    made.first_seen_at, made.status, made.quality_flags, made.parser_version, made.delisted_at, made.photo,
    made.photo_count, made.on_market, made.place, made.words, made.cell,
    coalesce(event.at, made.first_seen_at), price.at, round(-(price.data ->> 'percent')::numeric, 2)
FROM listing_summaries AS made
LEFT JOIN (SELECT portal, ref, max(at) AS at FROM events GROUP BY portal, ref) AS event USING (portal, ref)
LEFT JOIN (
    SELECT DISTINCT ON (portal, ref) portal, ref, at, data FROM events
    WHERE type IN ('price_changed', 'price_meaning_changed') ORDER BY portal, ref, seq DESC
) AS price USING (portal, ref);

-- The orders of results. Each ends with the identity of the listing, so that a page continues after any listing.
CREATE INDEX summaries_first_seen ON summaries (first_seen_at, portal, ref) WHERE on_market;
CREATE INDEX summaries_changed ON summaries (changed_at, portal, ref) WHERE on_market;
CREATE INDEX summaries_price ON summaries (price, portal, ref) WHERE on_market;
CREATE INDEX summaries_price_per_m2 ON summaries (price_per_m2, portal, ref) WHERE on_market;
CREATE INDEX summaries_area ON summaries (area_m2, portal, ref) WHERE on_market;
CREATE INDEX summaries_rooms ON summaries (rooms, portal, ref) WHERE on_market;
CREATE INDEX summaries_cheaper ON summaries (cheaper_by, portal, ref) WHERE on_market AND cheaper_by IS NOT NULL;
-- The cheapest homes for sale: rents are cheaper, and without these all of them are read first.
CREATE INDEX summaries_operation_price ON summaries (operation, price, portal, ref) WHERE on_market;
CREATE INDEX summaries_operation_price_per_m2 ON summaries (operation, price_per_m2, portal, ref) WHERE on_market;
CREATE INDEX summaries_city ON summaries (country, city, district) WHERE on_market;
CREATE INDEX summaries_place ON summaries USING gist (place) WHERE on_market;
CREATE INDEX summaries_words ON summaries USING gin (words) WHERE on_market;

-- Searches do not read `listings` any more, so it needs no indexes for them.
DROP INDEX listings_place, listings_price, listings_area, listings_map, listings_first_seen;
