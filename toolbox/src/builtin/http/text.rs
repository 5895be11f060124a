//! From the bytes of a page to what a model reads.

use encoding_rs::{Encoding, UTF_8};
use html2text::{Element, Handle, RcDom};
use reqwest::Url;

#[cfg(feature = "web-search")]
use crate::unseen::clean;

/// How wide lines of a page are, in characters. Models do not mind; people who read a transcript do.
const WIDTH: usize = 120;

/// What a body is, by what the server calls it or, where it does not say, by how it begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Html,
    Text,
    Image(&'static str),
    Other,
}

impl Kind {
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

/// Reads bytes as text, by their mark, else by what the server says, else as UTF-8. What does not fit is replaced.
pub(super) fn decoded(content_type: &str, body: &[u8]) -> String {
    let charset = content_type.split(';').skip(1).find_map(|parameter| {
        let value = parameter.trim().strip_prefix("charset=")?;
        Encoding::for_label(value.trim_matches('"').as_bytes())
    });
    charset.unwrap_or(UTF_8).decode(body).0.into_owned()
}

/// The largest page that is laid out, in bytes, and the deepest. Beyond either, laying out takes far longer than reading.
const LAID_OUT_BYTES: usize = 1 << 20;
const LAID_OUT_DEPTH: usize = 256;

/// The text of a page: laid out with its links, or, where that would take too long, what is between its tags.
pub(super) fn readable(html: &str, page: &Url) -> String {
    let laid_out = (html.len() <= LAID_OUT_BYTES && depth(html) <= LAID_OUT_DEPTH)
        .then(|| laid_out(html, page));
    laid_out.flatten().unwrap_or_else(|| between_tags(html))
}

/// The text of a page, with its links as whole URLs, each on one line: a model copies what it reads.
fn laid_out(html: &str, page: &Url) -> Option<String> {
    let layout = html2text::config::plain().no_link_wrapping();
    let dom = layout.parse_html(html.as_bytes()).ok()?;
    let base = links(&dom, "base", |base| page.join(base).ok()).into_iter().next();
    let base = base.as_ref().unwrap_or(page);
    links(&dom, "a", |link| {
        // A place on the same page is read already.
        if link.starts_with('#') { None } else { base.join(link).ok() }
    });
    let tree = layout.dom_to_render_tree(&dom).ok()?;
    layout.render_to_string(tree, WIDTH).ok()
}

/// Puts whole URLs in the place of those in elements of a name, where there are any, and returns them in their order.
fn links(dom: &RcDom, name: &str, whole: impl Fn(&str) -> Option<Url>) -> Vec<Url> {
    let mut urls = Vec::new();
    let mut open = vec![Handle::clone(&dom.document)];
    while let Some(node) = open.pop() {
        if let Element { name: own, attrs, .. } = &node.data
            && &*own.local == name
        {
            for attribute in attrs.borrow_mut().iter_mut() {
                let is_link = &*attribute.name.local == "href";
                if let Some(url) = is_link.then(|| whole(attribute.value.trim())).flatten() {
                    attribute.value = url.as_str().into();
                    urls.push(url);
                }
            }
        }
        open.extend(node.children.borrow().iter().rev().cloned());
    }
    urls
}

/// Elements that end by themselves, or that often are not ended.
const SHALLOW: [&str; 27] = [
    "area", "base", "br", "col", "colgroup", "dd", "dt", "embed", "hr", "img", "input", "li",
    "link", "meta", "optgroup", "option", "p", "param", "source", "tbody", "td", "tfoot", "th",
    "thead", "tr", "track", "wbr",
];

/// How deep elements stand in each other, at most. It may be less than this says, and is never more.
fn depth(html: &str) -> usize {
    let (mut deep, mut deepest) = (0_usize, 0);
    for at in memchr::memchr_iter(b'<', html.as_bytes()) {
        let tag = &html[at + 1..];
        if let Some(closed) = tag.strip_prefix('/') {
            deep = deep.saturating_sub(usize::from(!is_shallow(closed)));
        } else if tag.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_shallow(tag) {
            deep += 1;
            deepest = deepest.max(deep);
        }
    }
    deepest
}

fn is_shallow(tag: &str) -> bool {
    SHALLOW.iter().any(|name| {
        tag.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name))
            && !tag[name.len()..].starts_with(|c: char| c.is_ascii_alphanumeric())
    })
}

/// What stands between the tags of a page, but for scripts and styles.
fn between_tags(html: &str) -> String {
    let mut text = String::with_capacity(html.len() / 2);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let hidden = [("<!--", "-->"), ("<script", "</script"), ("<style", "</style")];
        let hides = |(begin, _): &&(&str, &str)| {
            rest.get(..begin.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(begin))
        };
        if let Some((_, end)) = hidden.iter().find(hides) {
            let lower = rest.as_bytes().windows(end.len());
            let end = lower.into_iter().position(|at| at.eq_ignore_ascii_case(end.as_bytes()));
            rest = end.map_or("", |at| &rest[at..]);
        }
        let end = memchr::memchr(b'>', rest.as_bytes());
        rest = end.map_or("", |at| &rest[at + 1..]);
        if !text.ends_with([' ', '\n']) {
            text.push('\n');
        }
    }
    text.push_str(rest);
    let named = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&nbsp;", " "),
        ("&amp;", "&"),
    ];
    named.iter().fold(text, |text, (name, character)| text.replace(name, character))
}

/// A line of text with what HTML there is in it taken out.
#[cfg(feature = "web-search")]
pub(in crate::builtin) fn plain(text: &str) -> String {
    clean(&between_tags(text)).split_whitespace().collect::<Vec<_>>().join(" ")
}
