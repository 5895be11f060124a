//! Search for the name that was probably meant.

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
    let mut best: Vec<(usize, &str)> = Vec::new();
    if is_too_long(name) || n == 0 {
        return Vec::new();
    }
    let mut ruler = Ruler::default();
    for candidate in candidates {
        // Once there are enough, only a nearer one counts.
        let below = if best.len() < n { usize::MAX } else { best[n - 1].0 };
        if below == 0 {
            break;
        }
        if is_too_long(candidate) {
            continue;
        }
        let (own, other) = without_common_words(name, candidate);
        if let Some(distance) = ruler.distance(own, other, below) {
            best.insert(best.partition_point(|near| near.0 <= distance), (distance, candidate));
            best.truncate(n);
        }
    }
    best.into_iter().map(|near| near.1).collect()
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

/// Measures how far names are apart, in memory that is kept from one pair to the next.
#[derive(Default)]
struct Ruler {
    a: Vec<char>,
    b: Vec<char>,
    /// The last rows of the table of distances: the one before the last, the last, and the next.
    rows: [Vec<usize>; 3],
}

impl Ruler {
    /// Returns how far two names are apart; `None` if they are not near, or not below a distance.
    fn distance(&mut self, a: &str, b: &str, below: usize) -> Option<usize> {
        let (folded_a, folded_b) = (fold(a, &mut self.a), fold(b, &mut self.b));
        if !folded_a || !folded_b {
            return None;
        }
        let (a, b) = (&*self.a, &*self.b);
        let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        let longer = long.len() - short.len();
        let most = (long.len().max(3) / 3).min(short.len() - 1).min(below.saturating_sub(1));
        if longer <= most
            && let Some(distance) = distance_within(a, b, most, &mut self.rows)
        {
            return Some(distance);
        }
        let far = LONGEST + longer;
        let is_contained = || long.windows(short.len()).any(|part| part == short);
        (far < below && short.len() >= 3 && is_contained()).then_some(far)
    }
}

/// Writes the letters and digits of a name, in lower case; returns `false` if there are none, or
/// too many.
fn fold(name: &str, folded: &mut Vec<char>) -> bool {
    folded.clear();
    if name.is_ascii() {
        let letters = name.bytes().filter(u8::is_ascii_alphanumeric);
        folded.extend(letters.map(|letter| char::from(letter.to_ascii_lowercase())));
    } else {
        let letters = name.chars().filter(|c| c.is_alphanumeric());
        folded.extend(letters.flat_map(char::to_lowercase));
    }
    !folded.is_empty() && folded.len() <= LONGEST
}

/// Returns two names without the letters that both begin and end with, which no distance counts.
fn without_common_ends<'n>(a: &'n [char], b: &'n [char]) -> (&'n [char], &'n [char]) {
    let same = |(a, b): &(&char, &char)| a == b;
    let start = a.iter().zip(b).take_while(same).count();
    let (a, b) = (&a[start..], &b[start..]);
    let end = a.iter().rev().zip(b.iter().rev()).take_while(same).count();
    (&a[..a.len() - end], &b[..b.len() - end])
}

/// Returns the restricted Damerau-Levenshtein distance (optimal string alignment) of two names
/// whose lengths differ by `most` at most, if it is no more than that.
fn distance_within(
    a: &[char],
    b: &[char],
    most: usize,
    [before, last, row]: &mut [Vec<usize>; 3],
) -> Option<usize> {
    let (a, b) = without_common_ends(a, b);
    // What is further from the diagonal than `most` is further apart, too.
    let beyond = most + 1;
    for all in [&mut *before, &mut *last, &mut *row] {
        all.clear();
        all.resize(b.len() + 1, beyond);
    }
    for (j, distance) in last.iter_mut().enumerate().take(beyond) {
        *distance = j;
    }
    for i in 1..=a.len() {
        let (first, end) = (i.saturating_sub(most).max(1), (i + most).min(b.len()));
        row.fill(beyond);
        row[0] = i.min(beyond);
        let mut nearest = row[0];
        for j in first..=end {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut own = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                own = own.min(before[j - 2] + 1);
            }
            row[j] = own.min(beyond);
            nearest = nearest.min(row[j]);
        }
        // A swap looks back by two rows, and no other step gets nearer again.
        if nearest > most && last.iter().all(|distance| *distance > most) {
            return None;
        }
        std::mem::swap(before, last);
        std::mem::swap(last, row);
    }
    Some(last[b.len()]).filter(|distance| *distance <= most)
}
