CREATE TABLE knowledge (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    principal TEXT NOT NULL,
    -- 0: remembered by a tool, 1: a piece of a document, 2: a message.
    kind INTEGER NOT NULL,
    -- The name of the document, or the role of the message.
    name TEXT NOT NULL,
    -- Which piece of the document, counted from 1.
    part INTEGER NOT NULL,
    channel TEXT,
    chat TEXT,
    text TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    -- Milliseconds since 1970.
    at INTEGER NOT NULL,
    -- 32-bit floats, the least significant byte first.
    vector BLOB
) STRICT;

CREATE INDEX knowledge_by_principal ON knowledge (principal, kind, name, bytes);

-- Holds the words only, divided as the program says; the text stands above.
CREATE VIRTUAL TABLE knowledge_words USING fts5 (
    words,
    content = '',
    contentless_delete = 1,
    tokenize = 'porter unicode61 remove_diacritics 2'
);
