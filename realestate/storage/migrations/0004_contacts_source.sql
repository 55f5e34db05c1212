-- What a page told and what the portal answered when asked for telephones do not replace each other.
ALTER TABLE contacts
    ADD COLUMN source text NOT NULL DEFAULT 'page' CHECK (source IN ('page', 'asked')),
    DROP CONSTRAINT contacts_pkey,
    ADD PRIMARY KEY (portal, ref, source);
