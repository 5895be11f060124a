//! Ordinary Rust functions as tools that language models call.
//!
//! Write `#[tool]` above a function, put it into a [`ToolBox`], send the definitions to any
//! provider, and dispatch the calls that the model sends back: every call gets exactly one result,
//! even if its tool fails, panics or hangs.
//!
//! ```
//! use toolbox::{tool, tools, ToolBox, ToolCall};
//! use toolbox::dialect::Dialect;
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() {
//! let toolbox = ToolBox::from(tools![add]);
//! let tools = toolbox.definitions_for(Dialect::OpenAiChat).json().to_owned(); // for the request
//! let result = toolbox.call(ToolCall::new("call_1", "add", r#"{"a": 2, "b": 3}"#)).await;
//! assert_eq!(result.text(), "5");
//!
//! let result = toolbox.call(ToolCall::new("call_2", "add", r#"{"a": "two"}"#)).await;
//! assert_eq!(
//!     result.text(),
//!     "the arguments for `add` were refused:\n\
//!      - missing required argument `b` (integer)\n\
//!      - `a` must be an integer, got the string \"two\"",
//! );
//! # }
//! ```
//!
//! # Overview
//!
//! | to | see |
//! |---|---|
//! | annotate a function, or the methods of a type | [`tool`](macro@tool), [`toolset`](macro@toolset), [`tools!`] |
//! | make a tool without a macro | [`Tool::from_fn`], [`Tool::new`], [`Tool::raw`], [`ToolHandler`](tool::ToolHandler) |
//! | collect, forbid and call tools | [`ToolBox`], [`ToolBoxBuilder`], [`ToolCall`], [`ToolResult`] |
//! | give a tool what the program has | [`State`], [`ToolContext`], [`FromContext`] |
//! | return more than text | [`Content`], [`IntoToolResult`](call::IntoToolResult), [`ToolError`], [`StructuredError`](call::StructuredError) |
//! | stream from a tool | the module `stream` (feature `stream`) |
//! | find one of many tools | the module `search` (feature `search`) |
//! | tell a provider about tools | [`ToolDefinition`], [`dialect`], [`schema`] |
//! | let a model call tools until it has an answer | `agent`, `model`, `testing` (feature `agent`) |
//! | talk to a provider with a loop of your own | `wire` (feature `agent`) |
//! | use the tools of MCP servers, or be one | the module `mcp` (feature `mcp`) |
//! | call the tools of servers from code | the macro `mcp_tools!` and the module `client` (feature `clients`) |
//! | offer tools to other machines, or use theirs | the module `fleet` (feature `nats`) |
//! | make a command-line program of a box | the module `cli` (feature `cli`) |
//! | give a model files, a shell, the web | the module `builtin` (a feature each) |
//! | watch calls and runs | the module [`event`] |
//! | export metrics and traces by OpenTelemetry | the module `otel` (feature `otel`) |
//! | keep a record that shows changes | the module `audit` (feature `audit`) |
//! | run the rules of `garde` or `validator` on arguments | the module `rules` (features `garde`, `validator`) |
//! | count what runs cost, and limit it | the modules [`cost`] and `prices` (feature `prices`) |
//! | work in the background | [`Completion`](context::Completion), [`JobId`](call::JobId), [`ToolContext::with_completions`] |
//!
#![doc = include_str!("docs/features.md")]
//!
//! # What cannot be promised
//!
//! Panics are contained, time is bounded, and a call that is dropped leaves nothing behind, with
//! these exceptions: a handler that overflows its stack, calls `abort` or `exit`, panics while a
//! panic unwinds, or exhausts the memory ends the process (run such a tool in a process of its own,
//! such as a mounted MCP server, whose end is one failed call); one that blocks for ever without
//! awaiting keeps its thread ([`ToolBoxBuilder::handler_runtime`] keeps the others alive).

#![cfg_attr(
    docsrs,
    feature(doc_cfg),
    doc(auto_cfg(hide(
        feature = "_builtin",
        feature = "_mcp",
        feature = "_provider",
        feature = "_store"
    )))
)]
#![cfg_attr(
    not(all(
        feature = "agent",
        feature = "mcp",
        feature = "search",
        feature = "http",
        feature = "schedule",
        feature = "nats"
    )),
    allow(
        dead_code,
        unused_imports,
        reason = "the core serves modules that this build leaves out; the build with all features reports dead code"
    )
)]

