//! The same tools and queries in `toolbox::search`, tantivy and the crate `bm25`, each on one
//! thread and in memory.
//!
//! ```sh
//! cargo bench --bench search -- TOOLS.jsonl QUERIES.jsonl [TOOLS]
//! ```
//!
//! The tools are repeated with other words until there are as many as asked for (10 000 if nothing
//! is said). Queries of 25 to 35 words are asked, the best ten answers taken. All engines are
//! measured in turns, so that a busy machine is busy for each of them. The time to index is that of
//! the processor, summed over threads: tantivy uses two, whatever it is told. The p99 of requests is
//! that of the middle run of each request; the p99 of runs depends on what else the machine does.
//!
//! It fails while a goal is not reached.

#[allow(dead_code, reason = "another bench uses the rest")]
mod peers;

use std::collections::HashMap;
use std::hint::black_box;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use toolbox::ToolDefinition;
use toolbox::search::Catalog;

use peers::{Tantivy, definitions, lines, text};

const HITS: usize = 10;
const ROUNDS: usize = 12;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/data/retrieval");
    let path = |at: usize, name: &str| {
        args.get(at).cloned().unwrap_or_else(|| format!("{here}/{name}.jsonl"))
    };
    let count = args.get(2).map_or(10_000, |count| count.parse().expect("a number of tools"));
    let tools = repeated(&definitions(&path(0, "tools")), count);
    let queries = queries(&path(1, "queries"));
    println!("{} tools, {} queries", tools.len(), queries.len());

    let texts: Vec<String> = tools.iter().map(|tool| text(tool)).collect();
    let mut missed = Vec::new();
    let mut goal = |what: String, reached: bool| {
        println!("{} {what}", if reached { "reached:" } else { "MISSED:" });
        missed.extend((!reached).then_some(what));
    };
    let (catalog, index_toolbox) = best(|| tools.iter().cloned().collect::<Catalog>());
    let changes = changes(&catalog, &tools);
    let (tantivy, index_tantivy) = best(|| Tantivy::new(&texts));
    let bm25 = (count <= 20_000).then(|| {
        best(|| {
            bm25::SearchEngineBuilder::<u32>::with_corpus(
                bm25::Language::English,
                texts.iter().map(String::as_str),
            )
            .build()
        })
    });

    let mut times: HashMap<&str, Vec<Vec<Duration>>> = HashMap::new();
    for round in 0..ROUNDS {
        let mut engine = |name, search: &dyn Fn(&str) -> usize| {
            let times = times.entry(name).or_insert_with(|| vec![Vec::new(); queries.len()]);
            for (query, times) in queries.iter().zip(times) {
                let start = Instant::now();
                black_box(search(black_box(query)));
                let time = start.elapsed();
                if round >= 2 {
                    times.push(time);
                }
            }
        };
        engine("toolbox", &|query| catalog.search(query).limit(HITS).hits().len());
        engine("tantivy", &|query| tantivy.hits(query, HITS).len());
        if let Some((bm25, _)) = bm25.as_ref().filter(|_| round < 4) {
            engine("bm25", &|query| bm25.search(query, HITS).len());
        }
    }
    println!(
        "| engine | index (processor) | median query | p99 of requests | p99 / median | p99 of runs |\n\
         |---|---|---|---|---|---|"
    );
    for (name, index) in [
        ("toolbox", Some(index_toolbox)),
        ("tantivy", Some(index_tantivy)),
        ("bm25", bm25.as_ref().map(|(_, time)| *time)),
    ] {
        let (Some(index), Some(times)) = (index, times.get(name)) else { continue };
        let micros = |time: Duration| time.as_secs_f64() * 1e6;
        let all = || times.iter().flatten().copied();
        let (median, late) = (micros(at(all(), 0.5)), micros(at(all(), 0.99)));
        // What else the machine does falls on single runs, and not on the middle of a request's ten.
        let requests = times.iter().map(|own| at(own.iter().copied(), 0.5));
        let slow = micros(at(requests, 0.99));
        println!(
            "| {name} | {:.0} ms | {median:.0} µs | {slow:.0} µs | {:.1} | {late:.0} µs |",
            index.as_secs_f64() * 1e3,
            slow / median
        );
        if name == "toolbox" {
            if tools.len() == 10_000 {
                goal(format!("a median of {median:.1} µs, 40 at most"), median <= 40.0);
            }
            let spread = slow / median;
            goal(format!("a p99 of {spread:.2} medians, 2.5 at most"), spread <= 2.5);
        }
    }
    let ratio = index_tantivy.as_secs_f64() / index_toolbox.as_secs_f64();
    goal(format!("an index at {ratio:.2} times the speed of tantivy, 2.5 at least"), ratio >= 2.5);
    let change = changes.as_secs_f64() * 1e6;
    goal(format!("a changed tool in {change:.1} µs at the median, 50 at most"), change <= 50.0);
    patterns(&tools);
    for what in &missed {
        eprintln!("missed: {what}");
    }
    if missed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Returns the time that a share of all times is below.
