-- Submitted jobs, from the moment of their submission. `jobs` has a row from the moment when a worker opens the job.
CREATE TABLE job_orders (
    job          text PRIMARY KEY,
    portal       text NOT NULL,
    key          text,
    content      jsonb NOT NULL,
    seeds        jsonb NOT NULL,
    events_after bigint NOT NULL,
    submitted_at timestamptz NOT NULL DEFAULT now(),
    deadline_at  timestamptz,
    pushed_at    timestamptz,
    paused_at    timestamptz,
    cancelled_at timestamptz,
    ended_at     timestamptz,
    outcome      text CHECK (outcome IN ('finished', 'cancelled', 'failed')),
    reason       text,
    summary      jsonb
);
CREATE INDEX job_orders_newest ON job_orders (submitted_at, job);
CREATE INDEX job_orders_portal ON job_orders (portal, submitted_at);
CREATE INDEX job_orders_key ON job_orders (key) WHERE key IS NOT NULL;
CREATE INDEX job_orders_unended ON job_orders (submitted_at, job) WHERE ended_at IS NULL;
