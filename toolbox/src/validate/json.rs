//! A borrowed JSON tree with byte offsets, read by a strict parser (RFC 8259).
//!
//! The tree is a tape of offsets into the text, not a heap of boxes: eight bytes for a string or a
//! key, twelve for a container, four for other values. An array of zeros, the worst case for an
//! ordinary tree, costs twice its text. The kind of a value is in the text itself, at the offset.

use std::borrow::Cow;
use std::hash::BuildHasher as _;
use std::ops::Range;

use crate::sort::sorted_order;

/// The most keys of an object that are compared one by one.
const FEW: usize = 8;

/// The token that the parser expected where it stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Want {
    Value,
    /// The first item of an array, or its end.
    ItemOrEnd,
    Key,
    /// The first key of an object, or its end.
    KeyOrEnd,
    Colon,
    CommaOrBrace,
    CommaOrBracket,
    /// Nothing more: the document is complete.
    End,
    /// The quote that closes a string.
    Quote,
    /// A character that may stand in a string as it is.
    Plain,
    /// A character that may follow a backslash.
    Escape,
    /// The other half of a surrogate pair.
    Surrogate,
    Digit,
}

/// A syntax error, and its offset in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyntaxError {
    pub(super) at: usize,
    pub(super) want: Want,
}

/// The reason why a text was not parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ParseError {
    Syntax(SyntaxError),
    TooDeep,
    TooLarge,
}

/// A flaw that leaves the tree readable, so that it is reported with all other faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flaw {
    /// The key at this offset is a duplicate within its object.
    Duplicate(usize),
    /// The number at this offset is beyond what a 64-bit float can hold.
    Range(usize),
}

/// A document that is JSON, but for its [`Flaw`]s.
#[derive(Debug)]
pub(super) struct Document<'a> {
    text: &'a str,
    tape: Vec<u32>,
    flaws: Vec<Flaw>,
}

impl<'a> Document<'a> {
    pub(super) fn root(&self) -> Node<'_> {
        Node { text: self.text, tape: &self.tape, at: 0 }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    #[cfg(test)]
    pub(super) fn tape_len(&self) -> usize {
        self.tape.len()
    }

    /// Returns the flaws, in the order of the text.
    pub(super) fn flaws(&self) -> &[Flaw] {
        &self.flaws
    }
}

/// The six kinds of JSON value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonKind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

/// One value of a [`Document`]: a cursor, free to copy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node<'a> {
    text: &'a str,
    tape: &'a [u32],
    at: usize,
}

impl<'a> Node<'a> {
    pub(super) fn kind(self) -> JsonKind {
        match self.text.as_bytes()[self.start()] {
            b'{' => JsonKind::Object,
            b'[' => JsonKind::Array,
            b'"' => JsonKind::String,
            b't' | b'f' => JsonKind::Bool,
            b'n' => JsonKind::Null,
            _ => JsonKind::Number,
        }
    }

    pub(super) fn span(self) -> Range<usize> {
        let start = self.start();
        let end = match self.kind() {
            JsonKind::Object | JsonKind::Array => self.tape[self.at + 2] as usize,
            JsonKind::String => self.tape[self.at + 1] as usize,
            _ => {
                let rest = &self.text.as_bytes()[start..];
                let is_part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.');
                start + rest.iter().position(|b| !is_part(b)).unwrap_or(rest.len())
            }
        };
        start..end
    }

