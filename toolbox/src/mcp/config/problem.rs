//! Problems in a configuration file, with their position.

use std::fmt::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::text::floor_boundary;

/// The maximum number of characters displayed of a line.
const MAX_EXCERPT: usize = 100;

/// One problem in a configuration file.
///
/// `Display` formats it as compilers do, with the line of the file; [`summary`](Self::summary) is
/// one line without values from the file, for logs and for models.
///
/// ```
/// use toolbox::mcp::Config;
///
/// let text = r#"{"mcp": {"time": {"comand": ["uvx", "mcp-server-time"]}}}"#;
/// let (_, problems) = Config::parse(text, "toolbox.jsonc", |_| None);
/// assert_eq!(
///     problems[0].to_string(),
///     r#"error: unknown key `comand` of server `time`
///  --> toolbox.jsonc:1:19
///   |
/// 1 | {"mcp": {"time": {"comand": ["uvx", "mcp-server-time"]}}}
///   |                   ^^^^^^^^
///   = help: did you mean `command`?"#,
/// );
/// assert_eq!(
///     problems[0].summary(),
///     "toolbox.jsonc:1:19: unknown key `comand` of server `time`: did you mean `command`?"
/// );
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    file: PathBuf,
    place: Option<LinePosition>,
    server: Option<String>,
    message: String,
    help: Option<String>,
    /// The corrected value, which may be a secret: displayed beside the line that holds it.
    corrected: Option<String>,
    is_warning: bool,
}

/// A position in a file, counted from 1, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LinePosition {
    line: usize,
    column: usize,
    /// The displayed part of the line, with the start and the width of the marks in it.
    excerpt: String,
    indent: usize,
    width: usize,
}

impl ConfigProblem {
    pub(super) fn new(file: &Path, message: impl Into<String>) -> Self {
        Self {
            file: file.to_owned(),
            place: None,
            server: None,
            message: message.into(),
            help: None,
            corrected: None,
            is_warning: false,
        }
    }

    /// Returns the problem of an unknown home directory without a configured path.
    #[cfg(feature = "cli")]
    pub(crate) fn without_home() -> Self {
        let message = "there is no home directory in which to look for a configuration";
        Self::new(Path::new("toolbox.jsonc"), message).help("name a file with --config FILE")
    }

    pub(super) fn at(mut self, text: &str, range: Range<usize>) -> Self {
        self.place = Some(LinePosition::of(text, range));
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds the corrected value, which follows the hint where the line of the file is displayed.
    pub(super) fn corrected(mut self, value: impl Into<String>) -> Self {
        self.corrected = Some(value.into());
        self
    }

    /// Makes it a warning: nothing is left out because of it.
    pub(super) fn warning(mut self) -> Self {
        self.is_warning = true;
        self
    }

    pub(super) fn of_server(mut self, server: Option<&str>) -> Self {
        self.server = server.map(str::to_owned);
        self
    }

    /// Returns the problem over a text that differs in the characters of its lines alone, without
    /// the corrected value.
    #[cfg(feature = "cli")]
    pub(crate) fn over(&self, text: &str) -> Self {
        let mut problem = Self { corrected: None, ..self.clone() };
        if let Some(place) = &mut problem.place {
            let skipped = place.column - 1 - place.indent;
            let line = text.split('\n').nth(place.line - 1).unwrap_or_default();
            place.excerpt = excerpt(line, skipped);
        }
        problem
    }

    /// Returns the file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the line, counted from 1, if the problem has a position.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.line)
    }

    /// Returns the column, counted from 1 in characters, if the problem has a position.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.column)
    }

    /// Returns `true` for a warning of [`Config::warnings`](crate::mcp::Config::warnings), because
    /// of which nothing is left out.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        self.is_warning
    }

    /// Returns the server that the problem concerns, if it concerns one. A server with a problem is
    /// left out, one with a warning is not.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Returns the description of the problem.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns the correction, if known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns the problem as one line: position, message and hint.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = self.file.display().to_string();
        if let Some(LinePosition { line, column, .. }) = &self.place {
            let _ = write!(text, ":{line}:{column}");
        }
        let _ = write!(text, ": {}", self.message);
        if let Some(help) = &self.help {
            let _ = write!(text, ": {help}");
        }
        text
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_warning { "warning" } else { "error" };
        write!(f, "{kind}: {}", self.message)?;
        let help = self.help.as_ref().map(|help| match &self.corrected {
            Some(value) => format!("{help}: {value}"),
            None => help.clone(),
        });
        let Some(place) = &self.place else {
            write!(f, "\n --> {}", self.file.display())?;
            return match help {
                Some(help) => write!(f, "\n  = help: {help}"),
                None => Ok(()),
            };
        };
        let LinePosition { line, column, excerpt, indent, width } = place;
        let gutter = line.to_string().len();
        write!(f, "\n{:gutter$}--> {}:{line}:{column}", "", self.file.display())?;
        write!(f, "\n{:gutter$} |\n{line} | {excerpt}", "")?;
        write!(f, "\n{:gutter$} | {:indent$}{:^<width$}", "", "", "")?;
        match help {
            Some(help) => write!(f, "\n{:gutter$} = help: {help}", ""),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigProblem {}

impl LinePosition {
    fn of(text: &str, range: Range<usize>) -> Self {
        let start = floor_boundary(text, range.start);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let stop = floor_boundary(text, range.end.clamp(start, end));
        let (before, marked) = (text[begin..start].chars().count(), &text[start..stop]);
        let width = marked.chars().count().max(1);
        // Of a long line, the part around the fault is displayed.
        let skipped =
            if before + width > MAX_EXCERPT { before.saturating_sub(MAX_EXCERPT / 4) } else { 0 };
        Self {
            line: text[..begin].matches('\n').count() + 1,
            column: before + 1,
            indent: before - skipped,
            width: width.min(MAX_EXCERPT - (before - skipped).min(MAX_EXCERPT - 1)),
            excerpt: excerpt(&text[begin..end], skipped),
        }
    }
}

/// Returns the displayed part of a line.
fn excerpt(line: &str, skipped: usize) -> String {
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let excerpt: String = line.chars().skip(skipped).take(MAX_EXCERPT).map(plain).collect();
    excerpt.trim_end().to_owned()
}
