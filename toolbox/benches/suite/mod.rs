//! The cases: the limit and `toolbox` at the same work.

use std::cell::{Cell, LazyCell};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use toolbox::dialect::Dialect;
use toolbox::{ToolBox, ToolCall};

use crate::harness::{Suite, ready};
use crate::workload::{self as work, limit};

#[cfg(feature = "agent")]
mod rounds;
#[cfg(feature = "stream")]
mod streams;
mod watched;

pub mod tools {
    //! The tools of the workload, as `#[tool]` functions.

    use toolbox::tool;

    use crate::workload::{self as work, Customer, Item, Payment};

    /// Adds two numbers.
    #[tool]
    pub fn add(
        /// The first number
        a: i64,
        /// The second number
        b: i64,
    ) -> i64 {
        work::add(a, b)
    }

    /// Adds two numbers.
    #[tool]
    pub async fn add_async(
        /// The first number
        a: i64,
        /// The second number
        b: i64,
    ) -> i64 {
        work::add(a, b)
    }

    /// Orders things.
    #[tool]
    pub fn order(
        /// Who orders
        customer: Customer,
        /// What is ordered
        items: Vec<Item>,
        /// How it is paid for
        payment: Payment,
        /// A word to the packers
        note: Option<String>,
        /// Whether it must arrive tomorrow
        express: bool,
    ) -> u32 {
        work::order(&customer, &items, &payment, note.as_deref(), express)
    }

    /// Writes a file.
    #[tool]
    pub fn write(
        /// The file to write
        path: String,
        /// What to put there
        text: String,
    ) -> usize {
        work::write(&path, &text)
    }

    /// Writes a file.
    #[tool]
    pub fn write_str(
        /// The file to write
        path: &str,
        /// What to put there
        text: &str,
    ) -> usize {
        work::write(path, text)
    }

    /// Reads a file.
    #[tool]
    pub fn read(
        /// The file to read
        path: String,
    ) -> String {
        work::read(&path)
    }
}

/// Returns a box of `len` tools, the measured ones spread among others.
pub fn toolbox(len: usize) -> ToolBox {
    use tools::{add, add_async, order, read, write, write_str};
    let mut all = vec![
        add::tool(),
        add_async::tool(),
        order::tool(),
        write::tool(),
        write_str::tool(),
        read::tool(),
    ];
    all.extend((all.len()..len).map(|at| add::tool().renamed(format!("other_{at:05}"))));
    // The same order in every run, with the measured tools apart from each other.
    all.sort_by_key(|tool| tool.name().bytes().rev().collect::<Vec<_>>());
    ToolBox::from(all)
}

fn call(name: &str, arguments: &str) -> ToolCall {
    ToolCall::new("call_1", name, arguments)
}

#[inline]
fn answer(toolbox: &ToolBox, call: ToolCall) -> String {
    ready(toolbox.call(call)).into_text()
}

static TOOLBOX: LazyLock<ToolBox> = LazyLock::new(|| toolbox(work::TOOLS));

/// Returns all cases, with the goals they are held to.
pub fn all() -> Suite {
    let mut suite = Suite::default();
    calls(&mut suite);
    sizes(&mut suite);
    lists(&mut suite);
    #[cfg(feature = "stream")]
    streams::add(&mut suite);
    watched::add(&mut suite);
    #[cfg(feature = "agent")]
    rounds::add(&mut suite);
    suite
}

struct Call {
    name: &'static str,
    limit: &'static str,
    arguments: fn() -> &'static str,
    bare: fn(&str) -> String,
    expected: fn() -> &'static str,
    rounds: usize,
    goal: f64,
    time_goal: Option<f64>,
    allocations: f64,
}

/// The limit of `add` if it is handed what a box is handed, and frees it.
const OWNED: &str = "add/limit, freeing its input";

