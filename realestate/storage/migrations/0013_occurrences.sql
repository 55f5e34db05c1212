-- The timetable's occurrences: one decision for each.
CREATE TABLE occurrences (
    entry         text NOT NULL,
    due_at        timestamptz NOT NULL,
    decision      text NOT NULL CHECK (decision IN ('begins', 'start', 'skipped')),
    reason        text,
    decided_at    timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    done_at       timestamptz,
    job           text,
    error         text,
    PRIMARY KEY (entry, due_at)
);
CREATE INDEX occurrences_newest ON occurrences (due_at);
CREATE INDEX occurrences_undone ON occurrences (due_at) WHERE decision = 'start' AND done_at IS NULL;
