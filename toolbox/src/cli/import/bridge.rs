//! `mcp-remote`: the program by which hosts that start child processes alone reach a server at an
//! address. Such an entry becomes the address with its headers if all of it is understood.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::shown::option;
use super::variables::is_name;
use crate::mcp::config::{foreign, is_mcp_remote};

/// The package, and its program.
const NAME: &str = "mcp-remote";

/// Programs that start a package, and the word before it, if there is one.
const STARTERS: [(&str, &[&str]); 7] = [
    ("npx", &[]),
    ("pnpx", &[]),
    ("bunx", &[]),
    ("bun", &["x"]),
    ("pnpm", &["dlx", "exec"]),
    ("yarn", &["dlx", "exec"]),
    ("npm", &["exec", "x"]),
];

/// Options of these that change nothing about the server.
const OF_STARTERS: [&str; 7] = ["--", "--bun", "--quiet", "--silent", "--yes", "-q", "-y"];

/// Variables that `mcp-remote` needs to start or to keep its tokens, which the address does not.
const TO_START: [&str; 4] = ["home", "mcp_remote_config_dir", "node_no_warnings", "path"];

/// A server at an address, as `mcp-remote` reaches it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BridgedServer {
    pub(super) url: String,
    pub(super) headers: Map<String, Value>,
    /// The port that a browser comes back to.
    pub(super) port: Option<u64>,
    /// Options that are not carried over.
    pub(super) left: Vec<String>,
}

/// Reads a command that starts `mcp-remote`; `None` if it starts something else, and the reason if
/// a part of it has no equivalent. `expands` says whether the host replaces `${NAME}` in arguments.
pub(super) fn read(
    command: &[String],
    environment: &Map<String, Value>,
    expands: bool,
) -> Option<Result<BridgedServer, String>> {
    let words: Vec<&str> = command.iter().map(String::as_str).collect();
    let arguments = match started(&words)? {
        Ok(arguments) => arguments,
        Err(reason) => return Some(Err(reason)),
    };
    Some(Arguments::read(arguments).and_then(|arguments| {
        let mut variables = Variables { environment, expands, used: HashSet::new() };
        let server = arguments.server(&mut variables)?;
        variables.check_unused()?;
        Ok(server)
    }))
}

/// Returns the arguments of `mcp-remote`, or the reason why they cannot be told.
fn started<'a>(words: &'a [&'a str]) -> Option<Result<&'a [&'a str], String>> {
    let (program, rest) = words.split_first()?;
    let name = program.rsplit(['/', '\\']).next().unwrap_or_default().to_ascii_lowercase();
    let name = name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(&name);
    if name == NAME {
        return Some(Ok(rest));
    }
    if name == "cmd" {
        let at = rest.iter().position(|word| word.eq_ignore_ascii_case("/c"))?;
        let rest = &rest[at + 1..];
        let found = started(rest)?;
        let is_special = |word: &&str| word.contains(['%', '&', '|', '<', '>', '^', '"', '!']);
        return Some(if rest.iter().any(is_special) {
            Err("cmd replaces characters of its arguments".to_owned())
        } else {
            found
        });
    }
    let (_, commands) = STARTERS.iter().find(|(starter, _)| *starter == name)?;
    let rest = match (commands.is_empty(), rest.split_first()) {
        (true, _) => rest,
        (false, Some((command, rest))) if commands.contains(command) => rest,
        _ => return None,
    };
    if !rest.iter().any(|word| is_mcp_remote(package_of(word))) {
        return None;
    }
    let all = rest;
    // It reads the options behind a package itself, unless `--` stands somewhere before them.
    let arguments = |words: &'a [&'a str]| match words.split_first() {
        Some((&"--", words)) => Ok(words),
        _ if name == "npm" && !all.contains(&"--") => {
            Err("npm reads its options: write `--` before them".to_owned())
        }
        _ => Ok(words),
    };
    let mut has_package = false;
    let mut rest = rest;
    while let Some((word, after)) = rest.split_first() {
        rest = match *word {
            "-p" | "--package" if after.first().is_some_and(|package| is_mcp_remote(package)) => {
                has_package = true;
                &after[1..]
            }
            word if word.starts_with("--package=") && is_mcp_remote(package_of(word)) => {
                has_package = true;
                after
            }
            word if OF_STARTERS.contains(&word) => after,
            word if word.starts_with('-') => {
                return Some(Err(format!("`{}` of {name} is not understood", option(word))));
            }
            NAME => return Some(arguments(after)),
            word if is_mcp_remote(word) && !has_package => return Some(arguments(after)),
            // Another program of the package, or of another one.
            _ => return None,
        };
    }
    None
}

fn package_of(word: &str) -> &str {
    word.strip_prefix("--package=").unwrap_or(word)
}

/// The arguments of `mcp-remote`.
struct Arguments<'a> {
    url: &'a str,
    port: Option<u64>,
    headers: Vec<(&'a str, &'a str)>,
    allows_http: bool,
    /// `true` if it speaks streamable HTTP alone.
    is_http: bool,
    left: Vec<String>,
}

