-- What each principal spent in a day (`2026-11-29`) or a month (`2026-11`), in UTC.
CREATE TABLE spending (
    principal TEXT NOT NULL,
    period TEXT NOT NULL,
    calls INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    -- Of 10^-12 US dollars.
    money INTEGER NOT NULL,
    -- Tokens without a price.
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (principal, period)
) STRICT, WITHOUT ROWID;
