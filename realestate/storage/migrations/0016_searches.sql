-- Saved searches: see storage/searches.py.
CREATE TABLE searches (
    id         text PRIMARY KEY,
    name       text NOT NULL UNIQUE,
    filter     text NOT NULL,
    "on"       text[] NOT NULL,
    notify     text[] NOT NULL,
    is_paused  boolean NOT NULL DEFAULT false,
    after      bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);

-- How far a reader inside the database has followed the events.
CREATE TABLE cursors (
    name text PRIMARY KEY,
    seq  bigint NOT NULL
);

-- Whoever waits for events is woken when they are committed. One notification a statement, without content.
CREATE FUNCTION events_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NOTIFY realestate_events;
    RETURN NULL;
END
$$;
CREATE TRIGGER events_notify AFTER INSERT ON events FOR EACH STATEMENT EXECUTE FUNCTION events_notify();
