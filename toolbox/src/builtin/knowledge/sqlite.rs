//! Knowledge in an `SQLite` file: words by FTS5 and its BM25, vectors by a scan over all of a
//! principal's.

use rusqlite::{Row, Transaction, params};
use unicode_normalization::char::is_combining_mark;

use super::store::{Entry, Forget, Quota, Source, Store, UnreadableEntry};
use crate::context::Principal;
use crate::future::BoxFuture;
use crate::store::{
    SqliteStore, StoreError, conversation, invalid, readable, time, to_millis, unreadable,
};

/// The maximum number of words of a query.
const QUERY_WORDS: usize = 64;

const TABLE: &str = "knowledge";

const COLUMNS: &str = "k.id, k.kind, k.name, k.part, k.channel, k.chat, k.text, k.at";

const REMEMBERED: i64 = 0;
const DOCUMENT: i64 = 1;
const MESSAGE: i64 = 2;

#[diagnostic::do_not_recommend]
impl Store for SqliteStore {
    fn add(
        &self,
        owner: &Principal,
        entries: Vec<Entry>,
        quota: Quota,
    ) -> BoxFuture<'_, Result<Vec<u64>, StoreError>> {
        let owner = owner.clone();
        Box::pin(self.write(move |file| add(file, owner.as_str(), &entries, quota)))
    }

    fn by_words(
        &self,
        owner: &Principal,
        query: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let (owner, matching) = (owner.clone(), matching(query));
        Box::pin(async move {
            if matching.is_empty() {
                return Ok(Vec::new());
            }
            let sql = format!(
                "SELECT {COLUMNS} FROM knowledge_words AS w JOIN knowledge AS k ON k.id = w.rowid
                 WHERE w.knowledge_words MATCH ?1 AND k.principal = ?2
                 ORDER BY bm25(w.knowledge_words), k.id DESC"
            );
            self.read(move |file| {
                let mut found = file.prepare_cached(&sql)?;
                let rows = found.query(params![matching, owner.as_str()])?;
                readable(file, TABLE, rows, limit, entry)
            })
            .await
        })
    }

    fn by_meaning(
        &self,
        owner: &Principal,
        vector: Vec<f32>,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let owner = owner.clone();
        Box::pin(self.read(move |file| nearest(file, owner.as_str(), &vector, limit)))
    }

    fn without_vector(
        &self,
        owner: &Principal,
        length: Option<usize>,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Entry>, StoreError>> {
        let owner = owner.clone();
        let sql = format!(
            "SELECT {COLUMNS} FROM knowledge AS k
             WHERE k.principal = ?1 AND k.id > ?2 AND (typeof(k.vector) <> 'blob' OR length(k.vector) <> coalesce(?3, length(k.vector)))
             ORDER BY k.id"
        );
        Box::pin(self.read(move |file| {
            let bytes = length.map(|length| number(length * size_of::<f32>()));
            let mut found = file.prepare_cached(&sql)?;
            let rows = found.query(params![owner.as_str(), id(after), bytes])?;
            readable(file, TABLE, rows, limit, entry)
        }))
    }

    fn set_vectors(
        &self,
        owner: &Principal,
        vectors: Vec<(u64, Vec<f32>)>,
    ) -> BoxFuture<'_, Result<(), StoreError>> {
        let owner = owner.clone();
        Box::pin(self.write(move |file| {
            let mut set = file.prepare_cached(
                "UPDATE knowledge SET vector = ?1 WHERE id = ?2 AND principal = ?3",
            )?;
            for (of, vector) in &vectors {
                let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                set.execute(params![bytes, id(*of), owner.as_str()])?;
            }
            Ok(())
        }))
    }

    fn unreadable(
        &self,
        owner: &Principal,
    ) -> BoxFuture<'_, Result<Vec<UnreadableEntry>, StoreError>> {
        let owner = owner.clone();
        let sql =
            format!("SELECT {COLUMNS} FROM knowledge AS k WHERE k.principal = ?1 ORDER BY k.id");
        Box::pin(self.read(move |file| {
            let mut all = file.prepare_cached(&sql)?;
            let rows = all.query([owner.as_str()])?;
            let bad = unreadable(rows, &COLUMNS.replace("k.", ""), entry)?;
            Ok(bad.into_iter().map(|(id, column)| UnreadableEntry { id, column }).collect())
        }))
    }

    fn forget(&self, owner: &Principal, what: Forget) -> BoxFuture<'_, Result<usize, StoreError>> {
        let owner = owner.clone();
        Box::pin(self.write(move |file| forget(file, owner.as_str(), &what)))
    }
}

