//! The tuned ranking: postings first, then a closer look at the best of them.
//!
//! The first pass adds up what each term weighs in each tool, a block of tools at a time, so that
//! the sums stay in the processor's cache however large the catalog is. It keeps a few dozen
//! candidates. What needs a look at a whole tool (how much of its name was asked for, words in a
//! row) is computed for those alone.

use std::hint::black_box;

use super::index::{Filter, Index, IndexEntry};
use super::marks::{TermMark, TermMarks};
use super::postings::{BLOCK, Posting};
use super::query::{Query, QueryTerm};
use super::servers;
use super::term::BREAK;

/// Sentences whose sums are computed before they are put together.
const LANES: usize = 4;

/// Sums that are compared at once.
const WIDTH: usize = 16;

/// Candidates of the second pass, or more if more are asked for.
const CANDIDATES: usize = 24;

/// Ranks that are chosen with an eye on what better ranks have answered.
const CHOSEN: usize = 10;

/// Terms of name, title and description beyond which a tool is long.
const USUAL_SEQUENCE: f32 = 30.0;

/// A tool with its score.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Ranked {
    pub(super) slot: u32,
    pub(super) score: f32,
    /// A bit for each word of the request that the tool says, of those it was looked at for.
    pub(super) answers: u64,
}

/// The rarity of each of the first words of a query.
type WordWeights = [f32; 64];

/// A term whose postings are added up, block by block.
#[derive(Debug, Clone, Copy)]
struct Cursor {
    term: u32,
    /// The weight of the term within the sentence.
    own: f32,
    /// The weight of the term within the whole request: less, if other sentences contain the term
    /// too.
    share: f32,
}

/// The number of tools that a class may belong to in any catalog.
const FEW: usize = 3;

/// The number of tools from which on the whole floor holds.
const MANY: f32 = 40.0;

/// Buffers of a search, used again by the next.
#[derive(Debug)]
pub(super) struct Scratch {
    pub(super) query: Query,
    cursors: Vec<Cursor>,
    /// The end of each sentence in the list of cursors.
    ends: Vec<usize>,
    repeats: Vec<(u32, f32, u32)>,
    total: Vec<f32>,
    /// The sums of single sentences.
    lanes: [Vec<f32>; LANES],
    best: Vec<f32>,
    /// The highest sum of each group of a block.
    highest: Vec<f32>,
    pub(super) candidates: Vec<Ranked>,
    /// The terms of the candidates' names.
    names: Vec<u32>,
    marks: TermMarks,
    /// How well each server answers, by its number; zero between searches.
    servers: Vec<f32>,
    /// The rarity of the words with a bit.
    words: WordWeights,
}

/// Ranks the tools that pass the filter, best first, at most `limit`; ties keep registration order.
pub(super) fn rank(index: &Index, scratch: &mut Scratch, limit: usize, filter: Filter<'_>) {
    scratch.candidates.clear();
    let limit = limit.min(index.len());
    if limit == 0 {
        return;
    }
    scratch.open_cursors(index);
    scratch.add_up(index, limit.max(CANDIDATES), filter);
    scratch.look_closer(index, filter);
    scratch.cut_off(index);
    order(&mut scratch.candidates, index);
    if servers::weigh(index, &mut scratch.candidates, &mut scratch.servers) {
        order(&mut scratch.candidates, index);
    }
    scratch.spread(index);
    scratch.candidates.truncate(limit);
}

/// Returns how much rarer than all tools those of a list are, as the logarithm that BM25 uses.
#[expect(clippy::cast_precision_loss, reason = "counts of tools")]
pub(super) fn idf(tools: usize, holding: usize) -> f64 {
    let (tools, holding) = (tools as f64, holding as f64);
    (1.0 + (tools - holding + 0.5) / (holding + 0.5)).ln()
}

/// The same in single precision, which a score needs no more than.
#[expect(clippy::cast_precision_loss, reason = "counts of tools")]
fn quick_idf(index: &Index, holding: usize) -> f32 {
    let (tools, holding) = (index.len() as f32, holding as f32);
    (1.0 + (tools - holding + 0.5) / (holding + 0.5)).ln()
}

fn rarity(index: &Index, holding: usize) -> f32 {
    quick_idf(index, holding).powf(index.weights.rarity)
}

