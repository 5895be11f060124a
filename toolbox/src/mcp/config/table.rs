//! The keys of the file: one table for the reader, its messages and the JSON Schema.

use super::variables;

/// The versions of the protocol that are spoken with servers.
pub(crate) const PROTOCOL_VERSIONS: &[&str] =
    &["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"];

/// One key of an object.
pub(super) struct KeySpec {
    pub(super) name: &'static str,
    /// Alternative spellings, from the files of other programs.
    pub(super) also: &'static [&'static str],
    pub(super) kind: ValueKind,
    /// The purpose of the key, with its default.
    pub(super) about: &'static str,
}

/// The kind of a key's value.
#[derive(Clone, Copy)]
pub(super) enum ValueKind {
    Flag,
    Count {
        least: u64,
        most: u64,
    },
    /// Milliseconds, or a string such as `30s`.
    Time,
    Text,
    Texts,
    /// A program, or a program with its arguments.
    Command,
    /// Strings by name.
    Map,
    OneOf(&'static [&'static str]),
    /// Names of tools, with `*` for any sequence of characters.
    Rules,
    Object(&'static [KeySpec]),
    /// `true`, `false`, or an object, which means `true`.
    Switch(&'static [KeySpec]),
    /// Servers by name.
    Servers,
}

impl ValueKind {
    /// Returns the name of the kind in messages.
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
            Self::Switch(_) => "`true`, `false` or an object".to_owned(),
            Self::Servers => "an object of servers by name".to_owned(),
        }
    }
}

const fn key(name: &'static str, kind: ValueKind, about: &'static str) -> KeySpec {
    KeySpec { name, also: &[], kind, about }
}

impl KeySpec {
    const fn also(mut self, also: &'static [&'static str]) -> Self {
        self.also = also;
        self
    }

    pub(super) fn is(&self, name: &str) -> bool {
        self.name == name || self.also.contains(&name)
    }
}

/// The file itself.
pub(super) const FILE: &[KeySpec] = &[
    key("$schema", ValueKind::Text, "The schema of this file for editors; not read."),
    key("mcp", ValueKind::Servers, "The servers by name."),
    key("mcpServers", ValueKind::Servers, "The same under the name that desktop hosts use."),
    key("settings", ValueKind::Object(SETTINGS), "Settings for all servers."),
];

/// The values of `type` for a child process; the others are for HTTP.
pub(super) const LOCAL: &[&str] = &["local", "stdio"];