const CALLS: [Call; 6] = [
    Call {
        name: "add",
        limit: OWNED,
        arguments: || work::ADD,
        bare: limit::add,
        expected: || work::SUM,
        rounds: 256,
        goal: 1.00,
        time_goal: Some(1.25),
        allocations: 1.0,
    },
    Call {
        name: "add_async",
        limit: OWNED,
        arguments: || work::ADD,
        bare: limit::add,
        expected: || work::SUM,
        rounds: 256,
        goal: 1.25,
        time_goal: Some(2.0),
        allocations: 2.0,
    },
    Call {
        name: "order",
        limit: "order",
        arguments: || work::ORDER,
        bare: limit::order,
        expected: || work::ORDER_RESULT,
        rounds: 64,
        goal: 1.02,
        time_goal: Some(1.02),
        allocations: 23.0,
    },
    Call {
        name: "write",
        limit: "write",
        arguments: || &work::WRITE,
        bare: limit::write,
        expected: || work::WRITTEN,
        rounds: 16,
        goal: 0.55,
        time_goal: None,
        allocations: 3.0,
    },
    Call {
        name: "write_str",
        limit: "write_str",
        arguments: || &work::WRITE_PLAIN,
        bare: limit::write_str,
        expected: || work::WRITTEN,
        rounds: 16,
        goal: 0.60,
        time_goal: None,
        allocations: 1.0,
    },
    Call {
        name: "read",
        limit: "read",
        arguments: || work::READ,
        bare: limit::read,
        expected: || &work::FILE,
        rounds: 16,
        goal: 1.01,
        time_goal: None,
        allocations: 2.0,
    },
];

/// Returns the calls alone, for those who measure something else beside them.
pub fn of_calls() -> Suite {
    let mut suite = Suite::default();
    calls(&mut suite);
    suite
}

fn calls(suite: &mut Suite) {
    for Call { name, limit, arguments, bare, expected, rounds, goal, time_goal, allocations } in
        CALLS
    {
        let limit = if limit == OWNED { limit.to_owned() } else { format!("{limit}/limit") };
        let own = format!("{name}/limit");
        if name != "add_async" {
            suite.case(&own, rounds, arguments, bare).checked(move || {
                assert_eq!(bare(arguments()), expected(), "the limit of {name}");
            });
        }
        if name == "add" {
            let owned =
                move || (String::from("call_1"), String::from(name), String::from(arguments()));
            suite.case(OWNED, rounds, owned, move |call| bare(&call.2));
        }
        let case = suite
            .case(
                format!("{name}/toolbox"),
                rounds,
                move || call(name, arguments()),
                |call| answer(&TOOLBOX, call),
            )
            .checked(move || {
                assert_eq!(
                    answer(&TOOLBOX, call(name, arguments())),
                    expected(),
                    "the tool {name}"
                );
            })
            .against(&limit)
            .within(goal)
            .allocating(allocations);
        if let Some(goal) = time_goal {
            case.within_time(goal);
        }
    }
}

/// The same call in boxes of other sizes, by names all over the box.
fn sizes(suite: &mut Suite) {
    for len in [1, 100, 10_000] {
        let toolbox = Rc::new(LazyCell::new(move || -> ToolBox {
            (0..len).map(|at| tools::add::tool().renamed(format!("tool_{at:05}"))).collect()
        }));
        let next = Rc::new(Cell::new(0));
        let make = move || {
            let at = next.replace(next.get() + 1) * 7919 % len;
            call(&format!("tool_{at:05}"), work::ADD)
        };
        let case =
            suite.case(format!("box of {len}/call"), 512, make, move |call| answer(&toolbox, call));
        if len > 1 {
            case.against("box of 1/call").within(1.05);
        }
    }
}

/// The list of definitions for a request, of a box that has not changed.
fn lists(suite: &mut Suite) {
    let shared: Arc<str> = "[]".into();
    suite.case("list/a reference count", 256, || (), move |()| Arc::clone(&shared));
    for len in [100, 10_000] {
        let own = Rc::new(LazyCell::new(move || toolbox(len)));
        let (first, second) = (Rc::clone(&own), Rc::clone(&own));
        let text = LazyCell::new(move || own.definitions_for(Dialect::Anthropic).json().to_owned());
        let text = Rc::new(text);
        suite.case(
            format!("list of {len}/a copy of its text"),
            16,
            || (),
            move |()| String::clone(&text),
        );
        suite
            .case(format!("list of {len}/definitions"), 256, || (), move |()| first.definitions())
            .against("list/a reference count")
            .allocating(0.0);
        suite
            .case(
                format!("list of {len}/for Anthropic"),
                256,
                || (),
                move |()| second.definitions_for(Dialect::Anthropic),
            )
            .against("list/a reference count")
            .allocating(0.0);
    }
}
