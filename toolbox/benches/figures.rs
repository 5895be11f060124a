//! What is no instruction: how long 1 000 waiting calls take together, and how many bytes a definition has.
//!
//! ```sh
//! cargo bench -p llm-toolbox --bench figures
//! ```

#![allow(
    clippy::pedantic,
    clippy::print_stdout,
    dead_code,
    missing_docs,
    unreachable_pub,
    missing_debug_implementations
)]

use std::time::{Duration, Instant};

use tokio::runtime::Runtime;
use tokio::task::JoinSet;
use toolbox::{ToolBox, ToolCall, tool, tools};

mod harness;
mod suite;
mod workload;

const CALLS: usize = 1000;
const SLEEP: Duration = Duration::from_millis(10);

/// Waits as long as a quick service takes to answer.
#[tool]
async fn wait(number: u64) -> u64 {
    tokio::time::sleep(SLEEP).await;
    number
}

fn main() -> std::process::ExitCode {
    let reached = [bytes(), parallel()];
    if reached.contains(&false) {
        std::process::ExitCode::FAILURE
    } else {
        std::process::ExitCode::SUCCESS
    }
}

/// The closed schemas of the four tools, as somebody would write them who counts bytes.
const BY_HAND: [(&str, &str); 4] = [
    (
        "add",
        concat!(
            r#"{"name":"add","description":"Adds two numbers.","input_schema":{"type":"object","properties":{"#,
            r#""a":{"type":"integer","description":"The first number"},"b":{"type":"integer","description":"The second number"}},"#,
            r#""required":["a","b"],"additionalProperties":false}}"#,
        ),
    ),
    (
        "order",
        concat!(
            r#"{"name":"order","description":"Orders things.","input_schema":{"type":"object","properties":{"#,
            r#""customer":{"type":"object","description":"Who orders","properties":{"name":{"type":"string"},"email":{"type":["string","null"]},"#,
            r#""address":{"type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"},"zip":{"type":"string"},"#,
            r#""country":{"type":["string","null"]}},"required":["street","city","zip"],"additionalProperties":false},"#,
            r#""tier":{"type":"string","enum":["standard","gold","platinum"]}},"required":["name","address","tier"],"additionalProperties":false},"#,
            r#""items":{"type":"array","description":"What is ordered","items":{"type":"object","properties":{"sku":{"type":"string"},"#,
            r#""quantity":{"type":"integer","minimum":0},"unit_price":{"type":"number"},"options":{"type":"array","items":{"anyOf":["#,
            r#"{"type":"string","const":"plain"},"#,
            r#"{"type":"object","properties":{"colour":{"type":"string"}},"required":["colour"],"additionalProperties":false},"#,
            r#"{"type":"object","properties":{"size":{"type":"object","properties":{"width":{"type":"integer","minimum":0},"#,
            r#""height":{"type":"integer","minimum":0}},"required":["width","height"],"additionalProperties":false}},"required":["size"],"additionalProperties":false},"#,
            r#"{"type":"object","properties":{"engraving":{"type":"object","properties":{"text":{"type":"string"},"font":{"type":["string","null"]}},"#,
            r#""required":["text"],"additionalProperties":false}},"required":["engraving"],"additionalProperties":false}]}},"#,
            r#""gift":{"type":["boolean","null"]}},"required":["sku","quantity","unit_price","options"],"additionalProperties":false}},"#,
            r#""payment":{"description":"How it is paid for","anyOf":[{"type":"string","const":"cash"},"#,
            r#"{"type":"object","properties":{"card":{"type":"object","properties":{"last4":{"type":"string"},"expires":{"type":"string"}},"#,
            r#""required":["last4","expires"],"additionalProperties":false}},"required":["card"],"additionalProperties":false},"#,
            r#"{"type":"object","properties":{"invoice":{"type":"object","properties":{"days":{"type":"integer","minimum":0},"#,
            r#""reference":{"type":["string","null"]}},"required":["days"],"additionalProperties":false}},"required":["invoice"],"additionalProperties":false}]},"#,
            r#""note":{"type":["string","null"],"description":"A word to the packers"},"#,
            r#""express":{"type":"boolean","description":"Whether it must arrive tomorrow"}},"#,
            r#""required":["customer","items","payment","express"],"additionalProperties":false}}"#,
        ),
    ),
    (
        "write",
        concat!(
            r#"{"name":"write","description":"Writes a file.","input_schema":{"type":"object","properties":{"#,
            r#""path":{"type":"string","description":"The file to write"},"text":{"type":"string","description":"What to put there"}},"#,
            r#""required":["path","text"],"additionalProperties":false}}"#,
        ),
    ),
    (
        "read",
        concat!(
            r#"{"name":"read","description":"Reads a file.","input_schema":{"type":"object","properties":{"#,
            r#""path":{"type":"string","description":"The file to read"}},"required":["path"],"additionalProperties":false}}"#,
        ),
    ),
];

fn bytes() -> bool {
    let toolbox = suite::toolbox(10);
    let mut reached = true;
    println!("{:<36} {:>14} {:>10}", "definition", "bytes", "by hand");
    for (name, by_hand) in BY_HAND {
        let tool = toolbox.get(name).expect("the tool is in the box");
        // The schema of the result goes to hosts that ask for it, never to a model with the rest.
        let mut definition = tool.definition().clone();
        definition.output_schema = None;
        let own = serde_json::to_string(&definition).expect("a definition");
        serde_json::from_str::<serde_json::Value>(by_hand).expect("the text by hand is JSON");
        let verdict = if own.len() <= by_hand.len() { "reached" } else { "missed" };
        reached &= own.len() <= by_hand.len();
        println!("{name:<36} {:>14} {:>10}  {verdict}", own.len(), by_hand.len());
        if std::env::args().any(|argument| argument == "--show") {
            println!("  ours    {own}\n  by hand {by_hand}");
        }
    }
    reached
}

fn parallel() -> bool {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_time().build().expect("a runtime");
    let toolbox = ToolBox::from(tools![wait]);
    let call = |number: usize| {
        ToolCall::new(format!("call_{number}"), "wait", format!(r#"{{"number":{number}}}"#))
    };
    let (mut bare, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..25 {
        bare.push(timed(&runtime, async {
            let mut tasks = JoinSet::new();
            (0..CALLS as u64).for_each(|number| {
                drop(tasks.spawn(async move { wait(number).await.to_string() }))
            });
            assert_eq!(tasks.join_all().await.len(), CALLS);
        }));
        let calls: Vec<ToolCall> = (0..CALLS).map(call).collect();
        ours.push(timed(&runtime, async {
            let results = toolbox.call_all(calls).await;
            assert!(results.len() == CALLS && results.iter().all(|result| !result.is_error()));
        }));
    }
    let (bare, ours) = (least(bare), least(ours));
    let ratio = ours.as_secs_f64() / bare.as_secs_f64();
    let verdict = if ratio <= 1.10 { "reached" } else { "missed" };
    println!(
        "\n{CALLS} calls that sleep {SLEEP:?}: JoinSet {bare:.1?}, call_all {ours:.1?}, ratio {ratio:.3}, goal 1.10  {verdict}"
    );
    ratio <= 1.10
}

fn timed(runtime: &Runtime, work: impl Future<Output = ()>) -> Duration {
    let begin = Instant::now();
    runtime.block_on(work);
    begin.elapsed()
}

/// The least of many: what other programs add is no cost of ours.
fn least(times: Vec<Duration>) -> Duration {
    times.into_iter().min().unwrap_or_default()
}
