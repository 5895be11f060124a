//! The readable text of an HTML page, in one pass over its tokens.
//!
//! There is no tree and no layout. The state while reading is the text so far, the links, and a few
//! numbers for open lists and quotations, so time and memory grow with the length of the page,
//! whatever its shape.

use std::collections::HashMap;
use std::fmt::Write as _;

use html5gum::emitters::callback::{CallbackEmitter, CallbackEvent};
use html5gum::{Span, Tokenizer};
use reqwest::Url;

/// The number of links that are listed, and of those that are read, as many may lead to the same
/// URL.
const LINKS: usize = 5_000;
const LOOKED_AT: usize = 20_000;
/// The longest URL that is listed, and the longest that links are relative to, in bytes.
const LINK_BYTES: usize = 4 << 10;
/// The longest list of links, in bytes.
const ALL_LINK_BYTES: usize = 1 << 20;
/// The depth to which lists and quotations are indented.
const INDENTED: usize = 8;
/// The depth to which the items of lists are counted.
const COUNTED: usize = 64;

/// The readable text of a page.
#[derive(Debug, Default)]
pub(super) struct Readable {
    pub(super) text: String,
    /// The number of links that are not listed.
    pub(super) links_left_out: usize,
    /// `true` if the text ends before the page does.
    pub(super) cut: bool,
}

/// Returns the text of a page, with its links as whole URLs, each on one line, since a model copies
/// them. `None` if `is_over` returned `true` meanwhile.
pub(super) fn readable(html: &str, page: &Url, is_over: impl Fn() -> bool) -> Option<Readable> {
    let mut reader = PageReader::new(Some(page), html.len());
    reader.read(html, is_over).then(|| reader.finish())
}

/// Returns the text of a piece of HTML, without links.
#[cfg(feature = "web-search")]
pub(super) fn words(html: &str) -> String {
    let mut reader = PageReader::new(None, html.len());
    reader.read(html, || false);
    reader.finish().text
}

/// The effect of an element on the text around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// Begins and ends a line.
    Line,
    /// Stands between empty lines.
    Block,
    Heading(usize),
    Break,
    Rule,
    Pre,
    Quote,
    List {
        ordered: bool,
    },
    Item,
    Row,
    Cell,
    Code,
    Link,
    Base,
    Image,
    /// Its text is not shown, up to its own end.
    Hidden,
    /// The same, and there may be others in it.
    Template,
    Inline,
}

impl Element {
    fn of(name: &[u8]) -> Self {
        match name {
            b"address" | b"article" | b"aside" | b"body" | b"button" | b"caption" | b"center"
            | b"dd" | b"details" | b"dialog" | b"dir" | b"div" | b"dt" | b"fieldset"
            | b"figcaption" | b"figure" | b"footer" | b"form" | b"header" | b"hgroup" | b"html"
            | b"legend" | b"main" | b"menu" | b"nav" | b"option" | b"optgroup" | b"search"
            | b"section" | b"select" | b"summary" | b"tbody" | b"tfoot" | b"thead"
            | b"textarea" => Self::Line,
            b"dl" | b"p" | b"table" => Self::Block,
            b"h1" => Self::Heading(1),
            b"h2" => Self::Heading(2),
            b"h3" => Self::Heading(3),
            b"h4" => Self::Heading(4),
            b"h5" => Self::Heading(5),
            b"h6" => Self::Heading(6),
            b"br" => Self::Break,
            b"hr" => Self::Rule,
            b"pre" | b"xmp" | b"plaintext" | b"listing" => Self::Pre,
            b"blockquote" => Self::Quote,
            b"ul" => Self::List { ordered: false },
            b"ol" => Self::List { ordered: true },
            b"li" => Self::Item,
            b"tr" => Self::Row,
            b"td" | b"th" => Self::Cell,
            b"code" | b"kbd" | b"samp" | b"tt" => Self::Code,
            b"a" => Self::Link,
            b"base" => Self::Base,
            b"img" => Self::Image,
            b"script" | b"style" | b"title" | b"iframe" | b"noembed" | b"noscript" => Self::Hidden,
            b"template" => Self::Template,
            _ => Self::Inline,
        }
    }
}

