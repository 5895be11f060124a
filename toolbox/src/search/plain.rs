//! BM25 as in the textbook, over all fields of a tool as one text.

use super::hit::{Hit, hit};
use super::index::{Filter, Index};
use super::query::Query;
use super::score::idf;

/// Ranks the tools that pass the filter by the plain formula; ties keep registration order.
#[expect(clippy::cast_precision_loss, reason = "counts of words and tools")]
pub(super) fn rank(
    index: &Index,
    query: &Query,
    k1: f64,
    b: f64,
    limit: usize,
    filter: Filter<'_>,
) -> Vec<Hit> {
    let mean = index.length as f64 / index.len().max(1) as f64;
    let mut scores = vec![0.0_f64; index.slots.len()];
    for &term in &query.plain {
        let holding = index.postings.of(term).filter(|(_, posting)| posting.count() > 0);
        let idf = idf(index.len(), holding.clone().count());
        for (slot, posting) in holding {
            let Some(entry) = &index.slots[slot] else { continue };
            let count = f64::from(entry.count(term, posting));
            let norm = 1.0 - b + b * f64::from(entry.length) / mean;
            scores[slot] += idf * count * (k1 + 1.0) / (count + k1 * norm);
        }
    }
    let mut ranked: Vec<(u32, u64, f64)> = index
        .entries()
        .map(|(slot, entry)| (slot, entry.order, scores[slot as usize]))
        .filter(|&(.., score)| score > 0.0)
        .collect();
    let better = |a: &(u32, u64, f64), b: &(u32, u64, f64)| b.2.total_cmp(&a.2).then(a.1.cmp(&b.1));
    ranked.sort_unstable_by(better);
    let allowed = ranked.into_iter().filter(|&(slot, ..)| index.passes(slot as usize, filter));
    let hits = allowed.take(limit).enumerate();
    hits.filter_map(|(at, (slot, _, score))| hit(index, slot, score, at)).collect()
}
