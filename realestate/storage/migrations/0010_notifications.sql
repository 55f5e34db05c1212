-- The outbox: see storage/outbox.py. The number gives the order in which messages were enqueued.
CREATE TABLE notifications (
    number       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id           uuid NOT NULL DEFAULT gen_random_uuid() UNIQUE,
    topic        text NOT NULL,
    dedupe_key   text NOT NULL,
    target       text NOT NULL,
    title        text NOT NULL,
    body         text NOT NULL,
    data         jsonb NOT NULL DEFAULT '{}',
    created_at   timestamptz NOT NULL DEFAULT now(),
    state        text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'sent', 'failed')),
    attempts     integer NOT NULL DEFAULT 0,
    next_at      timestamptz NOT NULL DEFAULT now(),
    leased_until timestamptz,
    token        uuid,
    settled_at   timestamptz,
    error        text,
    UNIQUE (target, dedupe_key)
);
-- Only what waits: the outbox stays fast however much was sent.
CREATE INDEX notifications_waiting ON notifications (target, topic, number) WHERE state = 'waiting';
CREATE INDEX notifications_settled ON notifications (settled_at) WHERE state <> 'waiting';
