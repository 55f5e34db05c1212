-- What linking keeps of each listing, so that a run needs to look only at what is new: see storage/homes.py.
CREATE TABLE home_states (
    portal   text NOT NULL,
    ref      text NOT NULL,
    facts    text NOT NULL,
    keys     bigint[] NOT NULL,
    near     jsonb NOT NULL,
    in_block boolean NOT NULL,
    PRIMARY KEY (portal, ref)
);
CREATE INDEX home_states_keys ON home_states USING gin (keys);

ALTER TABLE home_runs ADD COLUMN version text NOT NULL DEFAULT '';
