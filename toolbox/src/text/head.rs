//! The head of a document, between lines of `---`.

/// Returns the head between the first two lines of `---`, if the text begins with one, and the
/// rest.
pub(crate) fn split_head(source: &str) -> (&str, &str) {
    let line = |text: &str| text.strip_prefix("---").is_some_and(|rest| rest.trim_end().is_empty());
    let mut lines = source.split_inclusive('\n');
    let Some(first) = lines.next().filter(|first| line(first)) else { return ("", source) };
    let mut at = first.len();
    for next in lines {
        if line(next) {
            return (&source[first.len()..at], &source[at + next.len()..]);
        }
        at += next.len();
    }
    ("", source)
}

#[cfg(test)]
mod tests {
    use super::split_head;

    #[test]
    fn the_head_is_split_from_the_text() {
        let cases = [
            ("---\nname: a\n---\nbody", "name: a\n", "body"),
            ("---\r\nname: a\r\n---\r\nbody", "name: a\r\n", "body"),
            ("--- \n---\n", "", ""),
            ("body\n---\nmore", "", "body\n---\nmore"),
            ("---\nnever closed", "", "---\nnever closed"),
            ("---- a\n---\n", "", "---- a\n---\n"),
            ("", "", ""),
        ];
        for (source, head, text) in cases {
            assert_eq!(split_head(source), (head, text), "{source:?}");
        }
    }
}
