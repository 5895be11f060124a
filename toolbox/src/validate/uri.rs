//! References of one document to another by URI: RFC 3986, section 5.

/// The longest URI that is resolved, in bytes; bounds a base that grows with each level.
const LONGEST: usize = 2_000;

/// Resolves a reference without a fragment against a base; `None` if the result would be too long.
pub(super) fn join(base: &str, reference: &str) -> Option<String> {
    if base.len() + reference.len() > LONGEST {
        return None;
    }
    if reference.is_empty() {
        return Some(base.to_owned());
    }
    if scheme(reference).is_some() {
        return Some(reference.to_owned());
    }
    let (start, base) = base.split_at(scheme(base).unwrap_or(0));
    if reference.starts_with("//") {
        return Some(format!("{start}{reference}"));
    }
    let path_at = base
        .strip_prefix("//")
        .map_or(0, |rest| rest.find(['/', '?']).map_or(base.len(), |at| at + 2));
    let (authority, base) = base.split_at(path_at);
    let base = base.split_once('?').map_or(base, |(path, _)| path);
    let (path, query) = reference.find('?').map_or((reference, ""), |at| reference.split_at(at));
    let path = if path.is_empty() {
        base.to_owned()
    } else if path.starts_with('/') {
        without_dots(path)
    } else {
        let above = base.rfind('/').map_or("", |at| &base[..=at]);
        let above = if above.is_empty() && !authority.is_empty() { "/" } else { above };
        without_dots(&format!("{above}{path}"))
    };
    Some(format!("{start}{authority}{path}{query}"))
}

/// Returns the length of the scheme that a URI starts with, its colon included.
fn scheme(uri: &str) -> Option<usize> {
    let at = uri.find([':', '/', '?'])?;
    let named = uri.starts_with(|c: char| c.is_ascii_alphabetic());
    (named && uri[at..].starts_with(':')).then_some(at + 1)
}

/// Returns a path whose segments `.` and `..` are applied.
fn without_dots(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.trim_start_matches('/').split('/').peekable();
    while let Some(segment) = segments.next() {
        let is_dots = matches!(segment, "." | "..");
        if segment == ".." {
            kept.pop();
        }
        if !is_dots {
            kept.push(segment);
        } else if segments.peek().is_none() {
            kept.push("");
        }
    }
    format!("{}{}", if is_absolute { "/" } else { "" }, kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{LONGEST, join};

    /// The examples of RFC 3986, section 5.4, that have no fragment.
    #[test]
    fn references_are_resolved_as_the_standard_shows() {
        let cases = [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("/../g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
            ("./../g", "http://a/b/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ];
        for (reference, expected) in cases {
            let got = join("http://a/b/c/d;p?q", reference);
            assert_eq!(got.as_deref(), Some(expected), "{reference}");
        }
        for (base, reference, expected) in [
            ("", "item.json", "item.json"),
            ("tree", "node", "node"),
            ("http://a", "b", "http://a/b"),
            ("http://a?q", "b", "http://a/b"),
            ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
            ("file:///a/b.json", "c.json", "file:///a/c.json"),
        ] {
            assert_eq!(join(base, reference).as_deref(), Some(expected), "{base} {reference}");
        }
        assert_eq!(join("http://a/", &"x".repeat(LONGEST)), None);
    }
}
