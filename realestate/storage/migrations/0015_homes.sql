-- Homes: adverts of one dwelling, why they are one, and what people decided about them; and market figures by week.
-- homes, home_listings, home_links and market_weekly are made again by `realestate homes build` and `realestate market`.

CREATE TABLE homes (
    home          text PRIMARY KEY,
    country       text NOT NULL,
    operation     text,
    property_type text,
    city          text,
    district      text,
    rooms         integer,
    area_m2       double precision,
    price         numeric(14, 2),
    currency      text,
    rent_period   text,
    is_active     boolean NOT NULL,
    listings      integer NOT NULL,
    portals       integer NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL,
    gone_at       timestamptz
);
CREATE INDEX homes_place ON homes (country, city, operation, property_type, home);

CREATE TABLE home_listings (
    portal text NOT NULL,
    ref    text NOT NULL,
    home   text NOT NULL,
    PRIMARY KEY (portal, ref)
);
CREATE INDEX home_listings_home ON home_listings (home);

CREATE TABLE home_links (
    a       text NOT NULL,
    b       text NOT NULL,
    home    text NOT NULL,
    score   double precision NOT NULL,
    reasons jsonb NOT NULL,
    PRIMARY KEY (a, b)
);
CREATE INDEX home_links_home ON home_links (home);

CREATE TABLE home_pins (
    a    text NOT NULL,
    b    text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('join', 'split')),
    at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (a, b)
);

-- The last complete run: one row.
CREATE TABLE home_runs (
    built_at         timestamptz NOT NULL,
    last_event       bigint NOT NULL,
    listings         integer NOT NULL,
    homes            integer NOT NULL,
    candidates       bigint NOT NULL,
    skipped_keys     integer NOT NULL,
    skipped_listings integer NOT NULL,
    in_blocks        integer NOT NULL,
    coverage         jsonb NOT NULL
);

CREATE TABLE market_weekly (
    week                  date NOT NULL,
    country               text NOT NULL,
    city                  text NOT NULL,
    district              text NOT NULL,
    property_type         text NOT NULL,
    operation             text NOT NULL,
    currency              text NOT NULL,
    rent_period           text NOT NULL,
    stock                 integer NOT NULL,
    new                   integer NOT NULL,
    gone                  integer NOT NULL,
    median_price          double precision,
    price_low             double precision,
    price_high            double precision,
    median_price_per_m2   double precision,
    price_per_m2_low      double precision,
    price_per_m2_high     double precision,
    months_of_supply      double precision,
    median_days_on_market double precision,
    cut_share             double precision,
    median_cut            double precision,
    off_in_two_weeks      double precision,
    gross_yield           double precision,
    price_index           double precision,
    PRIMARY KEY (country, city, district, operation, property_type, currency, rent_period, week)
);
CREATE INDEX market_weekly_week ON market_weekly (week);
