//! Doc comments as descriptions for a model: without what is for programmers alone.

use std::borrow::Cow;

/// The headings of sections that describe the Rust function and not what it does.
const SECTIONS: [&str; 5] = ["panics", "errors", "safety", "example", "examples"];

/// Returns a doc comment without its code blocks and its sections for programmers.
pub(crate) fn for_model(doc: &str) -> Cow<'_, str> {
    if !doc.contains("```") && !doc.contains("~~~") && !doc.contains('#') {
        return Cow::Borrowed(doc);
    }
    let (mut kept, mut fence, mut is_left_out) = (Vec::<&str>::new(), None, false);
    for line in doc.lines() {
        let start = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| start.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (Some(_), _) => {}
            (None, None) => {
                if let Some(heading) = heading(start) {
                    is_left_out = SECTIONS.iter().any(|own| heading.eq_ignore_ascii_case(own));
                }
                // What was left out leaves one blank line.
                let is_double = line.is_empty() && kept.last().is_none_or(|last| last.is_empty());
                if !is_left_out && !is_double {
                    kept.push(line);
                }
            }
        }
    }
    Cow::Owned(kept.join("\n").trim().to_owned())
}

/// Returns the text of a line that is a heading.
fn heading(line: &str) -> Option<&str> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then(|| text.trim())
}

#[cfg(test)]
mod tests {
    use super::for_model;

    #[test]
    fn what_is_for_programmers_is_left_out() {
        for (doc, told) in [
            ("Does it.", "Does it."),
            ("Does it.\n\nIssue #5 is open.", "Does it.\n\nIssue #5 is open."),
            ("#5 is read.\n#tag", "#5 is read.\n#tag"),
            ("Does it.\n\n# Panics\n\nNever.\n\n## Errors\nIf it fails.", "Does it."),
            ("Does it.\n\n# Errors\nNo.\n\n# Limits\n\nTen.", "Does it.\n\n# Limits\n\nTen."),
            ("Does it.\n\n```\n# hidden\nlet x = 5;\n```\n\nAnd more.", "Does it.\n\nAnd more."),
            ("Does it.\n\n~~~text\n```\n~~~\nMore.", "Does it.\n\nMore."),
            ("Does it.\n\n```never closed\nlet x = 5;", "Does it."),
            ("```\nlet x = 5;\n```", ""),
        ] {
            assert_eq!(for_model(doc), told, "{doc}");
        }
    }
}