/// Returns what a term of a query adds to the sum of one tool, if that holds it.
pub(super) fn weight_of(index: &Index, wanted: &QueryTerm, slot: u32) -> Option<f32> {
    let posting = index.postings.find(wanted.term, slot)?;
    let unit = (index.weights.saturation + 1.0) / 65_535.0;
    let rare = rarity(index, index.vocabulary.holding(wanted.term) as usize) * unit;
    Some(wanted.weight * rare * posting.impact())
}

/// Sorts by score, then by registration.
pub(super) fn order(ranked: &mut [Ranked], index: &Index) {
    let registered = |slot: u32| index.slots[slot as usize].as_ref().map(|entry| entry.order);
    ranked.sort_unstable_by(|a, b| {
        b.score.total_cmp(&a.score).then_with(|| registered(a.slot).cmp(&registered(b.slot)))
    });
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            query: Query::default(),
            cursors: Vec::new(),
            ends: Vec::new(),
            repeats: Vec::new(),
            total: Vec::new(),
            lanes: Default::default(),
            best: Vec::new(),
            highest: Vec::new(),
            candidates: Vec::new(),
            names: Vec::new(),
            marks: TermMarks::default(),
            servers: Vec::new(),
            words: [0.0; 64],
        }
    }
}

impl Scratch {
    /// Gives each term of the query its weight.
    fn open_cursors(&mut self, index: &Index) {
        let weights = &index.weights;
        self.cursors.clear();
        self.ends.clear();
        self.repeats.clear();
        let several = self.query.sentences.len() > 1;
        if several {
            self.count_repeats();
        }
        // An impact is a share of 65 535; the factor of BM25 that lifts it over 1 comes back here.
        let unit = (weights.saturation + 1.0) / 65_535.0;
        #[expect(clippy::cast_precision_loss, reason = "counts of words")]
        let saturated =
            |count: u32| (weights.repeats + 1.0) * count as f32 / (weights.repeats + count as f32);
        self.marks.begin(self.query.wanted.len());
        let mut from = 0;
        for &to in &self.query.sentences {
            for wanted in &self.query.wanted[from..to] {
                let holding = index.vocabulary.holding(wanted.term) as usize;
                let rare = rarity(index, holding);
                if !wanted.is_value {
                    self.marks.set(wanted.term, rare);
                }
                // In a catalog of a few tools, two of them are no crowd.
                #[expect(clippy::cast_precision_loss, reason = "counts of tools")]
                let broad =
                    holding > FEW && holding as f32 > weights.class_share * index.len() as f32;
                if holding == 0 || broad && wanted.is_class {
                    continue;
                }
                let rare = rare * unit;
                let own = wanted.weight * saturated(wanted.count) * rare;
                let share = if several {
                    let at = self.repeats.partition_point(|repeat| repeat.0 < wanted.term);
                    let (_, weight, count) = self.repeats[at];
                    #[expect(clippy::cast_precision_loss, reason = "counts of words")]
                    let part = wanted.count as f32 / count as f32;
                    weight * saturated(count) * part * rare
                } else {
                    own
                };
                self.cursors.push(Cursor { term: wanted.term, own, share });
            }
            from = to;
            self.ends.push(self.cursors.len());
        }
        self.number_words();
    }

    /// Gives each of the first 64 words a bit.
    fn number_words(&mut self) {
        let mut kept = 0;
        for &term in &self.query.words {
            if let Some(mark) = self.marks.get_mut(term)
                && mark.word == 0
                && kept < self.words.len()
            {
                mark.word = 1 << kept;
                self.words[kept] = mark.rare;
                kept += 1;
            }
        }
    }

    /// Writes for each term what all sentences together say of it.
    fn count_repeats(&mut self) {
        self.repeats.extend(
            self.query.wanted.iter().map(|wanted| (wanted.term, wanted.weight, wanted.count)),
        );
        self.repeats.sort_unstable_by_key(|repeat| repeat.0);
        self.repeats.dedup_by(|next, first| {
            let same = next.0 == first.0;
            if same {
                first.1 = first.1.max(next.1);
                first.2 += next.2;
            }
            same
        });
    }

