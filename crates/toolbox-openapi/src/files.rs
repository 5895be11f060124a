//! The other files of a description, which its references lead to.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};
use toolbox::builtin::http::GuardedClient;
use url::Url;

use crate::document::{Document, MAX_BYTES, ReadError, value_of};
use crate::openapi::fetched;
use crate::text::shown;

/// The key of a description under which its other files stand.
const FILES: &str = "x-toolbox-files";
/// The most files of a description.
const MAX_FILES: usize = 1_000;
/// The time in which the other files of a description are fetched.
const MAX_TIME: Duration = Duration::from_secs(60);

/// A description and the files that it refers to.
struct Files {
    /// Each file that was read, the description first.
    read: Vec<(Url, Value)>,
    known: HashMap<Url, Result<usize, String>>,
    wanted: VecDeque<Url>,
    bytes: usize,
}

/// Reads a description and the files that it refers to, below `folder` or else its own folder.
pub(crate) fn read(path: &Path, folder: Option<&Path>) -> Result<Document, ReadError> {
    // By its own name: a link to it may stand in another folder than its files.
    let path = path.canonicalize().map_err(ReadError::Io)?;
    let folder = folder.or(path.parent()).unwrap_or(&path);
    let folder = folder.canonicalize().map_err(ReadError::Io)?;
    let text = std::fs::read_to_string(&path).map_err(ReadError::Io)?;
    let Ok(url) = Url::from_file_path(&path) else { return Document::parse(&text) };
    let mut files = Files::of(url, &text)?;
    while let Some(wanted) = files.next() {
        let text = text_of(&wanted, &folder);
        files.add(wanted, text);
    }
    files.document()
}

fn text_of(url: &Url, folder: &Path) -> Result<String, String> {
    let no_file = || "it is no file".to_owned();
    let path = (url.scheme() == "file").then(|| url.to_file_path().ok()).flatten();
    let path = path.ok_or_else(no_file)?.canonicalize().map_err(|error| error.to_string())?;
    if !path.starts_with(folder) {
        return Err("it is outside of the folder of the description".to_owned());
    }
    let metadata = std::fs::metadata(&path).map_err(|error| error.to_string())?;
    if !metadata.is_file() {
        return Err(no_file());
    }
    if metadata.len() > MAX_BYTES as u64 {
        return Err(too_long());
    }
    std::fs::read_to_string(&path).map_err(|error| error.to_string())
}

/// Fetches the files of the same origin that a fetched description refers to.
pub(crate) async fn fetch(
    url: &Url,
    text: &str,
    client: &GuardedClient,
) -> Result<Document, ReadError> {
    let mut files = Files::of(url.clone(), text)?;
    let end = Instant::now() + MAX_TIME;
    while let Some(wanted) = files.next() {
        let text = if wanted.origin() == url.origin() {
            let time = end.saturating_duration_since(Instant::now());
            let late = || Err(format!("not fetched within {} seconds", MAX_TIME.as_secs()));
            let fetched = tokio::time::timeout(time, fetched(client, &wanted)).await;
            fetched.unwrap_or_else(|_| late())
        } else {
            Err("it is of another origin than the description".to_owned())
        };
        files.add(wanted, text);
    }
    files.document()
}

fn too_long() -> String {
    format!("the files have more than {} MiB", MAX_BYTES >> 20)
}

impl Files {
    fn of(url: Url, text: &str) -> Result<Self, ReadError> {
        let Document { root, .. } = Document::parse(text)?;
        let mut own = Self {
            read: Vec::new(),
            known: HashMap::new(),
            wanted: VecDeque::new(),
            bytes: text.len(),
        };
        own.keep(url, root);
        Ok(own)
    }

    /// Returns a file that is to be read.
    fn next(&mut self) -> Option<Url> {
        while let Some(url) = self.wanted.pop_front() {
            if !self.known.contains_key(&url) {
                return Some(url);
            }
        }
        None
    }

    /// Adds a file, or the reason why it cannot be read.
    fn add(&mut self, url: Url, text: Result<String, String>) {
        let value = text.and_then(|text| {
            self.bytes = self.bytes.saturating_add(text.len());
            match () {
                () if self.read.len() > MAX_FILES => Err(format!("more than {MAX_FILES} files")),
                () if self.bytes > MAX_BYTES => Err(too_long()),
                () => value_of(&text),
            }
        });
        match value {
            Ok(value) => self.keep(url, value),
            Err(why) => {
                self.known.insert(url, Err(why));
            }
        }
    }

    fn keep(&mut self, url: Url, mut value: Value) {
        replace_references(&mut value, &mut |reference| {
            self.wanted.extend(location(&url, reference).map(|(file, _)| file));
            None
        });
        self.known.insert(url.clone(), Ok(self.read.len()));
        self.read.push((url, value));
    }

    /// Returns the description with its files in it, whose references lead to them.
    fn document(mut self) -> Result<Document, ReadError> {
        let mut unread = BTreeMap::new();
        let mut read = std::mem::take(&mut self.read);
        let urls: Vec<Url> = read.iter().map(|(url, _)| url.clone()).collect();
        for (url, value) in &mut read {
            replace_references(value, &mut |reference| {
                let (file, fragment) = location(url, reference)?;
                match self.known.get(&file)? {
                    Ok(at) => Some(format!("{}{fragment}", place(*at, &urls[*at]))),
                    Err(why) => {
                        unread.insert(shown(reference), why.clone());
                        None
                    }
                }
            });
        }
        let mut read = read.into_iter().map(|(_, value)| value);
        let mut root = read.next().unwrap_or_default();
        let others: Map<String, Value> = read
            .zip(&urls[1..])
            .enumerate()
            .map(|(at, (value, url))| {
                let own = Map::from_iter([(stem(url), value)]);
                ((at + 1).to_string(), own.into())
            })
            .collect();
        if let (Value::Object(root), false) = (&mut root, others.is_empty()) {
            root.insert(FILES.to_owned(), others.into());
        }
        Document::of_files(root, unread)
    }
}

/// Returns the file that a reference leads to, and the pointer into it.
fn location(own: &Url, reference: &str) -> Option<(Url, String)> {
    let mut file = own.join(reference).ok()?;
    let fragment = file.fragment().unwrap_or_default().to_owned();
    file.set_fragment(None);
    Some((file, fragment))
}

/// Returns the reference to a file within the description. Its last segment names the schema that
/// the file is.
fn place(at: usize, url: &Url) -> String {
    if at == 0 { "#".to_owned() } else { format!("#/{FILES}/{at}/{}", stem(url)) }
}

/// Returns the name of a file without its ending, as a segment of a pointer.
fn stem(url: &Url) -> String {
    let name = url.path_segments().and_then(|mut all| all.next_back()).unwrap_or_default();
    let stem = name.split('.').next().unwrap_or_default();
    let own = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    stem.chars().map(own).collect()
}

/// Shows all references of a value, and replaces those that have another.
fn replace_references(value: &mut Value, replaced: &mut dyn FnMut(&str) -> Option<String>) {
    match value {
        Value::Array(items) => {
            for item in items {
                replace_references(item, replaced);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                match item {
                    Value::String(reference) if key == "$ref" => {
                        if let Some(own) = replaced(reference) {
                            *reference = own;
                        }
                    }
                    _ => replace_references(item, replaced),
                }
            }
        }
        _ => {}
    }
}
