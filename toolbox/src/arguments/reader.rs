//! The fast reader: a serde deserializer over the text of one call.
//!
//! It has no paths and stops at the first fault; [`validate`](crate::validate) describes the
//! faults. It differs from `serde_json` where the schema differs: objects read as a struct are
//! closed, `3.0` is an integer, and numbers are never rounded into a type that cannot hold them.
//! Strings are always lent, so `&str` works with escapes too.

mod access;
mod number;
mod words;

use std::mem::take;

use memchr::memchr2;
use serde::de::value::SeqDeserializer;
use serde::de::{self, Visitor};

use self::access::{Array, Object, Seen};
pub(super) use self::access::{NO_KEY, Nothing};
pub(super) use self::words::Lead;
use self::words::{PIECE, WORD, first_special, simple_escape, unescape};
use super::arena::Arena;
use super::shapes::Shapes;
use crate::schema::{Policing, TimeType};
use crate::validate::ReadError;

type Read<T> = Result<T, ReadError>;

/// Reads values out of the text of one call.
#[derive(Debug)]
pub struct ArgumentReader<'call> {
    text: &'call str,
    position: usize,
    arena: &'call Arena,
    depth: usize,
    /// `true` if a value was read in a way that does not detect unknown fields: as a map, or a
    /// buffered enum.
    unpoliced: bool,
    /// The names in the schema, if there is one.
    shapes: Option<&'call Shapes>,
    /// `true` if a value was read by a type that accepts other names than the schema has.
    renamed: bool,
}

impl<'call> ArgumentReader<'call> {
    pub(crate) fn new(text: &'call str, arena: &'call Arena, depth: usize) -> Self {
        Self { text, position: 0, arena, depth, unpoliced: false, shapes: None, renamed: false }
    }

    /// Returns the reader with a check for types that accept other names than the schema has.
    pub(crate) fn knowing(mut self, shapes: &'call Shapes) -> Self {
        self.shapes = Some(shapes);
        self
    }

    /// Returns `true` if a value that was just read must be checked against its schema too.
    #[inline]
    pub(super) fn must_check(&mut self, policing: Policing) -> bool {
        (policing.constrained | self.unpoliced | self.renamed) && self.must_check_read(policing)
    }

    #[inline(never)]
    fn must_check_read(&mut self, policing: Policing) -> bool {
        let (unpoliced, renamed) = (take(&mut self.unpoliced), take(&mut self.renamed));
        policing.must_check(unpoliced) || renamed
    }

