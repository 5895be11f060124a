//! Search for the name that was probably meant.

use crate::sort::sorted_order;

/// Longer names are not compared: they are rarely misspelled, and the comparison is quadratic.
const LONGEST: usize = 64;

/// Returns the candidate nearest to `name`, if one is near enough to suggest.
pub(crate) fn nearest<'a>(
    name: &str,
    candidates: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    nearest_n(name, candidates, 1).into_iter().next()
}

/// Returns the `n` candidates nearest to `name`, nearest first; equals keep their order.
///
/// Case and separators do not count: `maxResults` is `max_results`. Two names are near when at
/// most a third of the letters differ (a swap of neighbours counts once), or when one contains
/// the other: `path` is near `file_path`. Words that both begin with, such as that of a server, are
/// not counted: they make no two names alike.
pub(crate) fn nearest_n<'a>(
    name: &str,
    mut candidates: impl Iterator<Item = &'a str>,
    n: usize,
) -> Vec<&'a str> {
    ranked(name, &mut candidates, n)
}

fn ranked<'a>(name: &str, candidates: &mut dyn Iterator<Item = &'a str>, n: usize) -> Vec<&'a str> {
    if is_too_long(name) {
        return Vec::new();
    }
    let near = |candidate: &str| {
        if is_too_long(candidate) {
            return None;
        }
        let (name, candidate) = without_common_words(name, candidate);
        distance_within(&fold(name)?, &fold(candidate)?)
    };
    let ranked: Vec<(usize, &str)> =
        candidates.filter_map(|candidate| Some((near(candidate)?, candidate))).collect();
    let order = sorted_order(ranked.len(), &|a, b| ranked[a].0.cmp(&ranked[b].0));
    order.into_iter().take(n).map(|at| ranked[at].1).collect()
}

/// Returns two names without the words that both begin with, as long as something is left of each.
fn without_common_words<'n>(mut a: &'n str, mut b: &'n str) -> (&'n str, &'n str) {
    let split = |name: &'n str| name.split_once(|c: char| !c.is_alphanumeric());
    while let (Some((first, rest)), Some((other, other_rest))) = (split(a), split(b)) {
        let is_some = |rest: &str| rest.contains(char::is_alphanumeric);
        if !first.eq_ignore_ascii_case(other) || !is_some(rest) || !is_some(other_rest) {
            break;
        }
        (a, b) = (rest, other_rest);
    }
    (a, b)
}

/// Returns `true` for a name that no name is near to, without a look at its letters.
fn is_too_long(name: &str) -> bool {
    name.len() > LONGEST * 4
}

/// Returns the letters and digits of a name, in lower case.
fn fold(name: &str) -> Option<Vec<char>> {
    let mut folded = Vec::new();
    for c in name.chars().filter(|c| c.is_alphanumeric()) {
        folded.extend(c.to_lowercase());
    }
    (!folded.is_empty() && folded.len() <= LONGEST).then_some(folded)
}

fn distance_within(a: &[char], b: &[char]) -> Option<usize> {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let limit = long.len().max(3) / 3;
    if long.len() - short.len() <= limit {
        let distance = distance(a, b);
        if distance <= limit && distance < short.len() {
            return Some(distance);
        }
    }
    let contained = short.len() >= 3 && long.windows(short.len()).any(|part| part == short);
    contained.then(|| LONGEST + long.len() - short.len())
}

/// Returns the restricted Damerau-Levenshtein distance (optimal string alignment).
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut last, row);
    }
    last[b.len()]
}
