//! A description as text, and the references within it.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

use crate::text::shown;

/// The longest description that is read, in bytes, with its files.
pub(crate) const MAX_BYTES: usize = 64 << 20;
/// The most values of a description in YAML.
const MAX_NODES: usize = 4_000_000;
/// The depth to which a description nests.
const MAX_DEPTH: usize = 120;
/// The stack of the reader of YAML, in bytes.
const STACK: usize = 32 << 20;
/// The number of references that lead to one value.
const MAX_HOPS: usize = 32;

/// The version of a description.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Version {
    Swagger2,
    V30,
    /// 3.1 and later, whose schemas are those of JSON Schema 2020-12.
    V31,
}

/// A description, and its references.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) root: Value,
    pub(crate) version: Version,
    /// The references to files that could not be read, each with the reason.
    pub(crate) unread: BTreeMap<String, String>,
}

/// The reason why a description cannot be read.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// It is longer than 64 MiB.
    TooLong(usize),
    /// It is neither JSON nor YAML, or nests deeper than 120 values.
    Syntax(String),
    /// It is no OpenAPI 3.0 to 3.2, and no Swagger 2.0.
    Version(String),
    /// The file cannot be read.
    Io(std::io::Error),
    /// The URL does not answer with a description.
    Fetch(String),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong(bytes) => {
                write!(f, "the description has {bytes} bytes, more than {MAX_BYTES}")
            }
            Self::Syntax(why) => write!(f, "the description cannot be read: {why}"),
            Self::Version(found) => {
                write!(
                    f,
                    "the description is of {found}; OpenAPI 3.0 to 3.2 and Swagger 2.0 are read"
                )
            }
            Self::Io(error) => write!(f, "the description cannot be read: {error}"),
            Self::Fetch(why) => write!(f, "the description cannot be fetched: {why}"),
        }
    }
}

impl std::error::Error for ReadError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl Document {
    pub(crate) fn parse(text: &str) -> Result<Self, ReadError> {
        if text.len() > MAX_BYTES {
            return Err(ReadError::TooLong(text.len()));
        }
        Self::of_files(value_of(text).map_err(ReadError::Syntax)?, BTreeMap::new())
    }

    /// Returns a description that its files stand in.
    pub(crate) fn of_files(
        root: Value,
        unread: BTreeMap<String, String>,
    ) -> Result<Self, ReadError> {
        let version = version_of(&root)?;
        Ok(Self { root, version, unread })
    }

    pub(crate) fn new(root: Value) -> Result<Self, ReadError> {
        if is_deeper(&root, MAX_DEPTH) {
            return Err(ReadError::Syntax(format!("it nests deeper than {MAX_DEPTH} values")));
        }
        Self::of_files(root, BTreeMap::new())
    }

    /// Returns the value that a reference within the description leads to.
    pub(crate) fn at(&self, reference: &str) -> Option<&Value> {
        self.at_within(reference, MAX_HOPS)
    }

    /// Follows a pointer, over at most so many references on its way: all schemas may be in a file.
    fn at_within(&self, reference: &str, hops: usize) -> Option<&Value> {
        let pointer = reference.strip_prefix('#')?;
        let direct = || self.root.pointer(pointer);
        let decoded = || self.root.pointer(&percent_decoded(pointer));
        direct().or_else(decoded).or_else(|| self.over_references(pointer, hops.checked_sub(1)?))
    }

    fn over_references(&self, pointer: &str, hops: usize) -> Option<&Value> {
        let mut rest = pointer;
        // The longest beginning that leads to a value: that is a reference.
        while let Some(cut) = rest.rfind('/') {
            rest = &pointer[..cut];
            if let Some(Value::String(next)) =
                self.root.pointer(rest).and_then(|own| own.get("$ref"))
            {
                return self.at_within(&format!("{next}{}", &pointer[cut..]), hops);
            }
        }
        None
    }

