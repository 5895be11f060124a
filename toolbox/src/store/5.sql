-- Results that were too large to be shown whole.
CREATE TABLE result (
    -- Grows with time.
    id INTEGER PRIMARY KEY,
    -- The principal, and the channel and the chat of its conversation, as a JSON array.
    owner TEXT NOT NULL,
    -- The number of the handle.
    number INTEGER NOT NULL,
    tool TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    untrusted INTEGER NOT NULL,
    shows_urls INTEGER NOT NULL,
    -- A line about it, for when it is gone.
    summary TEXT NOT NULL,
    -- All parts as JSON; none once it is gone.
    content TEXT,
    -- The structured result beside the parts, as JSON.
    structured TEXT,
    UNIQUE (owner, number)
) STRICT;

CREATE INDEX result_same ON result (owner, bytes) WHERE content IS NOT NULL;
CREATE INDEX result_oldest ON result (id) WHERE content IS NOT NULL;

-- The bytes of all that are there.
CREATE TABLE result_bytes (bytes INTEGER NOT NULL) STRICT;
INSERT INTO result_bytes VALUES (0);
