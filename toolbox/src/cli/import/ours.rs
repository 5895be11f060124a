//! The configuration that servers are taken into.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::SettingsDocument;
use super::files;
use crate::disk::{Access, replace};
use crate::mcp::{Config, ServerConfig};

/// The configuration, with the servers taken so far.
pub(super) struct Ours {
    pub(super) path: PathBuf,
    document: SettingsDocument,
    servers: Vec<(String, Value)>,
    /// `true` if there is no file yet.
    is_new: bool,
    pub(super) is_changed: bool,
}

/// The relation of a server to the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    New,
    Same,
    Conflict,
}

impl Ours {
    /// Reads the configuration, or returns the fault for which nothing can be written to it.
    pub(super) fn read(path: PathBuf) -> Result<Self, String> {
        let is_new = path.symlink_metadata().is_err();
        let text = if is_new { "{\n  \"mcp\": {}\n}\n".to_owned() } else { files::read(&path)? };
        let text = text.strip_prefix('\u{feff}').map_or(text.as_str(), |text| text);
        let document = SettingsDocument::parse(text, false)?;
        let mut servers = document.servers(&["mcp"])?;
        servers.extend(document.servers(&["mcpServers"])?);
        Ok(Self { path, document, servers, is_new, is_changed: false })
    }

    /// Takes a server, unless one of its name is there.
    pub(super) fn take(&mut self, name: &str, value: &Value) -> Result<Standing, String> {
        let config = self.understood(name, value)?;
        let there = self.servers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name));
        if let Some((other, there)) = there {
            let is_same = other == name
                && (there == value
                    || self.understood(name, there).is_ok_and(|there| there == config));
            return Ok(if is_same { Standing::Same } else { Standing::Conflict });
        }
        if !self.document.add(&["mcp"], name, value) {
            return Err("`mcp` of the configuration is no object".to_owned());
        }
        self.servers.push((name.to_owned(), value.clone()));
        self.is_changed = true;
        Ok(Standing::New)
    }

    /// Reads an entry as the program will.
    fn understood(&self, name: &str, value: &Value) -> Result<ServerConfig, String> {
        let text = json!({"mcp": {name: value}}).to_string();
        let (config, problems) = Config::parse(&text, &self.path, any_variable);
        match problems.first() {
            Some(problem) => Err(problem.message().to_owned()),
            None => config
                .servers()
                .first()
                .map(|(_, config)| config.clone())
                .ok_or_else(|| "it cannot be read".to_owned()),
        }
    }

    /// Writes the configuration, for its owner alone, and returns the backup of the one before.
    pub(super) fn write(&self) -> Result<PathBuf, String> {
        let text = self.document.text();
        let faults = |text: &str| Config::parse(text, &self.path, any_variable).1.len();
        let before =
            if self.is_new { 0 } else { files::read(&self.path).map_or(0, |text| faults(&text)) };
        // No file is replaced by one that the program understands less of.
        if faults(&text) > before {
            return Err("the result would have faults; nothing was written".to_owned());
        }
        written(&self.path, &text, Access::Owner)
    }
}

/// Returns an address for each variable, since that fits wherever a variable may stand.
#[allow(clippy::unnecessary_wraps, reason = "the shape that the reader wants")]
fn any_variable(name: &str) -> Option<String> {
    Some(format!("http://{name}"))
}

/// Keeps a file beside itself and replaces it; returns the backup.
pub(super) fn written(path: &Path, text: &str, access: Access) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    let backup = files::back_up(path).map_err(failed)?;
    replace(path, text.as_bytes(), access).map_err(failed)?;
    Ok(backup)
}
