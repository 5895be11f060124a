//! The numbers of the tuned ranking, each with the reason it is there.
//!
//! They were found on nine public sets of labelled requests, one left out at a time;
//! `docs/search.md` has the figures. All optima are flat: a tenth more or less of any of them
//! changes nothing that can be measured.

use super::fields::FIELDS;

/// The weight of one field.
#[derive(Debug, Clone, Copy)]
pub(super) struct FieldWeight {
    /// The weight of one occurrence.
    pub(super) boost: f32,
    /// The penalty on a long text, from 0 (none) to 1 (proportional to its length).
    pub(super) slope: f32,
    /// The usual number of terms in such a text.
    ///
    /// BM25 takes the mean of the collection. A fixed length ranks a little better over small
    /// catalogs, and the weights of a tool's words then depend on that tool alone: they are
    /// computed once, when the tool is added.
    pub(super) usual: f32,
}

/// The numbers of the tuned ranking.
#[derive(Debug, Clone)]
pub(super) struct Weights {
    /// By [`Field`](super::fields::Field).
    pub(super) fields: [FieldWeight; FIELDS],
    /// The saturation of repeated occurrences of a term.
    pub(super) saturation: f32,
    /// The same for a term that a query repeats.
    pub(super) repeats: f32,
    /// The power of the inverse document frequency: a little more than 1 favours rare words.
    pub(super) rarity: f32,
    /// The weight of a word of any request, and of a piece of Chinese or Japanese that is mostly
    /// grammar.
    pub(super) faint: f32,
    /// The weight of a word with digits: mostly the value of an argument.
    pub(super) digits: f32,
    /// The weight of a sentence that describes the speaker (`I am planning a trip.`) and asks
    /// nothing.
    pub(super) telling: f32,
    /// The share of a pair of characters in a text's length, which is measured in words.
    pub(super) pair_length: f32,
    /// The weight of a single character of such a script beside its pairs.
    pub(super) single: f32,
    /// The weight of a whole identifier beside its parts.
    pub(super) whole: f32,
    /// The weight of two words of a query that a tool writes as one.
    pub(super) compound: f32,
    /// The weight of the classes of a word that no tool says, all together.
    pub(super) class: f32,
    /// The weight of the class of two words in a row.
    pub(super) class_pair: f32,
    /// The weight of what answers questions of any kind, where a question is asked.
    pub(super) general: f32,
    /// Classes that more than this share of all tools belong to say nothing and are left out.
    pub(super) class_share: f32,
    /// How fast a class loses its weight to a word that tools say: to one that this many tools
    /// say, half of it.
    pub(super) class_held: f32,
    /// A class of less weight than this beside its word is left out: it changes nothing, and costs
    /// time.
    pub(super) class_least: f32,
    /// The weight of a word in quotation marks: the value of an argument.
    pub(super) quoted: f32,
    /// The weight of the words before the last in a name of several, such as `New York`.
    pub(super) proper: f32,
    /// The weight of the words of a phrase that stands for a plain word.
    pub(super) phrasal: f32,
    /// The weight of what calculates, where a request has a sum in figures.
    pub(super) sums: f32,
    /// How much more the tools of the server count that answers a request best, beside those of one
    /// that does not answer it.
    pub(super) server: f32,
    /// The weight of the word that a misspelt one stands for.
    pub(super) misspelt: f32,
    /// The share of what the rarest word of a request weighs that a hit has to reach.
    pub(super) floor: f32,
    /// The weight of the best sentence of a request, relative to the request as a whole.
    pub(super) sentence: f32,
    /// The bonus of a tool whose whole name is in the query.
    pub(super) cover: f32,
    /// The power of the share of the name that is in the query: half a name is not half as good as
    /// all of it.
    pub(super) cover_power: i32,
    /// The weight of two adjacent words that are adjacent in the tool too, in addition to the words
    /// alone.
    pub(super) phrase: f32,
    /// The same in a tool's name.
    pub(super) name_phrase: f32,
    /// The share of a tool's score that is removed when better tools have matched the same words of
    /// the request.
    pub(super) answered: f32,
}

const fn field(boost: f32, slope: f32, usual: f32) -> FieldWeight {
    FieldWeight { boost, slope, usual }
}

impl Weights {
    /// The weights that every catalog uses.
    pub(super) const TUNED: Self = Self {
        fields: [
            field(3.0, 0.8, 3.0),  // name
            field(2.7, 0.0, 2.0),  // server
            field(3.0, 0.5, 3.0),  // title
            field(2.0, 0.5, 3.0),  // tags
            field(1.0, 0.5, 11.0), // description
            field(1.0, 0.5, 5.0),  // argument names
            field(0.7, 0.8, 20.0), // argument descriptions
            field(0.3, 0.8, 10.0), // values
            field(0.5, 0.5, 11.0), // detail
        ],
        saturation: 1.4,
        repeats: 1.0,
        rarity: 1.1,
        faint: 0.4,
        digits: 0.4,
        telling: 0.7,
        pair_length: 0.5,
        single: 0.6,
        whole: 1.0,
        compound: 0.2,
        class: 0.9,
        class_pair: 0.35,
        general: 0.7,
        class_share: 0.25,
        class_held: 5.0,
        class_least: 0.02,
        quoted: 0.3,
        proper: 0.4,
        phrasal: 0.3,
        sums: 1.0,
        server: 1.0,
        misspelt: 0.6,
        floor: 0.1,
        sentence: 0.3,
        cover: 0.3,
        cover_power: 3,
        phrase: 0.2,
        name_phrase: 0.3,
        answered: 0.1,
    };
}
