//! The skills that a server lists, read one by one, so that an invalid one affects no other.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::text;
use crate::call::ResourceContents;
use crate::mcp::digest::sha256;
use crate::resource::{SKILL_FILE, SKILL_SCHEME, SkillFile, SkillManifest, percent_decoded};
use crate::text::cut;

/// The maximum size of one entry, in bytes.
const MAX_ENTRY: usize = 512 * 1024;
/// The maximum size of all entries of one server, in bytes.
const MAX_TOTAL: usize = 64 * 1024 * 1024;
/// The maximum number of files of all skills of one server.
const MAX_FILES: usize = 10_000;
/// The maximum length of a URI, in bytes.
const MAX_URI: usize = 8 * 1024;

/// A skill as its server lists it.
#[derive(Debug, Clone)]
pub(super) struct ServerSkill {
    /// The URI of its `SKILL.md`.
    pub(super) uri: String,
    pub(super) frontmatter: Map<String, Value>,
    pub(super) files: Vec<SkillFile>,
    /// The entry as received, for the lock file.
    pub(super) raw: Value,
}

/// The skills of one server.
#[derive(Debug, Default)]
pub(super) struct SkillList {
    pub(super) skills: Vec<ServerSkill>,
    /// Those that are not passed on, each with the reason.
    pub(super) dropped: Vec<(String, String)>,
    /// The files of all skills, by their URIs. A skill within another has files of both.
    files: BTreeMap<String, SkillFile>,
    bytes: usize,
}

#[derive(Deserialize)]
struct RawSkill {
    uri: String,
    frontmatter: Map<String, Value>,
    resources: Value,
}

/// Returns the key under which the lock file has a skill.
fn skill_key(uri: &str) -> String {
    format!("skill {uri}")
}

impl ServerSkill {
    pub(super) fn key(&self) -> String {
        skill_key(&self.uri)
    }

    /// Returns the reason why the entry is invalid. The rules are those of the extension, but for
    /// texts that hide something from people.
    fn fault(&self) -> Option<&'static str> {
        let folder = self.uri.strip_suffix(SKILL_FILE).unwrap_or_default();
        let name = folder.strip_suffix('/').and_then(|path| path.rsplit('/').next());
        let own_name = SkillManifest::text_of(&self.frontmatter, "name");
        if !is_file_uri(&self.uri) || name.is_none() {
            return Some("its URI does not name a `SKILL.md` in a folder");
        }
        if own_name.is_none() || SkillManifest::text_of(&self.frontmatter, "description").is_none()
        {
            return Some("its frontmatter has no `name` or no `description`");
        }
        if own_name != name || !own_name.is_some_and(SkillManifest::is_name) {
            return Some("its name is not that of its folder");
        }
        if hides_text(&Value::Object(self.frontmatter.clone())) {
            return Some("its frontmatter has characters that are not shown");
        }
        if self.files.len() > SkillManifest::MAX_FILES {
            return Some("it has more than 512 files");
        }
        let sizes = self.files.iter().try_fold(0_u64, |sum, file| sum.checked_add(file.size));
        if sizes.is_none_or(|sum| sum > SkillManifest::MAX_BYTES) {
            return Some("it has more than 16 MiB");
        }
        let is_within = |file: &SkillFile| is_file_uri(&file.uri) && file.uri.starts_with(folder);
        if !self.files.iter().all(is_within) {
            return Some("a file of it is outside of its folder");
        }
        if !self.files.iter().all(|file| is_digest(&file.digest)) {
            return Some("the digest of a file is not `sha256:` and 64 digits in lower case");
        }
        let mut uris: Vec<&str> = self.files.iter().map(|file| file.uri.as_str()).collect();
        uris.sort_unstable();
        if uris.windows(2).any(|pair| pair[0] == pair[1]) {
            return Some("a file of it is listed twice");
        }
        if uris.binary_search(&self.uri.as_str()).is_err() {
            return Some("its `SKILL.md` is not among its files");
        }
        None
    }
}

