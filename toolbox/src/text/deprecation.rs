//! The sentence of a description that says that something is deprecated.

/// The word before the note.
const MARK: &str = "Deprecated:";

/// Returns `true` if a description says it already.
pub(crate) fn says_deprecated(description: &str) -> bool {
    let word = b"deprecated";
    description.as_bytes().windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

/// Returns a description with the sentence at its end, unless it says so already.
pub(crate) fn deprecated(description: &str, note: &str) -> String {
    let description = description.trim_end();
    let note = note.split_whitespace().collect::<Vec<_>>().join(" ");
    if says_deprecated(description) && (note.is_empty() || description.ends_with(&note)) {
        return description.to_owned();
    }
    let gap = match description {
        "" => "",
        text if text.contains('\n') => "\n\n",
        text if text.ends_with(['.', '!', '?', ':', ';', ')']) => " ",
        _ => ". ",
    };
    if note.is_empty() {
        return format!("{description}{gap}Deprecated.");
    }
    format!("{description}{gap}{MARK} {note}")
}

/// Returns the note that a description ends with; empty if it has none.
pub(crate) fn deprecation_note(description: &str) -> &str {
    description.rsplit_once(MARK).map_or("", |(_, note)| note.trim())
}