extern crate self as toolbox;

#[cfg(all(panic = "abort", not(feature = "panic-abort")))]
compile_error!(
    "`toolbox` contains the panics of tools, which `panic = \"abort\"` makes impossible\n\
     help: take it out of the profile, or enable the feature `panic-abort` of `llm-toolbox` to accept that one panicking tool ends the process"
);

#[cfg(feature = "_address")]
mod address;
#[cfg(feature = "agent")]
pub mod agent;
mod arguments;
#[cfg(feature = "audit")]
pub mod audit;
#[cfg(feature = "_builtin")]
pub mod builtin;
pub mod call;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "clients")]
pub mod client;
pub mod collection;
pub mod context;
#[cfg(feature = "_contract")]
pub mod contract;
pub mod cost;
pub mod definition;
pub mod dialect;
#[cfg(any(feature = "_disk", feature = "mcp-client", feature = "page"))]
mod disk;
mod dispatch;
#[cfg(feature = "durable")]
pub mod durable;
pub mod event;
#[cfg(feature = "nats")]
pub mod fleet;
mod future;
#[cfg(feature = "_mcp")]
#[cfg_attr(docsrs, doc(cfg(any(feature = "mcp-client", feature = "mcp-server"))))]
pub mod mcp;
pub mod model;
#[cfg(feature = "otel")]
pub mod otel;
#[cfg(feature = "page")]
pub mod page;
mod panics;
#[cfg(feature = "prices")]
pub mod prices;
pub mod prompt;
#[cfg(feature = "_provider")]
#[cfg_attr(docsrs, doc(cfg(any(feature = "openai", feature = "anthropic", feature = "gemini"))))]
pub mod provider;
pub mod resource;
#[cfg(feature = "results")]
pub mod results;
#[cfg(any(feature = "garde", feature = "validator"))]
pub mod rules;
pub mod schema;
#[cfg(feature = "search")]
pub mod search;
mod sort;
#[cfg(feature = "_store")]
#[cfg_attr(
    docsrs,
    doc(cfg(any(
        feature = "durable",
        feature = "knowledge",
        feature = "notes",
        feature = "schedule"
    )))
)]
pub mod store;
#[cfg(feature = "stream")]
pub mod stream;
mod sync;
#[cfg(feature = "agent")]
pub mod testing;
mod text;
#[cfg(feature = "tokio-util")]
mod tokio_util;
pub mod tool;
mod trie;
mod validate;
#[cfg(feature = "agent")]
pub mod wire;

#[doc(hidden)]
pub mod __private;

/// Returns the size of a unit test: the usual one, or with `TOOLBOX_FULL_TESTS` the full one.
#[cfg(test)]
fn size(usual: usize, full: usize) -> usize {
    if std::env::var_os("TOOLBOX_FULL_TESTS").is_some() { full } else { usual }
}

pub use call::{Content, ToolCall, ToolError, ToolResult};
pub use collection::{ToolBox, ToolBoxBuilder};
pub use context::{FromContext, State, ToolContext};
pub use definition::ToolDefinition;
pub use future::BoxFuture;
pub use tool::Tool;

#[cfg(feature = "agent")]
pub use agent::Agent;
#[cfg(feature = "agent")]
pub use model::{History, Model};

#[cfg(feature = "macros")]
#[doc = include_str!("docs/prompt.md")]
pub use toolbox_macros::prompt;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/resource.md")]
pub use toolbox_macros::resource;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/tool.md")]
pub use toolbox_macros::tool;
#[cfg(feature = "macros")]
#[doc = include_str!("docs/toolset.md")]
pub use toolbox_macros::toolset;

/// Lists the tools of several functions: `tools![search, weather::forecast]`.
///
/// Returns a `Vec<Tool>`. Two tools of one name are a compile error that names both locations.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! tools {
    ($($tool:tt)*) => {
        $crate::__private::tools!($crate; $($tool)*)
    };
}

/// Lists the prompts of several functions: `prompts![review, mail::reply]`.
///
/// Returns a `Vec<Prompt>`. Two prompts of one name are a compile error that names both locations.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! prompts {
    ($($prompt:tt)*) => {
        $crate::__private::prompts!($crate; $($prompt)*)
    };
}

