//! Remembers one fact after the other, and prints the number of each as soon as it is acknowledged,
//! until it is killed.

use std::io::Write as _;

use serde_json::json;
use toolbox::builtin::knowledge::Knowledge;
use toolbox::store::SqliteStore;
use toolbox::{ToolBox, ToolCall};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().expect("the path of the store");
    let mut number: u64 = arguments.next().expect("the first number").parse().expect("a number");
    let toolbox = ToolBox::from(Knowledge::new(SqliteStore::open(path).expect("a store")));
    let mut out = std::io::stdout().lock();
    loop {
        // Long enough to take several pages of the file.
        let text = format!("fact {number} {}", "x".repeat(8_000));
        let call = ToolCall::new("1", "remember", json!({ "text": text }));
        let result = toolbox.call(call).await;
        let said = if result.is_error() {
            format!("refused {}", result.text())
        } else {
            number.to_string()
        };
        writeln!(out, "{said}").and_then(|()| out.flush()).expect("somebody who reads");
        if result.is_error() {
            return;
        }
        number += 1;
    }
}
