use toolbox::{State, tool};

/// Joins words.
#[tool]
fn join(words: Vec<&mut str>) -> String {
    words.len().to_string()
}

/// Moves counts.
#[tool]
fn shift(counts: Option<Vec<&mut u32>>) -> usize {
    counts.map_or(0, |counts| counts.len())
}

/// Adds rows.
#[tool]
fn add(rows: &mut Vec<&mut [f64]>) -> usize {
    rows.len()
}

/// Cuts a word.
#[tool]
fn cut(word: &mut str) -> usize {
    word.len()
}

/// Counts.
#[tool]
fn next(counter: &mut State<u64>) -> u64 {
    **counter
}

fn main() {}
