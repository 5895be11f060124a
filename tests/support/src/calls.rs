//! Helpers for every subject: calls in one line, and tools that count.

use std::pin::pin;
use std::task::{Context, Poll, Waker};

use toolbox::call::Arguments;
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult};

/// Ends a future that never waits; a synchronous tool needs no runtime.
#[track_caller]
pub fn now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the call waits for something"),
    }
}

/// Calls a synchronous tool in a box of its own.
#[track_caller]
pub fn call(tool: &Tool, arguments: impl Into<Arguments>) -> ToolResult {
    let toolbox = ToolBox::from(tool.clone());
    now(toolbox.call(ToolCall::new("c", tool.name(), arguments)))
}

/// Numbers that look random and are the same each time (xorshift64*).
pub struct Dice(pub u64);

impl Dice {
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33;
        usize::try_from(high).unwrap_or_default() % limit
    }
}

/// A tool without arguments that says `text`.
pub fn says(name: &str, text: &'static str) -> Tool {
    Tool::new(name, "Says a word.").call(move |_| text)
}

/// A raw tool that repeats its arguments, whatever they are.
pub fn echo() -> Tool {
    let schema = serde_json::json!({"type": "object"});
    Tool::raw("echo", "Repeats.", schema, |arguments: Arguments| arguments.into_string())
}

/// Keeps panics that a test makes on purpose out of its output, and leaves the others there.
pub fn quietly() {
    const PURPOSE: &[&str] = &[
        "gate.rs",
        "handlers.rs",
        "concurrency.rs",
        "tool/builders.rs",
        "dispatch/safety.rs",
        "builder.rs",
        "agents/approvals.rs",
        "agents/context.rs",
        "agents/costs.rs",
        "agents/jobs.rs",
        "agents/events.rs",
        "events/sinks.rs",
        "agents/run.rs",
        "agents/steps.rs",
        "agents/guards.rs",
        "dispatch/taint.rs",
        "dispatch/provenance.rs",
    ];
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            // A failed assertion of a test is always shown.
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map_or("", String::as_str);
            let ours = ["assertion", "called `", "explicit panic"]
                .iter()
                .any(|start| text.starts_with(start));
            if ours
                || !PURPOSE
                    .iter()
                    .any(|file| info.location().is_some_and(|at| at.file().ends_with(file)))
            {
                before(info);
            }
        }));
    });
}

/// Returns a raw tool over an async function.
pub fn waits<F, Fut>(name: &str, function: F) -> Tool
where
    F: Fn(ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = String> + Send + 'static,
{
    let schema = serde_json::json!({"type": "object"});
    Tool::raw(name, "", schema, move |context: ToolContext, _: Arguments| function(context))
}
