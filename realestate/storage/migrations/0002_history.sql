-- Events and prices of listings, when they left the market, and the evidence for it.

ALTER TABLE listings
    ADD COLUMN revision      integer NOT NULL DEFAULT 1,
    ADD COLUMN last_run      text NOT NULL DEFAULT '',
    ADD COLUMN suspect_price numeric(14, 2),
    ADD COLUMN suspect_run   text;

-- A worker of an older version may still write. Its listings have no history until they are seen again.
ALTER TABLE listings ALTER COLUMN revision SET DEFAULT 0;

-- Room on each page for the next version of a row, so that a new sighting changes no index (except BRIN).
ALTER TABLE listings SET (fillfactor = 50);
CREATE INDEX listings_area ON listings (operation, area_m2);
CREATE INDEX listings_map ON listings (latitude, longitude) WHERE latitude IS NOT NULL;
CREATE INDEX listings_last_seen ON listings USING brin (last_seen_at);

-- Append-only. `seq` is assigned under the writer's lock, so its order is the order in which events become visible.
CREATE TABLE events (
    seq      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    portal   text NOT NULL,
    ref      text NOT NULL,
    revision integer NOT NULL,
    type     text NOT NULL,
    at       timestamptz NOT NULL,
    run      text NOT NULL,
    data     jsonb NOT NULL,
    UNIQUE (portal, ref, revision, type)
);

-- A row for each new price, also for a suspect one.
CREATE TABLE prices (
    portal      text NOT NULL,
    ref         text NOT NULL,
    revision    integer NOT NULL,
    at          timestamptz NOT NULL,
    run         text NOT NULL,
    source      text NOT NULL,
    price       numeric(14, 2),
    currency    text,
    price_basis text,
    rent_period text,
    suspect     boolean NOT NULL,
    PRIMARY KEY (portal, ref, revision)
);

CREATE TABLE runs (
    run          text PRIMARY KEY,
    portal       text NOT NULL,
    mode         text NOT NULL,
    scope        text NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    swept_at     timestamptz,
    complete     boolean,
    reason       text,
    verdict      text,
    departures   integer NOT NULL DEFAULT 0,  -- number of listings that it found gone,
    offered      integer NOT NULL DEFAULT 0,  -- of so many on the market at that time
    concluded_at timestamptz
);
CREATE INDEX runs_portal ON runs (portal, started_at);

-- Evidence that a listing is gone: of each kind the first of a run. `weighed`: the verdict of the run counts it.
CREATE TABLE departures (
    run      text NOT NULL,
    portal   text NOT NULL,
    ref      text NOT NULL,
    evidence text NOT NULL,
    detail   text NOT NULL,
    url      text NOT NULL,
    at       timestamptz NOT NULL,
    weighed  boolean NOT NULL DEFAULT false,
    PRIMARY KEY (run, portal, ref, evidence)
);

-- How far a search was read. Only a complete run changes it.
CREATE TABLE watermarks (
    portal text NOT NULL,
    scope  text NOT NULL,
    value  text NOT NULL,
    run    text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (portal, scope)
);

-- The index of raw pages.
CREATE TABLE snapshots (
    file       text NOT NULL,
    "offset"   bigint NOT NULL,
    length     bigint NOT NULL,
    digest     text NOT NULL,
    portal     text NOT NULL,
    ref        text,
    url        text NOT NULL,
    stage      text NOT NULL,
    run        text,
    kind       text NOT NULL,
    status     integer NOT NULL,
    fetched_at timestamptz NOT NULL,
    PRIMARY KEY (file, "offset")
);
CREATE INDEX snapshots_portal ON snapshots (portal, fetched_at);
CREATE INDEX snapshots_listing ON snapshots (portal, ref, fetched_at) WHERE ref IS NOT NULL;

-- Encrypted contacts with an expiry time. `lookups` are keyed hashes by which a contact is found.
CREATE TABLE contacts (
    portal     text NOT NULL,
    ref        text NOT NULL,
    sealed     bytea NOT NULL,
    lookups    text[] NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (portal, ref)
);
CREATE INDEX contacts_lookups ON contacts USING gin (lookups);
CREATE INDEX contacts_expiry ON contacts (expires_at);

-- What was erased on request: it must not be stored again.
CREATE TABLE erased (
    kind text NOT NULL,
    what text NOT NULL,
    at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, what)
);

-- The history of a listing that is stored already begins when it was first seen.
INSERT INTO events (portal, ref, revision, type, at, run, data)
SELECT portal, ref, 1, 'listed', first_seen_at, '', jsonb_build_object(
    'price', trim_scale(price), 'currency', currency, 'price_basis', price_basis, 'rent_period', rent_period,
    'status', status)
FROM listings ORDER BY first_seen_at, portal, ref;

INSERT INTO prices
SELECT portal, ref, 1, first_seen_at, '', 'listing', price, currency, price_basis, rent_period, false FROM listings;
