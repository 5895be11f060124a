//! A transcript as text.

use std::fmt::Write as _;

use super::history::{History, Message};

impl History {
    /// Returns the transcript as text for people, a store or another model, one line a message or
    /// call.
    #[must_use]
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::new();
        for message in self.messages() {
            match message {
                Message::User(content) => {
                    for part in &**content {
                        match part.to_text() {
                            Some(part) => line(&mut text, "user", &part),
                            None => line(&mut text, "user", &format!("[{} bytes]", part.len())),
                        }
                    }
                }
                Message::Step(step) => {
                    let said = step.reply().content();
                    if !said.is_empty() {
                        line(&mut text, "model", &said);
                    }
                    for (call, result) in step.calls() {
                        line(&mut text, &call.id, &format!("{} {}", call.name, call.arguments));
                        let code = result.code().map_or(String::new(), |code| format!(" {code}:"));
                        let _ = writeln!(text, "  ->{code} {}", result.text());
                    }
                }
            }
        }
        text
    }
}

fn line(text: &mut String, who: &str, what: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{who}: {what}");
}
