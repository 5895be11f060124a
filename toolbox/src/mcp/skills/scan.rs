//! The files and skills below a folder.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Read as _};
use std::path::Path;
use std::time::{Duration, SystemTime};

use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use serde_json::{Map, Value};

use super::frontmatter::frontmatter;
use crate::mcp::digest::sha256;
use crate::resource::{SKILL_FILE, SKILL_SCHEME, SkillFile, SkillManifest};
use crate::text::clean;

/// The maximum depth of folders below the first.
const MAX_DEPTH: usize = 16;

/// The maximum number of entries that are looked at.
const MAX_ENTRIES: usize = 20_000;

/// The age from which a file that has the same metadata as before counts as unchanged. Two changes
/// within one tick of the clock of a file system have the same time.
const SETTLED: Duration = Duration::from_secs(2);

/// The skills below a folder, and the reasons why others are left out.
#[derive(Default)]
pub(super) struct Scan {
    pub(super) skills: Vec<ScannedSkill>,
    pub(super) problems: Vec<String>,
}

/// A skill below a folder.
pub(super) struct ScannedSkill {
    /// The path below the folder, with `/`.
    pub(super) path: String,
    pub(super) frontmatter: Map<String, Value>,
    /// The paths of its files below the folder, each with its digest.
    pub(super) files: BTreeMap<String, SkillFile>,
}

/// The digests of files, from one scan to the next.
#[derive(Default)]
pub(super) struct Digests {
    known: BTreeMap<String, (Stamp, SkillFile)>,
}

/// The metadata that change with the contents of a file.
#[derive(PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
    /// The time of the last change of the metadata, and the number of the file.
    #[cfg(unix)]
    changed: (i64, i64, u64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        let changed = {
            use cap_std::fs::MetadataExt as _;
            (metadata.ctime(), metadata.ctime_nsec(), metadata.ino())
        };
        Self {
            length: metadata.len(),
            modified: metadata.modified().ok().map(cap_std::time::SystemTime::into_std),
            #[cfg(unix)]
            changed,
        }
    }

    /// Returns `true` if a later change has another stamp.
    fn is_settled(&self) -> bool {
        let is_old = |time: SystemTime| time.elapsed().is_ok_and(|age| age > SETTLED);
        #[cfg(unix)]
        {
            let seconds = u64::try_from(self.changed.0).unwrap_or_default();
            let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds + 1);
            is_old(changed)
        }
        #[cfg(not(unix))]
        self.modified.is_some_and(is_old)
    }
}

/// The entries below a folder.
#[derive(Default)]
struct Entries {
    /// The lengths of the files, by their paths.
    files: BTreeMap<String, u64>,
    /// The entries that cannot be served, by their paths.
    unfit: BTreeMap<String, &'static str>,
    /// The entries that are passed over.
    passed_over: Vec<(String, &'static str)>,
    count: usize,
}

impl Entries {
    fn walk(&mut self, dir: &Dir, path: &str, depth: usize) {
        let Ok(entries) = dir.entries() else {
            self.unfit.insert(path.to_owned(), "cannot be read");
            return;
        };
        for entry in entries {
            self.count += 1;
            if self.count > MAX_ENTRIES {
                self.unfit.insert(path.to_owned(), "is not read to its end: too many files");
                return;
            }
            let Ok(entry) = entry else {
                self.unfit.insert(path.to_owned(), "cannot be read");
                return;
            };
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let Some(name) = name.to_str().filter(|name| is_plain(name)) else {
                let reason = "holds an entry whose name is no plain text";
                self.unfit.insert(path.to_owned(), reason);
                continue;
            };
            let path = if path.is_empty() { name.to_owned() } else { format!("{path}/{name}") };
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth == MAX_DEPTH => {
                    self.unfit.insert(path, "is too deep");
                }
                Ok(kind) if kind.is_dir() => match entry.open_dir() {
                    Ok(dir) => self.walk(&dir, &path, depth + 1),
                    Err(_) => {
                        self.unfit.insert(path, "cannot be read");
                    }
                },
                Ok(kind) if kind.is_file() => match entry.metadata() {
                    Ok(metadata) if has_other_name(&metadata) => {
                        self.passed_over.push((
                            path,
                            "is a hard link, which may be of a file outside of the folder",
                        ));
                    }
                    Ok(metadata) => {
                        self.files.insert(path, metadata.len());
                    }
                    Err(_) => {
                        self.unfit.insert(path, "cannot be read");
                    }
                },
                Ok(kind) if kind.is_symlink() => {
                    self.passed_over.push((path, "is a link, which is not followed"));
                }
                _ => self.passed_over.push((path, "is no file")),
            }
        }
    }
}

/// Returns `true` if a file has another name, which may be outside of the folder.
#[cfg(unix)]
fn has_other_name(metadata: &Metadata) -> bool {
    cap_std::fs::MetadataExt::nlink(metadata) > 1
}

/// Names are not counted there.
#[cfg(not(unix))]
fn has_other_name(_: &Metadata) -> bool {
    false
}

/// Returns `true` if a name has no character that a URI or a person would misread.
fn is_plain(name: &str) -> bool {
    !name.contains(|c: char| c.is_control() || matches!(c, '/' | '\\'))
        && matches!(clean(name), std::borrow::Cow::Borrowed(_))
}

