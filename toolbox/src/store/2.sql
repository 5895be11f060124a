CREATE TABLE schedule (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    -- Grows with every change and every occurrence.
    version INTEGER NOT NULL DEFAULT 1,
    principal TEXT NOT NULL,
    prompt TEXT NOT NULL,
    -- JSON.
    repeat TEXT NOT NULL,
    zone TEXT NOT NULL,
    channel TEXT,
    chat TEXT,
    -- A JSON list of the tools that whoever created it might not call.
    denied TEXT NOT NULL,
    -- Whether whoever created or changed it had read what others wrote.
    tainted INTEGER NOT NULL,
    -- Milliseconds between two times of it, at the least.
    minimum INTEGER NOT NULL,
    enabled INTEGER NOT NULL,
    -- Times are milliseconds since 1970.
    next INTEGER,
    last INTEGER,
    fired INTEGER
) STRICT;

CREATE INDEX schedule_by_principal ON schedule (principal);
CREATE INDEX schedule_by_next ON schedule (next) WHERE enabled;
