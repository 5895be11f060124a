//! Words for the end of a reply, as services and those that imitate them use them.

use crate::model::Finish;

/// Parts of words that say that a reply was not brought to its end.
const FAILURES: [&str; 18] = [
    "abort",
    "cancel",
    "error",
    "exceed",
    "fail",
    "insufficient",
    "interrupt",
    "invalid",
    "malformed",
    "missing",
    "no_image",
    "overload",
    "timeout",
    "timed_out",
    "too_many",
    "unavailable",
    "unexpected",
    "unspecified",
];

/// Returns the finish that a word stands for, of a reply with or without calls.
pub(super) fn finish_of(word: &str, calls: bool) -> Finish {
    let plain = word.trim().to_ascii_lowercase().replace(['-', ' '], "_");
    let has = |parts: &[&str]| parts.iter().any(|part| plain.contains(part));
    match plain.as_str() {
        // Services disagree about which of these goes with calls, so the calls decide.
        "" | "stop" | "tool_call" | "tool_calls" | "tool_use" | "function_call" | "end_turn"
        | "eos" | "eos_token" | "stop_sequence" | "complete" | "completed" | "done" => {
            super::openai::ended(calls)
        }
        "malformed_function_call"
        | "malformed_tool_call"
        | "unexpected_tool_call"
        | "invalid_tool_call" => Finish::MalformedCall,
        "language" | "other" | "image_other" => Finish::Failed(word.to_owned()),
        "blocklist" | "escalation" | "model_armor" | "refusal" | "spii" => Finish::Refusal,
        _ if has(&[
            "content_filter",
            "moderation",
            "prohibited",
            "recitation",
            "safety",
            "sensitive",
        ]) =>
        {
            Finish::Refusal
        }
        _ if has(&[
            "length",
            "max_tokens",
            "max_output_tokens",
            "token_limit",
            "context_window",
        ]) =>
        {
            Finish::Length
        }
        _ if has(&FAILURES) => Finish::Failed(word.to_owned()),
        _ => Finish::Other(word.to_owned()),
    }
}