/// A start tag that is being read.
#[derive(Debug)]
struct Tag {
    element: Element,
    /// The name of an attribute that counts for the element, and its value.
    attribute: &'static [u8],
    value: Option<String>,
    /// `true` if the next value is that of the attribute.
    comes: bool,
}

/// The links of a page, each under a number.
#[derive(Debug, Default)]
struct Links<'a> {
    page: Option<&'a Url>,
    base: Option<Url>,
    urls: Vec<Url>,
    numbers: HashMap<Url, usize>,
    bytes: usize,
    looked_at: usize,
    left_out: usize,
}

impl Links<'_> {
    /// Sets the base URL of links, the first time.
    fn rebase(&mut self, href: &str) {
        if let (None, Some(page)) = (&self.base, self.page) {
            self.base = whole(page, href);
        }
    }

    /// Returns the number of a link, the same for the same URL.
    fn number(&mut self, href: &str) -> Option<usize> {
        // A link within the page needs no number.
        if href.is_empty() || href.starts_with('#') {
            return None;
        }
        let base = self.base.as_ref().or(self.page)?;
        self.looked_at += 1;
        if self.urls.len() >= LINKS || self.bytes >= ALL_LINK_BYTES || self.looked_at > LOOKED_AT {
            self.left_out += 1;
            return None;
        }
        let Some(url) = whole(base, href) else {
            self.left_out += usize::from(href.len() > LINK_BYTES);
            return None;
        };
        if let Some(number) = self.numbers.get(&url) {
            return Some(*number);
        }
        self.bytes += url.as_str().len();
        self.urls.push(url.clone());
        self.numbers.insert(url, self.urls.len());
        Some(self.urls.len())
    }
}

/// The row of a table.
#[derive(Debug, Default)]
struct Row {
    /// `true` if a cell was begun, and `true` if there is text in one.
    begun: bool,
    has_text: bool,
}

struct PageReader<'a> {
    out: String,
    /// The length at which the text is cut.
    most: usize,
    cut: bool,
    tag: Tag,
    /// `true` while the text of a hidden element is read.
    hidden: bool,
    templates: usize,
    /// The line breaks, and the blank, that come before the next text.
    breaks: usize,
    blank: bool,
    /// The marker of an item or a heading, which comes before the next text of the line.
    mark: String,
    pre: usize,
    quotes: usize,
    /// The lists that are open, with the number of the last item where items are counted; and how
    /// many more there are.
    lists: Vec<Option<u64>>,
    deeper: usize,
    row: Row,
    /// The number of the link that is open, and whether its bracket was written.
    link: Option<(usize, bool)>,
    links: Links<'a>,
}

impl<'a> PageReader<'a> {
    fn new(page: Option<&'a Url>, length: usize) -> Self {
        Self {
            out: String::new(),
            most: 2 * length + 1024,
            cut: false,
            tag: Tag { element: Element::Inline, attribute: b"", value: None, comes: false },
            hidden: false,
            templates: 0,
            breaks: 0,
            blank: false,
            mark: String::new(),
            pre: 0,
            quotes: 0,
            lists: Vec::new(),
            deeper: 0,
            row: Row::default(),
            link: None,
            links: Links { page, ..Links::default() },
        }
    }

