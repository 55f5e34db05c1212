-- The searches of a run, and the parts into which they were split. They show whether the run was complete.
CREATE TABLE parts (
    run      text NOT NULL,
    search   text NOT NULL,
    portal   text NOT NULL,
    parent   text,
    total    integer,
    is_split boolean NOT NULL,
    newest   bigint,
    PRIMARY KEY (run, search)
);
