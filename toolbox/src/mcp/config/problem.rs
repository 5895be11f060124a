//! What is wrong with a file, and where.

use std::fmt::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How many characters of a line are shown.
const SHOWN: usize = 100;

/// One thing that is wrong with a configuration file.
///
/// `Display` shows it the way compilers do, with the line of the file; [`summary`](Self::summary)
/// is one line that quotes nothing of the file's values, for logs and for models.
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
/// assert_eq!(problems[0].summary(), "toolbox.jsonc:1:19: unknown key `comand` of server `time`: did you mean `command`?");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    file: PathBuf,
    place: Option<Place>,
    server: Option<String>,
    message: String,
    help: Option<String>,
}

/// A place in a file, counted from 1, and its line.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Place {
    line: usize,
    column: usize,
    /// The line as it is shown, with where in it the marks begin and how many there are.
    shown: String,
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
        }
    }

    /// The home directory is unknown, and nobody says where the file is.
    #[cfg(feature = "cli")]
    pub(crate) fn without_home() -> Self {
        let message = "there is no home directory in which to look for a configuration";
        Self::new(Path::new("toolbox.jsonc"), message).help("name a file with --config FILE")
    }

    pub(super) fn at(mut self, text: &str, range: Range<usize>) -> Self {
        self.place = Some(Place::of(text, range));
        self
    }

    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(super) fn of_server(mut self, server: Option<&str>) -> Self {
        self.server = server.map(str::to_owned);
        self
    }

    /// Returns the file.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the line, counted from 1, if a place in the file is at fault.
    #[must_use]
    pub fn line(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.line)
    }

    /// Returns the column, counted from 1 in characters, if a place in the file is at fault.
    #[must_use]
    pub fn column(&self) -> Option<usize> {
        self.place.as_ref().map(|place| place.column)
    }

    /// Returns the server that is left out because of it, if it is about one.
    #[must_use]
    pub fn server(&self) -> Option<&str> {
        self.server.as_deref()
    }

    /// Returns what is wrong.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Returns how to mend it, where that is known.
    #[must_use]
    pub fn hint(&self) -> Option<&str> {
        self.help.as_deref()
    }

    /// Returns the problem as one line: place, message and hint.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = self.file.display().to_string();
        if let Some(Place { line, column, .. }) = &self.place {
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
        write!(f, "error: {}", self.message)?;
        let Some(place) = &self.place else {
            write!(f, "\n --> {}", self.file.display())?;
            return match &self.help {
                Some(help) => write!(f, "\n  = help: {help}"),
                None => Ok(()),
            };
        };
        let Place { line, column, shown, indent, width } = place;
        let gutter = line.to_string().len();
        write!(f, "\n{:gutter$}--> {}:{line}:{column}", "", self.file.display())?;
        write!(f, "\n{:gutter$} |\n{line} | {shown}", "")?;
        write!(f, "\n{:gutter$} | {:indent$}{:^<width$}", "", "", "")?;
        match &self.help {
            Some(help) => write!(f, "\n{:gutter$} = help: {help}", ""),
            None => Ok(()),
        }
    }
}

impl std::error::Error for ConfigProblem {}

impl Place {
    fn of(text: &str, range: Range<usize>) -> Self {
        let start = boundary(text, range.start);
        let begin = text[..start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[start..].find('\n').map_or(text.len(), |at| start + at);
        let stop = boundary(text, range.end.clamp(start, end));
        let (before, marked) = (text[begin..start].chars().count(), &text[start..stop]);
        let width = marked.chars().count().max(1);
        // Of a long line the part around the fault is shown.
        let skipped = if before + width > SHOWN { before.saturating_sub(SHOWN / 4) } else { 0 };
        let plain = |c: char| if c.is_control() { ' ' } else { c };
        let shown: String = text[begin..end].chars().skip(skipped).take(SHOWN).map(plain).collect();
        Self {
            line: text[..begin].matches('\n').count() + 1,
            column: before + 1,
            indent: before - skipped,
            width: width.min(SHOWN - (before - skipped).min(SHOWN - 1)),
            shown: shown.trim_end().to_owned(),
        }
    }
}

/// The nearest place at or before `at` that is between two characters.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}
