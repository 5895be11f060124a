//! The script whose calls are made.

use std::sync::Arc;

use super::ToolContext;

/// The most lines of a script that are shown before the line of a call, and after it.
const AROUND: usize = 3;

/// The text of the script that makes a call: a state of the calls of a script, put there by what
/// runs it, for those who decide on the calls.
///
/// [`ToolContext::line`](super::ToolContext::line) is the line of the script at which a call
/// stands. A page and a terminal show it with the lines around it where the call needs approval; a
/// question to the user of an MCP client has the line alone.
///
/// ```
/// use toolbox::context::CallingScript;
/// use toolbox::{ToolBox, ToolCall, ToolContext, tool, tools};
///
/// /// Returns the line that calls.
/// #[tool]
/// fn source(context: &ToolContext) -> Option<String> {
///     let (script, line) = (context.state::<CallingScript>()?, context.line()?);
///     script.lines().nth(line as usize - 1).map(str::to_owned)
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let context = ToolContext::new().with(CallingScript::new("let a = 1\nreturn source()"));
/// let call = ToolCall::new("script-1", "source", "{}").at_line(Some(2));
/// let result = ToolBox::from(tools![source]).call_in(&context, call).await;
/// assert_eq!(result.text(), "return source()");
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallingScript(Arc<str>);

impl CallingScript {
    /// Returns the script of that text.
    #[must_use]
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns its lines, without their ends: `\n`, `\r\n` or `\r`.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        let mut rest = Some(&*self.0);
        std::iter::from_fn(move || {
            let text = rest?;
            let Some(at) = text.find(['\n', '\r']) else { return rest.take() };
            let end = if text[at..].starts_with("\r\n") { at + 2 } else { at + 1 };
            rest = Some(&text[end..]);
            Some(&text[..at])
        })
    }
}

/// The line of a script at which a call stands, and the lines around it.
#[allow(dead_code, reason = "for pages and terminals")]
pub(crate) struct ScriptExcerpt {
    /// The number of the line of the call, from 1.
    pub(crate) line: usize,
    /// The number of the first of the lines.
    pub(crate) first: usize,
    pub(crate) lines: Vec<String>,
}

impl ScriptExcerpt {
    /// Returns the line of the call.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn line_of_call(&self) -> &str {
        let at = self.line.checked_sub(self.first);
        at.and_then(|at| self.lines.get(at)).map_or("", String::as_str)
    }
}

impl ToolContext {
    /// Returns the place of the call in the script that makes it, for those who decide on it.
    #[allow(dead_code, reason = "for pages and terminals")]
    pub(crate) fn script_excerpt(&self) -> Option<ScriptExcerpt> {
        let script = self.state::<CallingScript>()?;
        let line = usize::try_from(self.line()?).ok()?;
        let first = line.saturating_sub(AROUND).max(1);
        let lines = script.lines().skip(first - 1).take(line + AROUND + 1 - first);
        Some(ScriptExcerpt { line, first, lines: lines.map(str::to_owned).collect() })
    }
}