impl<'a> Arguments<'a> {
    fn read(words: &'a [&'a str]) -> Result<Self, String> {
        let (mut url, mut port, mut resource) = (None, None, None);
        let mut headers = Vec::new();
        let (mut allows_http, mut is_http, mut left) = (false, false, Vec::new());
        let mut words = words.iter().copied();
        while let Some(word) = words.next() {
            let mut value = || words.next().ok_or_else(|| format!("`{word}` has no value"));
            match word {
                "--header" => headers.push(header(value()?)?),
                "--allow-http" => allows_http = true,
                "--debug" | "--silent" => {}
                "--transport" => match value()? {
                    "http-first" => {}
                    "http-only" => is_http = true,
                    strategy @ ("sse-only" | "sse-first") => {
                        return Err(format!(
                            "`--transport {strategy}` is SSE, which toolbox does not speak"
                        ));
                    }
                    _ => return Err("its `--transport` is not understood".to_owned()),
                },
                "--host" => {
                    if !["localhost", "127.0.0.1"].contains(&value()?) {
                        return Err("`--host` has no equivalent".to_owned());
                    }
                }
                "--auth-timeout" => {
                    value()?;
                    left.push(word.to_owned());
                }
                "--resource" => resource = Some(value()?),
                word if word.starts_with('-') => {
                    return Err(format!("`{}` has no equivalent", option(word)));
                }
                word if url.is_none() => url = Some(word),
                word => {
                    let number = word.parse().ok().filter(|number| (1..=65_535).contains(number));
                    if port.is_some() || number.is_none() {
                        return Err("one of its arguments is not understood".to_owned());
                    }
                    port = number;
                }
            }
        }
        let url = url.ok_or("it has no address")?;
        if resource.is_some_and(|resource| resource != url) {
            return Err("`--resource` has no equivalent".to_owned());
        }
        Ok(Self { url, port, headers, allows_http, is_http, left })
    }

    fn server(self, variables: &mut Variables<'_>) -> Result<BridgedServer, String> {
        let is_of_events =
            self.url.split(['?', '#']).next().is_some_and(|path| path.ends_with("/sse"));
        if is_of_events && !self.is_http {
            return Err("its address may be for SSE alone, which toolbox does not speak".to_owned());
        }
        if !is_reached(self.url, self.allows_http) || foreign(self.url, false).is_some() {
            return Err("its address is not understood".to_owned());
        }
        let mut headers = Map::new();
        for (name, value) in self.headers {
            headers.insert(name.to_owned(), variables.replaced(value)?.into());
        }
        let has_token = headers.keys().any(|name| name.eq_ignore_ascii_case("authorization"));
        Ok(BridgedServer {
            url: self.url.to_owned(),
            headers,
            port: self.port.filter(|_| !has_token),
            left: self.left,
        })
    }
}

/// Returns the name and the value of a header as `mcp-remote` does.
fn header(word: &str) -> Result<(&str, &str), String> {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let parts = word.split_once(':').filter(|(name, _)| is_name(name));
    let (name, value) = parts.ok_or("a `--header` is not understood")?;
    Ok((name, value.trim()))
}

/// Returns whether `mcp-remote` takes an address: `http` on this machine alone, unless it is told.
fn is_reached(url: &str, allows_http: bool) -> bool {
    let Some(rest) = url.strip_prefix("http://") else {
        return url.starts_with("https://") || url.starts_with("{env:");
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    allows_http || ["localhost", "127.0.0.1"].contains(&host)
}

/// The variables that `mcp-remote` replaces in headers.
struct Variables<'a> {
    environment: &'a Map<String, Value>,
    /// `true` if `{env:NAME}` was a `${NAME}` that the host leaves as it is if it is not set.
    expands: bool,
    used: HashSet<&'a str>,
}

impl Variables<'_> {
    /// Returns the value of a header with the variables of the entry in place of their names;
    /// others become those of the configuration.
    fn replaced(&mut self, text: &str) -> Result<String, String> {
        let mut replaced = String::new();
        let mut rest = text;
        let opening = |rest: &str| {
            let own = self.expands.then(|| rest.find("{env:")).flatten().map(|at| (at, "{env:"));
            let other = rest.find("${").map(|at| (at, "${"));
            own.into_iter().chain(other).min()
        };
        let mut parts = Vec::new();
        while let Some((at, opening)) = opening(rest) {
            let inner = &rest[at + opening.len()..];
            let Some((inner, after)) = inner.split_once('}') else { break };
            parts.push((&rest[..at], opening, inner));
            rest = after;
        }
        for (before, opening, inner) in parts {
            replaced.push_str(before);
            let name = inner.split(":-").next().unwrap_or_default();
            match self.environment.get_key_value(name) {
                Some((name, value)) if inner == name || opening == "{env:" => {
                    self.used.insert(name);
                    replaced.push_str(value.as_str().unwrap_or_default());
                }
                _ if opening == "{env:" => {
                    replaced.push_str(opening);
                    replaced.push_str(inner);
                    replaced.push('}');
                }
                _ if is_name(inner) => {
                    replaced.push_str("{env:");
                    replaced.push_str(inner);
                    replaced.push('}');
                }
                _ => return Err("a variable in a `--header` is not understood".to_owned()),
            }
        }
        replaced.push_str(rest);
        match foreign(&replaced, false) {
            Some(found) => Err(format!("`{}` in a `--header` is no variable there", found.part)),
            None => Ok(replaced),
        }
    }

    /// Refuses variables that are for `mcp-remote` itself, such as a proxy or a certificate.
    fn check_unused(&self) -> Result<(), String> {
        let is_needed = |name: &&String| {
            let lower = name.to_ascii_lowercase();
            !self.used.contains(name.as_str())
                && !TO_START.contains(&lower.as_str())
                && !lower.starts_with("npm_config_")
        };
        match self.environment.keys().find(is_needed) {
            Some(name) => Err(format!("the variable `{name}` is for it")),
            None => Ok(()),
        }
    }
}
