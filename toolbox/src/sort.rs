//! Sorting by position.

use std::cmp::Ordering;

/// Returns the numbers below `count` in the order that `compare` gives them; equals keep theirs.
///
/// The comparison is behind a pointer, so that the sort is compiled once and not for every caller.
pub(crate) fn sorted_order(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_unstable_by(|&a, &b| compare(a, b).then(a.cmp(&b)));
    order
}
