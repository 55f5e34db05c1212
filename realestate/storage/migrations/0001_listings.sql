-- The current state of every listing, and what failed validation.

CREATE TABLE listings (
    portal          text NOT NULL,
    ref             text NOT NULL,
    url             text NOT NULL,
    country         text NOT NULL,

    operation       text,
    rent_period     text,
    property_type   text,
    subtype         text,
    is_new_building boolean,

    price           numeric(14, 2),
    currency        text,
    price_basis     text,
    charges         numeric(14, 2),
    price_per_m2    numeric(14, 2),

    area_m2         double precision,
    plot_m2         double precision,
    rooms           integer,
    bedrooms        integer,
    bathrooms       integer,
    floor           integer,
    floors_total    integer,

    year_built      integer,
    condition       text,
    energy_class    text,
    energy_kwh_m2   double precision,
    heating         text,
    facades         integer,
    features        text[] NOT NULL DEFAULT '{}',
    has_deed        boolean,
    has_mortgage    boolean,

    region          text,
    city            text,
    district        text,
    metro_station   text,
    street          text,
    postal_code     text,
    latitude        double precision,
    longitude       double precision,
    geo_precision   text,

    title           text,
    description     text,
    photos          text[] NOT NULL DEFAULT '{}',

    seller_type     text,
    agency_name     text,
    agency_ref      text,

    posted_at       timestamptz,
    updated_at      timestamptz,
    first_seen_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at    timestamptz NOT NULL DEFAULT now(),
    last_fetched_at timestamptz NOT NULL DEFAULT now(),
    delisted_at     tstzrange,

    status          text NOT NULL DEFAULT 'active',
    content_hash    text,
    quality_flags   text[] NOT NULL DEFAULT '{}',
    parser_version  integer NOT NULL DEFAULT 1,
    extra           jsonb NOT NULL DEFAULT '{}',

    PRIMARY KEY (portal, ref)
);

-- For common queries: what is on the market where, at what price, what is new.
CREATE INDEX listings_place ON listings (country, city, district, operation);
CREATE INDEX listings_price ON listings (operation, currency, price);
CREATE INDEX listings_first_seen ON listings (first_seen_at);

CREATE TABLE quarantine (
    portal         text NOT NULL,
    fingerprint    text NOT NULL,  -- hash of errors and record: the same fault is kept once
    ref            text NOT NULL,
    url            text NOT NULL,
    errors         jsonb NOT NULL,
    record         jsonb NOT NULL,
    quarantined_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (portal, fingerprint)
);
