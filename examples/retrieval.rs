//! How well does search find the right tool?
//!
//! ```sh
//! cargo run --release -p toolbox-examples --example retrieval                                  # on a small sample
//! cargo run --release -p toolbox-examples --example retrieval -- TOOLS.jsonl QUERIES.jsonl     # a run file, for a scorer
//! ```
//!
//! With two files it prints a line of JSON a query, `{"query_id": …, "ranked": [tool ids, best
//! first, up to 50]}`. Tools have `id`, `name`, `description` and `input_schema`; queries have `id`
//! and `query`.

use std::collections::{HashMap, HashSet};
use std::error::Error;
use std::io::{self, BufWriter, Write};

use serde_json::{Value, json};
use toolbox::ToolDefinition;
use toolbox::search::Catalog;

const RANKED: usize = 50;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let mut out = BufWriter::new(io::stdout().lock());
    match (args.next(), args.next()) {
        (Some(tools), Some(queries)) => {
            let tools = Tools::read(&std::fs::read_to_string(tools)?)?;
            for query in lines(&std::fs::read_to_string(queries)?) {
                let query = query?;
                let ranked = tools.search(query["query"].as_str().unwrap_or_default(), RANKED);
                writeln!(out, "{}", json!({"query_id": query["id"], "ranked": ranked}))?;
            }
        }
        (None, _) => sample(&mut out)?,
        _ => return Err("give a file of tools and a file of queries, or nothing".into()),
    }
    out.flush()?;
    Ok(())
}

/// Searches a sample that lives in the repository, and says how often the right tools are among the
/// first five.
fn sample(out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let tools = Tools::read(include_str!("data/retrieval/tools.jsonl"))?;
    let (mut found, mut queries) = (0.0, 0.0);
    for query in lines(include_str!("data/retrieval/queries.jsonl")) {
        let query = query?;
        let ranked = tools.search(query["query"].as_str().unwrap_or_default(), 5);
        let relevant = query["relevant"].as_array().ok_or("a query without labels")?;
        let hits = relevant.iter().filter(|id| ranked.contains(id)).count();
        writeln!(out, "{} -> {}", query["query"], json!(ranked))?;
        found += f64::from(u32::try_from(hits)?) / f64::from(u32::try_from(relevant.len())?);
        queries += 1.0;
    }
    writeln!(out, "\n{} tools, {queries} queries", tools.catalog.len())?;
    writeln!(out, "of the right tools, {:.0} % are among the first five", 100.0 * found / queries)?;
    Ok(())
}

/// A catalog, and the id of each of its tools by name.
struct Tools {
    catalog: Catalog,
    ids: HashMap<String, Value>,
}

impl Tools {
    fn read(text: &str) -> Result<Self, Box<dyn Error>> {
        let mut definitions = Vec::new();
        let mut ids = HashMap::new();
        let mut taken = HashSet::new();
        let mut shared = HashMap::new();
        for tool in lines(text) {
            let tool = tool?;
            let string = |key: &str| tool[key].as_str().unwrap_or_default();
            // A catalog holds one tool a name. Separators make another name of the same words: the
            // count of tools that share it, with `_` and `-` for its digits.
            let mut name = string("name").to_owned();
            while !taken.insert(name.clone()) {
                let count = shared.entry(string("name").to_owned()).or_insert(0_u32);
                *count += 1;
                let digits = format!("{count:b}").replace('0', "_").replace('1', "-");
                name = format!("{}{digits}", string("name"));
            }
            ids.insert(name.clone(), tool["id"].clone());
            let description = string("description");
            definitions.push(ToolDefinition::new(name, description, tool["input_schema"].clone()));
        }
        Ok(Self { catalog: Catalog::from_iter(definitions), ids })
    }

    fn search(&self, query: &str, limit: usize) -> Vec<&Value> {
        let hits = self.catalog.search(query).limit(limit).hits();
        hits.iter().filter_map(|hit| self.ids.get(&hit.definition.name)).collect()
    }
}

fn lines(text: &str) -> impl Iterator<Item = serde_json::Result<Value>> {
    text.lines().filter(|line| !line.trim().is_empty()).map(serde_json::from_str)
}
