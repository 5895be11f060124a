//! Reading on in a text: by lines, by bytes, by a search. Each is one pass without a copy of the
//! whole.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use regex::{Regex, RegexBuilder};

use super::line_index::{BLOCK, LineIndex, breaks_in};
use super::shown::{ends, head, lines as count_lines};
use crate::text::{QUOTED, ceil_boundary, cut, floor_boundary, quote};

/// A line that is longer is shown in excerpts around what was found.
const LONG_LINE: usize = 1200;
/// The longest time of a search.
const MOST_TIME: Duration = Duration::from_secs(2);
/// The bytes on each side of a match in a long line.
const AROUND: usize = 160;

/// Returns the lines of a range such as `100..160`, `-50..`, `7`; both ends are included.
pub(super) fn lines(text: &str, range: &str, bytes: usize) -> Result<String, String> {
    let all = count_lines(text);
    let (first, last) = range_of(range, all, 1)
        .ok_or_else(|| bad_range("lines", range, "100..160, 7, or -50.. for the last 50"))?;
    if first > all {
        return Err(format!("the result has {all} lines, and `lines` begins at {first}"));
    }
    let start = start_of_line(text, first);
    let rest = &text[start..];
    let end = start_of_line(rest, last - first + 2);
    let wanted = &rest[..end];
    if wanted.len() <= bytes {
        return Ok(wanted.to_owned());
    }
    let shown = head(wanted, bytes);
    Ok(if shown.ends_with('\n') {
        let next = first + count_lines(shown);
        format!(
            "{shown}[lines {first} to {} of {all}; go on with \"lines\": \"{next}..{last}\"]",
            next - 1
        )
    } else {
        let (from, to) = (start, start + shown.len());
        format!(
            "{shown}\n[bytes {from} to {to} of {}, in line {first}; go on with \"bytes\": \"{to}..{}\"]",
            text.len(),
            to.saturating_add(bytes)
        )
    })
}

/// Returns the bytes of a range such as `4000..8000`, `-500..`; the end is not included.
pub(super) fn bytes(text: &str, range: &str, most: usize) -> Result<String, String> {
    let all = text.len();
    let (first, last) =
        range_of(range, all, 0).ok_or_else(|| bad_range("bytes", range, "4000..8000"))?;
    if first >= all {
        return Err(format!("the result has {all} bytes, and `bytes` begins at {first}"));
    }
    let first = floor_boundary(text, first);
    let last = ceil_boundary(text, last.min(all));
    let wanted = &text[first..last];
    if wanted.len() <= most {
        return Ok(wanted.to_owned());
    }
    let end = first + floor_boundary(wanted, most);
    Ok(format!(
        "{}\n[bytes {first} to {end} of {all}; go on with \"bytes\": \"{end}..{last}\"]",
        &text[first..end]
    ))
}

fn bad_range(what: &str, range: &str, example: &str) -> String {
    format!("`{what}` is `{}`, which is no range such as {example}", quote(range, QUOTED))
}

/// Reads a range over `all` units that are numbered from `base` on. Negative numbers count from the
/// end.
fn range_of(range: &str, all: usize, base: usize) -> Option<(usize, usize)> {
    let number = |text: &str| -> Option<usize> {
        let text = text.trim();
        match text.strip_prefix('-') {
            Some(back) => Some((all + base).saturating_sub(back.parse().ok()?).max(base)),
            None => text.parse::<usize>().ok().map(|number| number.max(base)),
        }
    };
    let end = all + base - usize::from(base == 1);
    let (first, last) = match range.split_once("..") {
        Some((first, last)) => {
            let first = if first.trim().is_empty() { base } else { number(first)? };
            let last = last.trim().trim_start_matches('=');
            (first, if last.is_empty() { end } else { number(last)?.min(end) })
        }
        None => {
            let first = number(range)?;
            (first, first.saturating_add(1 - base))
        }
    };
    (last >= first || first > end).then_some((first, last.max(first)))
}

/// Returns the byte at which a line begins; lines are numbered from 1 on.
fn start_of_line(text: &str, line: usize) -> usize {
    if line <= 1 {
        return 0;
    }
    memchr::memchr_iter(b'\n', text.as_bytes()).nth(line - 2).map_or(text.len(), |at| at + 1)
}

/// Returns the lines that match a regular expression, with lines around them.
pub(super) fn search(
    text: &str,
    counted: Option<&LineIndex>,
    pattern: &str,
    context: usize,
    bytes: usize,
) -> Result<String, String> {
    let regex = RegexBuilder::new(pattern).multi_line(true).size_limit(1 << 20).build();
    let regex = regex.map_err(|error| {
        let error = error.to_string();
        let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!(
            "`search` is `{}`, which is no regular expression: {reason}; put a backslash before a character that stands for itself, such as \\( or \\[",
            quote(pattern, QUOTED)
        )
    })?;
    let mut found = Matches {
        text,
        counted,
        last: (0, 0),
        context,
        bytes,
        out: String::new(),
        shown: 0,
        after: 0,
    };
    let (count, next, is_whole) = found.all(&regex);
    if count == 0 {
        return Err(format!("nothing in the result matches `{}`", quote(pattern, QUOTED)));
    }
    let mut out = found.out;
    if !is_whole {
        let seconds = MOST_TIME.as_secs();
        let _ = write!(
            out,
            "[{count} matches and more: the search was stopped after {seconds} seconds]"
        );
    } else if found.shown < count {
        let _ = write!(out, "[{count} matches, the first {} are shown", found.shown);
        let _ = match next {
            Some(NextMatch::Line(line)) => write!(out, "; the next is in line {line}]"),
            Some(NextMatch::Byte(byte)) => write!(out, "; the next is at byte {byte}]"),
            None => write!(out, "]"),
        };
    } else {
        let _ = write!(out, "[{count} {}]", if count == 1 { "match" } else { "matches" });
    }
    Ok(out)
}