    /// The first pass: leaves the best `keep` tools in `candidates`, in no order.
    fn add_up(&mut self, index: &Index, keep: usize, filter: Filter<'_>) {
        let several = self.ends.len() > 1;
        let share = index.weights.sentence;
        let used = if several { LANES } else { 0 };
        for sums in [&mut self.total, &mut self.best].into_iter().chain(&mut self.lanes[..used]) {
            // Each block leaves its sums at zero, so they are set once.
            if sums.is_empty() {
                *sums = vec![0.0; BLOCK];
            }
        }
        let mut threshold = Threshold { score: 0.0, order: 0 };
        let mut lists = Vec::with_capacity(self.cursors.len());
        for (block, start) in (0..index.slots.len()).step_by(BLOCK).enumerate() {
            let len = BLOCK.min(index.slots.len() - start);
            // All lists and the begin of each, before any is added: the processor then fetches many
            // at once.
            lists.clear();
            lists
                .extend(self.cursors.iter().map(|cursor| index.postings.block(block, cursor.term)));
            for list in &lists {
                black_box(list.first().copied());
            }
            let mut from = 0;
            for (number, &to) in self.ends.iter().enumerate() {
                for (cursor, block) in self.cursors[from..to].iter().zip(&lists[from..to]) {
                    let lane = &mut self.lanes[number % LANES];
                    add(if several { lane } else { &mut self.total }, block, cursor.own);
                    #[expect(clippy::float_cmp, reason = "one is a copy of the other, or is not")]
                    if cursor.share != cursor.own {
                        add(&mut self.total, block, cursor.share - cursor.own);
                    }
                }
                from = to;
                let is_last = number + 1 == self.ends.len();
                if several && (is_last || number % LANES == LANES - 1) {
                    let (total, best) = (&mut self.total[..len], &mut self.best[..len]);
                    merge(&mut self.lanes, number % LANES, total, best, is_last.then_some(share));
                }
            }
            // The sums of places that no tool has are zero.
            let sums = &mut self.total[..len.next_multiple_of(WIDTH)];
            let group = group_len(len, keep);
            self.highest.clear();
            self.highest.extend(sums.chunks(group).map(highest));
            if filter.is_none() {
                let score = reached_by(&self.highest, keep);
                if score > threshold.score {
                    threshold = Threshold { score, order: 0 };
                }
            }
            for (number, &most) in self.highest.iter().enumerate() {
                if most < threshold.score || most <= 0.0 {
                    continue;
                }
                let from = number * group;
                for (at, &score) in sums[from..len.min(from + group)].iter().enumerate() {
                    let slot = start + from + at;
                    if threshold.is_beaten(index, slot, score) && index.passes(slot, filter) {
                        #[expect(
                            clippy::cast_possible_truncation,
                            reason = "slots are counted in 32 bits"
                        )]
                        let slot = slot as u32;
                        self.candidates.push(Ranked { slot, score, answers: 0 });
                    }
                }
                if self.candidates.len() >= 4 * keep {
                    threshold = cut(&mut self.candidates, keep, index);
                }
            }
            sums.fill(0.0);
        }
        cut(&mut self.candidates, keep, index);
    }

    /// The second pass: what only a look at the whole tool tells.
    fn look_closer(&mut self, index: &Index, filter: Filter<'_>) {
        let mut candidates = std::mem::take(&mut self.candidates);
        let mut names = std::mem::take(&mut self.names);
        names.clear();
        // The names of all, before any is looked at: the processor then fetches many tools at once.
        for ranked in &candidates {
            let entry = index.slots[ranked.slot as usize].as_ref();
            names.extend_from_slice(entry.map_or(&[], IndexEntry::name));
        }
        let mut rest = names.as_slice();
        for ranked in &mut candidates {
            let Some(entry) = &index.slots[ranked.slot as usize] else { continue };
            let (name, others) = rest.split_at(entry.name().len());
            rest = others;
            ranked.score += self.phrases(index, entry, &mut ranked.answers);
            ranked.score *= self.cover(index, name);
        }
        (self.candidates, self.names) = (candidates, names);
        self.lift_named(index, filter);
    }

    /// Returns the factor for the share of a tool's name that is in the query.
    fn cover(&self, index: &Index, name: &[u32]) -> f32 {
        let (mut all, mut requested) = (0.0, 0.0);
        for &term in name.iter().filter(|&&term| term != BREAK) {
            let idf = quick_idf(index, index.vocabulary.holding(term) as usize);
            all += idf;
            requested += if self.marks.get(term).is_some() { idf } else { 0.0 };
        }
        if all == 0.0 {
            return 1.0;
        }
        let share: f32 = requested / all;
        1.0 + index.weights.cover * share.powi(index.weights.cover_power)
    }

    /// Returns the bonus for words of the query in a row, and notes the words that the tool says.
    fn phrases(&self, index: &Index, entry: &IndexEntry, answers: &mut u64) -> f32 {
        let weights = &index.weights;
        // A long text has many words in a row by chance, or on purpose.
        #[expect(clippy::cast_precision_loss, reason = "a count of words")]
        let length = (USUAL_SEQUENCE / entry.sequence().len() as f32).min(1.0);
        let mut phrases = 0.0;
        let mut last = None;
        for (at, &term) in entry.sequence().iter().enumerate() {
            let Some(&TermMark { rare, word, .. }) = self.marks.get(term) else {
                last = None;
                continue;
            };
            *answers |= word;
            if let Some((first, before)) = last
                && self.query.phrases.binary_search(&(first, term)).is_ok()
            {
                let in_name = at < usize::from(entry.name_len);
                let weight = if in_name { weights.name_phrase } else { weights.phrase * length };
                phrases += (before + rare) * weight;
            }
            last = Some((term, rare));
        }
        phrases
    }

    /// Removes what has next to nothing to do with the request: tools that are worth less than a
    /// share of its rarest word.
    fn cut_off(&mut self, index: &Index) {
        let Some(rarest) = self.query.rarest else { return };
        let most = rarity(index, rarest as usize) * (index.weights.saturation + 1.0);
        // In a catalog of a few tools no word is rare, and what each of them says may be all there
        // is.
        #[expect(clippy::cast_precision_loss, reason = "a count of tools")]
        let floor = index.weights.floor * (index.len() as f32 / MANY).min(1.0);
        self.candidates.retain(|ranked| ranked.score >= floor * most);
    }

    /// Adds what the tools get that a request names.
    fn lift_named(&mut self, index: &Index, filter: Filter<'_>) {
        let lift = rarity(index, 1) * (index.weights.saturation + 1.0);
        for &slot in &self.query.named {
            if let Some(ranked) = self.candidates.iter_mut().find(|ranked| ranked.slot == slot) {
                ranked.score += lift;
            } else if index.passes(slot as usize, filter) {
                self.candidates.push(Ranked { slot, score: lift, answers: 0 });
            }
        }
    }

    /// Lets a tool for the next part of a request pass one more for the part that is answered.
    ///
    /// A request for two things has two good tools; without this, all that resemble the first come
    /// before the second.
    fn spread(&mut self, index: &Index) {
        let weight = index.weights.answered;
        if weight <= 0.0 || self.candidates.len() < 3 {
            return;
        }
        let pool = self.candidates.len().min(2 * CHOSEN);
        let sum = |mut bits: u64| {
            let mut sum = 0.0;
            while bits != 0 {
                sum += self.words[bits.trailing_zeros() as usize];
                bits &= bits - 1;
            }
            sum
        };
        let mut pooled = [(0_u64, 0.0_f32); 2 * CHOSEN];
        for (pooled, ranked) in pooled.iter_mut().zip(&self.candidates) {
            *pooled = (ranked.answers, sum(ranked.answers));
        }
        let mut answered = 0;
        for rank in 0..CHOSEN.min(pool) {
            let mut chosen = (rank, f32::MIN);
            for (at, &(bits, all)) in pooled.iter().enumerate().take(pool).skip(rank) {
                let again = if bits & answered != 0 { sum(bits & answered) / all } else { 0.0 };
                let score = self.candidates[at].score * (1.0 - weight * again);
                if score > chosen.1 {
                    chosen = (at, score);
                }
            }
            let (at, score) = chosen;
            answered |= pooled[at].0;
            self.candidates[rank..=at].rotate_right(1);
            pooled[rank..=at].rotate_right(1);
            self.candidates[rank].score = score;
        }
        let floor = self.candidates[CHOSEN.min(pool) - 1].score;
        for ranked in &mut self.candidates[CHOSEN.min(pool)..] {
            ranked.score = ranked.score.min(floor);
        }
    }
}