pub(super) const SERVER: &[KeySpec] = &[
    key(
        "type",
        ValueKind::OneOf(&[
            "local",
            "remote",
            "stdio",
            "http",
            "streamable-http",
            "streamableHttp",
            "streamable_http",
        ]),
        "The transport of the server. Default: `local` with a `command`, `remote` with a `url`.",
    ),
    key(
        "command",
        ValueKind::Command,
        "The program to start: with its arguments in a list, or alone. No shell reads it.",
    ),
    key("args", ValueKind::Texts, "The arguments of a program that stands alone in `command`."),
    key(
        "environment",
        ValueKind::Map,
        "Variables for the program. It gets these, PATH, HOME and the like, and no others.",
    )
    .also(&["env"]),
    key(
        "cwd",
        ValueKind::Text,
        "The directory the program runs in, seen from this file. Default: that of the host.",
    ),
    key("url", ValueKind::Text, "The URL of the server, over streamable HTTP.")
        .also(&["serverUrl", "httpUrl"]),
    key("headers", ValueKind::Map, "Headers of every request to the URL."),
    key(
        "openapi",
        ValueKind::Text,
        "The OpenAPI or Swagger description of an HTTP API, a file seen from this one or a URL, in place of `command` and `url`: each operation is a tool.",
    ),
    key(
        "baseUrl",
        ValueKind::Text,
        "The URL that the paths of the description begin at. Needed for credentials. Default: the server of the description.",
    ),
    key(
        "credentials",
        ValueKind::Map,
        "The credentials of the description by security scheme: a key, a token, `USER:PASSWORD`, or `TOKEN_URL ID SECRET` of an OAuth client.",
    ),
    key(
        "include",
        ValueKind::Texts,
        "The operations of the description that are tools, such as `tag:pets`, `path:/v1/*`, `method:GET`, `id:list*`. Default: all.",
    ),
    key("exclude", ValueKind::Texts, "The operations of the description that are no tools."),
    #[cfg(feature = "mcp-oauth")]
    key(
        "oauth",
        ValueKind::Object(OAUTH),
        "The OAuth client and scopes of `toolbox login`, where the server does not provide them.",
    ),
    key("enabled", ValueKind::Flag, "`true` if the server is used. Default true."),
    key("disabled", ValueKind::Flag, "The opposite of `enabled`. Default false."),
    key("timeout", ValueKind::Time, "The longest a call may take. Default 60s."),
    key(
        "maxTotalTimeout",
        ValueKind::Time,
        "The longest a call may take in all, where each report of progress begins its timeout anew. Default: progress extends nothing.",
    ),
    key(
        "protocol",
        ValueKind::OneOf(PROTOCOL_VERSIONS),
        "The version of the protocol that is spoken with it, if it speaks several. Default: that of the host in `serve`, else the newest.",
    ),
    key(
        "connectTimeout",
        ValueKind::Time,
        "The longest it may take until the server is started and has listed its tools: the first start of npx, uvx or docker downloads it. Default 60s.",
    ),
    key(
        "retries",
        ValueKind::Count { least: 0, most: 100 },
        "The number of retries after a failed connection; a start that took too long is not retried. Default 2.",
    ),
    key(
        "deferred",
        ValueKind::Flag,
        "`true` if the tools are found by search instead of listed. Default: that of the settings.",
    ),
    key(
        "strict",
        ValueKind::Flag,
        "`true` if the schemas of the tools are closed for OpenAI's strict mode. Default: that of the settings.",
    ),
    key(
        "trusted",
        ValueKind::Flag,
        "`true` if the results of the tools are trusted by agents over this box. Default false.",
    ),
];

/// Returns what to do with a key of a server that other programs know.
pub(super) fn key_of_other(name: &str) -> Option<&'static str> {
    Some(match name {
        "alwaysAllow" | "autoApprove" | "trust" => {
            "leave it out: the host of toolbox decides which calls it asks about"
        }
        "disabledTools" | "disabled_tools" | "excludeTools" => {
            "list the tools under `blacklist` of `settings`, by the names that `toolbox list` shows"
        }
        "allowedTools" | "enabledTools" | "enabled_tools" | "includeTools" => {
            "list the tools under `allow` of `settings`, by the names that `toolbox list` shows"
        }
        "envFile" => "write the variables under `environment`",
        "startup_timeout_sec" | "startup_timeout_ms" => "write `connectTimeout`, such as \"30s\"",
        "tool_timeout_sec" => "write `timeout`, such as \"30s\"",
        "transport" | "transportType" => "write `type`, or leave it out",
        _ => return None,
    })
}

/// The value of `grant` for a program that acts for itself.
#[cfg(feature = "mcp-oauth")]
pub(super) const CLIENT_CREDENTIALS: &str = "client_credentials";

/// The value of `grant` for a workload with an assertion.
#[cfg(feature = "mcp-oauth")]
pub(super) const JWT_BEARER: &str = "jwt-bearer";

/// The value of `grant` for enterprise-managed authorization.
#[cfg(feature = "mcp-oauth")]
pub(super) const TOKEN_EXCHANGE: &str = "token-exchange";

#[cfg(feature = "mcp-oauth")]
const IDP: &[KeySpec] = &[
    key("issuer", ValueKind::Text, "The issuer of the identity provider."),
    key("tokenEndpoint", ValueKind::Text, "Its token endpoint: https, or on this machine."),
    key("clientId", ValueKind::Text, "The client that the ID token was issued to."),
    key("clientSecret", ValueKind::Text, "The secret of that client, if it has one: {env:NAME}."),
    key("clientSecretFile", ValueKind::Text, "The file with that secret, read for each request."),
    key("idToken", ValueKind::Text, "The ID token of the user: {env:NAME}."),
    key("idTokenFile", ValueKind::Text, "The file with that token, read for each request."),
];

