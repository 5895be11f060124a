//! How well `toolbox::search`, plain BM25, the crate `bm25` and tantivy find the right tools.
//!
//! ```sh
//! cargo bench --bench quality                    # the sets beside this bench
//! cargo bench --bench quality -- SET [SET ...]   # folders with tools.jsonl and queries.jsonl
//! ```

#[allow(dead_code, reason = "another bench uses the rest")]
mod peers;

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use toolbox::search::{Catalog, Ranking};

use peers::{Tantivy, definitions, lines, text};

const RANKED: usize = 10;
const ENGINES: [&str; 4] = ["plain BM25", "crate bm25", "tantivy", "toolbox"];

/// nDCG@10, hit@1 and recall@5.
type Figures = [f64; 3];

fn main() {
    let sets: Vec<PathBuf> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).map(PathBuf::from).collect();
    let own = ["developers", "machine", "office"]
        .map(|name| Path::new(env!("CARGO_MANIFEST_DIR")).join("sets").join(name));
    let sets = if sets.is_empty() { own.to_vec() } else { sets };
    println!("| set | {} |", ENGINES.join(" | "));
    println!("|---|---|---|---|---|");
    let mut means = [Figures::default(); 4];
    for set in &sets {
        let figures = measured(set);
        row(&set.file_name().unwrap_or_default().to_string_lossy(), &figures);
        for (mean, figures) in means.iter_mut().zip(figures) {
            for (mean, figure) in mean.iter_mut().zip(figures) {
                *mean += figure / sets.len() as f64;
            }
        }
    }
    row("mean", &means);
    println!("\neach: nDCG@10, hit@1, recall@5");
}

fn row(name: &str, figures: &[Figures; 4]) {
    let cell = |[ndcg, hit, recall]: &Figures| format!("{ndcg:.3} {hit:.3} {recall:.3}");
    println!("| {name} | {} |", figures.iter().map(cell).collect::<Vec<_>>().join(" | "));
}

fn measured(set: &Path) -> [Figures; 4] {
    let path = |name: &str| set.join(name).to_string_lossy().into_owned();
    let mut tools = definitions(&path("tools.jsonl"));
    let texts: Vec<String> = tools.iter().map(text).collect();
    let ids: Vec<String> = lines(&path("tools.jsonl")).map(|tool| string(&tool["id"])).collect();
    // A catalog holds one tool a name; more separators make another of the same words.
    let mut taken = HashSet::new();
    for tool in &mut tools {
        while !taken.insert(tool.name.clone()) {
            tool.name.push('_');
        }
    }
    let numbers: HashMap<String, usize> =
        tools.iter().map(|tool| tool.name.clone()).zip(0..).collect();
    let catalog: Catalog = tools.into_iter().collect();
    let tantivy = Tantivy::new(&texts);
    let bm25 = bm25::SearchEngineBuilder::<u32>::with_corpus(
        bm25::Language::English,
        texts.iter().map(String::as_str),
    )
    .build();

    let mut sums = [Figures::default(); 4];
    let mut queries = 0.0;
    for query in lines(&path("queries.jsonl")) {
        let asked = query["query"].as_str().unwrap_or_default();
        let relevant: HashSet<String> =
            query["relevant"].as_array().into_iter().flatten().map(string).collect();
        let own = |ranking| -> Vec<usize> {
            let hits = catalog.search(asked).ranking(ranking).limit(RANKED).hits();
            hits.iter().map(|hit| numbers[&hit.definition.name]).collect()
        };
        let found = bm25.search(asked, RANKED);
        let ranked = [
            own(Ranking::plain()),
            found.iter().map(|found| found.document.id as usize).collect(),
            tantivy.ranked(asked, RANKED),
            own(Ranking::default()),
        ];
        for (sums, ranked) in sums.iter_mut().zip(ranked) {
            let right: Vec<bool> =
                ranked.into_iter().map(|number| relevant.contains(&ids[number])).collect();
            for (sum, figure) in sums.iter_mut().zip(scored(&right, relevant.len())) {
                *sum += figure;
            }
        }
        queries += 1.0;
    }
    sums.map(|sums| sums.map(|sum| sum / queries))
}

fn scored(right: &[bool], relevant: usize) -> Figures {
    let gain = |at: usize| 1.0 / (at as f64 + 2.0).log2();
    let best: f64 = (0..relevant.min(RANKED)).map(gain).sum();
    let own: f64 = (0..right.len()).filter(|&at| right[at]).map(gain).sum();
    let five = right.iter().take(5).filter(|right| **right).count();
    let hit = right.first().is_some_and(|right| *right);
    [own / best, f64::from(u8::from(hit)), five as f64 / relevant as f64]
}

fn string(value: &serde_json::Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
