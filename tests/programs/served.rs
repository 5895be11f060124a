//! A server over standard streams, with tools that do what tools should not, and the skills of the
//! folders in its arguments.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

use std::sync::Arc;

use tokio::sync::Notify;
use toolbox::mcp::{ServeError, Service, SkillFolder};
use toolbox::{State, ToolBox, tool, tools};

/// Prints.
#[tool]
#[allow(clippy::print_stdout, reason = "it is what the test is about")]
fn prints() -> &'static str {
    println!("from a tool");
    "printed"
}

/// Ends the process in a way that no wall within it holds.
#[tool]
fn ends(how: &str) -> &'static str {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("a panic within a panic");
        }
    }
    match how {
        "exit" => std::process::exit(7),
        "abort" => std::process::abort(),
        "overflow" => {
            deeper(1);
            "the stack has no end"
        }
        "double panic" => {
            let _bomb = Bomb;
            panic!("the first panic")
        }
        _ => panic!("only a panic"),
    }
}

#[allow(unconditional_recursion, reason = "it is what the test is about")]
fn deeper(at: u64) -> u64 {
    let room = std::hint::black_box([at; 512]);
    deeper(at ^ room[0]) ^ room[511]
}

/// Stops the server.
#[tool]
fn stops(stop: State<Notify>) -> &'static str {
    stop.notify_one();
    "stopping"
}

#[tokio::main]
pub(crate) async fn main() -> Result<(), ServeError> {
    let stop = Arc::new(Notify::new());
    let builder =
        ToolBox::builder().tools(tools![prints, ends, stops]).shared_state(Arc::clone(&stop));
    let toolbox = builder.build().expect("the tools fit together");
    let folders = std::env::args().skip(1).map(|path| SkillFolder::open(path).expect("a folder"));
    folders.fold(Service::new(toolbox), Service::skills).serve_stdio_until(stop.notified()).await
}
