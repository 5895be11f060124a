//! The variables of other programs, as those of this one.

use std::fmt::Write as _;
use std::path::Path;

use super::hosts::{HostProgram, VariableSyntax};
use crate::mcp::config::variable_of_input;

/// Variables of editors that have no equivalent.
const OF_EDITORS: [&str; 17] = [
    "columnNumber",
    "cwd",
    "defaultBuildTask",
    "execPath",
    "file",
    "fileBasename",
    "fileBasenameNoExtension",
    "fileDirname",
    "fileDirnameBasename",
    "fileExtname",
    "fileWorkspaceFolder",
    "lineNumber",
    "relativeFile",
    "relativeFileDirname",
    "selectedText",
    "workspaceFolder",
    "workspaceRoot",
];

/// The surroundings in which strings of a file are expanded.
pub(super) struct Expansion<'a> {
    pub(super) host: &'static HostProgram,
    pub(super) project: Option<&'a Path>,
    pub(super) home: Option<&'a Path>,
}

/// The result of an expansion.
#[derive(Default)]
pub(super) struct Expanded {
    pub(super) text: String,
    /// Variables that the user has to set, for values that the program asked for.
    pub(super) to_set: Vec<String>,
}

impl Expansion<'_> {
    /// Rewrites a string for the configuration of this program, or returns the reason why that
    /// cannot be done.
    pub(super) fn expand(&self, text: &str) -> Result<Expanded, String> {
        let mut expanded = Expanded::default();
        match self.host.variables {
            VariableSyntax::Literal => literal(text, &mut expanded)?,
            VariableSyntax::Own if text.contains("{file:") => {
                return Err("`{file:…}` has no equivalent".to_owned());
            }
            VariableSyntax::Own => expanded.text.push_str(text),
            _ => self.with_dollars(text, &mut expanded)?,
        }
        Ok(expanded)
    }

    /// Returns the path of a string that begins with `~`, where the program replaces it.
    pub(super) fn in_home(&self, text: &str) -> Option<String> {
        let rest = text.strip_prefix('~').filter(|_| self.host.expands_home)?;
        let home = self.home?.to_str()?;
        let is_own = rest.is_empty() || rest.starts_with(['/', '\\']);
        is_own.then(|| format!("{}{rest}", home.trim_end_matches(['/', '\\'])))
    }

    fn with_dollars(&self, text: &str, expanded: &mut Expanded) -> Result<(), String> {
        let mut rest = text;
        while let Some(at) = rest.find('$') {
            literal(&rest[..at], expanded)?;
            let after = &rest[at + 1..];
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let bare = after.len() - after.trim_start_matches(is_name_part).len();
            if let Some((inner, tail)) = braced {
                self.variable(inner, expanded)?;
                rest = tail;
            } else if self.host.variables == VariableSyntax::BareShell && is_name(&after[..bare]) {
                self.variable(&after[..bare], expanded)?;
                rest = &after[bare..];
            } else {
                expanded.text.push('$');
                rest = after;
            }
        }
        literal(rest, expanded)
    }

    fn variable(&self, inner: &str, expanded: &mut Expanded) -> Result<(), String> {
        // A default may be secret.
        let shown = inner.split(":-").next().unwrap_or_default();
        let unknown = || Err(format!("`${{{shown}}}` has no equivalent"));
        if self.host.variables != VariableSyntax::Editor {
            let (name, default) = match inner.split_once(":-") {
                Some((name, default)) => (name, Some(default)),
                None => (inner, None),
            };
            if !is_name(name) {
                return unknown();
            }
            let default = default.map_or_else(String::new, |default| format!(":-{default}"));
            let _ = write!(expanded.text, "{{env:{name}{default}}}");
            return Ok(());
        }
        let of_path = |path: Option<&Path>| path.and_then(Path::to_str).map(str::to_owned);
        let text = match inner.split_once(':') {
            Some(("env", name)) if is_name(name) => Some(format!("{{env:{name}}}")),
            Some(("input", id)) => {
                let name = variable_of_input(id);
                let text = format!("{{env:{name}}}");
                expanded.to_set.push(name);
                Some(text)
            }
            _ => match inner {
                "workspaceFolder" => of_path(self.project),
                "userHome" => of_path(self.home),
                "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
                "workspaceFolderBasename" => {
                    of_path(self.project.and_then(Path::file_name).map(Path::new))
                }
                // The program leaves it as it is.
                name if is_name(name) && !OF_EDITORS.contains(&name) => {
                    Some(format!("${{{name}}}"))
                }
                _ => None,
            },
        };
        let Some(text) = text else { return unknown() };
        expanded.text.push_str(&text);
        Ok(())
    }
}

fn literal(text: &str, expanded: &mut Expanded) -> Result<(), String> {
    if text.contains("{env:") {
        return Err("it holds `{env:` as plain text, which is a variable here".to_owned());
    }
    expanded.text.push_str(text);
    Ok(())
}

fn is_name_part(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

pub(super) fn is_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(is_name_part)
}
