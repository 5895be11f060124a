//! The tool `result_read`.

use std::fmt::Write as _;
use std::sync::Arc;

use super::blocking::{SHUT_DOWN, on_thread};
use super::keeper::Keeper;
use super::line_index::LineIndex;
use super::pointer::{Selected, select};
use super::read;
use super::sample::sample;
use super::shown::{ends, shown, tokens};
use super::store::KeptResult;
use crate::call::ToolResult;
use crate::context::ToolContext;
use crate::context::taint::{ResultSource, Taint};
use crate::toolset;

/// The name of the tool.
pub(crate) const RESULT_READ: &str = "result_read";

/// Reads kept results.
pub(super) struct Reader {
    keeper: Arc<Keeper>,
}

impl Reader {
    pub(super) fn new(keeper: &Arc<Keeper>) -> Self {
        Self { keeper: Arc::clone(keeper) }
    }
}

#[toolset]
impl Reader {
    /// Reads on in a result that was too large to be shown whole. Give its handle, and one way to
    /// read: a search, lines, bytes, or a JSON pointer. A search or lines after a pointer apply to
    /// what it selects.
    #[tool(read_only, idempotent, open_world = false, tags("results"))]
    #[allow(clippy::too_many_arguments, reason = "each is an argument of the tool")]
    async fn result_read(
        &self,
        /// Handle of the result, such as r1
        handle: &str,
        /// Regular expression; returns the lines that match. (?i) before it ignores case
        search: Option<&str>,
        /// Lines to show before and after each match, 0 to 20
        context_lines: Option<u8>,
        /// Lines to return, such as 100..160, or -50.. for the last 50
        lines: Option<&str>,
        /// Bytes to return, such as 4000..8000
        bytes: Option<&str>,
        /// Path in a JSON result, with slices, such as /items/10..20/name or /items/*/id
        pointer: Option<&str>,
        /// Number of a part that is no text: an image, a sound, a document
        part: Option<usize>,
        context: &ToolContext,
    ) -> ToolResult {
        let way = Way {
            search: search.map(str::to_owned),
            context: context_lines.unwrap_or(0).min(20).into(),
            lines: lines.map(str::to_owned),
            bytes: bytes.map(str::to_owned),
            pointer: pointer.map(str::to_owned),
        };
        let mut read = match self.keeper.find(handle, context).await {
            Ok(result) => self.read(&result, part, way, context).await,
            Err(error) => ToolResult::from(error),
        };
        read.mark_part_of_kept();
        read
    }
}

/// A way to read a text.
struct Way {
    search: Option<String>,
    context: usize,
    lines: Option<String>,
    bytes: Option<String>,
    pointer: Option<String>,
}

impl Reader {
    /// Reads a result, and notes its source.
    async fn read(
        &self,
        result: &Arc<KeptResult>,
        part: Option<usize>,
        way: Way,
        context: &ToolContext,
    ) -> ToolResult {
        let read = match part {
            Some(part) => self.part(result, part),
            None => self.text(result, way).await.map(ToolResult::new),
        };
        // A failure says what there is instead, which is of the result too.
        let read = read.unwrap_or_else(ToolResult::error);
        if let Some(taint) = context.get::<Taint>()
            && let Some(definition) = context.tool.as_deref()
        {
            let KeptResult { is_untrusted, shows_urls, .. } = **result;
            taint.note(&ResultSource { definition, is_untrusted, shows_urls }, &read);
        }
        read
    }

    fn part(&self, result: &KeptResult, number: usize) -> Result<ToolResult, String> {
        let count = result.content.len();
        let part = number.checked_sub(1).and_then(|at| result.content.get(at));
        let part = part.ok_or_else(|| format!("the result has parts 1 to {count}"))?;
        let most = self.keeper.limits().bytes;
        if part.len() > most / 2 {
            return Err(format!(
                "part {number} has {} bytes, more than can be passed on ({most}); the program that runs the tools has it",
                part.len()
            ));
        }
        Ok(ToolResult::from(part.clone()))
    }