/// Finds the skills below a folder. No file may have more than `max_file` bytes.
pub(super) fn scan(dir: &Dir, digests: &mut Digests, max_file: u64) -> Scan {
    let mut entries = Entries::default();
    entries.walk(dir, "", 0);
    let mut scan = Scan::default();
    for (path, reason) in &entries.passed_over {
        scan.problems.push(format!("`{path}` {reason}"));
    }
    let ends = entries.files.keys().filter_map(|path| path.strip_suffix(SKILL_FILE));
    let folders: BTreeSet<&str> = ends.filter_map(|path| path.strip_suffix('/')).collect();
    let mut next = Digests::default();
    for path in folders {
        let mut reader = SkillReader { dir, entries: &entries, before: digests, now: &mut next };
        match reader.skill(path, max_file) {
            Ok(skill) => scan.skills.push(skill),
            Err(reason) => scan.problems.push(format!("the skill `{path}` is left out: {reason}")),
        }
    }
    if let Some(reason) = entries.unfit.get("") {
        scan.problems.push(format!("the folder {reason}"));
    }
    *digests = next;
    scan
}

struct SkillReader<'a> {
    dir: &'a Dir,
    entries: &'a Entries,
    before: &'a mut Digests,
    /// The digests of this scan, so that a file has one digest in all skills that hold it.
    now: &'a mut Digests,
}

impl SkillReader<'_> {
    fn skill(&mut self, path: &str, max_file: u64) -> Result<ScannedSkill, String> {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !SkillManifest::is_name(name) {
            return Err(
                "the name of its folder is not 1 to 64 letters, digits, `-`, `_` and `.` of ASCII"
                    .to_owned(),
            );
        }
        let folder = format!("{path}/");
        let is_within = |other: &str| other == path || other.starts_with(&folder);
        if let Some((path, reason)) = self.entries.unfit.iter().find(|(other, _)| is_within(other))
        {
            return Err(format!("`{path}` {reason}"));
        }
        let files: Vec<(&String, u64)> = self
            .entries
            .files
            .range(folder.clone()..)
            .take_while(|(other, _)| other.starts_with(&folder))
            .map(|(other, length)| (other, *length))
            .collect();
        if files.len() > SkillManifest::MAX_FILES {
            let most = SkillManifest::MAX_FILES;
            return Err(format!("it has {} files, more than {most}", files.len()));
        }
        let too_large = |bytes: u64| {
            let most = SkillManifest::MAX_BYTES;
            (bytes > most).then(|| format!("it has {bytes} bytes, more than {most}"))
        };
        if let Some(reason) = too_large(files.iter().map(|(_, length)| length).sum()) {
            return Err(reason);
        }
        let mut digests = BTreeMap::new();
        for (path, _) in files {
            let file = self.digest(path, max_file)?;
            digests.insert(path.clone(), file);
        }
        // They may have grown since they were counted.
        if let Some(reason) = too_large(digests.values().map(|file| file.size).sum()) {
            return Err(reason);
        }
        let main = format!("{folder}{SKILL_FILE}");
        let source = read(self.dir, &main, max_file).map_err(|error| unread(&main, &error))?;
        let frontmatter = frontmatter(&source, name)?;
        let known = digests.get(&main).map(|file| file.digest.as_str());
        if known != Some(&sha256(&source)) {
            return Err(format!("`{main}` changes while it is read"));
        }
        Ok(ScannedSkill { path: path.to_owned(), frontmatter, files: digests })
    }

    fn digest(&mut self, path: &str, max_file: u64) -> Result<SkillFile, String> {
        if let Some((_, file)) = self.now.known.get(path) {
            return Ok(file.clone());
        }
        let failed = |error: io::Error| unread(path, &error);
        let file = open(self.dir, path).map_err(failed)?;
        let stamp = Stamp::of(&file.metadata().map_err(failed)?);
        let file = match self.before.known.remove(path) {
            Some((before, known)) if before == stamp && stamp.is_settled() => known,
            _ => {
                let bytes = read_to_end(file, max_file).map_err(failed)?;
                let size = bytes.len() as u64;
                SkillFile { uri: uri_of(path), digest: sha256(&bytes), size }
            }
        };
        self.now.known.insert(path.to_owned(), (stamp, file.clone()));
        Ok(file)
    }
}

fn unread(path: &str, error: &io::Error) -> String {
    format!("`{path}` cannot be read: {error}")
}

/// Returns the URI of a file, by its path below the folder.
pub(super) fn uri_of(path: &str) -> String {
    let mut uri = SKILL_SCHEME.to_owned();
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(char::from(byte));
            }
            _ => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri
}

/// Opens a file below a folder: not one outside of it, no link in its place, and without waiting
/// for the writer of a pipe.
fn open(dir: &Dir, path: &str) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true);
    #[cfg(unix)]
    {
        use cap_std::fs::OpenOptionsExt as _;
        use rustix::fs::OFlags;

        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    if dir.symlink_metadata(path)?.is_symlink() {
        return Err(io::Error::other("a link took the place of the file"));
    }
    let file = dir.open_with(Path::new(path), &options)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    if has_other_name(&metadata) {
        return Err(io::Error::other("a hard link took the place of the file"));
    }
    Ok(file)
}

/// Reads a file below a folder that has at most so many bytes.
pub(super) fn read(dir: &Dir, path: &str, max_file: u64) -> io::Result<Vec<u8>> {
    read_to_end(open(dir, path)?, max_file)
}

fn read_to_end(file: File, max_file: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_file.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_file {
        return Err(io::Error::other(format!("it has more than {max_file} bytes")));
    }
    Ok(bytes)
}
