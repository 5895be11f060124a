//! Questions about large results: how many can be answered from what a model is shown and can read, and how many bytes it is
//! shown until then. A reader without understanding asks; results of 10 KB to 50 MB are made from a seed.
//!
//! ```sh
//! cargo bench -p llm-toolbox --features results --bench corpus            # 300 results, against the goals
//! cargo bench -p llm-toolbox --features results --bench corpus -- 100     # of fewer
//! ```

#![allow(clippy::pedantic, clippy::print_stdout, missing_docs)]

use std::alloc::System;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use regex::Regex;
use serde_json::json;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use toolbox::results::MemoryResults;
use toolbox::{Tool, ToolBox, ToolCall};

#[path = "corpus/made.rs"]
mod made;
#[path = "corpus/reader.rs"]
mod reader;

use made::{KINDS, Made, corpus};
use reader::read;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// The largest median of the bytes that are shown at first, and the most until an answer.
const GOALS: (usize, usize) = (4 << 10, 12 << 10);

/// The questions of one kind.
#[derive(Default)]
struct Row {
    asked: usize,
    answered: usize,
    cut: usize,
    first: Vec<usize>,
    bytes: Vec<usize>,
    calls: Vec<usize>,
}

impl Row {
    fn add(&mut self, other: &Self) {
        self.asked += other.asked;
        self.answered += other.answered;
        self.cut += other.cut;
        self.first.extend(&other.first);
        self.bytes.extend(&other.bytes);
        self.calls.extend(&other.calls);
    }

    fn print(&mut self, name: &str) {
        for all in [&mut self.first, &mut self.bytes, &mut self.calls] {
            all.sort_unstable();
        }
        let share = |part: usize| 100.0 * part as f64 / self.asked as f64;
        println!(
            "{name:<8}{:>9}{:>11.1} %{:>11.1} %{:>10}{:>10}{:>10}{:>10}{:>8}{:>6}",
            self.asked,
            share(self.cut),
            share(self.answered),
            at(&self.first, 0.5),
            at(&self.bytes, 0.5),
            at(&self.bytes, 0.99),
            at(&self.bytes, 1.0),
            at(&self.calls, 0.5),
            at(&self.calls, 1.0),
        );
    }
}

fn at(sorted: &[usize], share: f64) -> usize {
    sorted
        .get(((sorted.len().max(1) - 1) as f64 * share).round() as usize)
        .copied()
        .unwrap_or_default()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let asked: Option<usize> = std::env::args().skip(1).find_map(|argument| argument.parse().ok());
    let began = Instant::now();
    let mut rows: [Row; KINDS.len()] = Default::default();
    for made in corpus(asked.unwrap_or(300), 10 << 10, 50 << 20) {
        let kind = KINDS.iter().position(|kind| *kind == made.kind).expect("a known kind");
        rows[kind].add(&ask(made).await);
    }
    println!(
        "{:<8}{:>9}{:>13}{:>13}{:>10}{:>10}{:>10}{:>10}{:>14}",
        "", "asked", "cut off", "by handle", "first", "median", "p99", "most", "calls"
    );
    let mut all = Row::default();
    for (row, kind) in rows.iter_mut().zip(KINDS) {
        all.add(row);
        row.print(kind);
    }
    all.print("all");
    let large = large().await;
    let reached = all.answered == all.asked
        && at(&all.first, 0.5) <= GOALS.0
        && at(&all.bytes, 1.0) <= GOALS.1
        && large;
    let (first, most) = GOALS;
    println!(
        "goals: all answered, {first} bytes at first at the median, {most} until each answer, 1.2 x the search, 1.01 x the memory: {}",
        if reached { "reached" } else { "missed" }
    );
    println!("{:.0} s", began.elapsed().as_secs_f64());
    if reached { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Keeps and searches 50 MB, beside the bytes themselves and the bare engine. Returns `true` if both goals are reached.
async fn large() -> bool {
    let made = corpus(2, 10 << 10, 50 << 20).nth(1).expect("the larger one");
    let text = made.text;
    let bytes = text.len();
    let returned = std::sync::Mutex::new(Some(text.clone()));
    let get = Tool::new("get", "Gets it")
        .call(move |_| returned.lock().expect("one call").take().unwrap_or_default());
    let toolbox =
        ToolBox::builder().tools([get]).keep_results(MemoryResults::new()).build().expect("a box");
    let region = Region::new(ALLOCATOR);
    toolbox.call(ToolCall::new("1", "get", "{}")).await;
    let allocated = region.change().bytes_allocated;
    // The text itself was there before the call.
    let memory = (bytes + allocated) as f64 / bytes as f64;
    println!("memory for {bytes} bytes, with the text itself: {memory:.3} x");
    let mut is_reached = memory <= 1.01;
    for pattern in
        ["panicked at worker", "(?i)no space left", r"req[0-9a-f]+ done took=[a-f]", "^.* WARN .*$"]
    {
        let regex = Regex::new(&format!("(?m){pattern}")).expect("an expression");
        let search = || {
            let arguments = json!({"handle": "r1", "search": pattern}).to_string();
            toolbox.call(ToolCall::new("1", "result_read", arguments))
        };
        let (mut ours, mut bare) = (Vec::new(), Vec::new());
        for _ in 0..9 {
            let began = Instant::now();
            std::hint::black_box(search().await);
            ours.push(began.elapsed());
            let began = Instant::now();
            std::hint::black_box(regex.find_iter(&text).count());
            bare.push(began.elapsed());
        }
        let median = |all: &mut Vec<Duration>| {
            all.sort_unstable();
            all[all.len() / 2].as_secs_f64()
        };
        let (ours, bare) = (median(&mut ours), median(&mut bare));
        println!(
            "search of `{pattern}`: {:.1} ms, the engine {:.1} ms, {:.2} x",
            1e3 * ours,
            1e3 * bare,
            ours / bare
        );
        is_reached &= ours <= 1.2 * bare;
    }
    is_reached
}

/// Asks all questions about a result, of a box that cuts it, and of one that keeps it.
async fn ask(made: Made) -> Row {
    let Made { kind, text, questions } = made;
    let text = std::sync::Arc::<str>::from(text);
    let get = {
        let text = text.clone();
        Tool::new("get", "Gets it").call(move |_| text.to_string())
    };
    let call = || ToolCall::new("1", "get", "{}");
    let cut = ToolBox::builder().tools([get.clone()]).build().expect("a box").call(call()).await;
    let keeping =
        ToolBox::builder().tools([get]).keep_results(MemoryResults::new()).build().expect("a box");
    let kept = keeping.call(call()).await;
    let mut row = Row { asked: questions.len(), ..Row::default() };
    row.first.push(kept.text().len());
    for question in &questions {
        row.cut += usize::from(cut.text().contains(&question.answer));
        let read = read(&keeping, kept.handle(), &kept.text(), question).await;
        row.answered += usize::from(read.found);
        row.bytes.push(read.bytes);
        row.calls.push(read.calls);
        if !read.found || read.bytes > GOALS.1 {
            let size = text.len();
            println!(
                "{kind} of {size} bytes: `{}`: {} calls, {} bytes, found: {}",
                question.text, read.calls, read.bytes, read.found
            );
        }
    }
    row
}
