-- A job is identified by its portal and its name: two portals may have a job of the same name.
ALTER TABLE jobs DROP CONSTRAINT jobs_pkey, ADD CONSTRAINT jobs_pkey PRIMARY KEY (portal, job);
ALTER TABLE parts DROP CONSTRAINT parts_pkey, ADD CONSTRAINT parts_pkey PRIMARY KEY (portal, job, search);
ALTER TABLE departures
    DROP CONSTRAINT departures_pkey, ADD CONSTRAINT departures_pkey PRIMARY KEY (portal, job, ref, evidence);

-- Evidence whose job has no record, because another portal had a job of the same name. The job gets a record, so that
-- `realestate jobs apply` can apply it. It never counts as a complete sweep.
INSERT INTO jobs (job, portal, mode, scope, started_at, swept_at, complete, reason)
SELECT lost.job, lost.portal, coalesce(other.mode, 'full'), coalesce(other.scope, ''), lost.first, lost.last, false,
    'its record was lost: another portal had a job of the same name'
FROM (
    SELECT job, portal, min(at) AS first, max(at) AS last FROM departures AS departure
    WHERE NOT EXISTS (
        SELECT FROM jobs WHERE (jobs.portal, jobs.job) = (departure.portal, departure.job)
    ) GROUP BY job, portal
) AS lost LEFT JOIN (SELECT DISTINCT ON (job) job, mode, scope FROM jobs ORDER BY job, started_at) AS other USING (job);

-- When a search page last showed the price, by the time of its fetch. An older page must not change the price.
ALTER TABLE listings ADD COLUMN price_sighted_at timestamptz;
