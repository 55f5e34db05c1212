-- Runs are now called jobs. Only names change: no row is rewritten.
ALTER TABLE runs RENAME TO jobs;
ALTER TABLE jobs RENAME COLUMN run TO job;
ALTER TABLE jobs RENAME CONSTRAINT runs_pkey TO jobs_pkey;
ALTER INDEX runs_portal RENAME TO jobs_portal;

ALTER TABLE listings RENAME COLUMN last_run TO last_job;
ALTER TABLE listings RENAME COLUMN suspect_run TO suspect_job;
ALTER TABLE others RENAME COLUMN last_run TO last_job;
ALTER TABLE events RENAME COLUMN run TO job;
ALTER TABLE prices RENAME COLUMN run TO job;
ALTER TABLE departures RENAME COLUMN run TO job;
ALTER TABLE parts RENAME COLUMN run TO job;
ALTER TABLE watermarks RENAME COLUMN run TO job;
ALTER TABLE snapshots RENAME COLUMN run TO job;