    /// Reads a page. Returns `false` if it was cancelled.
    fn read(&mut self, html: &str, is_over: impl Fn() -> bool) -> bool {
        let mut events = 0_usize;
        let mut over = false;
        let mut emitter = CallbackEmitter::new(|event: CallbackEvent<'_>, _: Span<()>| {
            events += 1;
            over = over || events.is_multiple_of(256) && is_over();
            if over || self.cut {
                return Some(());
            }
            self.event(&event);
            None
        });
        emitter.naively_switch_states(true);
        // The tokenizer returns a token only to stop.
        let Ok(_) = Tokenizer::new_with_emitter(html, emitter).next().transpose();
        !over
    }

    fn event(&mut self, event: &CallbackEvent<'_>) {
        match event {
            CallbackEvent::OpenStartTag { name } => {
                let element = Element::of(name);
                let attribute: &[u8] = match element {
                    Element::Link | Element::Base => b"href",
                    Element::Image => b"alt",
                    _ => b"",
                };
                self.tag = Tag { element, attribute, value: None, comes: false };
            }
            CallbackEvent::AttributeName { name } => {
                self.tag.comes = *name == self.tag.attribute && self.tag.value.is_none();
            }
            CallbackEvent::AttributeValue { value } if self.tag.comes => {
                self.tag.comes = false;
                self.tag.value = Some(String::from_utf8_lossy(value).into_owned());
            }
            CallbackEvent::CloseStartTag { .. } => self.start(),
            CallbackEvent::EndTag { name } => self.end(Element::of(name)),
            CallbackEvent::String { value } if !self.is_hidden() => {
                self.text(&String::from_utf8_lossy(value));
            }
            _ => {}
        }
    }

    fn is_hidden(&self) -> bool {
        self.hidden || self.templates > 0
    }

    fn start(&mut self) {
        let value = self.tag.value.take();
        match self.tag.element {
            Element::Hidden => self.hidden = true,
            Element::Template => self.templates += 1,
            _ if self.is_hidden() => {}
            Element::Line => self.line(1),
            Element::Block => self.line(2),
            Element::Heading(level) => {
                self.line(2);
                self.mark = "#".repeat(level) + " ";
            }
            Element::Break => {
                self.breaks += usize::from(!self.out.is_empty());
                self.breaks = self.breaks.min(2);
            }
            Element::Rule => {
                self.line(2);
                self.text("---");
                self.line(2);
            }
            Element::Pre => {
                self.line(2);
                self.pre += 1;
            }
            Element::Quote => {
                self.line(2);
                self.quotes += 1;
            }
            Element::List { ordered } => {
                self.line(if self.lists.is_empty() { 2 } else { 1 });
                if self.lists.len() < COUNTED {
                    self.lists.push(ordered.then_some(0));
                } else {
                    self.deeper += 1;
                }
            }
            Element::Item => self.item(),
            Element::Row => {
                self.line(1);
                self.row = Row::default();
                self.mark.clear();
            }
            Element::Cell => self.cell(),
            Element::Code if self.pre == 0 => self.push_mark("`"),
            Element::Link => {
                self.end_link();
                if let Some(number) = value.and_then(|href| self.links.number(href.trim())) {
                    self.link = Some((number, false));
                }
            }
            Element::Base => {
                if let Some(href) = value {
                    self.links.rebase(href.trim());
                }
            }
            Element::Image => {
                if let Some(alt) = value.filter(|alt| !alt.trim().is_empty()) {
                    self.text(&format!("[{}]", alt.trim()));
                }
            }
            Element::Code | Element::Inline => {}
        }
    }

    fn end(&mut self, element: Element) {
        match element {
            // Nothing else ends within a hidden element.
            Element::Hidden => self.hidden = false,
            Element::Template => self.templates = self.templates.saturating_sub(1),
            _ if self.is_hidden() => {}
            Element::Line | Element::Item | Element::Row => self.line(1),
            Element::Block | Element::Heading(_) => {
                self.line(2);
                self.mark.clear();
            }
            Element::Pre => {
                self.pre = self.pre.saturating_sub(1);
                self.line(2);
            }
            Element::Quote => {
                self.quotes = self.quotes.saturating_sub(1);
                self.line(2);
            }
            Element::List { .. } => {
                if self.deeper > 0 {
                    self.deeper -= 1;
                } else {
                    self.lists.pop();
                }
                self.mark.clear();
                self.line(if self.lists.is_empty() { 2 } else { 1 });
            }
            Element::Code if self.pre == 0 && self.breaks == 0 => {
                let blank = std::mem::take(&mut self.blank);
                self.push("`");
                self.blank = blank;
            }
            Element::Link => self.end_link(),
            _ => {}
        }
    }

    fn item(&mut self) {
        self.line(1);
        self.mark.clear();
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                self.mark = format!("{number}. ");
            }
            _ => self.mark.push_str("* "),
        }
    }

    fn cell(&mut self) {
        if !std::mem::replace(&mut self.row.begun, true) {
            return;
        }
        if !self.row.has_text {
            self.mark.push_str("| ");
        } else if self.breaks == 0 {
            self.push(" |");
            self.blank = true;
        }
        // Otherwise the cell before ended with a line of its own.
    }

    /// Ends the line, and leaves `breaks - 1` lines empty.
    fn line(&mut self, breaks: usize) {
        self.blank = false;
        if !self.out.is_empty() {
            self.breaks = self.breaks.max(breaks);
        }
    }

    /// Writes text, with blanks as they are in a `pre`, and one for each run of them elsewhere.
    fn text(&mut self, text: &str) {
        if self.pre > 0 {
            for (at, line) in text.split('\n').enumerate() {
                if at > 0 {
                    self.breaks += usize::from(!self.out.is_empty());
                }
                if !line.is_empty() {
                    self.begin();
                    self.push(line);
                }
                if self.cut {
                    return;
                }
            }
            return;
        }
        for (at, word) in text.split([' ', '\t', '\n', '\r', '\u{c}']).enumerate() {
            self.blank |= at > 0;
            if !word.is_empty() {
                self.begin();
                self.push(word);
            }
            if self.cut {
                return;
            }
        }
    }

    /// Writes everything that comes before text: line breaks, indentation, markers, a blank.
    fn begin(&mut self) {
        let breaks = std::mem::take(&mut self.breaks);
        let begins = breaks > 0 || self.out.is_empty();
        self.row.has_text = true;
        let blank = std::mem::take(&mut self.blank);
        if begins {
            self.push(&"\n".repeat(breaks.min(self.most)));
            self.push(&"> ".repeat(self.quotes.min(INDENTED)));
            let indented = self.lists.len().saturating_sub(1).min(INDENTED);
            self.push(&"  ".repeat(indented));
            if self.mark.is_empty() && !self.lists.is_empty() {
                self.push("  ");
            }
        } else if blank {
            self.push(" ");
        }
        let mark = std::mem::take(&mut self.mark);
        self.push(&mark);
        if let Some((number, false)) = self.link {
            self.link = Some((number, true));
            self.push("[");
        }
    }

    fn push_mark(&mut self, mark: &str) {
        self.begin();
        self.push(mark);
    }

    fn push(&mut self, text: &str) {
        if self.out.len() + text.len() > self.most {
            self.cut = true;
        } else {
            self.out.push_str(text);
        }
    }

    fn end_link(&mut self) {
        let Some((number, written)) = self.link else { return };
        if !written {
            // A link without words, such as a picture.
            self.text("link");
        }
        self.link = None;
        let end = format!("][{number}]");
        self.push(&end);
    }

    fn finish(mut self) -> Readable {
        self.end_link();
        for (at, url) in self.links.urls.iter().enumerate() {
            let breaks = if at == 0 { "\n\n" } else { "\n" };
            let _ = write!(self.out, "{breaks}[{}]: {url}", at + 1);
        }
        Readable { text: self.out, links_left_out: self.links.left_out, cut: self.cut }
    }
}

/// Returns the whole URL of a link, if its scheme is one that can be followed.
fn whole(base: &Url, href: &str) -> Option<Url> {
    if base.as_str().len() + href.len() > LINK_BYTES {
        return None;
    }
    let url = base.join(href).ok()?;
    matches!(url.scheme(), "http" | "https" | "mailto").then_some(url)
}
