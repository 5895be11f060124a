//! Decodes the body of a page into text.

use encoding_rs::{Encoding, UTF_8};

#[cfg(feature = "web-search")]
use crate::text::clean;

/// The kind of a body, by its content type or, without one, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyKind {
    Html,
    Text,
    Image(&'static str),
    Other,
}

impl BodyKind {
    pub(super) fn of(content_type: &str, body: &[u8]) -> Self {
        let essence = content_type.split(';').next().unwrap_or_default().trim();
        match essence {
            "text/html" | "application/xhtml+xml" => Self::Html,
            "image/png" => Self::Image("image/png"),
            "image/jpeg" => Self::Image("image/jpeg"),
            "image/gif" => Self::Image("image/gif"),
            "image/webp" => Self::Image("image/webp"),
            "application/json"
            | "application/xml"
            | "application/javascript"
            | "application/yaml"
            | "application/toml"
            | "application/x-ndjson" => Self::Text,
            essence
                if essence.starts_with("text/")
                    || essence.ends_with("+json")
                    || essence.ends_with("+xml") =>
            {
                Self::Text
            }
            "" | "application/octet-stream" => {
                let head = &body[..body.len().min(512)];
                let lower = head.to_ascii_lowercase();
                let begins = |mark: &[u8]| lower.trim_ascii_start().starts_with(mark);
                if begins(b"<!doctype html") || begins(b"<html") {
                    Self::Html
                } else if head.contains(&0) {
                    Self::Other
                } else {
                    Self::Text
                }
            }
            _ => Self::Other,
        }
    }
}

/// Returns the content type of a body, if it is the name of a type and nothing else.
pub(super) fn type_name(content_type: &str) -> &str {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let of_a_name = |byte: u8| byte.is_ascii_alphanumeric() || b"/.+-_".contains(&byte);
    if !essence.is_empty() && essence.len() <= 80 && essence.bytes().all(of_a_name) {
        essence
    } else {
        "of no known type"
    }
}

/// Reads bytes as text, by their byte order mark, else by the charset of the content type, else as
/// UTF-8. Invalid bytes are replaced.
pub(super) fn decoded(content_type: &str, body: &[u8]) -> String {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let value = parameter.trim().strip_prefix("charset=")?;
        Encoding::for_label(value.trim_matches('"').as_bytes())
    });
    let (encoding, mark) = Encoding::for_bom(body).unwrap_or((charset.unwrap_or(UTF_8), 0));
    if encoding == UTF_8 {
        // Much faster than the decoder, where little of it is UTF-8.
        return String::from_utf8_lossy(&body[mark..]).into_owned();
    }
    encoding.decode_without_bom_handling(&body[mark..]).0.into_owned()
}

/// Returns a line of text without its HTML.
#[cfg(feature = "web-search")]
pub(in crate::builtin) fn plain(text: &str) -> String {
    clean(&super::page::words(text)).split_whitespace().collect::<Vec<_>>().join(" ")
}
