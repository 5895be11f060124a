//! One server of another program, as an entry of the configuration.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::bridge::{self, BridgedServer};
use super::hosts::VariableSyntax;
use super::shown;
use super::times::{self, Reading};
use super::variables::{Expansion, is_name};
use crate::mcp::config::{foreign, is_shell};

/// The entry made of a server.
pub(super) struct ConvertedServer {
    /// The value for the configuration, or the reason why there is none.
    pub(super) value: Result<Value, String>,
    /// The parts that are not carried over, and what the user has to do.
    pub(super) notes: Vec<String>,
    /// `false` if a part is not carried over that may restrict the server.
    pub(super) keeps_limits: bool,
}

const MAY_BE_SSE: &str = "its address may be for SSE alone: if `toolbox check` cannot reach it, use the one for streamable HTTP";

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
        if let (Some(Value::String(program)), Some(Value::String(line))) =
            (object.get("command"), object.get("args"))
        {
            let words: Vec<&str> = line.split_whitespace().collect();
            let example = shown::arguments(program, &words);
            return Err(format!(
                "its `args` is one string, which no shell splits: write a list, such as {example}"
            ));
        }
        for (key, value) in object.iter().filter(|(_, value)| !value.is_null()) {
            self.key(key, value)?;
        }
        let names_transport =
            ["type", "transport", "transportType"].iter().any(|key| object.contains_key(*key));
        if self.expansion.host.name == "cline" && self.url.is_some() && !names_transport {
            self.notes.push(MAY_BE_SSE.to_owned());
        }
        Ok(())
    }

    fn key(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "type" | "transport" | "transportType" if value.is_string() => transport(value)?,
            // As newer versions of Cline have it.
            "transport" if value.is_object() => {
                for (key, value) in value.as_object().into_iter().flatten() {
                    self.key(key, value)?;
                }
            }
            "type" | "transport" | "transportType" => transport(value)?,
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
            "auth" => self.own_client(value),
            // Nothing is excluded by an empty list.
            "disabledTools" | "disabled_tools" | "excludeTools"
                if value.as_array().is_some_and(Vec::is_empty) => {}
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
            self.notes.push(MAY_BE_SSE.to_owned());
        }
        if self.url.replace(url).is_some() {
            return Err("it has two addresses".to_owned());
        }
        Ok(())
    }

    /// Reads a time in the unit of its key, else in that of the program.
    fn time(&mut self, key: &str, value: &Value) {
        let (own, unit) = match key {
            "tool_timeout_sec" => ("timeout", Some(1000.0)),
            "startup_timeout_sec" => ("connectTimeout", Some(1000.0)),
            "startup_timeout_ms" => ("connectTimeout", Some(1.0)),
            // That of OpenCode is for the list of tools.
            _ => match self.expansion.host.timeout {
                Some((own, unit)) => (own, Some(unit)),
                None => ("timeout", None),
            },
        };
        match times::read(value, unit) {
            Reading::Plain(time) => drop(self.more.insert(own.to_owned(), time.into())),
            Reading::Questioned(time, question) => {
                self.more.insert(own.to_owned(), time.into());
                self.notes.push(format!("its `{key}` {question}"));
            }
            Reading::None(reason) => {
                self.notes.push(format!("`{key}` is not carried over: {reason}"));
            }
        }
    }

    /// Reads a client that is registered for the program, as Cursor and LM Studio name it.
    fn own_client(&mut self, value: &Value) {
        let Some(object) = value.as_object() else { return self.limit("auth") };
        let names =
            [("CLIENT_ID", "clientId"), ("CLIENT_SECRET", "clientSecret"), ("scopes", "scopes")];
        let mut own = Map::new();
        for (key, value) in object {
            match names.iter().find(|(name, _)| name == key) {
                Some((_, name)) => drop(own.insert((*name).to_owned(), value.clone())),
                None => self.note(&format!("auth.{key}")),
            }
        }
        self.oauth(&own.into());
        self.notes.push(
            "its client is registered for the address that the program listens at: add that of toolbox, http://127.0.0.1:PORT/callback with `callbackPort`".to_owned(),
        );
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

    /// Reads a list of strings; numbers and flags are taken as text.
    fn texts(&mut self, value: &Value, key: &str) -> Result<Vec<String>, String> {
        let items = value.as_array().ok_or_else(|| format!("its `{key}` is no list"))?;
        items.iter().map(|item| self.text_of(item, key)).collect()
    }

    /// Reads a string in a list or an object of strings.
    fn text_of(&mut self, value: &Value, key: &str) -> Result<String, String> {
        match value {
            Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
            Value::String(text) => self.expanded(text, key),
            Value::Null => Err(format!("its `{key}` holds null: leave it out")),
            _ => Err(format!("its `{key}` holds something else than strings")),
        }
    }

    fn map(&mut self, value: &Value, key: &str) -> Result<Map<String, Value>, String> {
        let map = value.as_object().ok_or_else(|| format!("its `{key}` is no object"))?;
        map.iter()
            .map(|(name, value)| Ok((name.clone(), self.text_of(value, key)?.into())))
            .collect()
    }

    fn expanded(&mut self, text: &str, key: &str) -> Result<String, String> {
        let expanded =
            self.expansion.expand(text).map_err(|reason| format!("in its `{key}`: {reason}"))?;
        self.to_set.extend(expanded.to_set);
        if ["command", "args", "cwd"].contains(&key)
            && let Some(path) = self.expansion.in_home(&expanded.text)
        {
            return Ok(path);
        }
        Ok(expanded.text)
    }

    /// Notes a part of a string that looks like a variable, and is passed on as it stands.
    fn literal(&mut self, key: &str, text: &str) {
        let Some(found) = foreign(text, true) else { return };
        let note = format!(
            "`{}` in its `{key}` is passed on as it stands, as by {}: {} if it is meant to be replaced",
            found.part, self.expansion.host.name, found.instead
        );
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Returns the entry of all parts.
    fn finish(&mut self) -> Result<Value, String> {
        if self.url.is_none() {
            self.unbridge();
        }
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

    /// Replaces `mcp-remote` by the address that it reaches, if all of it is understood.
    fn unbridge(&mut self) {
        let command: Vec<String> = self.command.iter().chain(&self.args).cloned().collect();
        let syntax = self.expansion.host.variables;
        let expands = matches!(syntax, VariableSyntax::Shell | VariableSyntax::BareShell);
        let BridgedServer { url, headers, port, left } =
            match bridge::read(&command, &self.environment, expands) {
                None => return,
                Some(Ok(server)) => server,
                Some(Err(reason)) => {
                    self.notes.push(format!("it stays the child process `mcp-remote`: {reason}"));
                    return;
                }
            };
        for option in left {
            self.note(&option);
        }
        let mut note = "its address is reached without `mcp-remote`".to_owned();
        if !headers.keys().any(|name| name.eq_ignore_ascii_case("authorization")) {
            note.push_str(": if it requires a sign-in, run `toolbox login` with its name");
        }
        self.notes.push(note);
        if let Some(port) = port {
            self.more.insert("oauth".to_owned(), json!({"callbackPort": port}));
        }
        self.url = Some(url);
        self.headers.extend(headers);
        self.command.clear();
        self.args.clear();
        self.environment.clear();
    }

    fn local(&mut self) -> Result<Map<String, Value>, String> {
        if !self.headers.is_empty() {
            self.note("headers");
        }
        if let Some(program) = self.command.first()
            && is_line(program, self.command.len() + self.args.len() > 1)
        {
            let words: Vec<&str> = program.split_whitespace().collect();
            let (program, rest) = words.split_first().unwrap_or((&"", &[]));
            return Err(format!(
                "its `command` is a line for a shell: give each argument by itself, {} as `command` and {} as `args`",
                json!(program),
                shown::arguments(program, rest)
            ));
        }
        self.command.append(&mut self.args);
        for (key, path) in [("command", self.command.first()), ("cwd", self.cwd.as_ref())] {
            if path.is_some_and(|path| is_in_home(path)) {
                self.notes.push(format!("`~` in its `{key}` is the home directory here"));
            }
        }
        let (command, environment) = (self.command.clone(), self.environment.clone());
        if command.first().is_some_and(|program| !is_shell(program)) {
            command.iter().skip(1).for_each(|word| self.literal("args", word));
        }
        for value in environment.values() {
            self.literal("env", value.as_str().unwrap_or_default());
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
                if Path::new(&folder).is_absolute()
                    || folder.starts_with("{env:")
                    || is_in_home(&folder) =>
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

/// Returns whether a command is a program with its arguments, and not a program with blanks in its
/// name.
fn is_line(command: &str, has_arguments: bool) -> bool {
    let Some((first, rest)) = command.trim().split_once(char::is_whitespace) else { return false };
    let is_there = |path: &str| Path::new(path).is_absolute() && Path::new(path).is_file();
    if is_there(command) {
        return false;
    }
    let is_option = |word: &str| {
        let letters = word.trim_start_matches('-');
        letters.len() < word.len() && letters.starts_with(|c: char| c.is_ascii_alphanumeric())
    };
    rest.split_whitespace().any(is_option)
        || is_there(first)
        || !(has_arguments || command.contains(['/', '\\']))
}

fn is_in_home(path: &str) -> bool {
    path.strip_prefix('~').is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
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