    /// Returns the value as it is written in the text.
    pub(super) fn source(self) -> &'a str {
        &self.text[self.span()]
    }

    /// Returns the text of the whole document.
    pub(super) fn text(self) -> &'a str {
        self.text
    }

    pub(super) fn is_true(self) -> bool {
        self.text.as_bytes()[self.start()] == b't'
    }

    /// Returns the content of a string, borrowed unless it holds an escape.
    pub(super) fn string(self) -> Cow<'a, str> {
        let raw = self.raw_string();
        if !raw.as_bytes().contains(&b'\\') {
            return Cow::Borrowed(raw);
        }
        let mut content = String::with_capacity(raw.len());
        let mut chars = Chars { rest: raw };
        while let Some(at) = chars.rest.bytes().position(|byte| byte == b'\\') {
            let (plain, escape) = chars.rest.split_at(at);
            content.push_str(plain);
            chars.rest = escape;
            let Some(escaped) = chars.next() else { return Cow::Owned(content) };
            content.push(escaped);
        }
        content.push_str(chars.rest);
        Cow::Owned(content)
    }

    /// Returns the characters of a string, escapes read.
    pub(super) fn chars(self) -> Chars<'a> {
        Chars { rest: self.raw_string() }
    }

    pub(super) fn items(self) -> Items<'a> {
        let end =
            if self.kind() == JsonKind::Array { self.tape[self.at + 1] as usize } else { self.at };
        Items { next: Node { at: self.at + 3, ..self }, end }
    }

    pub(super) fn fields(self) -> JsonFields<'a> {
        let end =
            if self.kind() == JsonKind::Object { self.tape[self.at + 1] as usize } else { self.at };
        JsonFields { next: Node { at: self.at + 3, ..self }, end }
    }

    /// Returns the value of the first field called `key`.
    pub(super) fn field(self, key: &str) -> Option<Node<'a>> {
        self.fields().find(|(name, _)| name.is_text(key)).map(|(_, value)| value)
    }

    /// Returns `true` if this string equals `text`, escapes decoded.
    pub(super) fn is_text(self, text: &str) -> bool {
        let own = &self.text.as_bytes()[self.start() + 1..];
        for (own, other) in own.iter().zip(text.as_bytes()) {
            match own {
                b'\\' => return self.chars().eq(text.chars()),
                b'"' => return false,
                _ if own != other => return false,
                _ => {}
            }
        }
        own.get(text.len()) == Some(&b'"')
    }

    fn raw_string(self) -> &'a str {
        &self.text[self.start() + 1..self.tape[self.at + 1] as usize - 1]
    }

    pub(super) fn start(self) -> usize {
        self.tape[self.at] as usize
    }

    /// Returns the position on the tape behind this value.
    fn behind(self) -> usize {
        match self.kind() {
            JsonKind::Array | JsonKind::Object => self.tape[self.at + 1] as usize,
            JsonKind::String => self.at + 2,
            _ => self.at + 1,
        }
    }
}

/// The items of an array; see [`Node::items`].
#[derive(Clone, Debug)]
pub(super) struct Items<'a> {
    next: Node<'a>,
    end: usize,
}

impl<'a> Iterator for Items<'a> {
    type Item = Node<'a>;

    fn next(&mut self) -> Option<Node<'a>> {
        if self.next.at >= self.end {
            return None;
        }
        let item = self.next;
        self.next.at = item.behind();
        Some(item)
    }
}

/// The keys and values of an object; see [`Node::fields`].
#[derive(Clone, Debug)]
pub(super) struct JsonFields<'a> {
    next: Node<'a>,
    end: usize,
}

impl<'a> Iterator for JsonFields<'a> {
    type Item = (Node<'a>, Node<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        if self.next.at >= self.end {
            return None;
        }
        let key = self.next;
        let value = Node { at: key.at + 2, ..key };
        self.next.at = value.behind();
        Some((key, value))
    }
}

/// Reads the escapes of a string that the parser has accepted.
#[derive(Clone, Debug)]
pub(super) struct Chars<'a> {
    rest: &'a str,
}

impl Iterator for Chars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let first = chars.next()?;
        if first != '\\' {
            self.rest = chars.as_str();
            return Some(first);
        }
        let escaped = match chars.next()? {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let bytes = self.rest.as_bytes();
                let high = hex4(bytes, 2)?;
                let (code, width) = if (0xD800..0xDC00).contains(&high) {
                    let low = hex4(bytes, 8)?;
                    (0x1_0000 + ((high - 0xD800) << 10) + low.wrapping_sub(0xDC00), 12)
                } else {
                    (high, 6)
                };
                self.rest = &self.rest[width..];
                return char::from_u32(code);
            }
            other => other,
        };
        self.rest = chars.as_str();
        Some(escaped)
    }
}

/// Reads `text` as one JSON document of at most `depth` levels, where the root is the first.
pub(super) fn parse(text: &str, depth: usize) -> Result<Document<'_>, ParseError> {
    if u32::try_from(text.len()).is_err() {
        return Err(ParseError::TooLarge);
    }
    JsonParser::new(text, depth).run()
}

