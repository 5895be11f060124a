//! What a call costs that is watched: by a sink of events, by metrics, by an audit log.

use std::rc::Rc;
use std::sync::Mutex;

use toolbox::event::{EventReceiver, EventSink};
use toolbox::{ToolBox, ToolBoxBuilder};

use super::{answer, call, tools};
use crate::harness::Suite;
use crate::workload as work;

const ROUNDS: usize = 256;

fn watched(set: impl FnOnce(ToolBoxBuilder) -> ToolBoxBuilder) -> ToolBox {
    set(ToolBox::builder().tools(tools::add::tool())).build().unwrap()
}

fn case(suite: &mut Suite, name: &str, toolbox: ToolBox, after: impl Fn() + Clone + 'static) {
    let run = move |call| {
        let text = answer(&toolbox, call);
        after();
        text
    };
    suite.case(format!("watched add, {name}"), ROUNDS, || call("add", work::ADD), run);
}

pub fn add(suite: &mut Suite) {
    case(suite, "by nobody", watched(|builder| builder), || {});
    let layered = watched(|builder| builder.max_concurrency(1000));
    case(suite, "by nobody, with a limit on calls at once", layered, || {});
    let ignores = EventSink::from_fn(|event| drop(std::hint::black_box(event)));
    case(suite, "by a function", watched(|builder| builder.events(ignores)), || {});
    let (sink, receiver) = EventSink::bounded(64);
    let receiver: Rc<Mutex<EventReceiver>> = Rc::new(Mutex::new(receiver));
    case(suite, "by a queue that is read", watched(|builder| builder.events(sink)), move || {
        while receiver.lock().unwrap().try_next().is_some() {}
    });
    let (full, unread) = EventSink::bounded(1);
    let unread = Rc::new(unread);
    case(suite, "by a queue that is full", watched(|builder| builder.events(full)), move || {
        std::hint::black_box(&unread);
    });
    #[cfg(feature = "otel")]
    {
        let meter = opentelemetry::global::meter("bench");
        let sink = toolbox::otel::metrics(&meter);
        case(
            suite,
            "by metrics without a provider",
            watched(|builder| builder.events(sink)),
            || {},
        );
    }
    #[cfg(feature = "audit")]
    {
        let path = std::env::temp_dir().join(format!("toolbox-bench-{}.jsonl", std::process::id()));
        if let Ok(log) = toolbox::audit::AuditLog::open(&path) {
            case(suite, "by an audit log", watched(|builder| builder.audit(&log)), || {});
        }
    }
}