/// Adds the sums of the sentences up to `last` to those of the whole request and keeps those of the
/// best sentence; at the end, `share` of the best sentence counts in place of the whole.
fn merge(
    lanes: &mut [Vec<f32>; LANES],
    last: usize,
    total: &mut [f32],
    best: &mut [f32],
    share: Option<f32>,
) {
    let [a, b, c, d] = lanes.each_mut().map(|lane| &mut lane[..total.len()]);
    match last {
        0 => merge_lanes([a], total, best, share),
        1 => merge_lanes([a, b], total, best, share),
        2 => merge_lanes([a, b, c], total, best, share),
        _ => merge_lanes([a, b, c, d], total, best, share),
    }
}

#[inline]
fn merge_lanes<const N: usize>(
    lanes: [&mut [f32]; N],
    total: &mut [f32],
    best: &mut [f32],
    share: Option<f32>,
) {
    let len = total.len();
    let (total, best) = (&mut total[..len], &mut best[..len]);
    let lanes = lanes.map(|lane| &mut lane[..len]);
    for at in 0..len {
        let (mut all, mut most) = (total[at], best[at]);
        for lane in &lanes {
            all += lane[at];
            // `f32::max` would look for what is no number, one sum at a time.
            most = if lane[at] > most { lane[at] } else { most };
        }
        (total[at], best[at]) = match share {
            Some(share) => (all + share * (most - all), 0.0),
            None => (all, most),
        };
    }
    for lane in lanes {
        lane.fill(0.0);
    }
}

