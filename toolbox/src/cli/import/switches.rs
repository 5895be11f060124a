//! Settings outside of the entries of servers that switch them off or restrict them.

use std::path::Path;

use serde_json::{Map, Value};

use super::document::SettingsDocument;
use super::files;
use super::hosts::{self, HostFile, UserFolders};
use super::limits::{LimitSettings, place};

/// Lists of settings that name servers which do not run.
const OFF: [&str; 4] =
    ["deniedMcpServers", "disabledMcpServers", "disabledMcpjsonServers", "excludeMCPServers"];

/// The settings that restrict the servers of a program although their entries do not say so.
#[derive(Debug, Default)]
pub(super) struct Switches {
    off: Vec<Switch>,
    limits: LimitSettings,
}

/// A setting that switches servers off.
#[derive(Debug)]
struct Switch {
    servers: Off,
    /// The setting and its file.
    place: String,
}

#[derive(Debug)]
enum Off {
    All,
    These(Vec<String>),
    AllBut(Vec<String>),
}

impl Switches {
    /// Reads the settings of a program beside its servers.
    pub(super) fn read(
        file: &HostFile,
        document: &SettingsDocument,
        folders: &UserFolders,
    ) -> Self {
        let mut switches = Self::default();
        // The file of a user of Claude Code has servers of projects.
        let of_project = file.project.is_some() || file.host.name == "claude-code";
        let others = hosts::settings(folders, file.host, of_project);
        let others = others.iter().filter(|path| **path != file.path);
        let others = others.filter_map(|path| Some((path.as_path(), root(&parsed(path)?))));
        let documents = std::iter::once((file.path.as_path(), root(document))).chain(others);
        for (path, settings) in documents {
            switches.take(file, folders, path, &settings);
            switches.limits.take(file.host.name, path, &settings);
        }
        switches
    }

    fn take(
        &mut self,
        file: &HostFile,
        folders: &UserFolders,
        path: &Path,
        settings: &Map<String, Value>,
    ) {
        let mut switch = |key: &str, servers: Off| {
            self.off.push(Switch { servers, place: place(key, path) });
        };
        let lists = |settings: &Map<String, Value>, switch: &mut dyn FnMut(&str, Off)| {
            for (key, value) in settings.iter().filter(|(key, _)| OFF.contains(&key.as_str())) {
                switch(key, Off::These(names(value)));
            }
        };
        match file.host.name {
            "gemini" => {
                lists(settings, &mut switch);
                let mcp = settings.get("mcp");
                if let Some(servers) = mcp.and_then(|mcp| mcp.get("excluded")) {
                    switch("mcp.excluded", Off::These(names(servers)));
                }
                if let Some(servers) = mcp.and_then(|mcp| mcp.get("allowed")) {
                    switch("mcp.allowed", Off::AllBut(names(servers)));
                }
                if let Some(servers) = settings.get("allowMCPServers") {
                    switch("allowMCPServers", Off::AllBut(names(servers)));
                }
            }
            "claude-code" => {
                lists(settings, &mut switch);
                let here = file.project.as_deref().or(folders.project());
                let here = here.and_then(Path::to_str).unwrap_or_default();
                let of_project = settings.get("projects").and_then(|projects| projects.get(here));
                if let Some(Value::Object(of_project)) = of_project {
                    lists(of_project, &mut switch);
                }
            }
            "vscode" => {
                if settings.get("chat.mcp.access").is_some_and(|access| access == "none") {
                    switch("chat.mcp.access", Off::All);
                }
                if settings.get("chat.mcp.enabled") == Some(&Value::Bool(false)) {
                    switch("chat.mcp.enabled", Off::All);
                }
            }
            _ => {}
        }
    }

    /// Returns the setting that switches a server off.
    pub(super) fn off(&self, server: &str) -> Option<&str> {
        let has = |list: &[String]| list.iter().any(|name| name == server);
        let is_off = |switch: &&Switch| match &switch.servers {
            Off::All => true,
            Off::These(servers) => has(servers),
            Off::AllBut(servers) => !has(servers),
        };
        self.off.iter().find(is_off).map(|switch| switch.place.as_str())
    }

    /// Returns the setting that restricts the tools of a server.
    pub(super) fn limit(&self, server: &str) -> Option<&str> {
        self.limits.of(server)
    }
}

fn root(document: &SettingsDocument) -> Map<String, Value> {
    document.servers(&[]).unwrap_or_default().into_iter().collect()
}

fn parsed(path: &Path) -> Option<SettingsDocument> {
    let text = files::read(path).ok()?;
    let is_toml = path.extension().is_some_and(|extension| extension == "toml");
    SettingsDocument::parse(&text, is_toml).ok()
}

/// Returns the servers that a list names, by text or by an object with `serverName`.
fn names(list: &Value) -> Vec<String> {
    let name = |item: &Value| item.get("serverName").unwrap_or(item).as_str().map(str::to_owned);
    list.as_array().into_iter().flatten().filter_map(name).collect()
}