fn at(times: impl Iterator<Item = Duration>, share: f64) -> Duration {
    let mut times: Vec<_> = times.collect();
    times.sort_unstable();
    times[((times.len() - 1) as f64 * share) as usize]
}

/// Returns the median time to replace one tool.
fn changes(catalog: &Catalog, tools: &[Arc<ToolDefinition>]) -> Duration {
    let change = |tool: &Arc<ToolDefinition>| {
        let start = Instant::now();
        black_box(catalog.add(tool.clone()));
        start.elapsed()
    };
    let mut times: Vec<_> = tools.iter().step_by(37).map(change).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Patterns over 1 000 tools, beside a scan of the same five fields with the same engine.
fn patterns(tools: &[Arc<ToolDefinition>]) {
    let tools = &tools[..tools.len().min(1_000)];
    let catalog: Catalog = tools.iter().cloned().collect();
    let fields: Vec<[String; 5]> = tools.iter().map(|tool| five(tool)).collect();
    println!(
        "\n| pattern over {} tools | toolbox | scan of five fields |\n|---|---|---|",
        tools.len()
    );
    for pattern in ["weather", "(?i)GET_", "^get_.*info$", "brave_|exa_"] {
        let (mut own, mut scan) = (Vec::new(), Vec::new());
        for _ in 0..50 {
            let start = Instant::now();
            black_box(catalog.search_pattern(pattern).expect("a pattern").hits());
            own.push(start.elapsed());
            let start = Instant::now();
            let regex = regex::Regex::new(pattern).expect("a pattern");
            black_box(
                fields
                    .iter()
                    .filter(|fields| fields.iter().any(|text| regex.is_match(text)))
                    .count(),
            );
            scan.push(start.elapsed());
        }
        own.sort_unstable();
        scan.sort_unstable();
        let shown = pattern.replace('|', "\\|");
        println!("| `{shown}` | {:.0?} | {:.0?} |", own[25], scan[25]);
    }
}

fn five(tool: &ToolDefinition) -> [String; 5] {
    let mut names = String::new();
    let mut descriptions = String::new();
    let properties = tool.input_schema["properties"].as_object();
    for (name, schema) in properties.into_iter().flatten() {
        names.push_str(name);
        names.push('\n');
        descriptions.push_str(schema["description"].as_str().unwrap_or_default());
        descriptions.push('\n');
    }
    [
        tool.name.clone(),
        tool.title.clone().unwrap_or_default(),
        tool.description.clone(),
        names,
        descriptions,
    ]
}

/// Builds three times and returns the last result with the least time of the processor.
fn best<T>(build: impl Fn() -> T) -> (T, Duration) {
    let spent = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    };
    let timed = || {
        let start = spent();
        let value = build();
        (value, spent() - start)
    };
    let first = timed().1.min(timed().1);
    let (value, last) = timed();
    (value, first.min(last))
}

fn queries(path: &str) -> Vec<String> {
    let texts: Vec<String> =
        lines(path).map(|query| query["query"].as_str().unwrap_or_default().to_owned()).collect();
    let long = |text: &&String| (25..=35).contains(&text.split_whitespace().count());
    let chosen: Vec<String> = texts.iter().filter(long).take(200).cloned().collect();
    if chosen.len() >= 20 { chosen } else { texts }
}

/// Returns `count` tools: those given, then copies that end in the words of others.
fn repeated(tools: &[ToolDefinition], count: usize) -> Vec<Arc<ToolDefinition>> {
    let copy = |at: usize| {
        let mut tool = tools[at % tools.len()].clone();
        let round = at / tools.len();
        if round > 0 {
            let other = &tools[(at * 7_919 + round) % tools.len()];
            tool.name = format!("{}_{round}", tool.name);
            tool.description = format!("{} {:.40}", tool.description, other.description);
        }
        Arc::new(tool)
    };
    (0..count).map(copy).collect()
}
