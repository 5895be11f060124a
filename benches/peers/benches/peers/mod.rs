//! Each peer at the four calls: arguments arrive as text, the result leaves as text, 100 tools are
//! registered.

#[cfg(feature = "rig")]
mod rig;
#[cfg(feature = "rmcp")]
mod rmcp;
#[cfg(feature = "tools-rs")]
mod tools;

use crate::harness::Suite;
use crate::workload as work;

/// One of the measured calls: the tool's name, its arguments, and what comes of it.
#[derive(Clone, Copy)]
pub struct Call {
    pub name: &'static str,
    pub arguments: fn() -> &'static str,
    pub expected: fn() -> &'static str,
    pub rounds: usize,
}

const CALLS: [Call; 4] = [
    Call { name: "add", arguments: || work::ADD, expected: || work::SUM, rounds: 256 },
    Call { name: "order", arguments: || work::ORDER, expected: || work::ORDER_RESULT, rounds: 64 },
    Call { name: "write", arguments: || &work::WRITE, expected: || work::WRITTEN, rounds: 16 },
    Call { name: "read", arguments: || work::READ, expected: || &work::FILE, rounds: 16 },
];

pub fn all() -> Suite {
    let mut suite = crate::suite::of_calls();
    for call in CALLS {
        #[cfg(feature = "rmcp")]
        add(&mut suite, call, "rmcp 3.11, stored router", rmcp::prepared, rmcp::call);
        #[cfg(feature = "rig")]
        add(&mut suite, call, "rig 0.46, tool set", rig::prepared, rig::call);
        #[cfg(feature = "tools-rs")]
        add(&mut suite, call, "tools-rs 0.3, collection", tools::prepared, tools::call);
    }
    #[cfg(feature = "rmcp")]
    suite.case("list of 100/rmcp 3.11, stored router", 8, || (), |()| rmcp::list());
    #[cfg(feature = "rig")]
    suite.case("list of 100/rig 0.46, tool set", 8, || (), |()| rig::list());
    #[cfg(feature = "tools-rs")]
    suite.case("list of 100/tools-rs 0.3, collection", 8, || (), |()| tools::list());
    suite
}

fn add<I: 'static>(
    suite: &mut Suite,
    call: Call,
    peer: &str,
    prepared: fn(Call) -> I,
    run: fn(I) -> String,
) {
    suite
        .case(format!("{}/{peer}", call.name), call.rounds, move || prepared(call), run)
        .against(&format!("{}/limit", call.name))
        .checked(move || assert_eq!(run(prepared(call)), (call.expected)(), "{}", call.name));
}

/// Returns the names that fill a collection up.
pub fn others(measured: usize) -> impl Iterator<Item = String> {
    (measured..work::TOOLS).map(|at| format!("other_{at:05}"))
}

pub fn order(order: work::Order) -> u32 {
    let work::Order { customer, items, payment, note, express } = order;
    work::order(&customer, &items, &payment, note.as_deref(), express)
}
