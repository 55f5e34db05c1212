-- Hashes of photos, by which adverts of one home are recognised. The photos themselves are not kept: see storage/homes.py.
CREATE TABLE photo_hashes (
    portal    text NOT NULL,
    ref       text NOT NULL,
    photo     text NOT NULL,
    hash      bigint NOT NULL,
    hashed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (portal, ref, photo)
);
CREATE INDEX photo_hashes_hashed_at ON photo_hashes (hashed_at);

ALTER TABLE home_runs ADD COLUMN begun_at timestamptz;
