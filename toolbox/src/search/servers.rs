//! The servers of the best tools: a word that many tools say leads to the server that answers the
//! request as a whole.

use super::index::Index;
use super::score::Ranked;

/// The number of tools that speak for their servers, best first.
const SPEAKERS: usize = 24;

/// Weighs each candidate by how well its server answers, as a share of the best server; the
/// candidates are in order, best first.
///
/// Each of the best tools counts for its server, a better one more. The sum is divided by the root
/// of the number of the server's tools, so that a large server does not win by its size. A tool of
/// no server is one by itself. Returns `true` if the order may have changed.
#[expect(clippy::cast_precision_loss, reason = "counts of tools")]
pub(super) fn weigh(index: &Index, candidates: &mut [Ranked], sums: &mut Vec<f32>) -> bool {
    let group = |ranked: &Ranked| {
        index.slots[ranked.slot as usize].as_ref().map_or(0, |entry| entry.group as usize)
    };
    let best = candidates.first().map_or(0.0, |ranked| ranked.score);
    if best <= 0.0 || candidates.iter().all(|ranked| group(ranked) == 0) {
        return false;
    }
    let worth = |ranked: &Ranked| (ranked.score / best).powi(2);
    sums.resize(index.server_tools.len(), 0.0);
    let mut most = 0.0_f32;
    for ranked in candidates.iter().take(SPEAKERS) {
        let group = group(ranked);
        let sum = match group {
            0 => worth(ranked),
            _ => {
                let tools = index.server_tools[group] as f32;
                sums[group] += worth(ranked) / tools.sqrt();
                sums[group]
            }
        };
        most = most.max(sum);
    }
    let weight = index.weights.server;
    for ranked in &mut *candidates {
        let sum = match group(ranked) {
            0 => worth(ranked),
            group => sums[group],
        };
        ranked.score *= (1.0 + weight * sum / most) / (1.0 + weight);
    }
    for ranked in &*candidates {
        sums[group(ranked)] = 0.0;
    }
    true
}
