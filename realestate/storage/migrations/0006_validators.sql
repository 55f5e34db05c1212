-- ETag and Last-Modified of listings' pages, for conditional requests. Not part of the listing, nor of a backup.
CREATE TABLE validators (
    portal         text NOT NULL,
    ref            text NOT NULL,
    url            text NOT NULL,
    etag           text,
    last_modified  text,
    content_hash   text NOT NULL,
    parser_version integer NOT NULL,
    kept_at        timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (portal, ref)
) WITH (fillfactor = 50); -- a new fetch changes no index