    /// Reads a text.
    async fn text(&self, result: &Arc<KeptResult>, way: Way) -> Result<String, String> {
        let (most, room) = (self.keeper.answer_tokens(None), self.keeper.room());
        let (bytes, result) = (result.bytes(), Arc::clone(result));
        let read = on_thread(bytes, move || read_within(&result, &way, most, room));
        read.await.unwrap_or_else(|| Err(SHUT_DOWN.to_owned()))
    }
}

/// Reads as much as has at most `most` tokens.
fn read_within(
    result: &KeptResult,
    way: &Way,
    most: usize,
    mut room: usize,
) -> Result<String, String> {
    loop {
        let text = read_text(result, way, room)?;
        let now = tokens(&text);
        if now <= most || room < 64 {
            return Ok(text);
        }
        // Few bytes are in a token of this text.
        room = room * most / now * 9 / 10;
    }
}

fn read_text(result: &KeptResult, way: &Way, room: usize) -> Result<String, String> {
    let text = result.text();
    let structured;
    let Some(pointer) = &way.pointer else {
        return read_way(&text, Some(&result.lines), way, room).unwrap_or_else(|| {
            let shown = shown(result, room).with_media(result);
            Ok(format!("[{}]\n{}", shown.about, shown.part))
        });
    };
    let selected = match (select(&text, pointer), &result.structured_content) {
        (Ok(selected), _) => selected,
        (Err(_), Some(value)) => {
            structured = value.to_string();
            select(&structured, pointer)?
        }
        (Err(error), None) => return Err(error),
    };
    match selected {
        Selected::One(value) => {
            let unquoted = unquoted(value);
            let value = unquoted.as_deref().unwrap_or(value);
            if let Some(read) = read_way(value, None, way, room) {
                return read;
            }
            if value.len() <= room {
                return Ok(value.to_owned());
            }
            let part = sample(value, room).unwrap_or_else(|| ends(value, room));
            Ok(format!(
                "[{} bytes, shortened; read on with a longer pointer, or with `search`, `lines` or `bytes` beside it]\n{part}",
                value.len()
            ))
        }
        Selected::Many(values, count) => {
            if let Some(read) = read_way(&values.join("\n"), None, way, room) {
                return read_of_first(read, values.len(), count);
            }
            let mut out = String::new();
            let mut shown = 0;
            for value in &values {
                if out.len() + value.len() > room && shown > 0 {
                    break;
                }
                out.push_str(value);
                out.push('\n');
                shown += 1;
            }
            if out.len() > room {
                out = ends(&out, room);
            }
            let _ = if shown < count {
                write!(
                    out,
                    "[{shown} of {count} values are shown; a slice such as 10..20 selects fewer]"
                )
            } else {
                write!(out, "[{count} values]")
            };
            Ok(out)
        }
    }
}

/// Adds that only the first of the values were read.
fn read_of_first(
    read: Result<String, String>,
    first: usize,
    count: usize,
) -> Result<String, String> {
    if first == count {
        return read;
    }
    let rest = format!("of {count} values the first {first} were read; slices select the others");
    read.map(|text| format!("{text}\n[{rest}]")).map_err(|reason| format!("{reason}; {rest}"))
}

/// Reads a text, whose lines may be counted, in the way that was asked for, if one was.
fn read_way(
    text: &str,
    counted: Option<&LineIndex>,
    way: &Way,
    room: usize,
) -> Option<Result<String, String>> {
    match way {
        Way { search: Some(pattern), context, .. } => {
            Some(read::search(text, counted, pattern, *context, room))
        }
        Way { lines: Some(range), .. } => Some(read::lines(text, range, room)),
        Way { bytes: Some(range), .. } => Some(read::bytes(text, range, room)),
        _ => None,
    }
}

/// Returns the text of a JSON string: a page or a log may stand in a member of a document.
fn unquoted(value: &str) -> Option<String> {
    value.starts_with('"').then(|| serde_json::from_str(value).ok()).flatten()
}
