-- What happened to a listing, each price it had, when it left, and what decides that.

ALTER TABLE listings
    ADD COLUMN revision      integer NOT NULL DEFAULT 1,
    ADD COLUMN last_run      text NOT NULL DEFAULT '',
    ADD COLUMN suspect_price numeric(14, 2),
    ADD COLUMN suspect_run   text;

-- A worker of an older version may still write: what it stores has no history, which begins when it is next seen.
ALTER TABLE listings ALTER COLUMN revision SET DEFAULT 0;

-- Room on each page for the next version of a row, so that being seen again touches no index. BRIN does not count.
ALTER TABLE listings SET (fillfactor = 50);
CREATE INDEX listings_area ON listings (operation, area_m2);
CREATE INDEX listings_map ON listings (latitude, longitude) WHERE latitude IS NOT NULL;
CREATE INDEX listings_last_seen ON listings USING brin (last_seen_at);

-- Append-only. `seq` is given under the writer's lock: in the order in which events become visible.
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

-- A row for each price that was not there before, also for one that is not believed yet.
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
    departures   integer NOT NULL DEFAULT 0,  -- what it found gone,
    offered      integer NOT NULL DEFAULT 0,  -- of so many offered then
    concluded_at timestamptz
);
CREATE INDEX runs_portal ON runs (portal, started_at);

-- Evidence that a listing is gone, of each kind the first of a run. `weighed` is what the run's verdict is about.
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

-- How far a search was read; only a complete run moves it.
CREATE TABLE watermarks (
    portal text NOT NULL,
    scope  text NOT NULL,
    value  text NOT NULL,
    run    text NOT NULL,
    set_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (portal, scope)
);

-- Where the raw pages are.
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

-- Persons, encrypted, for a time; found again by `lookups`, which tell nothing to who has not the key.
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

-- What was erased on request stays away.
CREATE TABLE erased (
    kind text NOT NULL,
    what text NOT NULL,
    at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (kind, what)
);

-- The histories of what is stored already begin when it was first seen.
INSERT INTO events (portal, ref, revision, type, at, run, data)
SELECT portal, ref, 1, 'listed', first_seen_at, '', jsonb_build_object(
    'price', trim_scale(price), 'currency', currency, 'price_basis', price_basis, 'rent_period', rent_period,
    'status', status)
FROM listings ORDER BY first_seen_at, portal, ref;

INSERT INTO prices
SELECT portal, ref, 1, first_seen_at, '', 'listing', price, currency, price_basis, rent_period, false FROM listings;