#[cfg(feature = "mcp-oauth")]
const OAUTH: &[KeySpec] = &[
    key(
        "grant",
        ValueKind::OneOf(&["authorization_code", CLIENT_CREDENTIALS, JWT_BEARER, TOKEN_EXCHANGE]),
        "`client_credentials` if this program acts for itself, `jwt-bearer` for a workload's assertion, `token-exchange` for enterprise-managed authorization; no user signs in. Default authorization_code.",
    ),
    key(
        "clientId",
        ValueKind::Text,
        "A client that is registered there. Default: it registers by itself.",
    ),
    key("clientSecret", ValueKind::Text, "The secret of that client, if it has one: {env:NAME}."),
    key(
        "clientSecretFile",
        ValueKind::Text,
        "The file with that secret, seen from this file. With client_credentials.",
    ),
    key(
        "privateKey",
        ValueKind::Text,
        "The private key of that client in PEM form, in place of a secret: {env:NAME}. With client_credentials.",
    ),
    key(
        "privateKeyFile",
        ValueKind::Text,
        "The file with that key, seen from this file. With client_credentials.",
    ),
    key(
        "assertion",
        ValueKind::Text,
        "The JWT that this workload's platform issued for the authorization server: {env:NAME}. With jwt-bearer.",
    ),
    key(
        "assertionFile",
        ValueKind::Text,
        "The file with that JWT, seen from this file; read for each request. With jwt-bearer.",
    ),
    key(
        "idp",
        ValueKind::Object(IDP),
        "The identity provider that grants an ID-JAG. With token-exchange.",
    ),
    key(
        "issuer",
        ValueKind::Text,
        "The only authorization server that gets the client's credentials. Default: the first that the server names. Not with authorization_code.",
    ),
    key(
        "scope",
        ValueKind::Text,
        "The scopes to ask for, with spaces. Default: those that the server names.",
    ),
    key(
        "callbackPort",
        ValueKind::Count { least: 1, most: 65_535 },
        "The port a browser comes back to: http://127.0.0.1:PORT/callback. Default: any that is free.",
    ),
];

const SCRIPTS: &[KeySpec] = &[
    key(
        "folder",
        ValueKind::Text,
        "The folder of the scripts that `toolbox keep` keeps as tools, seen from this file. Default: toolbox-scripts.",
    ),
    key(
        "compute",
        ValueKind::Time,
        "The longest a script may compute, without its waits. Default 2s.",
    ),
    key(
        "calls",
        ValueKind::Count { least: 1, most: 100_000 },
        "The most calls of one script. Default 1000.",
    ),
    key(
        "parallelCalls",
        ValueKind::Count { least: 1, most: 1_000 },
        "The most calls of one script that run at once. Default 16.",
    ),
    key(
        "memoryBytes",
        ValueKind::Count { least: 4 << 20, most: 1 << 30 },
        "The memory of one script, in bytes. Default 33554432.",
    ),
    key(
        "confined",
        ValueKind::Flag,
        "Run each script in a process that can reach nothing. Default: where the system can confine one.",
    ),
];

