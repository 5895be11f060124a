//! Names of server tools in a box.
//!
//! A tool `t` of a server `s` is named `s_t`. Where that is not possible (it belongs to another
//! server, a provider refuses a character or the length, the server's own tools differ only by
//! case) the name is cut and ends in a digest of the pair: `s_t_1f0c9d2ab3`. The choice depends on
//! the pair, the names of the configured servers and the server's own list, and never on the order
//! of answers. Names are never split to find the pair: it is stored with the tool.

use std::collections::{HashMap, HashSet};
use std::fmt;

use crate::text::hex;
use sha2::{Digest, Sha256};

/// The longest name that every provider accepts.
const MAX_LEN: usize = 64;
/// The number of hexadecimal digits of a digest at the end of a name.
const DIGITS: usize = 10;
/// Names reserved for search over all tools, never used for the tool of a server.
const RESERVED: [&str; 3] = ["toolbox_execute", "toolbox_search_bm25", "toolbox_search_regex"];

/// An invalid server name.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidServerNameError {
    /// The name is empty, or longer than 64 bytes.
    Length(String),
    /// The name contains a character other than letters, digits, `_` and `-`.
    Character {
        /// The name as given.
        name: String,
        /// The first such character.
        character: char,
    },
    /// The name contains `__`, which would make names of tools ambiguous to readers.
    Separator(String),
    /// Another server has this name; case is ignored.
    Taken(String),
}

impl fmt::Display for InvalidServerNameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length(name) => {
                write!(f, "server name {name:?} has {} bytes; use 1 to 64", name.len())
            }
            Self::Character { name, character } => write!(
                f,
                "server name {name:?} contains {character:?}; use letters, digits, `_` and `-`"
            ),
            Self::Separator(name) => write!(
                f,
                "server name {name:?} contains `__`; a single `_` separates a server from its tools, so use one `_` or `-`"
            ),
            Self::Taken(name) => write!(
                f,
                "two servers are named {name:?}, whatever the case; give one of them another name"
            ),
        }
    }
}

impl std::error::Error for InvalidServerNameError {}

/// Checks a server name: 1 to 64 of the characters `A-Z a-z 0-9 _ -`, and no `__`.
///
/// # Errors
///
/// [`InvalidServerNameError`] names the part of the rule that the name breaks.
pub fn check_server_name(name: &str) -> Result<(), InvalidServerNameError> {
    if name.is_empty() || name.len() > MAX_LEN {
        return Err(InvalidServerNameError::Length(name.to_owned()));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if let Some(character) = name.chars().find(|&c| !fits(c)) {
        return Err(InvalidServerNameError::Character { name: name.to_owned(), character });
    }
    if name.contains("__") {
        return Err(InvalidServerNameError::Separator(name.to_owned()));
    }
    Ok(())
}

/// Returns a valid server name that is near to another one, if that has a letter or digit.
pub(crate) fn fitting_server_name(name: &str) -> Option<String> {
    if check_server_name(name).is_ok() {
        return Some(name.to_owned());
    }
    let kept = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let kept: String = name.chars().map(kept).take(MAX_LEN).collect();
    let parts: Vec<&str> = kept.split('_').filter(|part| !part.is_empty()).collect();
    Some(parts.join("_")).filter(|name| name.contains(|c: char| c.is_ascii_alphanumeric()))
}

/// The names of the configured servers, which determine the names of their tools.
///
/// ```
/// use toolbox::mcp::Names;
///
/// let names = Names::new(["github", "files"]).unwrap();
/// let tools = names.of_server("github", ["search", "list issues"]);
/// assert_eq!(tools[0], "github_search");
/// assert!(tools[1].starts_with("github_list_issues_")); // with a digest, for the blank
/// ```
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// In lower case.
    servers: Vec<String>,
    are_bare: bool,
}