    #[inline]
    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn text_from(&self, start: usize) -> &'call str {
        &self.text[start..self.position]
    }

    #[inline]
    fn bytes(&self) -> &'call [u8] {
        self.text.as_bytes()
    }

    #[inline]
    fn peek(&self) -> Option<u8> {
        self.bytes().get(self.position).copied()
    }

    /// Skips white space and returns the next byte without taking it.
    #[inline]
    pub(crate) fn peek_token(&mut self) -> Option<u8> {
        match self.peek() {
            Some(byte) if byte <= b' ' => self.skip_blanks(),
            other => other,
        }
    }

    #[inline(never)]
    fn skip_blanks(&mut self) -> Option<u8> {
        loop {
            match self.peek() {
                Some(b' ' | b'\n' | b'\t' | b'\r') => self.position += 1,
                other => return other,
            }
        }
    }

    #[inline]
    pub(crate) fn take(&mut self, byte: u8) -> bool {
        let found = self.peek_token() == Some(byte);
        self.position += usize::from(found);
        found
    }

    #[cold]
    fn fail<T>(&self, message: &str) -> Read<T> {
        Err(ReadError::new(message, self.position))
    }

    #[inline]
    pub(crate) fn expect(&mut self, byte: u8) -> Read<()> {
        if self.take(byte) { Ok(()) } else { self.unexpected(byte) }
    }

    #[cold]
    fn unexpected<T>(&self, byte: u8) -> Read<T> {
        Err(ReadError::new(format!("expected `{}`", char::from(byte)), self.position))
    }

    fn keyword(&mut self, word: &str) -> Read<()> {
        if self.bytes()[self.position..].starts_with(word.as_bytes()) {
            self.position += word.len();
            Ok(())
        } else {
            self.fail("expected a JSON value")
        }
    }

    #[inline]
    pub(crate) fn enter(&mut self) -> Read<()> {
        match self.depth.checked_sub(1) {
            Some(left) => {
                self.depth = left;
                self.position += 1;
                Ok(())
            }
            None => self.fail("nested too deeply"),
        }
    }

    /// Consumes the closing `byte` and leaves the level that [`ArgumentReader::enter`] entered.
    #[inline]
    pub(crate) fn leave(&mut self, byte: u8) -> Read<()> {
        self.depth += 1;
        self.expect(byte)
    }

    /// Reads a string: lent when it has no escapes, else unescaped into a buffer of its own.
    #[inline]
    pub(crate) fn string(&mut self) -> Read<LentText<'call>> {
        self.expect(b'"')?;
        let start = self.position;
        // Most keys and many values end within a word.
        if let Some(word) = self.bytes()[start..].first_chunk()
            && let Some(at) = first_special(*word)
            && word[at] == b'"'
        {
            self.position = start + at + 1;
            return Ok(LentText::Lent(&self.text[start..start + at]));
        }
        self.longer_string(start)
    }

    /// Reads a string that lives as long as the call.
    #[inline]
    fn lent_string(&mut self) -> Read<&'call str> {
        match self.string()? {
            LentText::Lent(text) => Ok(text),
            LentText::Owned(text) => Ok(self.arena.keep(text)),
        }
    }

    #[inline(never)]
    fn longer_string(&mut self, start: usize) -> Read<LentText<'call>> {
        let end = self.plain_run()?;
        if self.bytes()[end] == b'"' {
            self.position = end + 1;
            return Ok(LentText::Lent(&self.text[start..end]));
        }
        self.escaped_string(start)
    }

    /// Takes a key with what stands before it and its colon, if they come next without blanks
    /// between; the reader then stands on the value.
    #[allow(clippy::inline_always, reason = "a call costs more than it does")]
    #[inline(always)]
    pub(crate) fn take_lead(&mut self, lead: &Lead) -> bool {
        if !lead.starts(&self.bytes()[self.position..]) {
            return false;
        }
        self.position += lead.text.len();
        self.peek_token();
        true
    }

    /// Returns `true` if nothing is left but a closing brace.
    #[inline]
    pub(crate) fn is_at_last_brace(&self) -> bool {
        matches!(self.bytes(), [before @ .., b'}'] if before.len() == self.position)
    }

    /// Moves to the next key of an object, behind a comma; returns `false` if there is none.
    #[inline]
    pub(crate) fn next_field(&mut self) -> Read<bool> {
        match self.peek_token() {
            Some(b',') => {
                self.position += 1;
                self.peek_token();
                Ok(true)
            }
            Some(b'}') => Ok(false),
            _ => self.unexpected(b','),
        }
    }

    /// Moves to the next item of an array or object that `close` ends; returns `false` if there is
    /// none.
    #[inline]
    fn next_item(&mut self, first: &mut bool, close: u8) -> Read<bool> {
        match self.peek_token() {
            Some(byte) if byte == close => return Ok(false),
            Some(b',') if !*first => {
                self.position += 1;
                self.peek_token();
            }
            _ if *first => *first = false,
            _ => return self.unexpected(b','),
        }
        Ok(true)
    }

    /// Consumes a `null`, if it comes next.
    #[inline]
    pub(crate) fn take_null(&mut self) -> bool {
        self.peek() == Some(b'n') && self.keyword("null").is_ok()
    }

    /// Reads the rest of a string from its first escape on.
    #[inline(never)]
    fn escaped_string(&mut self, start: usize) -> Read<LentText<'call>> {
        let bytes = self.bytes();
        let (mut text, mut piece) = (Vec::new(), [0; PIECE]);
        let (mut before, mut wide) = (&bytes[start..self.position], [0; 4]);
        loop {
            let (len, rest) = unescape(&bytes[self.position..], &mut piece);
            let (run, rest) = rest.split_at(memchr2(b'"', b'\\', rest).unwrap_or(rest.len()));
            // Only at its end is the length of the text known, and the rest is as long at most.
            let most = if rest.first() == Some(&b'"') { 0 } else { rest.len() };
            text.reserve_exact(before.len() + len + run.len() + most);
            for part in [before, &piece[..len], run] {
                text.extend_from_slice(part);
            }
            self.position = bytes.len() - rest.len();
            before = match rest {
                [b'\\', letter, ..] if simple_escape(*letter).is_some() => &[],
                [b'\\', ..] => self.unicode_escape()?.encode_utf8(&mut wide).as_bytes(),
                _ => break,
            };
        }
        let raw = &bytes[start..self.position];
        if raw.iter().fold(0xff, |least, &byte| least.min(byte)) < 0x20 {
            return self.control();
        }
        self.expect_end()?;
        if text.capacity() > 2 * text.len() {
            text.shrink_to_fit();
        }
        // Whole characters were copied, so this never fails; it costs a fraction of what copying
        // did.
        match String::from_utf8(text) {
            Ok(text) => Ok(LentText::Owned(text)),
            Err(_) => self.fail("a string that is no text"),
        }
    }

    /// Takes the quote that ends a string.
    fn expect_end(&mut self) -> Read<()> {
        if self.peek() != Some(b'"') {
            return self.fail("the string does not end");
        }
        self.position += 1;
        Ok(())
    }

    #[inline]
    fn special(&self, byte: u8) -> Read<u8> {
        if byte < 0x20 { self.control() } else { Ok(byte) }
    }

    #[cold]
    fn control<T>(&self) -> Read<T> {
        self.fail("a control character in a string must be escaped")
    }

    /// Moves to the next quote or backslash and returns its offset; refuses control characters
    /// before it.
    #[inline]
    fn plain_run(&mut self) -> Read<usize> {
        let bytes = self.bytes();
        // Keys and most values end within a few words, where a call into `memchr` would cost more
        // than it saves.
        for _ in 0..4 {
            let Some(word) = bytes.get(self.position..).and_then(<[u8]>::first_chunk) else {
                break;
            };
            match first_special(*word) {
                None => self.position += WORD,
                Some(at) => {
                    self.position += at;
                    self.special(bytes[self.position])?;
                    return Ok(self.position);
                }
            }
        }
        self.long_run()
    }

    #[inline(never)]
    fn long_run(&mut self) -> Read<usize> {
        let rest = &self.bytes()[self.position..];
        let Some(len) = memchr2(b'"', b'\\', rest) else {
            self.position = self.text.len();
            return self.fail("the string does not end");
        };
        if rest[..len].iter().fold(0xff, |least, &byte| least.min(byte)) < 0x20 {
            return self.control();
        }
        self.position += len;
        Ok(self.position)
    }

    /// Reads an escape of four hexadecimal digits, or two of them; the reader stands on the
    /// backslash.
    fn unicode_escape(&mut self) -> Read<char> {
        let first = self.hex_unit()?;
        let code = match first {
            0xD800..0xDC00 => {
                let second = self.hex_unit()?;
                if !(0xDC00..0xE000).contains(&second) {
                    return self.fail("a lone surrogate");
                }
                0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)
            }
            code => code,
        };
        match char::from_u32(code) {
            Some(character) => Ok(character),
            None => self.fail("a lone surrogate"),
        }
    }

    /// Reads `\uXXXX` and returns its code unit.
    fn hex_unit(&mut self) -> Read<u32> {
        let bytes = self.bytes().get(self.position..self.position + 6);
        let Some([b'\\', b'u', digits @ ..]) = bytes else {
            return self.fail("an unknown escape or a lone surrogate");
        };
        let mut code = 0;
        for &digit in digits {
            match char::from(digit).to_digit(16) {
                Some(digit) => code = code * 16 + digit,
                None => return self.fail("an unknown escape"),
            }
        }
        self.position += 6;
        Ok(code)
    }

    /// Reads an integer of up to 18 digits in place, and every other number by the general parser.
    #[inline]
    fn integer<V: Visitor<'call>>(&mut self, visitor: V) -> Read<V::Value> {
        let negative = self.peek_token() == Some(b'-');
        let (bytes, start) = (self.bytes(), self.position);
        let first = start + usize::from(negative);
        let Some((value, end)) = short_integer(bytes, first) else {
            return self.careful_integer(visitor);
        };
        self.position = end;
        let result = if negative {
            visitor.visit_i64(value.cast_signed().wrapping_neg())
        } else {
            visitor.visit_u64(value)
        };
        result.map_err(|error: ReadError| error.at(start))
    }

    /// Returns the error for a value of a type that the visitor does not accept.
    #[cold]
    fn mismatch<V: Visitor<'call>, T>(&mut self, visitor: &V) -> Read<T> {
        let start = self.position;
        let unexpected = match self.peek() {
            Some(b'"') => "a string",
            Some(b'{') => "an object",
            Some(b'[') => "an array",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            Some(b'-' | b'0'..=b'9') => "a number",
            _ => return self.fail("expected a JSON value"),
        };
        let expected: &dyn de::Expected = visitor;
        let error = ReadError::new(format!("must be {expected}, got {unexpected}"), start);
        Err(error.expecting(expected))
    }

    fn object<V: Visitor<'call>>(&mut self, visitor: V, seen: Seen<'call>) -> Read<V::Value> {
        if self.peek_token() != Some(b'{') {
            return self.mismatch(&visitor);
        }
        self.enter()?;
        let mut object = Object { reader: self, first: true, seen };
        let value = visitor.visit_map(&mut object)?;
        // A visitor may stop early; the unread rest is a fault then.
        self.leave(b'}')?;
        Ok(value)
    }

    /// Reads a time that is written as text, or as a number of seconds.
    #[cold]
    fn time<V: Visitor<'call>>(&mut self, time: TimeType, visitor: V) -> Read<V::Value> {
        let start = self.position;
        let text = match self.peek_token() {
            Some(b'"') => self.string()?,
            Some(b'0'..=b'9') => LentText::Lent(self.number()?.0),
            _ => return self.mismatch(&visitor),
        };
        let Some((seconds, nanos)) = time.read(text.as_str()) else {
            let error = ReadError::new(format!("must be {}", time.phrase()), start);
            return Err(error.expecting(time.phrase()));
        };
        let numbers = [seconds, nanos.into()].into_iter();
        visitor.visit_seq(SeqDeserializer::new(numbers))
    }

    fn array<V: Visitor<'call>>(&mut self, visitor: V) -> Read<V::Value> {
        if self.peek_token() != Some(b'[') {
            return self.mismatch(&visitor);
        }
        self.enter()?;
        let value = visitor.visit_seq(Array { reader: self, first: true })?;
        self.leave(b']')?;
        Ok(value)
    }
}

