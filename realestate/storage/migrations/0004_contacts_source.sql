-- Contacts of the page and of the portal's response to a request for telephones do not replace each other.
ALTER TABLE contacts
    ADD COLUMN source text NOT NULL DEFAULT 'page' CHECK (source IN ('page', 'asked')),
    DROP CONSTRAINT contacts_pkey,
    ADD PRIMARY KEY (portal, ref, source);
