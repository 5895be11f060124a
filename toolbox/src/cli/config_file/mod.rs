//! The configuration file behind the page: shown without its secrets, and changed in place.

mod entry;
mod masked;
mod rules;

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::import::document::SettingsDocument;
use super::import::{EMPTY, ImportPlan, files};
use super::program::{FileWidth, usual_path};
use super::text::line;
use crate::disk::{Access, replace};
use crate::mcp::config::PROTOCOL_VERSIONS;
use crate::mcp::{Config, ConfigProblem};
use crate::page::{ChangeRefusal, ConfigFile, FileChange, WantedChange, WantedImport};
use crate::sync::Mutex;
use crate::text::hex;
use masked::{LISTS, MaskedText};

/// The digest of a file that is not there.
const MISSING: &str = "missing";

/// A configuration file that people at a page change.
pub(super) struct PageConfig {
    path: PathBuf,
    /// Held from the comparison of the digest to the end of the writing, for pages that change the
    /// file at once.
    writing: Mutex<()>,
}

/// The file at one moment.
struct FileText {
    text: String,
    digest: String,
    is_missing: bool,
}

impl FileText {
    fn read(path: &Path) -> Result<Self, String> {
        if path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            let text = EMPTY.to_owned();
            return Ok(Self { text, digest: MISSING.to_owned(), is_missing: true });
        }
        let text = files::read(path)?;
        let digest = digest(&text);
        Ok(Self { text, digest, is_missing: false })
    }
}

fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

/// Returns the reason why nothing is written to a file.
fn unwritable(path: &Path) -> Option<String> {
    // A file is replaced, so the system would not refuse that.
    let is_protected = fs::metadata(path).is_ok_and(|file| file.permissions().readonly());
    let shown = line(&path.display().to_string());
    is_protected.then(|| format!("{shown} is read-only: `chmod u+w` lets the page change it"))
}

impl PageConfig {
    /// Returns the given file, or the default one, for a page; `None` without a home directory.
    pub(super) fn of(path: Option<PathBuf>) -> Option<Arc<dyn ConfigFile>> {
        let path = path.map_or_else(usual_path, Ok).ok()?;
        let path = std::path::absolute(&path).unwrap_or(path);
        Some(Arc::new(Self { path, writing: Mutex::default() }))
    }

    fn problems(&self, text: &str) -> (Config, Vec<ConfigProblem>) {
        Config::parse(text, &self.path, |name| std::env::var(name).ok())
    }

    fn written(&self, text: &str, wanted: &WantedChange) -> Result<(), ChangeRefusal> {
        let unfit = |why: String| ChangeRefusal::Unfit(why, Vec::new());
        let mut document = SettingsDocument::parse(text, false)
            .map_err(|fault| unfit(format!("the file cannot be changed: {fault}")))?;
        let (before, faults_before) = self.problems(text);
        let root = document.object(&[]).map_err(unfit)?;
        match &wanted.change {
            FileChange::Add { server, entry } => {
                is_free(&document, server).map_err(unfit)?;
                let value = entry::new(entry);
                if !document.add(&[LISTS[0]], server, &value) {
                    return Err(unfit("`mcp` of the file is no object".to_owned()));
                }
            }
            FileChange::Set { list, server, entry } => {
                entry::set(&entry_of(&document, list, server).map_err(unfit)?, entry)
                    .map_err(unfit)?;
            }
            FileChange::Enable { list, server, on } => {
                entry::enable(&entry_of(&document, list, server).map_err(unfit)?, *on)
                    .map_err(unfit)?;
            }
            FileChange::Remove { list, server } => {
                entry_property(&document, list, server).map_err(unfit)?.remove();
            }
            FileChange::Rename { list, server, name } => {
                let entry = entry_property(&document, list, server).map_err(unfit)?;
                let others = document.servers(&[list]).map_err(unfit)?;
                let others = others.iter().map(|(other, _)| other).filter(|other| *other != server);
                let others: Vec<&str> = others.map(String::as_str).collect();
                // Another spelling in case is the same name.
                if !name.eq_ignore_ascii_case(server) {
                    is_free(&document, name).map_err(unfit)?;
                }
                entry::rename(&entry, name).map_err(unfit)?;
                rules::rename(&root, (server, name), &others).map_err(unfit)?;
            }
            FileChange::Tool { tool, on, tags } => {
                rules::switch(&root, &before, (tool, tags), *on).map_err(unfit)?;
            }
        }
        let text = document.text();
        let (_, faults) = self.problems(&text);
        let new = new_faults(faults, faults_before);
        if !new.is_empty() {
            let masked = MaskedText::of(&text);
            let shown = new.iter().map(|fault| masked.problem(fault)).collect();
            let why = "the file would have faults; nothing was written";
            return Err(ChangeRefusal::Unfit(why.to_owned(), shown));
        }
        // It may hold tokens.
        replace(&self.path, text.as_bytes(), Access::Owner).map_err(|error| {
            ChangeRefusal::Failed(format!(
                "{} cannot be written: {error}",
                line(&self.path.display().to_string())
            ))
        })
    }
}

/// What is said when a server was renamed.
const RENAMED: &str = "its tools have other names now: those who name them have to name them anew, \
                       and a lock file has them approved again";

