-- Calls that are kept until they have a final state.
CREATE TABLE call (
    id TEXT PRIMARY KEY,
    tool TEXT NOT NULL,
    -- The digest of the tool's definition when the call was accepted.
    digest TEXT NOT NULL,
    arguments TEXT NOT NULL,
    -- What of the context leaves the process, as JSON.
    context TEXT NOT NULL,
    -- The id that the model gave the call.
    call_id TEXT NOT NULL,
    -- The channel and the chat, as a JSON array.
    conversation TEXT,
    idempotent INTEGER NOT NULL,
    -- waiting, running, done, failed, cancelled, outcome_unknown, expired
    state TEXT NOT NULL,
    attempt INTEGER NOT NULL,
    -- The journal that holds the call; none if any may claim it.
    owner TEXT,
    cancel INTEGER NOT NULL DEFAULT 0,
    -- 1 if it failed because its attempts were used up.
    dead INTEGER NOT NULL DEFAULT 0,
    -- The results that came after the final one, or from an attempt that was given up.
    late INTEGER NOT NULL DEFAULT 0,
    -- Milliseconds since 1970.
    accepted INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    ended INTEGER,
    delivered INTEGER,
    result TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX call_waiting ON call (tool, digest, id) WHERE state = 'waiting' AND owner IS NULL;
CREATE INDEX call_open ON call (expires) WHERE ended IS NULL;
CREATE INDEX call_owner ON call (owner) WHERE owner IS NOT NULL;
CREATE INDEX call_ended ON call (ended) WHERE ended IS NOT NULL;
CREATE INDEX call_undelivered ON call (conversation, id) WHERE ended IS NOT NULL AND delivered IS NULL;

-- The journals that are open: each raises its number as long as it lives.
CREATE TABLE worker (
    id TEXT PRIMARY KEY,
    beat INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Runs of agents, and what has happened in each so far.
CREATE TABLE run (
    key TEXT PRIMARY KEY,
    agent TEXT NOT NULL,
    -- running, paused, ended
    state TEXT NOT NULL,
    owner TEXT,
    -- The fence: entries of an earlier attempt are refused.
    attempt INTEGER NOT NULL,
    started INTEGER NOT NULL,
    changed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX run_state ON run (state, changed);
CREATE INDEX run_owner ON run (owner) WHERE owner IS NOT NULL;

CREATE TABLE run_entry (
    key TEXT NOT NULL,
    number INTEGER NOT NULL,
    entry TEXT NOT NULL,
    PRIMARY KEY (key, number)
) STRICT, WITHOUT ROWID;
