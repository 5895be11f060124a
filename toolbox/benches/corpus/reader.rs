//! A reader without understanding: it looks at what is shown, and searches by the words of its question.

use std::ops::ControlFlow;

use serde_json::{Value, json};
use toolbox::{ToolBox, ToolCall};

use super::made::Question;

/// Words that say nothing about a place.
const COMMON: [&str; 36] = [
    "what", "which", "where", "who", "whose", "why", "how", "many", "long", "does", "did", "is",
    "was", "has", "have", "are", "there", "the", "of", "in", "at", "if", "it", "be", "an", "a",
    "to", "with", "take", "not", "can", "came", "right", "before", "no", "end",
];

/// What the reader found, and what it was shown until then.
pub(crate) struct Read {
    pub(crate) found: bool,
    pub(crate) bytes: usize,
    pub(crate) calls: usize,
}

/// Looks for the answer of a question, beginning with what is shown.
pub(crate) async fn read(
    toolbox: &ToolBox,
    handle: Option<&str>,
    shown: &str,
    question: &Question,
) -> Read {
    // What has no handle is shown whole.
    let found = handle.is_none() || shown.contains(&question.answer);
    let mut read = Read { found, bytes: shown.len(), calls: 0 };
    if let (false, Some(handle)) = (found, handle) {
        let mut reader = Reader { toolbox, handle, question, read };
        let _ = reader.look(shown).await;
        read = reader.read;
    }
    read
}

struct Reader<'a> {
    toolbox: &'a ToolBox,
    handle: &'a str,
    question: &'a Question,
    read: Read,
}

type Found = ControlFlow<()>;

impl Reader<'_> {
    /// Calls `result_read`, and stops if the answer is there.
    async fn call(&mut self, mut arguments: Value) -> ControlFlow<(), String> {
        arguments["handle"] = json!(self.handle);
        let call = ToolCall::new("1", "result_read", arguments.to_string());
        let text = self.toolbox.call(call).await.into_text();
        self.read.calls += 1;
        self.read.bytes += text.len();
        self.read.found = text.contains(&self.question.answer);
        if self.read.found || self.read.calls > 40 {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(text)
        }
    }

    async fn look(&mut self, shown: &str) -> Found {
        let mut words: Vec<&str> = self
            .question
            .text
            .split(|c: char| !c.is_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty() && !COMMON.contains(&word.to_lowercase().as_str()))
            .collect();
        // The last of a list: the part that is shown says how many there are.
        if words.contains(&"last")
            && let Some(list) = words.iter().find(|word| shown.contains(&format!("\"{word}\": [")))
            && let Some(count) = count_of(shown, list)
        {
            self.call(json!({"pointer": format!("/{list}/{}", count - 1)})).await?;
        }
        // Names of members that the shape shows are ways to their values.
        for word in &words {
            for line in shown.lines() {
                if let Some(path) = path_of(shown, line, word) {
                    self.call(json!({"pointer": path})).await?;
                }
            }
        }
        // What has digits or is long is rare.
        words.sort_by_key(|word| {
            (!word.contains(|c: char| c.is_ascii_digit()), std::cmp::Reverse(word.len()))
        });
        for word in &words {
            let pattern = format!("(?i)\\b{word}\\b");
            let found = self.call(json!({"search": pattern})).await?;
            if found.starts_with("nothing") {
                continue;
            }
            // Few places: what stands around them. Many: those with another word of the question.
            if found.lines().count() < 12 {
                self.call(json!({"search": pattern, "context_lines": 2})).await?;
                self.call(json!({"search": pattern, "context_lines": 8})).await?;
            }
            for other in words.iter().filter(|other| *other != word) {
                let both = format!("(?i)\\b{word}\\b.*\\b{other}\\b|\\b{other}\\b.*\\b{word}\\b");
                let found = self.call(json!({"search": both})).await?;
                if !found.starts_with("nothing") && found.lines().count() < 12 {
                    self.call(json!({"search": both, "context_lines": 8})).await?;
                }
            }
        }
        Found::Continue(())
    }
}

/// Returns the number of elements of a list, by the line in its shape that says so.
fn count_of(shown: &str, list: &str) -> Option<usize> {
    let rest = &shown[shown.find(&format!("\"{list}\": ["))?..];
    let line = rest.lines().find(|line| line.contains(" in all"))?;
    line.trim().trim_start_matches("… ").split(' ').next()?.parse().ok()
}

/// Returns the pointer to a member that has a line of its own in a shape.
fn path_of(shown: &str, line: &str, word: &str) -> Option<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let key = |line: &str| Some(line.trim().strip_prefix('"')?.split_once("\":")?.0.to_owned());
    let own = key(line).filter(|key| key == word)?;
    if !shown.lines().nth(1)?.starts_with('{') {
        return None;
    }
    let at = shown.lines().position(|other| std::ptr::eq(other, line))?;
    let (mut path, mut level) = (own, indent(line));
    for above in shown.lines().take(at).collect::<Vec<_>>().into_iter().rev() {
        if indent(above) < level {
            level = indent(above);
            match key(above) {
                Some(key) => path = format!("{key}/{path}"),
                // An element of a list is one of many.
                None if above.trim() == "{" && level > 0 => return None,
                None => {}
            }
        }
    }
    Some(format!("/{path}"))
}
