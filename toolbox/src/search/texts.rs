//! The texts of all tools as a pattern reads them: line by line, many tools in one piece.

use std::ops::Range;

use super::fields::Field;

/// The fields a pattern is looked for in, best first.
pub(super) const FIELDS: [Field; 6] = [
    Field::Name,
    Field::Server,
    Field::Title,
    Field::Description,
    Field::ArgumentName,
    Field::ArgumentDescription,
];

/// The number of tools whose texts are stored together: enough to amortize starting a search, few
/// enough to move the texts when one of them changes.
const CHUNK_TOOLS: usize = 64;

/// The texts of all tools, by slot.
#[derive(Debug, Default)]
pub(super) struct Texts {
    chunks: Vec<TextChunk>,
}

impl Texts {
    /// Sets the text of a slot, which is one that has a text or the next; that of no tool is empty.
    pub(super) fn put(&mut self, slot: u32, builder: &TextBuilder) {
        let (number, at) = (slot as usize / CHUNK_TOOLS, slot as usize % CHUNK_TOOLS);
        if number == self.chunks.len() {
            self.chunks.push(TextChunk::default());
        }
        self.chunks[number].put(at, builder);
    }

    /// Returns the chunks, each with the slot of its first tool.
    pub(super) fn chunks(&self) -> impl Iterator<Item = (usize, &TextChunk)> {
        (0..).step_by(CHUNK_TOOLS).zip(&self.chunks)
    }
}

/// The texts of tools in a row. Each field of each tool stands on lines of its own.
#[derive(Debug, Default)]
pub(super) struct TextChunk {
    pub(super) text: String,
    spans: Vec<TextSpan>,
}

/// The position of the text of a tool.
#[derive(Debug)]
struct TextSpan {
    start: usize,
    /// The end of each field, relative to the start.
    ends: [usize; FIELDS.len()],
}

impl TextSpan {
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.ends[FIELDS.len() - 1]
    }
}

impl TextChunk {
    fn put(&mut self, at: usize, builder: &TextBuilder) {
        let (parts, ends) = builder.parts();
        if at == self.spans.len() {
            // A line break between two tools, and none at the end, where it would begin one more
            // line.
            if at > 0 {
                self.text.push('\n');
            }
            self.spans.push(TextSpan { start: self.text.len(), ends });
            self.text.extend(parts);
            if at + 1 == CHUNK_TOOLS {
                self.text.shrink_to_fit();
            }
            return;
        }
        let before = self.spans[at].range();
        self.text.replace_range(before.clone(), &parts.concat());
        self.spans[at].ends = ends;
        let after = self.spans[at].range();
        for span in &mut self.spans[at + 1..] {
            span.start = span.start - before.end + after.end;
        }
    }

    /// Returns the tools as they follow each other.
    pub(super) fn tools(&self) -> impl Iterator<Item = ToolText<'_>> {
        self.spans
            .iter()
            .map(|span| ToolText { joined: &self.text[span.range()], ends: &span.ends })
    }

    /// Returns the tool and the field that hold an offset, and where the next tool begins.
    pub(super) fn find(&self, offset: usize) -> (usize, usize, Option<usize>) {
        let next = self.spans.partition_point(|span| span.start <= offset);
        let span = &self.spans[next - 1];
        let field = field_at(&span.ends, offset - span.start);
        (next - 1, field, self.spans.get(next).map(|span| span.start))
    }
}

fn field_at(ends: &[usize; FIELDS.len()], offset: usize) -> usize {
    ends.iter().position(|&end| offset <= end).unwrap_or(FIELDS.len() - 1)
}

/// The fields of a tool, each on lines of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolText<'t> {
    pub(super) joined: &'t str,
    ends: &'t [usize; FIELDS.len()],
}

impl<'t> ToolText<'t> {
    pub(super) fn field_at(self, offset: usize) -> usize {
        field_at(self.ends, offset)
    }

    /// Returns the lines of a field.
    pub(super) fn lines(self, field: usize) -> impl Iterator<Item = &'t str> {
        let start = if field == 0 { 0 } else { self.ends[field - 1] };
        let text = &self.joined[start..self.ends[field]];
        let text = if field == 0 { Some(text) } else { text.strip_prefix('\n') };
        text.into_iter().flat_map(|text| text.split('\n'))
    }
}

/// Puts the texts of a tool together, with buffers that are used again.
#[derive(Debug, Default)]
pub(super) struct TextBuilder {
    joined: String,
    /// Arguments come name by description; here each of the two is a field.
    arguments: [String; 2],
    ends: [usize; FIELDS.len()],
}

impl TextBuilder {
    /// Begins with the whole name: a pattern such as `^github__` speaks of it, not of its last
    /// part.
    pub(super) fn begin(&mut self, name: &str) {
        self.joined.clear();
        self.joined.push_str(name);
        self.arguments.iter_mut().for_each(String::clear);
        self.ends = [name.len(); FIELDS.len()];
    }

    /// Adds a text; the fields before the arguments come in their order.
    pub(super) fn push(&mut self, field: Field, text: &str) {
        let Some(at @ 1..) = FIELDS.iter().position(|&other| other == field) else { return };
        let span = match at {
            4 | 5 => &mut self.arguments[at - 4],
            _ => &mut self.joined,
        };
        span.push('\n');
        span.push_str(text);
        self.ends[at..].fill(self.joined.len());
    }

    fn parts(&self) -> ([&str; 3], [usize; FIELDS.len()]) {
        let [names, descriptions] = &self.arguments;
        let mut ends = self.ends;
        ends[4] = self.joined.len() + names.len();
        ends[5] = ends[4] + descriptions.len();
        ([&self.joined, names, descriptions], ends)
    }
}