/// The place of the first match that is not shown.
enum NextMatch {
    Line(usize),
    Byte(usize),
}

struct Matches<'a> {
    text: &'a str,
    counted: Option<&'a LineIndex>,
    /// The byte up to which line breaks were counted last, and their number.
    last: (usize, usize),
    context: usize,
    bytes: usize,
    out: String,
    /// The number of matches in `out`.
    shown: usize,
    /// The byte after what is in `out`.
    after: usize,
}

impl Matches<'_> {
    /// Shows matches while there is room, and counts all: lines, and in long lines each match.
    /// Returns their number, the first that is not shown, and whether all of the text was searched.
    fn all(&mut self, regex: &Regex) -> (usize, Option<NextMatch>, bool) {
        let began = Instant::now();
        let (mut at, mut count, mut next) = (0, 0, None);
        // The line that was looked at last.
        let (mut start, mut end) = (0, self.end_of_line(0));
        while let Some(found) = regex.find_at(self.text, at) {
            count += 1;
            if found.start() > end {
                let passed = &self.text.as_bytes()[end..found.start()];
                start = memchr::memrchr(b'\n', passed).map_or(end, |at| end + at + 1);
                end = self.end_of_line(found.start());
            }
            let long = end - start > LONG_LINE;
            if next.is_none() {
                let fits = if long {
                    self.show_excerpt(found.start(), found.end())
                } else {
                    self.show_lines(start, end)
                };
                if fits {
                    self.shown += 1;
                } else {
                    next = Some(if long {
                        NextMatch::Byte(found.start())
                    } else {
                        NextMatch::Line(self.line_of(start))
                    });
                }
            }
            at = found.end().max(if long { found.start() + 1 } else { end + 1 });
            if at >= self.text.len() {
                break;
            }
            // An empty match may end within a character.
            at = ceil_boundary(self.text, at);
            // Some expressions look at all of the text for each match.
            if began.elapsed() > MOST_TIME {
                return (count, next, false);
            }
        }
        (count, next, true)
    }

    /// Returns the number of the line that begins at a byte.
    fn line_of(&mut self, start: usize) -> usize {
        let (at, breaks) = self.last;
        let breaks = match self.counted {
            Some(counted) if start - at > BLOCK => counted.breaks_before(self.text, start),
            _ => breaks + breaks_in(&self.text.as_bytes()[at..start]),
        };
        self.last = (start, breaks);
        breaks + 1
    }

    /// Returns the end of the line that a byte is in.
    fn end_of_line(&self, at: usize) -> usize {
        memchr::memchr(b'\n', &self.text.as_bytes()[at..]).map_or(self.text.len(), |end| at + end)
    }

    fn show_excerpt(&mut self, start: usize, end: usize) -> bool {
        let from =
            floor_boundary(self.text, start.saturating_sub(AROUND)).max(self.after.min(start));
        let to =
            ceil_boundary(self.text, (end.min(start + 4 * AROUND) + AROUND).min(self.text.len()));
        let to = self.text[start..to].find('\n').map_or(to, |at| start + at);
        let excerpt =
            self.text[from..to].rsplit_once('\n').map_or(&self.text[from..to], |(_, own)| own);
        self.push(&format!("byte {start}: …{excerpt}…\n"))
    }

    fn show_lines(&mut self, start: usize, end: usize) -> bool {
        let line = self.line_of(start);
        let mut shown = String::new();
        let before = &self.text[self.after.min(start)..start];
        let mut earlier: Vec<&str> = before.lines().rev().take(self.context).collect();
        earlier.reverse();
        for (at, text) in earlier.iter().enumerate() {
            let _ = writeln!(shown, "{}- {}", line - earlier.len() + at, short(text));
        }
        let _ = writeln!(shown, "{line}: {}", &self.text[start..end].trim_end_matches('\r'));
        let mut after = (end + 1).min(self.text.len());
        for at in 1..=self.context {
            let Some(text) = self.text[after..].lines().next() else { break };
            let _ = writeln!(shown, "{}- {}", line + at, short(text));
            after += self.text[after..].find('\n').map_or(self.text.len() - after, |at| at + 1);
        }
        // Context after a match that matches too is shown twice, once with its colon.
        self.after = (end + 1).min(self.text.len());
        self.push(&shown)
    }

    fn push(&mut self, text: &str) -> bool {
        // The first match is shown in any case, as far as there is room.
        if self.out.is_empty() {
            self.out = ends(text, self.bytes);
            return true;
        }
        let fits = self.out.len() + text.len() <= self.bytes;
        if fits {
            self.out.push_str(text);
        }
        fits
    }
}

fn short(line: &str) -> &str {
    cut(line, LONG_LINE)
}
