//! The time that a script takes to begin, that from one of its calls to the next beside a direct
//! call, and the declarations of many tools.
//!
//! `cargo bench -p toolbox-script --features confined`

#![allow(clippy::print_stdout, reason = "the figures")]

use std::hint::black_box;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::runtime::{Builder, Runtime};
use toolbox::{Tool, ToolBox, ToolCall, ToolDefinition};
use toolbox_script::{Names, Scripts, declarations};

/// The calls of the scripts that are measured.
const CALLS: [u32; 3] = [20, 200, 900];

/// The calls with which a script begins, which take longer.
const FIRST: usize = 5;

/// When the calls of a script were made.
static MADE: Mutex<Vec<Instant>> = Mutex::new(Vec::new());

fn made() -> std::sync::MutexGuard<'static, Vec<Instant>> {
    MADE.lock().expect("no measurement panics")
}

fn echo() -> ToolBox {
    let tool = Tool::new("echo", "Answers.").call(|_| {
        made().push(Instant::now());
        "x"
    });
    ToolBox::from(tool)
}

/// Returns a script that makes calls one after the other.
fn script(calls: u32) -> ToolCall {
    let text = format!("for (let n = 0; n < {calls}; n++) await tools.echo({{}}); return 1");
    ToolCall::new("s", "run_script", json!({ "script": text }))
}

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

/// Prints the times from a call to the next within scripts, of which `run` runs one.
fn of_inner_calls(name: &str, mut run: impl FnMut(&ToolCall)) {
    for calls in CALLS {
        let (mut first, mut later) = (Vec::new(), Vec::new());
        for _ in 0..6_000 / calls {
            made().clear();
            run(&script(calls));
            let all: Vec<Duration> = made().windows(2).map(|pair| pair[1] - pair[0]).collect();
            first.extend_from_slice(&all[..FIRST]);
            later.extend_from_slice(&all[FIRST..]);
        }
        let [first, later] = [first, later].map(quantiles);
        println!("{name}: from call to call of {calls}, the first {first:?}, the others {later:?}");
    }
}

fn of_scripts(name: &str, mut builder: Builder) -> std::io::Result<()> {
    let runtime = builder.enable_all().build()?;
    let toolbox = echo();
    toolbox.register(Scripts::over(&toolbox));
    let direct = times(&runtime, &toolbox, &ToolCall::new("c", "echo", "{}"), 10_000);
    println!("{name}: a direct call {direct:?}");
    let begun = times(&runtime, &toolbox, &script(0), 300);
    println!("{name}: a script without calls {begun:?}");
    of_inner_calls(name, |script| {
        times(&runtime, &toolbox, script, 1);
    });
    Ok(())
}

/// The start of a script in a process: one that is ready, and one that is started for it.
#[cfg(all(feature = "confined", unix))]
fn of_processes() -> std::io::Result<()> {
    use std::thread::sleep;

    use toolbox_script::Confined;

    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let boxed = |ready: usize| {
        let toolbox = echo();
        let engine = Confined::builder().ready(ready).start().expect("this system confines");
        toolbox.register(Scripts::over(&toolbox).with_engine(engine));
        toolbox
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
    of_inner_calls("in a process", |script| {
        sleep(Duration::from_millis(30));
        times(&runtime, &ready, script, 1);
    });
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
