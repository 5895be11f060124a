//! The keys of the file: one table for the reader, for its messages and for the JSON Schema.

use super::variables;

/// One key of an object.
pub(super) struct Key {
    pub(super) name: &'static str,
    /// Other spellings, from the files of other programs.
    pub(super) also: &'static [&'static str],
    pub(super) kind: Kind,
    /// What it is for, with its default.
    pub(super) about: &'static str,
}

/// What may stand behind a key.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Flag,
    Count {
        least: u64,
        most: u64,
    },
    /// Milliseconds, or a text such as `30s`.
    Time,
    Text,
    Texts,
    /// A program, or a program with its arguments.
    Command,
    /// Texts by name.
    Map,
    OneOf(&'static [&'static str]),
    /// Names of tools, with `*` for any run of characters.
    Rules,
    Object(&'static [Key]),
    /// Servers by name.
    Servers,
}

impl Kind {
    /// What a message calls it.
    pub(super) fn expected(self) -> String {
        match self {
            Self::Flag => "`true` or `false`".to_owned(),
            Self::Count { least, most } => format!("a whole number from {least} to {most}"),
            Self::Time => {
                "a time of at most 24 hours: milliseconds, or a text like \"30s\"".to_owned()
            }
            Self::Text => "a string".to_owned(),
            Self::Texts => "a list of strings".to_owned(),
            Self::Command => {
                "a program as a string, or a list of the program and its arguments".to_owned()
            }
            Self::Map => "an object of strings".to_owned(),
            Self::OneOf(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                format!("one of {}", quoted.join(", "))
            }
            Self::Rules => "a list of tool names, with `*` for any run of characters".to_owned(),
            Self::Object(_) => "an object".to_owned(),
            Self::Servers => "an object of servers by name".to_owned(),
        }
    }
}

const fn key(name: &'static str, kind: Kind, about: &'static str) -> Key {
    Key { name, also: &[], kind, about }
}

impl Key {
    const fn also(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }
}

/// The file itself.
pub(super) const FILE: &[Key] = &[
    key("$schema", Kind::Text, "Where an editor finds the schema of this file; not read."),
    key("mcp", Kind::Servers, "The servers by name."),
    key("mcpServers", Kind::Servers, "The same under the name that desktop hosts use."),
    key("settings", Kind::Object(SETTINGS), "What holds for all servers."),
];

/// The words for a server that is a child process; the others of `type` are for one that is reached
/// over HTTP.
pub(super) const LOCAL: &[&str] = &["local", "stdio"];

pub(super) const SERVER: &[Key] = &[
    key(
        "type",
        Kind::OneOf(&["local", "remote", "stdio", "http", "streamable-http", "streamableHttp"]),
        "How the server is reached. Default: `local` with a `command`, `remote` with a `url`.",
    ),
    key(
        "command",
        Kind::Command,
        "The program to start: with its arguments in a list, or alone. No shell reads it.",
    ),
    key("args", Kind::Texts, "The arguments of a program that stands alone in `command`."),
    key(
        "environment",
        Kind::Map,
        "Variables for the program. It gets these, PATH, HOME and the like, and no others.",
    )
    .also(&["env"]),
    key(
        "cwd",
        Kind::Text,
        "The directory the program runs in, seen from this file. Default: that of the host.",
    ),
    key("url", Kind::Text, "Where the server answers, over streamable HTTP."),
    key("headers", Kind::Map, "Headers of every request to the URL."),
    #[cfg(feature = "mcp-oauth")]
    key(
        "oauth",
        Kind::Object(OAUTH),
        "What `toolbox login` asks with, where the server cannot tell.",
    ),
    key("enabled", Kind::Flag, "Whether the server is used at all. Default true."),
    key("disabled", Kind::Flag, "The opposite of `enabled`. Default false."),
    key("timeout", Kind::Time, "The longest a call may take. Default 60s."),
    key(
        "connectTimeout",
        Kind::Time,
        "The longest it may take until the server has listed its tools. Default 10s.",
    ),
    key(
        "retries",
        Kind::Count { least: 0, most: 100 },
        "How often a failed connection is tried again; 0 is once and no more. Default 2.",
    ),
    key(
        "deferred",
        Kind::Flag,
        "Whether the tools are found by search instead of listed. Default: that of the settings.",
    ),
    key(
        "strict",
        Kind::Flag,
        "Whether the tools are closed for OpenAI's strict mode. Default: that of the settings.",
    ),
    key(
        "trusted",
        Kind::Flag,
        "Whether you vouch for what the tools return, to agents over this box. Default false.",
    ),
];

