-- The pauses of runs that were resumed: each once.
CREATE TABLE pause (
    id TEXT PRIMARY KEY,
    -- The key of the run that took it, or the name of that start alone.
    taken_by TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;