/// A string of the call's text.
#[derive(Debug)]
pub(crate) enum LentText<'call> {
    Lent(&'call str),
    Owned(String),
}

impl LentText<'_> {
    #[inline]
    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Lent(text) => text,
            Self::Owned(text) => text,
        }
    }
}

impl ArgumentReader<'_> {
    /// Skips one value, checking that it is JSON.
    pub(crate) fn skip(&mut self) -> Read<()> {
        match self.peek_token() {
            Some(b'"') => self.string().map(drop),
            Some(b'{') => {
                self.enter()?;
                let mut first = true;
                while self.peek_token() != Some(b'}') {
                    if !first {
                        self.expect(b',')?;
                    }
                    first = false;
                    self.peek_token();
                    self.string()?;
                    self.expect(b':')?;
                    self.skip()?;
                }
                self.leave(b'}')
            }
            Some(b'[') => {
                self.enter()?;
                let mut first = true;
                while self.peek_token() != Some(b']') {
                    if !first {
                        self.expect(b',')?;
                    }
                    first = false;
                    self.skip()?;
                }
                self.leave(b']')
            }
            Some(b't') => self.keyword("true"),
            Some(b'f') => self.keyword("false"),
            Some(b'n') => self.keyword("null"),
            _ => self.number().map(drop),
        }
    }
}

/// The least number of 18 digits.
const LONG: u64 = 10_u64.pow(17);

/// Returns the integer without a sign that begins at `start`, and the position behind it, if it has
/// up to 18 digits and another character behind them; else it takes a closer look.
#[allow(clippy::inline_always, reason = "each integer of a call is read by it")]
#[inline(always)]
fn short_integer(bytes: &[u8], start: usize) -> Option<(u64, usize)> {
    let mut at = start;
    let mut value = u64::from(digit(*bytes.get(at)?)?);
    loop {
        at += 1;
        let byte = *bytes.get(at)?;
        let Some(digit) = digit(byte) else {
            let is_integer = !matches!(byte, b'.' | b'e' | b'E');
            return is_integer.then_some((value, at));
        };
        // No digit may follow a zero alone.
        if !(1..LONG).contains(&value) {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
}

#[inline]
fn digit(byte: u8) -> Option<u8> {
    let digit = byte.wrapping_sub(b'0');
    (digit <= 9).then_some(digit)
}
