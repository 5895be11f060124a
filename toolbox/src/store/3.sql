CREATE TABLE note (
    principal TEXT NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    PRIMARY KEY (principal, name)
) STRICT, WITHOUT ROWID;