impl Names {
    /// Returns the naming for these servers.
    ///
    /// # Errors
    ///
    /// [`InvalidServerNameError`] if a name is invalid, or two differ only by case.
    pub fn new<'a>(
        servers: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, InvalidServerNameError> {
        let mut names = Self::default();
        for server in servers {
            check_server_name(server)?;
            let lower = server.to_ascii_lowercase();
            if names.servers.contains(&lower) {
                return Err(InvalidServerNameError::Taken(server.to_owned()));
            }
            names.servers.push(lower);
        }
        Ok(names)
    }

    /// Returns the naming of a box that has one server and nothing else: tools keep their names.
    pub(crate) fn bare(mut self) -> Self {
        self.are_bare = true;
        self
    }

    /// Returns the names in the box for the tools of one server, in the order given.
    ///
    /// Each name matches `^[A-Za-z_][A-Za-z0-9_-]{0,63}$`, and no two are equal when case is
    /// ignored. A tool that is given twice gets the same name twice.
    #[must_use]
    pub fn of_server<'a>(
        &self,
        server: &str,
        tools: impl IntoIterator<Item = &'a str> + Clone,
    ) -> Vec<String> {
        let plain = |tool: &str| format!("{server}_{tool}").to_ascii_lowercase();
        let mut differing: HashMap<String, HashSet<&str>> = HashMap::new();
        for tool in tools.clone() {
            differing.entry(plain(tool)).or_default().insert(tool);
        }
        let alone = |tool: &str| differing.get(&plain(tool)).is_none_or(|tools| tools.len() == 1);
        tools
            .into_iter()
            .map(|tool| match self.plain(server, tool) {
                Some(name) if alone(tool) => name,
                _ => with_digest(server, tool),
            })
            .collect()
    }

    /// Returns `<server>_<tool>`, or the bare name, if every provider accepts that name and it
    /// belongs to this server.
    fn plain(&self, server: &str, tool: &str) -> Option<String> {
        let name = if self.are_bare { tool.to_owned() } else { format!("{server}_{tool}") };
        let fits = |(at, c): (usize, char)| {
            c.is_ascii_alphabetic() || c == '_' || (at > 0 && (c.is_ascii_digit() || c == '-'))
        };
        let valid = !tool.is_empty() && name.len() <= MAX_LEN && name.char_indices().all(fits);
        let owned =
            self.are_bare || self.owner(&name) == Some(server.to_ascii_lowercase().as_str());
        let reserved = RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved));
        (valid && owned && !reserved && !ends_in_digest(&name)).then_some(name)
    }

    /// Returns the server that owns a plain name: the one with the longest name that is a prefix of
    /// it.
    fn owner(&self, name: &str) -> Option<&str> {
        let name = name.to_ascii_lowercase();
        let starts = |server: &&String| {
            name.strip_prefix(server.as_str()).is_some_and(|rest| rest.starts_with('_'))
        };
        self.servers.iter().filter(starts).max_by_key(|server| server.len()).map(String::as_str)
    }
}

/// Returns a name that ends in a digest of the pair, after as much of `<server>_<tool>` as fits.
pub(crate) fn with_digest(server: &str, tool: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let mut name: String = format!("{server}_{tool}").chars().map(letter).collect();
    if name.starts_with(|c: char| c.is_ascii_digit() || c == '-') {
        name.insert(0, '_');
    }
    name.truncate(MAX_LEN - DIGITS - 1);
    name.push('_');
    // The length keeps `a` + `bc` and `ab` + `c` apart.
    let mut digest = Sha256::new();
    digest.update((server.len() as u64).to_be_bytes());
    digest.update(server.as_bytes());
    digest.update(tool.as_bytes());
    name.push_str(&hex(&digest.finalize())[..DIGITS]);
    name
}

/// Returns whether a name could be made by [`with_digest`]: such a name is never plain.
fn ends_in_digest(name: &str) -> bool {
    name.len() > DIGITS
        && name.is_char_boundary(name.len() - DIGITS - 1)
        && name[name.len() - DIGITS - 1..].strip_prefix('_').is_some_and(|end| {
            end.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte | 0x20, b'a'..=b'f'))
        })
}