/// Returns `true` for the text of a number, `true`, `false` or `null`, without space.
pub(super) fn is_scalar(text: &str) -> bool {
    if matches!(text, "true" | "false" | "null") {
        return true;
    }
    let mut parser = JsonParser::new(text, 0);
    let is_begun = text.starts_with(|first: char| first == '-' || first.is_ascii_digit());
    is_begun && parser.number().is_ok() && parser.at == text.len()
}

struct JsonParser<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    tape: Vec<u32>,
    /// The containers that are not closed yet, as positions on the tape.
    open: Vec<usize>,
    flaws: Vec<Flaw>,
    depth: usize,
}

impl<'a> JsonParser<'a> {
    fn new(text: &'a str, depth: usize) -> Self {
        let (tape, open, flaws) = (Vec::new(), Vec::new(), Vec::new());
        Self { text, bytes: text.as_bytes(), at: 0, tape, open, flaws, depth }
    }

    fn run(mut self) -> Result<Document<'a>, ParseError> {
        let mut want = Want::Value;
        // Enough for what stands in a string.
        self.tape.reserve(16);
        loop {
            self.skip_space();
            let next = self.bytes.get(self.at).copied();
            want = match (want, next) {
                (Want::End, None) => break,
                (Want::ItemOrEnd | Want::CommaOrBracket, Some(b']'))
                | (Want::KeyOrEnd | Want::CommaOrBrace, Some(b'}')) => self.close(),
                (Want::CommaOrBrace, Some(b',')) => self.step(Want::Key),
                (Want::CommaOrBracket, Some(b',')) | (Want::Colon, Some(b':')) => {
                    self.step(Want::Value)
                }
                (Want::Key | Want::KeyOrEnd, Some(b'"')) => {
                    self.string()?;
                    Want::Colon
                }
                (Want::Value | Want::ItemOrEnd, Some(byte)) => self.value(byte, want)?,
                _ => return Err(self.refuse(want)),
            };
        }
        // Inner objects close before outer ones, so flaws are found out of order.
        let offset = |number: usize| match self.flaws[number] {
            Flaw::Duplicate(at) | Flaw::Range(at) => at,
        };
        let order = sorted_order(self.flaws.len(), &|a, b| offset(a).cmp(&offset(b)));
        let flaws = order.into_iter().map(|at| self.flaws[at]).collect();
        Ok(Document { text: self.text, tape: self.tape, flaws })
    }

    fn step(&mut self, want: Want) -> Want {
        self.at += 1;
        want
    }

    fn value(&mut self, byte: u8, want: Want) -> Result<Want, ParseError> {
        match byte {
            b'{' => return self.open(Want::KeyOrEnd),
            b'[' => return self.open(Want::ItemOrEnd),
            b'"' => self.string()?,
            b'-' | b'0'..=b'9' => {
                self.mark();
                self.number()?;
            }
            _ => {
                let rest = &self.bytes[self.at..];
                let word = [&b"true"[..], b"false", b"null"]
                    .into_iter()
                    .find(|word| rest.starts_with(word))
                    .ok_or_else(|| self.refuse(want))?;
                // `nullify` is one wrong word, not `null` followed by text.
                if rest.get(word.len()).is_some_and(u8::is_ascii_alphanumeric) {
                    return Err(self.refuse(want));
                }
                self.mark();
                self.at += word.len();
            }
        }
        Ok(self.after())
    }

    fn open(&mut self, want: Want) -> Result<Want, ParseError> {
        if self.open.len() >= self.depth {
            return Err(ParseError::TooDeep);
        }
        self.open.push(self.tape.len());
        self.mark();
        self.tape.extend([0, 0]);
        Ok(self.step(want))
    }

    fn close(&mut self) -> Want {
        self.at += 1;
        if let Some(top) = self.open.pop() {
            self.tape[top + 1] = small(self.tape.len());
            self.tape[top + 2] = small(self.at);
            self.find_duplicates(top);
        }
        self.after()
    }

    /// Returns the tokens that may follow a complete value.
    fn after(&self) -> Want {
        match self.open.last().map(|&top| self.bytes[self.tape[top] as usize]) {
            None => Want::End,
            Some(b'{') => Want::CommaOrBrace,
            Some(_) => Want::CommaOrBracket,
        }
    }

    /// Finds duplicate keys: few keys are compared one by one, many are sorted by their hashes,
    /// without a table of owned keys and never in quadratic time.
    fn find_duplicates(&mut self, top: usize) {
        let object = Node { text: self.text, tape: &self.tape, at: top };
        let keys = || object.fields().map(|(key, _)| key);
        if keys().nth(FEW).is_none() {
            for (at, key) in keys().enumerate() {
                let name = key.string();
                if keys().take(at).any(|earlier| earlier.is_text(&name)) {
                    self.flaws.push(Flaw::Duplicate(key.start()));
                }
            }
            return;
        }
        let state = foldhash::fast::RandomState::default();
        let keys: Vec<(u64, Node<'_>)> =
            keys().map(|key| (state.hash_one(&*key.string()), key)).collect();
        let by_name = |a: usize, b: usize| {
            let ((one, a), (other, b)) = (keys[a], keys[b]);
            one.cmp(&other).then_with(|| a.chars().cmp(b.chars()))
        };
        for pair in sorted_order(keys.len(), &by_name).windows(2) {
            if by_name(pair[0], pair[1]).is_eq() {
                self.flaws.push(Flaw::Duplicate(keys[pair[1]].1.start()));
            }
        }
    }

    fn string(&mut self) -> Result<(), ParseError> {
        self.mark();
        self.at += 1;
        loop {
            let rest = &self.bytes[self.at..];
            let is_plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..=0x1f);
            self.at += rest.iter().take_while(is_plain).count();
            match self.bytes.get(self.at) {
                None => return Err(self.refuse(Want::Quote)),
                Some(b'"') => {
                    self.at += 1;
                    self.mark();
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                Some(_) => return Err(self.refuse(Want::Plain)),
            }
        }
    }

    fn escape(&mut self) -> Result<(), ParseError> {
        match self.bytes.get(self.at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => {
                self.at += 2;
                Ok(())
            }
            Some(b'u') => match hex4(self.bytes, self.at + 2) {
                Some(0xD800..=0xDBFF) => {
                    let pair = self.bytes.get(self.at + 6..self.at + 8) == Some(br"\u");
                    match hex4(self.bytes, self.at + 8) {
                        Some(0xDC00..=0xDFFF) if pair => {
                            self.at += 12;
                            Ok(())
                        }
                        _ => Err(self.refuse(Want::Surrogate)),
                    }
                }
                Some(0xDC00..=0xDFFF) => Err(self.refuse(Want::Surrogate)),
                Some(_) => {
                    self.at += 6;
                    Ok(())
                }
                None if self.bytes.len() < self.at + 6 => {
                    self.at = self.bytes.len();
                    Err(self.refuse(Want::Quote))
                }
                None => Err(self.refuse(Want::Escape)),
            },
            Some(_) => Err(self.refuse(Want::Escape)),
            None => {
                self.at += 1;
                Err(self.refuse(Want::Quote))
            }
        }
    }

    fn number(&mut self) -> Result<(), ParseError> {
        let start = self.at;
        if self.bytes[self.at] == b'-' {
            self.at += 1;
        }
        if self.bytes.get(self.at) == Some(&b'0') {
            self.at += 1;
            if self.bytes.get(self.at).is_some_and(u8::is_ascii_digit) {
                self.at -= 1;
                return Err(self.refuse(Want::Digit));
            }
        } else {
            self.digits()?;
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            self.digits()?;
        }
        let has_exponent = matches!(self.bytes.get(self.at), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            if matches!(self.bytes.get(self.at), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        // Only a number of many digits or with an exponent can be out of range.
        let text = &self.text[start..self.at];
        if (text.len() > 300 || has_exponent) && text.parse::<f64>().is_ok_and(f64::is_infinite) {
            self.flaws.push(Flaw::Range(start));
        }
        Ok(())
    }

    fn digits(&mut self) -> Result<(), ParseError> {
        let rest = &self.bytes[self.at..];
        let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if count == 0 {
            return Err(self.refuse(Want::Digit));
        }
        self.at += count;
        Ok(())
    }

    fn skip_space(&mut self) {
        while matches!(self.bytes.get(self.at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn mark(&mut self) {
        self.tape.push(small(self.at));
    }

    fn refuse(&self, want: Want) -> ParseError {
        ParseError::Syntax(SyntaxError { at: self.at, want })
    }
}

fn hex4(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .iter()
        .try_fold(0, |code, &byte| Some(code * 16 + char::from(byte).to_digit(16)?))
}

/// Narrows an offset. It fits, since [`parse`] refuses longer texts.
fn small(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
