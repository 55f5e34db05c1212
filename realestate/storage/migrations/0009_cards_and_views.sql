-- What the search page showed of a listing when its own page was last read: a hash. Not part of the listing, nor of a
-- backup: without it, the page is read again when its time comes.
CREATE TABLE cards (
    portal text NOT NULL,
    ref    text NOT NULL,
    card   text NOT NULL,
    PRIMARY KEY (portal, ref)
) WITH (fillfactor = 50); -- a new card changes no index
