//! The error of the estimate of tokens on the files given: `cargo run --release -- FILE…`.
//!
//! Each file is counted in pieces of 4 KB, as results and messages are.

#[path = "../../../toolbox/src/text/tokens.rs"]
mod tokens;

fn main() {
    let tokenizers = [
        ("o200k_base", tiktoken_rs::o200k_base().expect("its tables")),
        ("cl100k_base", tiktoken_rs::cl100k_base().expect("its tables")),
    ];
    println!("| kind | bytes a token | whole, o200k | pieces of 4 KB: median | p90 | whole, cl100k |");
    println!("|---|---|---|---|---|---|");
    let mut kinds: std::collections::BTreeMap<String, Vec<String>> = Default::default();
    for file in std::env::args().skip(1) {
        let (kind, path) = file.split_once('=').expect("KIND=FILE");
        let Ok(text) = std::fs::read_to_string(path) else { continue };
        let mut rest = text.as_str();
        while !rest.is_empty() {
            let mut end = rest.len().min(4096);
            while !rest.is_char_boundary(end) {
                end += 1;
            }
            let (piece, after) = rest.split_at(end);
            kinds.entry(kind.to_owned()).or_default().push(piece.to_owned());
            rest = after;
        }
    }
    for (kind, pieces) in kinds {
        let pieces: Vec<_> = pieces.iter().step_by(pieces.len().div_ceil(400)).collect();
        let estimates: Vec<usize> = pieces.iter().map(|piece| tokens::estimate(piece)).collect();
        let counts: Vec<Vec<usize>> = tokenizers
            .iter()
            .map(|(_, of)| pieces.iter().map(|piece| of.encode_ordinary(piece).len()).collect())
            .collect();
        let total = |counts: &[usize]| counts.iter().sum::<usize>() as f64;
        let bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut errors: Vec<f64> = estimates
            .iter()
            .zip(&counts[0])
            .map(|(estimate, count)| (*estimate as f64 / *count as f64 - 1.0).abs())
            .collect();
        errors.sort_unstable_by(f64::total_cmp);
        let signed = |of: usize| 100.0 * (total(&estimates) / total(&counts[of]) - 1.0);
        println!(
            "| {kind} | {:.1} | {:+.0} % | {:.0} % | {:.0} % | {:+.0} % |",
            bytes as f64 / total(&counts[0]),
            signed(0),
            100.0 * errors[errors.len() / 2],
            100.0 * errors[errors.len() * 9 / 10],
            signed(1)
        );
    }
}
