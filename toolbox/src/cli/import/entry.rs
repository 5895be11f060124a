//! One server of another program, as an entry of the configuration.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::variables::{Expansion, is_name};

/// The longest time of the configuration, in milliseconds.
const LONGEST: f64 = 24.0 * 3600.0 * 1000.0;

/// The entry made of a server.
pub(super) struct ConvertedServer {
    /// The value for the configuration, or the reason why there is none.
    pub(super) value: Result<Value, String>,
    /// The parts that are not carried over, and what the user has to do.
    pub(super) notes: Vec<String>,
    /// `false` if a part is not carried over that may restrict the server.
    pub(super) keeps_limits: bool,
}

/// Keys that restrict nothing, and need not be carried over.
const HARMLESS: [&str; 13] = [
    "_comment",
    "alwaysAllow",
    "autoApprove",
    "comment",
    "description",
    "dev",
    "envFile",
    "gallery",
    "icon",
    "name",
    "title",
    "trust",
    "version",
];

/// Makes an entry of a server of another program.
pub(super) fn convert(expansion: &Expansion<'_>, server: &Value) -> ConvertedServer {
    let mut draft = EntryDraft::new(expansion);
    let value = draft.read(server).and_then(|()| draft.finish());
    let EntryDraft { mut notes, to_set, keeps_limits, .. } = draft;
    if value.is_ok() && !to_set.is_empty() {
        let names: Vec<String> = to_set.into_iter().map(|name| format!("`{name}`")).collect();
        notes.push(format!(
            "it is disabled: set {} where toolbox is started, in place of what `${{input:…}}` asked for, and enable it",
            names.join(", ")
        ));
    }
    ConvertedServer { value, notes, keeps_limits }
}

/// The parts of an entry, as far as they are read.
struct EntryDraft<'a> {
    expansion: &'a Expansion<'a>,
    command: Vec<String>,
    args: Vec<String>,
    environment: Map<String, Value>,
    cwd: Option<String>,
    url: Option<String>,
    headers: Map<String, Value>,
    /// Keys with the same meaning in the configuration.
    more: Map<String, Value>,
    is_disabled: bool,
    notes: Vec<String>,
    keeps_limits: bool,
    /// Variables in place of values that the program asked for.
    to_set: BTreeSet<String>,
}

impl<'a> EntryDraft<'a> {
    fn new(expansion: &'a Expansion<'a>) -> Self {
        Self {
            expansion,
            command: Vec::new(),
            args: Vec::new(),
            environment: Map::new(),
            cwd: None,
            url: None,
            headers: Map::new(),
            more: Map::new(),
            is_disabled: false,
            notes: Vec::new(),
            keeps_limits: true,
            to_set: BTreeSet::new(),
        }
    }

