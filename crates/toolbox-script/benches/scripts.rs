//! The time that a script takes to begin, a call within it above a direct one, and the declarations
//! of many tools.
//!
//! `cargo bench -p toolbox-script --features confined`

#![allow(clippy::print_stdout, reason = "the figures")]

use std::hint::black_box;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition};
use toolbox_script::{Names, Scripts, declarations};

/// The calls of the scripts that are measured.
const CALLS: [u32; 3] = [20, 200, 900];

/// Returns the tenth and the half of many times: other programs disturb the longer ones.
fn quantiles(mut times: Vec<Duration>) -> [Duration; 2] {
    times.sort_unstable();
    [times[times.len() / 10], times[times.len() / 2]]
}

/// Returns the times of one tool call, many times over.
fn times(runtime: &Runtime, toolbox: &ToolBox, call: &ToolCall, count: u32) -> [Duration; 2] {
    let one = || {
        let (toolbox, call) = (toolbox.clone(), call.clone());
        let work = async move {
            let began = Instant::now();
            let result = toolbox.call(call).await;
            assert!(!result.is_error(), "{}", result.text());
            began.elapsed()
        };
        runtime.block_on(async { runtime.spawn(work).await.expect("it does not panic") })
    };
    quantiles((0..count).map(|_| one()).collect())
}

fn of_scripts(name: &str, mut builder: Builder) -> std::io::Result<()> {
    let runtime = builder.enable_all().build()?;
    let toolbox = ToolBox::from(Tool::new("echo", "Answers.").call(|_| "x"));
    toolbox.register(Scripts::over(&toolbox));
    let script = |calls: u32| {
        let text = format!("for (let n = 0; n < {calls}; n++) await tools.echo({{}}); return 1");
        ToolCall::new("s", "run_script", json!({ "script": text }))
    };
    let direct = times(&runtime, &toolbox, &ToolCall::new("c", "echo", "{}"), 10_000);
    println!("{name}: a direct call {direct:?}");
    let begun = times(&runtime, &toolbox, &script(0), 300);
    println!("{name}: a script without calls {begun:?}");
    for calls in CALLS {
        let all = times(&runtime, &toolbox, &script(calls), 6_000 / calls);
        let each = [0, 1].map(|at| all[at].saturating_sub(begun[at]) / calls);
        println!("{name}: a call of {calls} in a script {each:?}");
    }
    Ok(())
}

/// The start of a script in a process: one that is ready, and one that is started for it.
#[cfg(all(feature = "confined", unix))]
fn of_processes() -> std::io::Result<()> {
    use std::thread::sleep;

    use toolbox_script::Confined;

    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let boxed = |ready: usize| {
        let toolbox = ToolBox::from(Tool::new("echo", "Answers.").call(|_| "x"));
        let engine = Confined::builder().ready(ready).start().expect("this system confines");
        toolbox.register(Scripts::over(&toolbox).with_engine(engine));
        toolbox
    };
    let script = |calls: u32| {
        let text = format!("for (let n = 0; n < {calls}; n++) await tools.echo({{}}); return 1");
        ToolCall::new("s", "run_script", json!({ "script": text }))
    };
    let cold = times(&runtime, &boxed(0), &script(0), 200);
    println!("a script whose process is started for it {cold:?}");
    let ready = boxed(2);
    let begun = quantiles(
        (0..200)
            .map(|_| {
                // The next processes are started meanwhile.
                sleep(Duration::from_millis(30));
                times(&runtime, &ready, &script(0), 1)[0]
            })
            .collect(),
    );
    println!("a script whose process is ready {begun:?}");
    for calls in CALLS {
        let one = |_| {
            sleep(Duration::from_millis(30));
            times(&runtime, &ready, &script(calls), 1)[0]
        };
        let all = quantiles((0..6_000 / calls).map(one).collect());
        let each = [0, 1].map(|at| all[at].saturating_sub(begun[at]) / calls);
        println!("a call of {calls} in a script in a process {each:?}");
    }
    Ok(())
}

fn of_declarations() {
    let definition = |at: usize| {
        let schema = json!({
            "type": "object",
            "properties": {
                "text": {"type": "string", "description": "The text to look for"},
                "limit": {"type": "integer", "minimum": 1, "maximum": 100},
                "kinds": {"type": "array", "items": {"enum": ["open", "closed", "waiting"]}},
                "owner": {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]},
            },
            "required": ["text"],
        });
        ToolDefinition::new(
            format!("service-{}_tool-{at}", at % 20),
            "Finds what fits a text.",
            schema,
        )
    };
    let definitions: Vec<ToolDefinition> = (0..1_000).map(definition).collect();
    let write = || {
        let began = Instant::now();
        let names = Names::of(definitions.iter().map(|one| one.name.as_str()));
        let text = declarations(black_box(&definitions), &names);
        (began.elapsed(), text.len())
    };
    let bytes = write().1;
    println!(
        "declarations of 1000 tools: {bytes} bytes in {:?}",
        quantiles((0..50).map(|_| write().0).collect())
    );
}

fn main() -> std::io::Result<()> {
    #[cfg(all(feature = "confined", unix))]
    toolbox_script::child::run_if_asked();
    println!("times: the tenth and the half of all");
    of_scripts("one thread", Builder::new_current_thread())?;
    let mut several = Builder::new_multi_thread();
    several.worker_threads(2);
    of_scripts("two threads", several)?;
    #[cfg(all(feature = "confined", unix))]
    of_processes()?;
    of_declarations();
    Ok(())
}