/// Adds what the postings of one term weigh to the sums of the block that they are in.
#[inline]
fn add(sums: &mut [f32], postings: &[Posting], weight: f32) {
    // Of a known length, so that a place needs no check.
    let Some(sums) = sums.first_chunk_mut::<BLOCK>() else { return };
    for posting in postings {
        sums[posting.place()] += weight * posting.impact();
    }
}

/// Returns the number of sums in a group, of which a search looks at the highest first: some groups
/// more than tools are kept, if there are as many.
fn group_len(tools: usize, keep: usize) -> usize {
    (tools / (4 * keep) / WIDTH).clamp(1, 4) * WIDTH
}

/// Returns a number that at least `keep` of the highest sums of groups are above, or 0.
fn reached_by(highest: &[f32], keep: usize) -> f32 {
    if highest.len() < keep {
        return 0.0;
    }
    let mut highest = highest.to_vec();
    let (_, last, _) = highest.select_nth_unstable_by(keep - 1, |a, b| b.total_cmp(a));
    last.next_down().max(0.0)
}

/// Returns the highest of some sums, whose number is a multiple of [`WIDTH`].
fn highest(sums: &[f32]) -> f32 {
    let higher = |a: f32, b: f32| if b > a { b } else { a };
    let mut highest = [0.0; WIDTH];
    for sums in sums.as_chunks::<WIDTH>().0 {
        highest = std::array::from_fn(|at| higher(highest[at], sums[at]));
    }
    highest.into_iter().fold(0.0, higher)
}

/// The last of the candidates that were kept, which a further one has to beat.
#[derive(Debug, Clone, Copy)]
struct Threshold {
    score: f32,
    /// The order of registration of the tool; less comes first among ties.
    order: u64,
}

impl Threshold {
    #[inline]
    fn is_beaten(self, index: &Index, slot: usize, score: f32) -> bool {
        score > self.score
            || score >= self.score
                && index.slots[slot].as_ref().is_some_and(|entry| entry.order < self.order)
    }
}

/// Keeps the best, and returns the last of them if there were more.
fn cut(candidates: &mut Vec<Ranked>, keep: usize, index: &Index) -> Threshold {
    if candidates.len() <= keep {
        return Threshold { score: 0.0, order: 0 };
    }
    let registered = |slot: u32| index.slots[slot as usize].as_ref().map(|entry| entry.order);
    candidates.select_nth_unstable_by(keep - 1, |a, b| {
        b.score.total_cmp(&a.score).then_with(|| registered(a.slot).cmp(&registered(b.slot)))
    });
    candidates.truncate(keep);
    let Ranked { slot, score, .. } = candidates[keep - 1];
    Threshold { score, order: registered(slot).unwrap_or_default() }
}
