//! Identifiers of authorization servers.

use reqwest::Url;

/// Returns `true` if two identifiers name one authorization server. An empty path is the same with
/// and without its slash (RFC 3986, section 6.2.3); all else is compared character by character.
pub(super) fn is_same_issuer(one: &str, other: &str) -> bool {
    without_root_slash(one) == without_root_slash(other)
}

/// Returns the spellings of an identifier, the given one first.
pub(super) fn spellings(issuer: &str) -> Vec<String> {
    let bare = without_root_slash(issuer);
    let slashed = format!("{bare}/");
    let other = match bare.len() < issuer.len() {
        true => Some(bare.to_owned()),
        false if without_root_slash(&slashed) == bare => Some(slashed),
        false => None,
    };
    [Some(issuer.to_owned()), other].into_iter().flatten().collect()
}

fn without_root_slash(issuer: &str) -> &str {
    let bare = issuer.strip_suffix('/').unwrap_or(issuer);
    let is_root = Url::parse(bare).is_ok_and(|url| {
        let bare_path = bare.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        bare_path && url.has_host() && url.query().is_none() && url.fragment().is_none()
    });
    if is_root { bare } else { issuer }
}

#[cfg(test)]
mod tests {
    use super::{is_same_issuer, spellings};

    #[test]
    fn only_an_empty_path_has_two_spellings() {
        assert_eq!(spellings("https://a.b"), ["https://a.b", "https://a.b/"]);
        assert_eq!(spellings("https://a.b/"), ["https://a.b/", "https://a.b"]);
        assert_eq!(spellings("https://a.b/t"), ["https://a.b/t"]);
        assert_eq!(spellings("https://a.b/t/"), ["https://a.b/t/"]);
        assert_eq!(spellings(""), [""]);
    }

    #[test]
    fn only_the_slash_of_an_empty_path_makes_no_difference() {
        for (one, other, expected) in [
            ("https://as.example", "https://as.example", true),
            ("https://as.example", "https://as.example/", true),
            ("http://127.0.0.1:8", "http://127.0.0.1:8/", true),
            ("https://as.example", "https://as.example//", false),
            ("https://as.example/", "https://as.example//", false),
            ("https://as.example/t", "https://as.example/t/", false),
            ("https://as.example?a", "https://as.example?a/", false),
            ("https://as.example#a", "https://as.example#a/", false),
            ("https://as.example", "https://AS.example", false),
            ("https://as.example", "https://as.example:443", false),
            ("https://as.example", "http://as.example", false),
            ("none", "none/", false),
            ("", "/", false),
        ] {
            assert_eq!(is_same_issuer(one, other), expected, "{one} {other}");
            assert_eq!(is_same_issuer(other, one), expected, "{other} {one}");
        }
    }
}
