-- Items of other kinds (products, quotes). Their events are in `events`, numbered like those of listings.
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
) WITH (fillfactor = 50); -- a new sighting changes no index