#[cfg(feature = "mcp-oauth")]
const OAUTH: &[Key] = &[
    key(
        "clientId",
        Kind::Text,
        "A client that is registered there. Default: it registers by itself.",
    ),
    key("clientSecret", Kind::Text, "The secret of that client, if it has one."),
    key(
        "scope",
        Kind::Text,
        "The scopes to ask for, with spaces. Default: those that the server names.",
    ),
    key(
        "callbackPort",
        Kind::Count { least: 1, most: 65_535 },
        "The port a browser comes back to: http://127.0.0.1:PORT/callback. Default: any that is free.",
    ),
];

pub(super) const SETTINGS: &[Key] = &[
    key(
        "deferred",
        Kind::Flag,
        "Whether tools are found by search: false lists them all to the host. Default true.",
    ),
    key(
        "strict",
        Kind::Flag,
        "Whether the tools of all servers are closed for OpenAI's strict mode. Default false.",
    ),
    key(
        "connect",
        Kind::OneOf(&["eager", "lazy"]),
        "When servers are started: at once, or at the first search or call. Default eager.",
    ),
    key(
        "defaultLimit",
        Kind::Count { least: 1, most: 20 },
        "How many tools a search finds when the model does not say. Default 5.",
    ),
    key(
        "ranking",
        Kind::OneOf(&["tuned", "plain"]),
        "How a search by words ranks the tools: tuned for tools and requests, or plain BM25. Default tuned.",
    ),
    key(
        "maxReplyBytes",
        Kind::Count { least: 1 << 10, most: 1 << 20 },
        "The longest reply to a search, in bytes. Default 16384.",
    ),
    key(
        "maxResultBytes",
        Kind::Count { least: 1 << 10, most: 64 << 20 },
        "The longest result of a call, in bytes. Longer text is cut in the middle; a larger image, document or structured result is a failure. Default 262144.",
    ),
    key(
        "timeout",
        Kind::Time,
        "The longest a call may take, for servers that say nothing. Default 60s.",
    ),
    key(
        "connectTimeout",
        Kind::Time,
        "The longest a connection may take, for servers that say nothing. Default 10s.",
    ),
    key(
        "retries",
        Kind::Count { least: 0, most: 100 },
        "How often a failed connection is tried again, for servers that say nothing. Default 2.",
    ),
    key("blacklist", Kind::Rules, "Tools that are neither found nor called. Default: none."),
    key("allow", Kind::Rules, "The only tools that are found and called. Default: all."),
    key(
        "lockFile",
        Kind::Text,
        "A file with digests of approved definitions, seen from this file: tools that differ are withheld. Default: none.",
    ),
    #[cfg(feature = "mcp-oauth")]
    key(
        "credentialFile",
        Kind::Text,
        "The file with the tokens of `toolbox login`, seen from this file. Default: ~/.local/share/toolbox/credentials.json.",
    ),
];

/// Writes the JSON Schema of an object from its table.
pub(super) fn schema(keys: &[Key]) -> serde_json::Value {
    let mut properties = serde_json::Map::new();
    for key in keys {
        let mut schema = of_kind(key.kind);
        schema["description"] = key.about.into();
        for name in [key.name].iter().chain(key.also) {
            properties.insert((*name).to_owned(), schema.clone());
        }
    }
    serde_json::json!({"type": "object", "properties": properties, "additionalProperties": false})
}

fn of_kind(kind: Kind) -> serde_json::Value {
    use serde_json::json;

    // A text may come from a variable whole, so that no pattern can hold it.
    let variable = json!({"type": "string", "pattern": variables::PATTERN});
    match kind {
        Kind::Flag => json!({"type": "boolean"}),
        Kind::Count { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        Kind::Time => json!({"anyOf": [
            {"type": "integer", "minimum": 1, "maximum": super::read::LONGEST.as_millis()},
            {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *(ms|s|m|h)$"},
            variable,
        ]}),
        Kind::Text => json!({"type": "string", "minLength": 1}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Command => json!({"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]}),
        Kind::Map => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        Kind::OneOf(words) => json!({"anyOf": [{"enum": words}, variable]}),
        Kind::Rules => json!({"type": "array", "items": {"anyOf": [
            {"type": "string", "pattern": r"^[A-Za-z0-9_.*-]*[A-Za-z0-9_.-][A-Za-z0-9_.*-]*$"},
            variable,
        ]}}),
        Kind::Object(keys) => schema(keys),
        Kind::Servers => json!({
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z0-9_-]+$", "maxLength": super::read::LONGEST_NAME, "not": {"pattern": "__"}},
            "additionalProperties": schema(SERVER),
        }),
    }
}
