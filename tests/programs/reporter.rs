//! Calls a tool whose results are kept, and prints the handle of each and what it is of, until it is
//! killed.

use std::io::Write as _;

use toolbox::store::SqliteStore;
use toolbox::{Tool, ToolBox, ToolCall};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of the store");
    let first: u64 = arguments.next().expect("the first number").parse().expect("a number");
    let report = Tool::new("report", "Reports")
        .param("number", "integer", "Of which")
        .call(|it| format!("report {}\n{}", it["number"], "a line of it\n".repeat(3_000)));
    let toolbox = ToolBox::builder()
        .tools([report])
        .keep_results(SqliteStore::open(path).expect("a store"))
        .build()
        .expect("a box");
    let mut out = std::io::stdout().lock();
    for number in first.. {
        let arguments = format!(r#"{{"number": {number}}}"#);
        let result = toolbox.call(ToolCall::new("1", "report", arguments)).await;
        let handle = result.handle().expect("it is kept");
        writeln!(out, "{handle} {number}").and_then(|()| out.flush()).expect("somebody who reads");
    }
}