impl SkillList {
    /// Reads one entry, or records why it is not passed on.
    pub(super) fn add(&mut self, raw: &str) {
        self.bytes += raw.len();
        if raw.len() > MAX_ENTRY || self.bytes > MAX_TOTAL {
            return self.drop("", "the entries are too large");
        }
        let Ok(raw) = serde_json::from_str::<Value>(raw) else {
            return self.drop("", "its entry cannot be read");
        };
        let uri = raw.get("uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        let Ok(RawSkill { uri, frontmatter, resources }) = RawSkill::deserialize(&raw) else {
            return self.drop(&uri, "its entry cannot be read");
        };
        if resources == "dynamic" {
            return self.drop(&uri, "its files are not listed, so they cannot be verified");
        }
        let Ok(files) = Vec::<SkillFile>::deserialize(resources) else {
            return self.drop(&uri, "the list of its files cannot be read");
        };
        let skill = ServerSkill { uri, frontmatter, files, raw };
        if let Some(reason) = skill.fault() {
            return self.drop(&skill.uri, reason);
        }
        if self.skills.iter().any(|other| other.uri == skill.uri) {
            return self.drop(&skill.uri, "it is listed twice");
        }
        let contradicts =
            |file: &SkillFile| self.files.get(&file.uri).is_some_and(|other| other != file);
        if skill.files.iter().any(contradicts) {
            return self.drop(&skill.uri, "another skill has another digest of a file of it");
        }
        if self.files.len() + skill.files.len() > MAX_FILES {
            return self.drop(&skill.uri, "the skills of its server have too many files");
        }
        self.files.extend(skill.files.iter().map(|file| (file.uri.clone(), file.clone())));
        self.skills.push(skill);
    }

    fn drop(&mut self, uri: &str, reason: &str) {
        if self.dropped.len() < 1000 {
            self.dropped.push((skill_key(&text::clean(cut(uri, 200))), reason.to_owned()));
        }
    }
}

/// Returns `true` if a URI names a file by a path, and no step of it leads elsewhere.
fn is_file_uri(uri: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
    let Some((scheme, path)) = uri.split_once("://") else { return false };
    let is_step = |step: &str| {
        percent_decoded(step).is_some_and(|step| {
            let is_unfit = |c: char| c.is_control() || matches!(c, '/' | '\\');
            !matches!(&*step, "" | "." | "..") && !step.contains(is_unfit)
        })
    };
    uri.len() <= MAX_URI
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(is_part)
        && path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'))
        && path.split('/').all(is_step)
}

fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Returns `true` if a text or a key of a value has characters that are not shown to people.
fn hides_text(value: &Value) -> bool {
    match value {
        Value::String(text) => is_hiding(text),
        Value::Array(items) => items.iter().any(hides_text),
        Value::Object(members) => {
            members.iter().any(|(key, value)| is_hiding(key) || hides_text(value))
        }
        _ => false,
    }
}

/// Returns `true` if a text has characters that are not shown to people. A byte order mark at its
/// begin and line ends of two characters hide nothing.
fn is_hiding(text: &str) -> bool {
    let plain = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    matches!(text::clean(&plain), Cow::Owned(_))
}

/// A file of a skill that is passed on, under another URI.
#[derive(Debug)]
pub(super) struct PassedFile {
    /// The URI at the server.
    pub(super) own_uri: String,
    /// The URI within the box, the digest and the size.
    pub(super) file: SkillFile,
}

impl PassedFile {
    /// Returns the file with the name of its server before its path.
    pub(super) fn new(server: &str, file: &SkillFile) -> Self {
        Self {
            own_uri: file.uri.clone(),
            file: SkillFile { uri: passed_uri(server, &file.uri), ..file.clone() },
        }
    }

    /// Returns the contents if they are the file that was listed, byte for byte, or the reason why
    /// they are not passed on.
    pub(super) fn verified(
        &self,
        contents: Vec<ResourceContents>,
    ) -> Result<ResourceContents, &'static str> {
        let Ok([mut contents]) = <[ResourceContents; 1]>::try_from(contents) else {
            return Err("they are not those of one file");
        };
        if contents.uri != self.own_uri {
            return Err("they are those of another URI");
        }
        let bytes = contents.raw_bytes().ok_or("they are neither text nor bytes")?;
        if bytes.len() as u64 != self.file.size || sha256(&bytes) != self.file.digest {
            return Err("they are not what the list of skills has the size and digest of");
        }
        if contents.text.as_deref().is_some_and(is_hiding) {
            return Err("they have characters that are not shown to people");
        }
        contents.uri.clone_from(&self.file.uri);
        if let Some(mime_type) = &mut contents.mime_type {
            *mime_type = text::clean(mime_type).into_owned();
        }
        Ok(contents)
    }
}

/// Returns the URI under which a file of a server's skill is passed on.
pub(super) fn passed_uri(server: &str, uri: &str) -> String {
    let path = uri.split_once("://").map_or(uri, |(_, path)| path);
    format!("{SKILL_SCHEME}{server}/{path}")
}
