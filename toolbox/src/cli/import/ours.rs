//! The configuration that servers are taken into.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::document::SettingsDocument;
use super::files;
use crate::disk::{Access, replace};
use crate::mcp::{Config, ServerConfig};

/// The configuration that is begun where there is none.
pub(in crate::cli) const EMPTY: &str = "{\n  \"mcp\": {}\n}\n";

/// The longest name of a server, in bytes.
const LONGEST_NAME: usize = 64;

/// The configuration, with the servers taken so far.
pub(super) struct Ours {
    pub(super) path: PathBuf,
    document: SettingsDocument,
    servers: Vec<(String, Value)>,
    /// The text that was read.
    before: String,
    /// `true` if there is no file yet.
    is_new: bool,
    pub(super) is_changed: bool,
}

/// The relation of a server to the configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    New,
    Same,
    /// The configuration has it, switched off.
    Off,
}

/// A server in the configuration.
pub(super) struct TakenServer {
    pub(super) name: String,
    pub(super) standing: Standing,
    /// `false` if other settings than those of the program apply to it, such as its times.
    pub(super) is_equal: bool,
}

impl Ours {
    /// Reads the configuration, or returns the fault for which nothing can be written to it.
    pub(super) fn read(path: PathBuf) -> Result<Self, String> {
        let is_new = path.symlink_metadata().is_err();
        let text = if is_new { EMPTY.to_owned() } else { files::read(&path)? };
        let document = SettingsDocument::parse(&text, false)?;
        let mut servers = document.servers(&["mcp"])?;
        servers.extend(document.servers(&["mcpServers"])?);
        Ok(Self { path, document, servers, before: text, is_new, is_changed: false })
    }

    /// Takes a server of a program, unless it is there. If another has its name, it gets that of
    /// the program behind its own.
    pub(super) fn take(
        &mut self,
        name: &str,
        host: &str,
        value: &Value,
    ) -> Result<TakenServer, String> {
        let config = self.understood(name, value)?;
        for name in names(name, host) {
            let there = self.servers.iter().find(|(other, _)| other.eq_ignore_ascii_case(&name));
            let Some((other, there)) = there else {
                if !self.document.add(&["mcp"], &name, value) {
                    return Err("`mcp` of the configuration is no object".to_owned());
                }
                self.servers.push((name.clone(), value.clone()));
                self.is_changed = true;
                return Ok(TakenServer { name, standing: Standing::New, is_equal: true });
            };
            let Some(there) = self.understood(other, there).ok() else { continue };
            if is_same(&config, &there) {
                let is_off = config.enabled && !there.enabled;
                let standing = if is_off { Standing::Off } else { Standing::Same };
                let is_equal = config.enabled(true) == there.enabled(true);
                return Ok(TakenServer { name: other.clone(), standing, is_equal });
            }
        }
        Err("all names for it are taken".to_owned())
    }

    /// Reads an entry as the program will.
    fn understood(&self, name: &str, value: &Value) -> Result<ServerConfig, String> {
        let text = json!({"mcp": {name: value}}).to_string();
        let (config, problems) = Config::parse(&text, &self.path, any_variable);
        match problems.first() {
            Some(problem) => Err(match problem.hint() {
                Some(hint) => format!("{}: {hint}", problem.message()),
                None => problem.message().to_owned(),
            }),
            None => config
                .servers()
                .first()
                .map(|(_, config)| config.clone())
                .ok_or_else(|| "it cannot be read".to_owned()),
        }
    }

    /// Returns the text of the configuration as it was read.
    pub(super) fn before(&self) -> &str {
        &self.before
    }

    /// Returns the text of the configuration with what was taken.
    pub(super) fn text(&self) -> String {
        self.document.text()
    }

    /// Writes the configuration, for its owner alone, and returns the backup of the one before.
    pub(super) fn write(&self, number: u32) -> Result<PathBuf, String> {
        let text = self.text();
        let faults = |text: &str| Config::parse(text, &self.path, any_variable).1.len();
        // No file is replaced by one that the program understands less of.
        if faults(&text) > faults(&self.before) {
            return Err("the result would have faults; nothing was written".to_owned());
        }
        let is_same = if self.is_new {
            self.path.symlink_metadata().is_err()
        } else {
            files::read(&self.path).is_ok_and(|text| text == self.before)
        };
        if !is_same {
            return Err("the file has changed since it was read; nothing was written".to_owned());
        }
        written(&self.path, &text, Access::Owner, number)
    }
}

/// Returns whether two entries are for one server: what is started or reached is the same. The user
/// may have changed the rest of it since.
fn is_same(taken: &ServerConfig, there: &ServerConfig) -> bool {
    let has_client = taken.oauth != crate::mcp::config::OAuthClient::default();
    taken.endpoint == there.endpoint && (!has_client || taken.oauth == there.oauth)
}

/// Returns the names that a server of a program may have, in order: its own, that with the program
/// behind it, and that with a number.
fn names(name: &str, host: &str) -> impl Iterator<Item = String> {
    let with = move |ending: String| {
        let mut kept = name.to_owned();
        kept.truncate(LONGEST_NAME - ending.len() - 1);
        format!("{}_{ending}", kept.trim_end_matches('_'))
    };
    let numbered = (2..1000).map(move |number| format!("{host}_{number}"));
    let endings = std::iter::once(host.to_owned()).chain(numbered);
    std::iter::once(name.to_owned()).chain(endings.map(with))
}

/// Returns an address for each variable, since that fits wherever a variable may stand.
#[allow(clippy::unnecessary_wraps, reason = "the shape that the reader wants")]
fn any_variable(name: &str) -> Option<String> {
    Some(format!("http://{name}"))
}

/// Keeps a file beside itself and replaces it; returns the backup, which has the number of the run.
pub(in crate::cli) fn written(
    path: &Path,
    text: &str,
    access: Access,
    number: u32,
) -> Result<PathBuf, String> {
    let failed = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    let backup = files::back_up(path, number).map_err(failed)?;
    replace(path, text.as_bytes(), access).map_err(failed)?;
    Ok(backup)
}
