-- The roles of the database. As a superuser, in the database of realestate, before the first `realestate migrate` and
-- again after each one (what it has done already, it leaves as it is):
--   psql "$ADMIN_URL" -v ON_ERROR_STOP=1 -f deploy/postgres/roles.sql
-- Then give each login its role: CREATE ROLE fleet LOGIN PASSWORD '…' IN ROLE realestate_writer;
-- The login that migrates acts as the owner: ALTER ROLE <login> SET role = 'realestate_migrator';
--
-- realestate_migrator  owns the tables: `realestate migrate`, `upkeep`, `restore`
-- realestate_writer    reads and writes rows: workers, timetable, web
-- realestate_reader    reads rows: analysts, dashboards, `realestate export`; no personal data

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['realestate_migrator', 'realestate_writer', 'realestate_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
    END LOOP;
    EXECUTE format('REVOKE ALL ON DATABASE %I FROM PUBLIC', current_database());
    EXECUTE format(
        'GRANT CONNECT, TEMPORARY ON DATABASE %I TO realestate_migrator, realestate_writer', current_database()
    );
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO realestate_reader', current_database());
END
$$;

REVOKE ALL ON SCHEMA public FROM PUBLIC;
GRANT USAGE, CREATE ON SCHEMA public TO realestate_migrator;
GRANT USAGE ON SCHEMA public TO realestate_writer, realestate_reader;

-- What exists already, and what a migration makes later.
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO realestate_writer;
GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA public TO realestate_writer;
ALTER DEFAULT PRIVILEGES FOR ROLE realestate_migrator IN SCHEMA public
    GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO realestate_writer;
ALTER DEFAULT PRIVILEGES FOR ROLE realestate_migrator IN SCHEMA public
    GRANT USAGE, SELECT ON SEQUENCES TO realestate_writer;

-- A reader gets table by table, so that a new table is hidden until somebody runs this file again. Personal data, and the
-- addresses of receivers (which contain passwords and tokens), stay hidden.
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN
        SELECT relname FROM pg_class
        WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm')
          AND relname NOT IN ('contacts', 'erased', 'notifications', 'searches')
    LOOP
        EXECUTE format('GRANT SELECT ON public.%I TO realestate_reader', name);
    END LOOP;
END
$$;