/// Returns the faults that were not there before.
fn new_faults(faults: Vec<ConfigProblem>, mut before: Vec<ConfigProblem>) -> Vec<ConfigProblem> {
    let is_same = |one: &ConfigProblem, other: &ConfigProblem| {
        one.server() == other.server() && one.message() == other.message()
    };
    let is_new = |fault: &ConfigProblem| {
        let at = before.iter().position(|other| is_same(fault, other));
        at.map(|at| before.swap_remove(at)).is_none()
    };
    faults.into_iter().filter(is_new).collect()
}

/// Checks that no server has a name, whatever the case.
fn is_free(document: &SettingsDocument, name: &str) -> Result<(), String> {
    for list in LISTS {
        let servers = document.servers(&[list])?;
        if let Some((other, _)) = servers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name))
        {
            return Err(format!("there is a server `{}` already", line(other)));
        }
    }
    Ok(())
}

fn entry_of(
    document: &SettingsDocument,
    list: &str,
    server: &str,
) -> Result<jsonc_parser::cst::CstObject, String> {
    entry_property(document, list, server)?
        .object_value()
        .ok_or_else(|| format!("`{}` is no object: change it in the file", line(server)))
}

/// Returns the entry of a server with its name.
fn entry_property(
    document: &SettingsDocument,
    list: &str,
    server: &str,
) -> Result<jsonc_parser::cst::CstObjectProp, String> {
    let list = LISTS.into_iter().find(|known| *known == list).ok_or("there is no such list")?;
    let servers = entry::only(&document.object(&[])?, list)?;
    let servers = servers.and_then(|servers| servers.object_value());
    let servers = servers.ok_or_else(|| format!("`{list}` of the file is no object"))?;
    let entry = entry::only(&servers, server)?;
    entry.ok_or_else(|| format!("there is no server `{}` in the file", line(server)))
}

impl ConfigFile for PageConfig {
    fn stamp(&self) -> String {
        let Ok(file) = fs::metadata(&self.path) else { return MISSING.to_owned() };
        let modified = file.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let identity = {
            #[cfg(unix)]
            {
                use std::os::unix::fs::MetadataExt as _;
                (file.ino(), file.mode())
            }
            #[cfg(not(unix))]
            file.permissions().readonly()
        };
        format!("{} {modified:?} {identity:?}", file.len())
    }

    fn show(&self) -> Value {
        let shown = line(&self.path.display().to_string());
        let file = match FileText::read(&self.path) {
            Ok(file) => file,
            Err(fault) => {
                return json!({"path": shown, "fault": fault, "problems": [], "servers": []});
            }
        };
        let (config, mut problems) = self.problems(&file.text);
        problems.extend(config.warnings().iter().cloned());
        let masked = MaskedText::of(&file.text);
        let of = |server: Option<&str>| -> Vec<String> {
            let of_it = problems.iter().filter(|problem| problem.server() == server);
            of_it.map(|problem| masked.problem(problem)).collect()
        };
        let document = SettingsDocument::parse(&file.text, false);
        let mut servers = Vec::new();
        for list in LISTS {
            let entries = document.as_ref().map(|document| document.servers(&[list]));
            for (name, value) in entries.into_iter().flatten().flatten() {
                let mut entry = entry::shown(&value);
                entry["list"] = list.into();
                entry["name"] = name.as_str().into();
                entry["problems"] = of(Some(&name)).into();
                servers.push(entry);
            }
        }
        json!({
            "path": shown,
            "digest": file.digest,
            "is_missing": file.is_missing,
            "read_only": unwritable(&self.path),
            "problems": of(None),
            "servers": servers,
            "protocols": PROTOCOL_VERSIONS,
        })
    }

    fn change(&self, wanted: &WantedChange) -> Result<Option<String>, ChangeRefusal> {
        let _writing = self.writing.lock();
        let file = FileText::read(&self.path).map_err(ChangeRefusal::Failed)?;
        if file.digest != wanted.digest {
            let why = "the file has changed since it was shown; look at it, and try again";
            return Err(ChangeRefusal::Stale(why.to_owned()));
        }
        if let Some(why) = unwritable(&self.path) {
            return Err(ChangeRefusal::Failed(why));
        }
        let width = FileWidth::of(&self.path);
        self.written(&file.text, wanted)?;
        let of_name = matches!(wanted.change, FileChange::Rename { .. }).then_some(RENAMED);
        let notes: Vec<String> =
            width.narrowed().into_iter().chain(of_name.map(str::to_owned)).collect();
        Ok((!notes.is_empty()).then(|| notes.join("; ")))
    }

    fn import(&self, wanted: &WantedImport) -> Result<Value, ChangeRefusal> {
        let _writing = self.writing.lock();
        if let Some(why) = wanted.write.as_ref().and_then(|_| unwritable(&self.path)) {
            return Err(ChangeRefusal::Failed(why));
        }
        let plan = ImportPlan::read(self.path.clone(), &[], wanted.project)
            .map_err(ChangeRefusal::Failed)?;
        match &wanted.write {
            None => Ok(plan.shown()),
            Some(digest) => plan.carry_out(digest),
        }
    }
}
