//! What a box costs as it grows: memory of a tool, one registration, a list after one change, building it of all its
//! tools.
//!
//! ```sh
//! cargo bench -p llm-toolbox --bench growth               # 1 000, 10 000 and 100 000 tools, against the goals at 10 000
//! cargo bench -p llm-toolbox --bench growth -- 1000000    # of another size
//! ```

#![allow(clippy::pedantic, clippy::print_stdout, missing_docs)]

use std::hint::black_box;
use std::process::{Command, ExitCode};
use std::time::Instant;

use serde_json::{Value, json};
use toolbox::call::Arguments;
use toolbox::dialect::Dialect;
use toolbox::{Tool, ToolBox};

/// The size at which goals are held.
const HELD: usize = 10_000;
/// The environment variable by which the program asks itself for one size, in a process of its own.
const SIZE: &str = "TOOLBOX_GROWTH";

/// One measure: its name, its unit, and its goal.
const MEASURES: [(&str, &str, f64); 8] = [
    ("memory of a tool, with both lists", "bytes", 4_000.0),
    ("register one more", "µs", 5.0),
    ("definitions after one change", "ms", 3.0),
    ("a dialect's list after one change", "ms", 3.0),
    ("try_register of all", "ms", 30.0),
    ("build of all", "ms", 30.0),
    ("blacklist of all, one by one", "ms", 30.0),
    ("lift_blacklist of all, one by one", "ms", 30.0),
];

fn main() -> ExitCode {
    if let Ok(size) = std::env::var(SIZE) {
        let figures = measure(size.parse().expect("a number"));
        println!("{}", figures.map(|figure| figure.to_string()).join(" "));
        return ExitCode::SUCCESS;
    }
    let asked: Vec<usize> =
        std::env::args().skip(1).filter_map(|argument| argument.parse().ok()).collect();
    let sizes = if asked.is_empty() { vec![1_000, HELD, 100_000] } else { asked };
    let columns: Vec<Vec<f64>> = sizes.iter().map(|size| in_own_process(*size)).collect();
    let text = tool(0).definition().clone();
    println!("text of a tool: {} bytes", serde_json::to_string(&text).expect("a definition").len());
    print!("{:<40}", "tools");
    sizes.iter().for_each(|size| print!("{size:>14}"));
    println!("{:>10}", "goal");
    let mut missed = 0;
    for (row, (name, unit, goal)) in MEASURES.iter().enumerate() {
        print!("{:<40}", format!("{name}, {unit}"));
        columns.iter().for_each(|figures| print!("{:>14.2}", figures[row]));
        let held = sizes.iter().position(|size| *size == HELD).map(|at| columns[at][row]);
        let verdict = match held {
            Some(figure) if figure <= *goal => "reached",
            Some(_) => {
                missed += 1;
                "missed"
            }
            None => "",
        };
        println!("{goal:>10.0}  {verdict}");
    }
    if missed == 0 {
        return ExitCode::SUCCESS;
    }
    println!("{missed} goals are not reached");
    ExitCode::FAILURE
}

/// Measures one size in a process whose memory holds nothing else.
fn in_own_process(size: usize) -> Vec<f64> {
    let program = std::env::current_exe().expect("this program");
    let output = Command::new(program).env(SIZE, size.to_string()).output().expect("a process");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("figures");
    text.split_whitespace().map(|figure| figure.parse().expect("a figure")).collect()
}

/// Returns a tool of four arguments, with about 480 bytes of text.
fn tool(at: usize) -> Tool {
    let schema: Value = json!({
        "type": "object",
        "properties": {
            "repository": {"type": "string", "description": "The repository, as owner and name"},
            "branch": {"type": "string", "description": "The branch, by default the main one"},
            "limit": {"type": "integer", "description": "How many entries there are at most", "minimum": 1},
            "state": {"type": "string", "enum": ["open", "closed"]},
        },
        "required": ["repository"],
        "additionalProperties": false,
    });
    let description = "Lists what happened in a repository, with the newest entries first";
    Tool::raw(format!("list_entries_{at:07}"), description, schema, |_: Arguments| "done")
}

fn measure(size: usize) -> [f64; 8] {
    // First, in fresh memory: a box of its own, with a list for one provider.
    let before = resident();
    let toolbox: ToolBox = (0..size).map(tool).collect();
    let definitions = toolbox.definitions();
    let list = toolbox.definitions_for(Dialect::Anthropic);
    black_box(list.json().len());
    let memory = (resident() - before) / size as f64;
    drop((definitions, list));

    // One after another, with nothing in between: the first drops the list.
    let mut more = (size..).map(tool);
    let added: Vec<Tool> = more.by_ref().take(1001).collect();
    let mut times: Vec<f64> =
        added.into_iter().map(|tool| milliseconds(|| toolbox.register(tool)) * 1e3).collect();
    times.remove(0);
    let register = times.iter().sum::<f64>() / times.len() as f64;

    // With what it takes to drop the list before.
    let mut after_change = |work: &dyn Fn()| {
        median((0..9).map(|_| {
            let tool = more.next().expect("another tool");
            milliseconds(|| {
                toolbox.register(tool);
                work();
            })
        }))
    };
    let definitions = after_change(&|| drop(black_box(toolbox.definitions())));
    let list = after_change(&|| {
        black_box(toolbox.definitions_for(Dialect::Anthropic).json().len());
    });

    let tools = toolbox.tools();
    drop(toolbox);
    let all = |work: &dyn Fn(Vec<Tool>)| {
        let rounds = if size > HELD { 1 } else { 5 };
        median((0..rounds).map(|_| {
            let tools = tools.clone();
            milliseconds(|| work(tools))
        }))
    };
    let try_register = all(&|tools| {
        let toolbox = ToolBox::new();
        toolbox.try_register(tools).expect("no two of one name");
        black_box(toolbox);
    });
    let build = all(&|tools| {
        black_box(ToolBox::builder().tools(tools).build().expect("no two of one name"));
    });

    let toolbox: ToolBox = tools.iter().cloned().collect();
    let one_by_one =
        |work: &dyn Fn(&str)| milliseconds(|| tools.iter().for_each(|tool| work(tool.name())));
    let blacklist = one_by_one(&|name| toolbox.blacklist(name));
    assert!(toolbox.definitions().is_empty(), "all are forbidden");
    let lift = one_by_one(&|name| assert!(toolbox.lift_blacklist(name)));
    [memory, register, definitions, list, try_register, build, blacklist, lift]
}

fn milliseconds(work: impl FnOnce()) -> f64 {
    let begin = Instant::now();
    work();
    begin.elapsed().as_secs_f64() * 1e3
}

fn median(times: impl Iterator<Item = f64>) -> f64 {
    let mut times: Vec<f64> = times.collect();
    times.sort_unstable_by(f64::total_cmp);
    times[times.len() / 2]
}

/// Returns the bytes that the process holds in memory.
fn resident() -> f64 {
    let text = std::fs::read_to_string("/proc/self/statm").expect("a system with /proc");
    let pages = text.split_whitespace().nth(1).and_then(|pages| pages.parse::<f64>().ok());
    pages.expect("a number of pages") * 4096.0
}