/// Lists the resources of several functions: `resources![manual, notes::note]`.
///
/// Returns a `Vec<Resource>`. Two resources of one URI are a compile error that names both
/// locations.
#[cfg(feature = "macros")]
#[macro_export]
macro_rules! resources {
    ($($resource:tt)*) => {
        $crate::__private::resources!($crate; $($resource)*)
    };
}

/// Makes a function with typed arguments and result of each tool that a lock file pins, in a module
/// for each server.
///
/// The path is that of a file in the package's folder, or else of one beside the source file.
/// `servers` names the servers that are meant; without it all are. A server whose tools changed
/// since they were approved is a compile error at the call, once the change is approved.
///
/// ```
/// use toolbox::client::ClientError;
/// use toolbox::ToolBox;
///
/// toolbox::mcp_tools!("src/tools.lock.json", servers = ["notes"]);
///
/// async fn titles(toolbox: &ToolBox) -> Result<Vec<String>, ClientError> {
///     let find = notes::find(notes::Find { words: "rust".to_owned() });
///     Ok(find.limit(10).call(toolbox).await?.titles)
/// }
/// # fn main() {}
/// ```
///
/// The page on [typed clients][page] lists what is made.
///
/// [page]: https://llm-toolbox.github.io/llm-toolbox/typed-clients.html
#[cfg(all(feature = "clients", feature = "macros"))]
#[macro_export]
macro_rules! mcp_tools {
    ($($input:tt)*) => {
        $crate::__private::mcp_tools!($crate; $($input)*);
    };
}

/// Returns the [`ServerInfo`](mcp::ServerInfo) of the crate that calls it: the name and version in
/// its manifest.
#[cfg(feature = "mcp-server")]
#[macro_export]
macro_rules! server_info {
    () => {
        $crate::mcp::ServerInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
    };
}

/// Compiles the code blocks of the pages outside of this crate with its documentation tests.
#[cfg(doctest)]
macro_rules! pages {
    ($($name:ident $path:literal if $condition:meta;)*) => {
        $(
            #[cfg($condition)]
            #[doc = include_str!($path)]
            mod $name {}
        )*
    };
}

#[cfg(doctest)]
pages! {
    readme "../../README.md" if all(feature = "macros", feature = "agent");
    first_tool "../../docs/first-tool.md" if feature = "macros";
    in_your_program "../../docs/in-your-program.md" if feature = "macros";
    approvals_page "../../docs/approvals.md" if all(feature = "macros", feature = "agent");
    arguments_page "../../docs/arguments.md" if feature = "macros";
    observing_page "../../docs/observing.md" if all(feature = "macros", feature = "audit", feature = "otel");
    taint_page "../../docs/taint.md" if feature = "macros";
    not_send_page "../../docs/not-send.md" if feature = "macros";
    who_may_call_page "../../docs/who-may-call.md" if feature = "macros";
    asking_page "../../docs/asking.md" if all(feature = "macros", feature = "agent");
    test_your_tools "../../docs/test-your-tools.md" if all(feature = "macros", feature = "agent");
    agents_page "../../docs/agents.md" if all(feature = "macros", feature = "openai");
    context_page "../../docs/context.md" if all(feature = "macros", feature = "agent", feature = "results");
    search_page "../../docs/search.md" if all(feature = "macros", feature = "search");
    typed_clients_page "../../docs/typed-clients.md" if all(feature = "clients", feature = "macros");
    mcp_page "../../docs/mcp.md" if feature = "mcp";
    reliability_page "../../docs/reliability.md" if all(feature = "macros", feature = "durable");
    fleet_page "../../docs/fleet.md" if all(feature = "macros", feature = "nats", feature = "durable");
    scale_page "../../docs/scale.md" if all(feature = "macros", feature = "mcp-server-http");
    results_page "../../docs/results.md" if all(feature = "agent", feature = "results", feature = "notes");
    from_rmcp_page "../../docs/from-rmcp.md" if feature = "mcp-server";
    from_rig_page "../../docs/from-rig.md" if feature = "agent";
    builtin_page "../../docs/builtin.md" if all(target_os = "linux", feature = "files", feature = "shell", feature = "http");
    shell_page "../../docs/shell.md" if all(target_os = "linux", feature = "shell");
    program_page "../../docs/program.md" if feature = "cli";
    page_page "../../docs/page.md" if all(feature = "macros", feature = "page");
}