fn add(
    file: &Transaction<'_>,
    owner: &str,
    entries: &[Entry],
    quota: Quota,
) -> Result<Vec<u64>, StoreError> {
    let mut replaced: Option<&str> = None;
    for entry in entries {
        if let Source::Document { name, .. } = &entry.source
            && replaced.replace(name) != Some(name)
        {
            forget(file, owner, &Forget::Document(name.clone()))?;
        }
    }
    let mut known = file
        .prepare_cached("SELECT id FROM knowledge WHERE principal = ?1 AND kind = ?2 AND name = '' AND bytes = ?3 AND text = ?4")?;
    let mut insert = file.prepare_cached(
        "INSERT INTO knowledge (principal, kind, name, part, channel, chat, text, bytes, at)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut index =
        file.prepare_cached("INSERT INTO knowledge_words (rowid, words) VALUES (?1, ?2)")?;
    let mut ids = Vec::with_capacity(entries.len());
    for entry in entries {
        let bytes = entry.text.len();
        if bytes > quota.entry_bytes {
            return Err(StoreError::OverQuota(format!(
                "the text has {bytes} bytes; at most {} can be kept as one entry: keep what matters of it",
                quota.entry_bytes
            )));
        }
        let (kind, name, part, conversation) = match &entry.source {
            Source::Remembered { conversation } => (REMEMBERED, "", 0, conversation.as_ref()),
            Source::Document { name, part } => (DOCUMENT, name.as_str(), *part, None),
            Source::Message { conversation, role } => {
                (MESSAGE, role.as_str(), 0, Some(conversation))
            }
        };
        if kind == REMEMBERED {
            let given = params![owner, kind, number(bytes), entry.text];
            let mut same = known.query_map(given, |row| row.get::<_, i64>(0))?;
            if let Some(same) = same.next().transpose()? {
                ids.push(same.unsigned_abs());
                continue;
            }
        }
        let channel = conversation.map(|conversation| &conversation.channel);
        let chat = conversation.map(|conversation| &conversation.chat_id);
        let at = to_millis(entry.at);
        insert.execute(params![
            owner,
            kind,
            name,
            part,
            channel,
            chat,
            entry.text,
            number(bytes),
            at
        ])?;
        let id = file.last_insert_rowid();
        index.execute(params![id, divided(&entry.text)])?;
        ids.push(id.unsigned_abs());
    }
    // A damaged size counts as one that was allowed at most: none fails the sum.
    let (count, bytes): (i64, i64) = file.query_row(
        "SELECT count(*), coalesce(CAST(sum(min(max(bytes, 0), ?2)) AS INTEGER), 0) FROM knowledge WHERE principal = ?1",
        params![owner, number(quota.entry_bytes)],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    if count > number(quota.entries) || bytes > number(quota.bytes) {
        return Err(StoreError::OverQuota(format!(
            "the memory is full, and nothing was kept: it holds at most {} entries and {} bytes",
            quota.entries, quota.bytes
        )));
    }
    Ok(ids)
}

fn forget(file: &Transaction<'_>, owner: &str, what: &Forget) -> Result<usize, StoreError> {
    let (condition, first, second) = match what {
        Forget::Entry(of) => ("id = ?2 AND ?3 IS NULL", Some(of.to_string()), None),
        Forget::Document(name) => {
            ("kind = 1 AND name = ?2 AND ?3 IS NULL", Some(name.clone()), None)
        }
        Forget::Conversation(of) => {
            ("channel = ?2 AND chat = ?3", Some(of.channel.clone()), Some(of.chat_id.clone()))
        }
        Forget::Everything => ("?2 IS NULL AND ?3 IS NULL", None, None),
    };
    let given = params![owner, first, second];
    file.execute(
        &format!(
            "DELETE FROM knowledge_words WHERE rowid IN (SELECT id FROM knowledge WHERE principal = ?1 AND {condition})"
        ),
        given,
    )?;
    let sql = format!("DELETE FROM knowledge WHERE principal = ?1 AND {condition}");
    Ok(file.execute(&sql, given)?)
}

fn nearest(
    file: &Transaction<'_>,
    owner: &str,
    vector: &[f32],
    limit: usize,
) -> Result<Vec<Entry>, StoreError> {
    let mut all = file.prepare_cached(
        "SELECT id, vector FROM knowledge WHERE principal = ?1 AND length(vector) = ?2",
    )?;
    let mut rows = all.query(params![owner, number(size_of_val(vector))])?;
    let mut near: Vec<(f32, i64)> = Vec::new();
    while let Some(row) = rows.next()? {
        let cosine = cosine(vector, row.get_ref(1)?.as_blob().unwrap_or_default());
        if cosine > 0.0 {
            near.push((cosine, row.get(0)?));
        }
    }
    near.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    let mut one =
        file.prepare_cached(&format!("SELECT {COLUMNS} FROM knowledge AS k WHERE k.id = ?1"))?;
    let mut found = Vec::new();
    for (_, id) in near {
        if found.len() == limit {
            break;
        }
        found.extend(readable(file, TABLE, one.query([id])?, 1, entry)?);
    }
    Ok(found)
}

/// Returns the cosine of a vector and a stored one; zero where there is none.
fn cosine(a: &[f32], b: &[u8]) -> f32 {
    let (mut product, mut of_a, mut of_b) = (0.0, 0.0, 0.0);
    for (a, b) in a.iter().zip(b.as_chunks().0) {
        let b = f32::from_le_bytes(*b);
        product += a * b;
        of_a += a * a;
        of_b += b * b;
    }
    let cosine = product / (of_a.sqrt() * of_b.sqrt());
    if cosine.is_finite() { cosine } else { 0.0 }
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let (kind, name): (i64, String) = (row.get(1)?, row.get(2)?);
    let source = match (kind, conversation(row, 4, 5)?) {
        (REMEMBERED, conversation) => Source::Remembered { conversation },
        (DOCUMENT, _) => Source::Document { name, part: row.get(3)? },
        (MESSAGE, Some(conversation)) => Source::Message { conversation, role: name },
        (MESSAGE, None) => return Err(invalid(4, "a message without its conversation")),
        _ => return Err(rusqlite::Error::IntegralValueOutOfRange(1, kind)),
    };
    let at = time(row, 7)?.ok_or_else(|| invalid(7, "no time"))?;
    let id: i64 = row.get(0)?;
    Ok(Entry { id: id.unsigned_abs(), text: row.get(6)?, source, at })
}

/// Returns a query of FTS5: each word in quotes, so that no word is an operator.
fn matching(query: &str) -> String {
    let divided = divided(query);
    let words = divided.split(|c: char| !c.is_alphanumeric() && !is_combining_mark(c));
    let mut quoted: Vec<String> = Vec::new();
    for word in words.filter(|word| word.chars().any(char::is_alphanumeric)) {
        let word = format!("\"{word}\"");
        if quoted.len() < QUERY_WORDS && !quoted.contains(&word) {
            quoted.push(word);
        }
    }
    quoted.join(" OR ")
}

/// Adds blanks between the characters of scripts without blanks between words, so that each counts
/// as a word.
fn divided(text: &str) -> String {
    let mut divided = String::with_capacity(text.len());
    for c in text.chars() {
        let unspaced = matches!(
            u32::from(c),
            0x0E00..=0x0EFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x3040..=0x30FF | 0x3400..=0x9FFF
                | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF
        );
        match (unspaced && !is_combining_mark(c), c) {
            (true, c) => divided.extend([' ', c, ' ']),
            // `SQLite` would end the text there.
            (false, '\0') => divided.push(' '),
            (false, c) => divided.push(c),
        }
    }
    divided
}

/// `SQLite`'s numbers are signed.
fn id(of: u64) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}

fn number(of: usize) -> i64 {
    i64::try_from(of).unwrap_or(i64::MAX)
}
