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

/// Tools whose texts stand in one piece: enough for one search to be worth its start, few enough to move their texts
/// when one of them changes.
const SHELF: usize = 64;

/// The texts of all tools, by slot.
#[derive(Debug, Default)]
pub(super) struct Texts {
    shelves: Vec<Shelf>,
}

impl Texts {
    /// Sets the text of a slot, which is one that has a text or the next; that of no tool is empty.
    pub(super) fn put(&mut self, slot: u32, builder: &TextBuilder) {
        let (number, at) = (slot as usize / SHELF, slot as usize % SHELF);
        if number == self.shelves.len() {
            self.shelves.push(Shelf::default());
        }
        self.shelves[number].put(at, builder);
    }

    /// Returns the shelves, each with the slot of its first tool.
    pub(super) fn shelves(&self) -> impl Iterator<Item = (usize, &Shelf)> {
        (0..).step_by(SHELF).zip(&self.shelves)
    }
}

/// The texts of tools in a row. Each field of each tool stands on lines of its own.
#[derive(Debug, Default)]
pub(super) struct Shelf {
    pub(super) text: String,
    places: Vec<Place>,
}

/// Where the text of a tool stands.
#[derive(Debug)]
struct Place {
    start: usize,
    /// Where each field ends, from the start.
    ends: [usize; FIELDS.len()],
}

impl Place {
    fn range(&self) -> Range<usize> {
        self.start..self.start + self.ends[FIELDS.len() - 1]
    }
}

impl Shelf {
    fn put(&mut self, at: usize, builder: &TextBuilder) {
        let (parts, ends) = builder.parts();
        if at == self.places.len() {
            // A line break between two tools, and none at the end, where it would begin one more line.
            if at > 0 {
                self.text.push('\n');
            }
            self.places.push(Place { start: self.text.len(), ends });
            self.text.extend(parts);
            if at + 1 == SHELF {
                self.text.shrink_to_fit();
            }
            return;
        }
        let before = self.places[at].range();
        self.text.replace_range(before.clone(), &parts.concat());
        self.places[at].ends = ends;
        let after = self.places[at].range();
        for place in &mut self.places[at + 1..] {
            place.start = place.start - before.end + after.end;
        }
    }

    /// Returns the tools as they follow each other.
    pub(super) fn tools(&self) -> impl Iterator<Item = Text<'_>> {
        self.places
            .iter()
            .map(|place| Text { joined: &self.text[place.range()], ends: &place.ends })
    }

    /// Returns the tool and the field that hold an offset, and where the next tool begins.
    pub(super) fn find(&self, offset: usize) -> (usize, usize, Option<usize>) {
        let next = self.places.partition_point(|place| place.start <= offset);
        let place = &self.places[next - 1];
        let field = field_at(&place.ends, offset - place.start);
        (next - 1, field, self.places.get(next).map(|place| place.start))
    }
}

fn field_at(ends: &[usize; FIELDS.len()], offset: usize) -> usize {
    ends.iter().position(|&end| offset <= end).unwrap_or(FIELDS.len() - 1)
}

/// The fields of a tool, each on lines of its own.
#[derive(Debug, Clone, Copy)]
pub(super) struct Text<'t> {
    pub(super) joined: &'t str,
    ends: &'t [usize; FIELDS.len()],
}

impl<'t> Text<'t> {
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
    /// Begins with the whole name: a pattern such as `^github__` speaks of it, not of its last part.
    pub(super) fn begin(&mut self, name: &str) {
        self.joined.clear();
        self.joined.push_str(name);
        self.arguments.iter_mut().for_each(String::clear);
        self.ends = [name.len(); FIELDS.len()];
    }

    /// Adds a text; the fields before the arguments come in their order.
    pub(super) fn push(&mut self, field: Field, text: &str) {
        let Some(at @ 1..) = FIELDS.iter().position(|&other| other == field) else { return };
        let place = match at {
            4 | 5 => &mut self.arguments[at - 4],
            _ => &mut self.joined,
        };
        place.push('\n');
        place.push_str(text);
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