pub(super) const SETTINGS: &[KeySpec] = &[
    key(
        "deferred",
        ValueKind::Flag,
        "`true` if tools are found by search; `false` lists them all to the host. Default true.",
    ),
    key(
        "strict",
        ValueKind::Flag,
        "`true` if the schemas of the tools of all servers are closed for OpenAI's strict mode. Default false.",
    ),
    key(
        "connect",
        ValueKind::OneOf(&["eager", "lazy"]),
        "When servers are started: at once, or at the first search or call. Default eager.",
    ),
    key(
        "defaultLimit",
        ValueKind::Count { least: 1, most: 20 },
        "The number of tools that a search returns if the model does not specify it. Default 5.",
    ),
    key(
        "ranking",
        ValueKind::OneOf(&["tuned", "plain"]),
        "The ranking of a search by words: tuned for tools and requests, or plain BM25. Default tuned.",
    ),
    key(
        "maxReplyBytes",
        ValueKind::Count { least: 1 << 10, most: 1 << 20 },
        "The longest reply to a search, in bytes. Default 16384.",
    ),
    key(
        "maxResultBytes",
        ValueKind::Count { least: 1 << 10, most: 64 << 20 },
        "The longest result of a call, in bytes. Longer text is cut in the middle; a larger image, document or structured result is a failure. Default 262144.",
    ),
    key(
        "timeout",
        ValueKind::Time,
        "The longest a call may take, for servers that say nothing. Default 60s.",
    ),
    key(
        "maxTotalTimeout",
        ValueKind::Time,
        "The longest a call may take in all, where each report of progress begins its timeout anew, for servers that say nothing. Default: progress extends nothing.",
    ),
    key(
        "connectTimeout",
        ValueKind::Time,
        "The longest the start of a server may take, for servers that say nothing. Default 60s.",
    ),
    key(
        "retries",
        ValueKind::Count { least: 0, most: 100 },
        "The number of retries after a failed connection, unless a server sets its own. Default 2.",
    ),
    key("blacklist", ValueKind::Rules, "Tools that are neither found nor called. Default: none."),
    key("allow", ValueKind::Rules, "The only tools that are found and called. Default: all."),
    key(
        "lockFile",
        ValueKind::Text,
        "A file with digests of approved definitions, seen from this file: tools that differ are withheld. Default: none.",
    ),
    key(
        "scripts",
        ValueKind::Switch(SCRIPTS),
        "`true` or an object with limits lets models run scripts that call the tools, by the tool `run_script`. Default false.",
    ),
    #[cfg(feature = "mcp-oauth")]
    key(
        "credentialFile",
        ValueKind::Text,
        "The file with the tokens of `toolbox login`, seen from this file. Default: ~/.local/share/toolbox/credentials.json.",
    ),
];

/// Returns the JSON Schema of an object, generated from its table.
pub(super) fn schema(keys: &[KeySpec]) -> serde_json::Value {
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

fn of_kind(kind: ValueKind) -> serde_json::Value {
    use serde_json::json;

    // The whole string may come from a variable, so no pattern can be required.
    let variable = json!({"type": "string", "pattern": variables::PATTERN});
    match kind {
        ValueKind::Flag => json!({"type": "boolean"}),
        ValueKind::Count { least, most } => {
            json!({"type": "integer", "minimum": least, "maximum": most})
        }
        ValueKind::Time => json!({"anyOf": [
            {"type": "integer", "minimum": 1, "maximum": super::read::LONGEST.as_millis()},
            {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? *(ms|s|m|h)$"},
            variable,
        ]}),
        ValueKind::Text => json!({"type": "string", "minLength": 1}),
        ValueKind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        ValueKind::Command => json!({"anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "items": {"type": "string"}, "minItems": 1},
        ]}),
        ValueKind::Map => json!({"type": "object", "additionalProperties": {"type": "string"}}),
        ValueKind::OneOf(words) => json!({"anyOf": [{"enum": words}, variable]}),
        ValueKind::Rules => json!({"type": "array", "items": {"anyOf": [
            {"type": "string", "pattern": r"^[A-Za-z0-9_.*-]*[A-Za-z0-9_.-][A-Za-z0-9_.*-]*$"},
            variable,
        ]}}),
        ValueKind::Object(keys) => schema(keys),
        ValueKind::Switch(keys) => json!({"anyOf": [{"type": "boolean"}, schema(keys)]}),
        ValueKind::Servers => json!({
            "type": "object",
            "propertyNames": {"pattern": "^[A-Za-z0-9_-]+$", "maxLength": super::read::LONGEST_NAME, "not": {"pattern": "__"}},
            "additionalProperties": schema(SERVER),
        }),
    }
}
