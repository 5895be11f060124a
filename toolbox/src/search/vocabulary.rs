//! The words of a catalog: what each word of a text stands for, and the names of the tools.
//!
//! A request is read against this alone; the tools themselves are looked at only once its terms are
//! known.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::compact::{Few, WordMap};
use super::lists::{known, known_pairs};
use super::spelling::{Spelling, Spellings};
use super::term::{BREAK, TermRole, WordTerm, narrow};
use super::words::{self, Term, TermKind, Terms};

use crate::text::cut;

type Map<K, V> = HashMap<K, V, RandomState>;

/// The range of a word's terms.
#[derive(Debug, Clone, Copy)]
struct Surface {
    from: u32,
    len: u16,
    /// `true` if a tool contains this very word; other words are parts of words in tools.
    is_literal: bool,
}

impl Surface {
    fn range(self) -> Range<usize> {
        self.from as usize..self.from as usize + usize::from(self.len)
    }
}

/// A term by its text.
#[derive(Debug, Clone, Copy)]
struct DictionaryEntry {
    term: u32,
    /// `true` if these are two words or more that a text may write as one.
    is_compound: bool,
}

/// The words of a catalog.
#[derive(Debug)]
pub(super) struct Vocabulary {
    dictionary: WordMap<DictionaryEntry>,
    surfaces: WordMap<Surface>,
    pieces: Vec<WordTerm>,
    /// Stems and words as they are written.
    spellings: Spellings,
    classes: Vec<u32>,
    /// The classes of two words in a row. Their terms are the first of all, so that other pairs are
    /// recognized by their numbers.
    class_pairs: Map<(u32, u32), Vec<u32>>,
    paired: u32,
    /// The number of tools that hold each term.
    holding: Vec<u32>,
    /// Tools by their name in a spelling without case and separators.
    names: WordMap<Few<u32>>,
    terms: Terms,
}

impl Default for Vocabulary {
    fn default() -> Self {
        let mut vocabulary = Self {
            dictionary: WordMap::default(),
            surfaces: WordMap::default(),
            pieces: Vec::new(),
            spellings: Spellings::default(),
            classes: Vec::new(),
            class_pairs: Map::default(),
            paired: 0,
            holding: Vec::new(),
            names: WordMap::default(),
            terms: Terms::default(),
        };
        let pairs: Vec<_> = known_pairs()
            .iter()
            .map(|(a, b, class)| (vocabulary.intern(a).term, vocabulary.intern(b).term, *class))
            .collect();
        vocabulary.paired = narrow(vocabulary.holding.len());
        for (first, second, class) in pairs {
            let class = vocabulary.intern_class(class);
            vocabulary.class_pairs.entry((first, second)).or_default().push(class);
        }
        vocabulary
    }
}

impl Vocabulary {
    /// Returns the number of terms.
    pub(super) fn len(&self) -> usize {
        self.holding.len()
    }

    /// Returns the number of words in all spellings.
    pub(super) fn spellings(&self) -> usize {
        self.surfaces.len()
    }

    /// Returns the classes of two terms in a row.
    pub(super) fn class_pair(&self, first: u32, second: u32) -> &[u32] {
        if first >= self.paired || second >= self.paired {
            return &[];
        }
        self.class_pairs.get(&(first, second)).map_or(&[], Vec::as_slice)
    }

    pub(super) fn term(&self, text: &str) -> Option<u32> {
        self.dictionary.get(text).map(|entry| entry.term)
    }

    pub(super) fn compound(&self, folded: &str) -> Option<u32> {
        let entry = self.dictionary.get(words::singular(folded))?;
        entry.is_compound.then_some(entry.term)
    }

    pub(super) fn class(&self, class: u16) -> Option<u32> {
        self.classes.get(usize::from(class)).copied().filter(|&term| term != BREAK)
    }

    /// Returns the terms of a word that some tool contains as it is.
    pub(super) fn surface(&self, word: &str) -> Option<&[WordTerm]> {
        let surface = self.surfaces.get(word).filter(|surface| surface.is_literal)?;
        Some(&self.pieces[surface.range()])
    }

    /// Visits the words of tools that a word is nearest to, if it is none of them itself.
    pub(super) fn near(&self, word: &str, visit: &mut dyn FnMut(Spelling)) {
        self.spellings.near(word, |term| self.holding(term) > 0, visit);
    }

    /// Returns the number of tools that hold a term; none hold [`BREAK`].
    pub(super) fn holding(&self, term: u32) -> u32 {
        self.holding.get(term as usize).copied().unwrap_or_default()
    }

    /// Counts one more tool that holds a term, and returns `true` if it is the first.
    pub(super) fn hold(&mut self, term: u32) -> bool {
        let tools = &mut self.holding[term as usize];
        *tools += 1;
        *tools == 1
    }

    /// Counts one tool less that holds a term, and returns `true` if it was the last.
    pub(super) fn release(&mut self, term: u32) -> bool {
        let tools = &mut self.holding[term as usize];
        *tools -= 1;
        *tools == 0
    }

    /// Returns the tools whose name is `key` but for case and separators.
    pub(super) fn named(&self, key: &str) -> &[u32] {
        self.names.get(key).map_or(&[], Few::as_slice)
    }

