-- Small documents of monitoring: see storage/states.py.
CREATE TABLE states (
    name     text PRIMARY KEY,
    data     jsonb NOT NULL,
    revision bigint NOT NULL
) WITH (fillfactor = 50);
