-- What is collected beside homes: products, quotes. What happened to them is in `events`, under the same numbers.
CREATE TABLE others (
    kind          text NOT NULL,
    portal        text NOT NULL,
    ref           text NOT NULL,
    url           text NOT NULL,
    data          jsonb NOT NULL,
    revision      integer NOT NULL,
    first_seen_at timestamptz NOT NULL,
    last_seen_at  timestamptz NOT NULL,
    last_run      text NOT NULL,
    PRIMARY KEY (portal, ref)
) WITH (fillfactor = 50); -- being seen again touches no index