    /// Adds a spelling of the name of a tool.
    pub(super) fn add_name(&mut self, key: &str, slot: u32) {
        match self.names.get_mut(key) {
            Some(list) => list.push(slot),
            None => self.names.insert(key, Few::One([slot])),
        }
    }

    /// Removes a spelling of the name of a tool.
    pub(super) fn remove_name(&mut self, key: &str, slot: u32) {
        if let Some(list) = self.names.get_mut(key) {
            list.edit(|list| list.retain(|&other| other != slot));
            if list.as_slice().is_empty() {
                self.names.remove(key);
            }
        }
    }

    /// Returns the terms with numbers from [`learn`](Self::learn).
    pub(super) fn pieces(&self, numbers: Range<usize>) -> &[WordTerm] {
        &self.pieces[numbers]
    }

    /// Returns the numbers of the terms of a word; adds a new word.
    #[inline]
    pub(super) fn learn(&mut self, word: &str) -> Range<usize> {
        let word = cut(word, words::MAX_WORD);
        if let Some(surface) = self.surfaces.get_mut(word) {
            if !surface.is_literal {
                surface.is_literal = true;
            }
            return surface.range();
        }
        self.learn_new(word)
    }

    fn learn_new(&mut self, word: &str) -> Range<usize> {
        let mut terms = std::mem::take(&mut self.terms);
        let surface = if words::is_plain(word) {
            self.learn_plain(terms.of_plain(word), true)
        } else {
            self.learn_parts(word, &mut terms)
        };
        self.terms = terms;
        surface.range()
    }

    /// Adds a word that has several parts, or is written in another way than they are.
    fn learn_parts(&mut self, word: &str, terms: &mut Terms) -> Surface {
        let from = self.pieces.len();
        terms.of_word(word, &mut |part| {
            if part.kind != TermKind::Part || !words::is_plain(part.folded) {
                self.learn_part(part);
            } else if let Some(known) = self.surfaces.get(part.folded) {
                // Parts recur in other words and in other case: their terms are looked up once.
                self.pieces.extend_from_within(known.range());
            } else {
                self.learn_plain(part, false);
            }
        });
        let surface = self.surface_from(from, true);
        self.surfaces.insert(word, surface);
        surface
    }

    /// Adds a new word of lower-case English letters.
    fn learn_plain(&mut self, word: Term<'_>, is_literal: bool) -> Surface {
        let from = self.pieces.len();
        self.learn_part(word);
        let surface = self.surface_from(from, is_literal);
        self.surfaces.insert(word.folded, surface);
        self.spellings.add(word.folded, self.pieces[from].term);
        surface
    }

    fn surface_from(&self, from: usize, is_literal: bool) -> Surface {
        let len = u16::try_from(self.pieces.len() - from).expect("a word is cut to a few parts");
        Surface { from: narrow(from), len, is_literal }
    }

    fn learn_part(&mut self, part: Term<'_>) {
        let text = &*part.text();
        let before = self.len();
        let entry = self.intern(text);
        entry.is_compound |= part.kind == TermKind::Whole;
        let term = entry.term;
        if part.kind == TermKind::Part && self.len() > before && text != part.folded {
            self.spellings.add(text, term);
        }
        let known = known(text);
        let (role, faint) = TermRole::of(&part, known);
        self.pieces.push(WordTerm { term, role, faint });
        if role.has_classes() {
            for &class in known.into_iter().flat_map(|known| &known.classes) {
                let term = self.intern_class(class);
                self.pieces.push(WordTerm { term, role: TermRole::Class, faint });
            }
        }
    }

    /// Makes each two adjacent words of a name findable as one word (`time_zone` by `timezone`),
    /// and visits the terms of these.
    pub(super) fn learn_compounds<'n>(
        &mut self,
        name_words: impl Iterator<Item = &'n str>,
        joined: &mut String,
        visit: &mut dyn FnMut(u32),
    ) {
        let mut terms = std::mem::take(&mut self.terms);
        let mut last = 0;
        joined.clear();
        for word in name_words {
            terms.parts_of(word, &mut |part| {
                joined.drain(..last);
                last = joined.len();
                joined.push_str(part);
                if last > 0 && joined.len() <= words::MAX_WORD {
                    visit(self.learn_compound(joined));
                }
            });
        }
        self.terms = terms;
    }

    fn learn_compound(&mut self, folded: &str) -> u32 {
        let entry = self.intern(words::singular(folded));
        entry.is_compound = true;
        entry.term
    }

    fn intern(&mut self, text: &str) -> &mut DictionaryEntry {
        let holding = &mut self.holding;
        self.dictionary.get_or_insert_with(text, || {
            let term = narrow(holding.len());
            holding.push(0);
            DictionaryEntry { term, is_compound: false }
        })
    }

    fn intern_class(&mut self, class: u16) -> u32 {
        let class = usize::from(class);
        if self.classes.len() <= class {
            self.classes.resize(class + 1, BREAK);
        }
        if self.classes[class] == BREAK {
            self.classes[class] = self.fresh();
        }
        self.classes[class]
    }

    fn fresh(&mut self) -> u32 {
        self.holding.push(0);
        narrow(self.holding.len() - 1)
    }
}
