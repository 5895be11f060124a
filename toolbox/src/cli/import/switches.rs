//! Servers that their user switched off outside of their entries.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::document::SettingsDocument;
use super::files;
use super::hosts::{HostFile, UserFolders};

/// Lists of settings that name servers which do not run.
const OFF: [&str; 3] = ["disabledMcpjsonServers", "disabledMcpServers", "excludeMCPServers"];

/// The servers that a program does not run although its file has them.
#[derive(Debug, Default)]
pub(super) struct Switches {
    off: Vec<String>,
    /// The only servers that run.
    only: Option<Vec<String>>,
}

impl Switches {
    /// Reads the settings of a program beside its servers.
    pub(super) fn read(
        file: &HostFile,
        document: &SettingsDocument,
        folders: &UserFolders,
    ) -> Self {
        let mut switches = Self::default();
        let settings =
            |document: &SettingsDocument, path: &[&str]| document.servers(path).unwrap_or_default();
        match file.host.name {
            "gemini" => {
                for (key, value) in settings(document, &["mcp"]) {
                    match key.as_str() {
                        "excluded" => switches.off.extend(texts(&value)),
                        "allowed" => switches.only = Some(texts(&value)),
                        _ => {}
                    }
                }
                for (key, value) in settings(document, &[]) {
                    match key.as_str() {
                        "allowMCPServers" => switches.only = Some(texts(&value)),
                        key if OFF.contains(&key) => switches.off.extend(texts(&value)),
                        _ => {}
                    }
                }
            }
            "claude-code" => {
                let here = std::env::current_dir().ok();
                let project = file.project.as_deref().or(here.as_deref());
                let home = folders.home.as_deref();
                let of_project = project.map(|project| project.join(".claude"));
                let of_user = home.map(|home| home.join(".claude"));
                let folders = [of_project, of_user].into_iter().flatten();
                let names = ["settings.local.json", "settings.json"];
                for path in folders.flat_map(|folder| names.map(|name| folder.join(name))) {
                    let found = parsed(&path).map(|other| settings(&other, &[]));
                    for setting in found.iter().flatten() {
                        switches.take(setting);
                    }
                }
                let key = project.and_then(Path::to_str).unwrap_or_default();
                let user: Option<PathBuf> = home.map(|home| home.join(".claude.json"));
                let user = user.filter(|path| *path != file.path).and_then(|path| parsed(&path));
                for document in std::iter::once(document).chain(user.as_ref()) {
                    let of_project = settings(document, &["projects", key]);
                    for setting in of_project.iter().chain(&settings(document, &[])) {
                        switches.take(setting);
                    }
                }
            }
            _ => {}
        }
        switches
    }

    fn take(&mut self, (key, value): &(String, Value)) {
        if OFF.contains(&key.as_str()) {
            self.off.extend(texts(value));
        }
    }

    pub(super) fn is_off(&self, server: &str) -> bool {
        let names = |list: &[String]| list.iter().any(|name| name == server);
        names(&self.off) || self.only.as_deref().is_some_and(|only| !names(only))
    }
}

fn parsed(path: &Path) -> Option<SettingsDocument> {
    let text = files::read(path).ok()?;
    SettingsDocument::parse(text.trim_start_matches('\u{feff}'), false).ok()
}

fn texts(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}