    fn read(&mut self, server: &Value) -> Result<(), String> {
        let object = server.as_object().ok_or("it is no object")?;
        for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            self.key(key, value)?;
        }
        Ok(())
    }

    fn key(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "type" | "transport" => transport(value)?,
            "command" => self.command(value)?,
            "args" => self.args = self.texts(value, key)?,
            "env" | "environment" => self.environment(value)?,
            "env_vars" => self.passed_on(value)?,
            "cwd" => self.cwd = Some(self.text(value, key)?),
            "url" | "serverUrl" | "httpUrl" => self.url(key, value)?,
            "headers" | "http_headers" => {
                let headers = self.map(value, key)?;
                self.headers.extend(headers);
            }
            "env_http_headers" => self.headers_of_variables(value)?,
            "bearer_token_env_var" => {
                let name = variable(value, key)?;
                let header = format!("Bearer {{env:{name}}}");
                self.headers.insert("Authorization".to_owned(), header.into());
            }
            "enabled" => self.is_disabled |= flag(value, key)? == Some(false),
            "disabled" => self.is_disabled |= flag(value, key)? == Some(true),
            "timeout" | "tool_timeout_sec" | "startup_timeout_sec" | "startup_timeout_ms" => {
                self.time(key, value);
            }
            "oauth" => self.oauth(value),
            "source" if value == "custom" => {}
            "source" => return Err("it is of an extension of the program".to_owned()),
            key if HARMLESS.contains(&key) => self.note(key),
            _ => self.limit(key),
        }
        Ok(())
    }

    /// Notes a part that may restrict the server.
    fn limit(&mut self, key: &str) {
        self.keeps_limits = false;
        let key = crate::cli::text::cut(&crate::cli::text::line(key), 60);
        self.notes.push(format!(
            "`{key}` is not carried over, so `--point` leaves the server where it is"
        ));
    }

    fn note(&mut self, key: &str) {
        let key = crate::cli::text::cut(&crate::cli::text::line(key), 60);
        self.notes.push(format!("`{key}` is not carried over"));
    }

    fn command(&mut self, value: &Value) -> Result<(), String> {
        match value {
            Value::String(program) => self.command = vec![self.expanded(program, "command")?],
            Value::Array(_) => self.command = self.texts(value, "command")?,
            // As older versions of Zed have it.
            Value::Object(parts) => {
                for (key, value) in parts.iter().filter(|(_, value)| !value.is_null()) {
                    let key = if key == "path" { "command" } else { key };
                    if key == "command" && !value.is_string() {
                        return Err("its `command` is no program".to_owned());
                    }
                    self.key(key, value)?;
                }
            }
            _ => return Err("its `command` is no program".to_owned()),
        }
        Ok(())
    }

    fn environment(&mut self, value: &Value) -> Result<(), String> {
        let map = value.as_object().ok_or("its `env` is no object")?;
        for (name, value) in map {
            let text = match value {
                Value::Number(_) | Value::Bool(_) => value.to_string(),
                Value::String(text) => self.expanded(text, "env")?,
                _ => {
                    self.note(&format!("env.{name}"));
                    continue;
                }
            };
            self.environment.insert(name.clone(), text.into());
        }
        Ok(())
    }

    /// Reads names of variables that a program passes on to the server.
    fn passed_on(&mut self, value: &Value) -> Result<(), String> {
        for item in value.as_array().ok_or("its `env_vars` is no list")? {
            let name = item.get("name").unwrap_or(item);
            let is_remote = item.get("source").is_some_and(|source| source != "local");
            if is_remote {
                self.note("env_vars.source");
                continue;
            }
            let name = variable(name, "env_vars")?;
            let reference = format!("{{env:{name}}}");
            self.environment.entry(name).or_insert_with(|| reference.into());
        }
        Ok(())
    }

    fn headers_of_variables(&mut self, value: &Value) -> Result<(), String> {
        for (header, name) in value.as_object().ok_or("its `env_http_headers` is no object")? {
            let name = variable(name, "env_http_headers")?;
            self.headers.insert(header.clone(), format!("{{env:{name}}}").into());
        }
        Ok(())
    }

    fn url(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let url = self.text(value, key)?;
        let is_of_events = url.split(['?', '#']).next().is_some_and(|path| path.ends_with("/sse"));
        if is_of_events || (key == "url" && self.expansion.host.name == "gemini") {
            self.notes.push(
                "its address may be for SSE alone: if `toolbox check` cannot reach it, use the one for streamable HTTP".to_owned(),
            );
        }
        if self.url.replace(url).is_some() {
            return Err("it has two addresses".to_owned());
        }
        Ok(())
    }

    /// Reads a time in the unit of its key.
    fn time(&mut self, key: &str, value: &Value) {
        let (own, milliseconds) = match (key, self.expansion.host.name) {
            ("tool_timeout_sec", _) => ("timeout", 1000.0),
            ("startup_timeout_sec", _) => ("connectTimeout", 1000.0),
            // That of OpenCode is for the list of tools.
            ("startup_timeout_ms", _) | ("timeout", "opencode") => ("connectTimeout", 1.0),
            ("timeout", "claude-code" | "gemini") => ("timeout", 1.0),
            _ => return self.note(key),
        };
        let time = value.as_f64().map(|number| number * milliseconds);
        match time.filter(|time| (1.0..=LONGEST).contains(time)) {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "bounded")]
            Some(time) => drop(self.more.insert(own.to_owned(), (time as u64).into())),
            None => self.note(key),
        }
    }

    fn oauth(&mut self, value: &Value) {
        let mut own = Map::new();
        let Some(object) = value.as_object() else { return self.note("oauth") };
        for (key, value) in object {
            match (key.as_str(), value) {
                ("clientId" | "clientSecret" | "scope", Value::String(text)) => {
                    match self.expanded(text, "oauth") {
                        Ok(text) => drop(own.insert(key.clone(), text.into())),
                        Err(_) => self.note(&format!("oauth.{key}")),
                    }
                }
                ("callbackPort", Value::Number(_)) => drop(own.insert(key.clone(), value.clone())),
                ("scopes", Value::Array(scopes)) if scopes.iter().all(Value::is_string) => {
                    let scopes: Vec<&str> = scopes.iter().filter_map(Value::as_str).collect();
                    own.insert("scope".to_owned(), scopes.join(" ").into());
                }
                ("enabled", Value::Bool(true)) => {}
                _ => self.note(&format!("oauth.{key}")),
            }
        }
        if !own.is_empty() {
            self.more.insert("oauth".to_owned(), own.into());
        }
    }

    fn text(&mut self, value: &Value, key: &str) -> Result<String, String> {
        let text = value.as_str().ok_or_else(|| format!("its `{key}` is no string"))?;
        self.expanded(text, key)
    }

    fn texts(&mut self, value: &Value, key: &str) -> Result<Vec<String>, String> {
        let items = value.as_array().ok_or_else(|| format!("its `{key}` is no list"))?;
        items.iter().map(|item| self.text(item, key)).collect()
    }

    fn map(&mut self, value: &Value, key: &str) -> Result<Map<String, Value>, String> {
        let map = value.as_object().ok_or_else(|| format!("its `{key}` is no object"))?;
        map.iter().map(|(name, value)| Ok((name.clone(), self.text(value, key)?.into()))).collect()
    }

    fn expanded(&mut self, text: &str, key: &str) -> Result<String, String> {
        let expanded =
            self.expansion.expand(text).map_err(|reason| format!("in its `{key}`: {reason}"))?;
        self.to_set.extend(expanded.to_set);
        Ok(expanded.text)
    }

    /// Returns the entry of all parts.
    fn finish(&mut self) -> Result<Value, String> {
        let mut entry = match (self.command.is_empty(), self.url.take()) {
            (true, Some(url)) => self.remote(&url),
            (false, None) => self.local()?,
            (true, None) => return Err("it has neither a command nor an address".to_owned()),
            (false, Some(_)) => return Err("it has both a command and an address".to_owned()),
        };
        entry.append(&mut self.more);
        if self.is_disabled || !self.to_set.is_empty() {
            entry.insert("enabled".to_owned(), false.into());
        }
        Ok(entry.into())
    }

    fn remote(&mut self, url: &str) -> Map<String, Value> {
        let unused = [("env", !self.environment.is_empty()), ("args", !self.args.is_empty())];
        unused.iter().filter(|(_, given)| *given).for_each(|(key, _)| self.note(key));
        let mut entry = Map::new();
        entry.insert("type".to_owned(), "remote".into());
        entry.insert("url".to_owned(), url.into());
        if !self.headers.is_empty() {
            entry.insert("headers".to_owned(), std::mem::take(&mut self.headers).into());
        }
        entry
    }

    fn local(&mut self) -> Result<Map<String, Value>, String> {
        if !self.headers.is_empty() {
            self.note("headers");
        }
        self.command.append(&mut self.args);
        if let [line] = &self.command[..]
            && line.contains(char::is_whitespace)
            && !line.contains(['/', '\\'])
        {
            return Err(
                "its `command` is a line for a shell: give each argument by itself".to_owned()
            );
        }
        let mut entry = Map::new();
        entry.insert("type".to_owned(), "local".into());
        entry.insert("command".to_owned(), json!(self.command));
        if !self.environment.is_empty() {
            entry.insert("environment".to_owned(), std::mem::take(&mut self.environment).into());
        }
        if let Some(folder) = self.folder() {
            entry.insert("cwd".to_owned(), folder.into());
        }
        Ok(entry)
    }

    /// Returns the folder that the program would run the server in, where it has a fixed one.
    fn folder(&mut self) -> Option<String> {
        let project = self.expansion.project.and_then(Path::to_str);
        match (self.cwd.take(), project) {
            (Some(folder), _)
                if Path::new(&folder).is_absolute() || folder.starts_with("{env:") =>
            {
                Some(folder)
            }
            (Some(folder), Some(project)) => {
                Some(Path::new(project).join(folder).to_string_lossy().into_owned())
            }
            (Some(_), None) => {
                self.limit("cwd");
                None
            }
            (None, project) => project.map(str::to_owned),
        }
    }
}

fn transport(value: &Value) -> Result<(), String> {
    match value.as_str().unwrap_or_default() {
        "stdio" | "local" | "remote" | "http" | "streamable-http" | "streamableHttp"
        | "streamable_http" => Ok(()),
        "sse" => {
            Err("its transport is SSE, which is not spoken: use its address for streamable HTTP"
                .to_owned())
        }
        other => Err(format!("its transport `{}` is not spoken", crate::cli::text::line(other))),
    }
}

fn flag(value: &Value, key: &str) -> Result<Option<bool>, String> {
    value.as_bool().map(Some).ok_or_else(|| format!("its `{key}` is neither true nor false"))
}

fn variable(value: &Value, key: &str) -> Result<String, String> {
    let name = value.as_str().filter(|name| is_name(name));
    name.map(str::to_owned).ok_or_else(|| format!("its `{key}` does not name a variable"))
}