    /// Returns the reference that a value with nothing but references behind it is named by.
    pub(crate) fn last_reference<'a>(&'a self, reference: &'a str) -> &'a str {
        let mut last = reference;
        for _ in 0..MAX_HOPS {
            match self.at(last).and_then(Value::as_object) {
                Some(map) if map.len() == 1 => match map.get("$ref") {
                    Some(Value::String(next)) => last = next,
                    _ => break,
                },
                _ => break,
            }
        }
        last
    }

    /// Returns a value, or the one that its references lead to.
    pub(crate) fn resolved<'a>(&'a self, value: &'a Value) -> Result<&'a Value, String> {
        let mut value = value;
        for _ in 0..MAX_HOPS {
            let Some(Value::String(reference)) = value.get("$ref") else { return Ok(value) };
            value = self.at(reference).ok_or_else(|| {
                let shown = shown(reference);
                let why = self.unread.get(&shown).map(|why| format!(": {why}"));
                format!("the reference `{shown}` leads nowhere{}", why.unwrap_or_default())
            })?;
        }
        Err("its references lead in a circle".to_owned())
    }
}

fn version_of(root: &Value) -> Result<Version, ReadError> {
    let stated = root.get("openapi").or_else(|| root.get("swagger"));
    let stated = match stated {
        Some(Value::String(stated)) => stated.clone(),
        Some(Value::Number(stated)) => stated.to_string(),
        _ => return Err(ReadError::Version("no stated version".to_owned())),
    };
    let is = |line: &str| stated == line || stated.starts_with(&format!("{line}."));
    let version = match () {
        () if root.get("openapi").is_none() && (is("2.0") || is("2")) => Version::Swagger2,
        () if is("3.0") || stated == "3" => Version::V30,
        () if is("3.1") || is("3.2") => Version::V31,
        () => {
            let stated: String = stated.chars().take(20).collect();
            return Err(ReadError::Version(format!("version `{}`", stated.escape_debug())));
        }
    };
    Ok(version)
}

/// Reads a file of a description, JSON or YAML.
pub(crate) fn value_of(text: &str) -> Result<Value, String> {
    let text = text.trim_start_matches('\u{feff}');
    let value = if text.trim_start().starts_with('{') {
        // A flow mapping of YAML begins like an object.
        serde_json::from_str(text).or_else(|error| yaml(text).map_err(|_| error.to_string()))
    } else {
        yaml(text)
    }?;
    if is_deeper(&value, MAX_DEPTH) {
        return Err(format!("it nests deeper than {MAX_DEPTH} values"));
    }
    Ok(value)
}

/// Reads YAML, within limits that a bomb of aliases does not fit. The reader recurses, so it gets a
/// stack that is deep enough wherever it is called.
fn yaml(text: &str) -> Result<Value, String> {
    let failed = || "it cannot be read here".to_owned();
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let reading = thread.spawn_scoped(scope, || read_yaml(text)).map_err(|_| failed())?;
        reading.join().unwrap_or_else(|_| Err(failed()))
    })
}

fn read_yaml(text: &str) -> Result<Value, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: MAX_DEPTH,
            flow_nesting_limit: MAX_DEPTH,
            max_nodes: MAX_NODES,
            max_events: 4 * MAX_NODES,
            max_documents: 1,
            max_anchors: 10_000,
            max_aliases: 10_000,
            max_merge_keys: 1_000,
            max_recorded_anchor_events: 200_000,
            max_reader_input_bytes: None,
            max_total_scalar_bytes: MAX_BYTES,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: 100_000,
        },
    };
    serde_saphyr::from_str_with_options::<Value>(text, options).map_err(|error| {
        let message = error.to_string();
        let line = message.lines().next().unwrap_or_default();
        line.strip_prefix("error: ").unwrap_or(line).chars().take(300).collect()
    })
}

fn is_deeper(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth == 0 || items.iter().any(|item| is_deeper(item, depth - 1)),
        Value::Object(map) => depth == 0 || map.values().any(|item| is_deeper(item, depth - 1)),
        _ => false,
    }
}

fn percent_decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let digits = (bytes[at] == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned()
}
