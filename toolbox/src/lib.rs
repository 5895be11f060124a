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
//! | find one of many tools | the module `search` (feature `search`) |
//! | tell a provider about tools | [`ToolDefinition`], [`dialect`], [`schema`] |
//! | let a model call tools until it has an answer | `agent`, `model`, `testing` (feature `agent`) |
//! | talk to a provider with a loop of your own | `wire` (feature `agent`) |
//! | use the tools of MCP servers, or be one | the module `mcp` (feature `mcp`) |
//! | make a command-line program of a box | the module `cli` (feature `cli`) |
//! | give a model files, a shell, the web | the module `builtin` (a feature each) |
//! | work in the background | [`Completion`](context::Completion), [`JobId`](call::JobId), [`ToolContext::with_completions`] |
//!
//! # Features
//!
//! A module behind a feature is on these pages where they were made with it:
//! `cargo doc --open -p toolbox --all-features --no-deps` shows all.
//!
//! | feature | default | adds |
//! |---|---|---|
//! | `macros` | yes | `#[tool]`, `#[toolset]`, `tools![]` |
//! | `agent` | no | agents, models, transcripts, the formats of the providers, scripted models; no further crate |
//! | `skills` | no | `load_skill`: a folder of instructions as a tool; no further crate |
//! | `pattern` | no | `#[arg(pattern = "..")]`, and `pattern` in schemas that are checked; on with `mcp-client` |
//! | `knowledge` | no | `remember`, `knowledge_search`: a memory in an `SQLite` file |
//! | `schedule` | no | `schedule_create` and its like: a timetable in the same file, and the runner of what is due |
//! | `notes` | no | `note_write`, `note_read`, `note_list`, `note_delete`: in the same file |
//! | `ask-user` | no | `ask_user`: a question to the user of the program; no further crate |
//! | `openai`, `anthropic`, `gemini` | no | models behind an HTTP service, in `provider` |
//! | `search` | no | a catalog of tools, searched by words and by pattern (module `search`) |
//! | `mcp-client` | no | the tools of MCP servers in a box, child processes and streamable HTTP (module `mcp`) |
//! | `mcp-server` | no | a box as an MCP server over standard streams; nothing of HTTP |
//! | `mcp-server-http` | no | the same over streamable HTTP: an axum router, or a listener of its own |
//! | `mcp` | no | `mcp-client` and `mcp-server-http` |
//! | `mcp-oauth` | no | signing in at MCP servers that require it |
//! | `cli` | no | the program `toolbox`, and most of its commands for a box of your own (module `cli`) |
//! | `files`, `shell`, `http`, `web-search` | no | built-in tools (module `builtin`) |
//! | `panic-abort` | no | builds with `panic = "abort"`, where one panicking tool ends the process |
//!
//! # What cannot be promised
//!
//! Panics are contained, time is bounded, and a call that is dropped leaves nothing behind, with
//! these exceptions: a handler that overflows its stack, calls `abort` or `exit`, panics while a
//! panic unwinds, or exhausts the memory ends the process (run such a tool in a process of its own,
//! such as a mounted MCP server, whose end is one failed call); one that blocks for ever without
//! awaiting keeps its thread ([`ToolBoxBuilder::handler_runtime`] keeps the others alive).

#![cfg_attr(
    not(all(
        feature = "agent",
        feature = "mcp",
        feature = "search",
        feature = "http",
        feature = "schedule"
    )),
    allow(
        dead_code,
        reason = "the core serves modules that this build leaves out; the build with all features reports dead code"
    )
)]

extern crate self as toolbox;

#[cfg(all(panic = "abort", not(feature = "panic-abort")))]
compile_error!(
    "`toolbox` contains the panics of tools, which `panic = \"abort\"` makes impossible\n\
     help: take it out of the profile, or enable the feature `panic-abort` of `toolbox` to accept that one panicking tool ends the process"
);

#[cfg(feature = "agent")]
pub mod agent;
mod arguments;
#[cfg(any(
    feature = "ask-user",
    feature = "files",
    feature = "http",
    feature = "knowledge",
    feature = "notes",
    feature = "schedule",
    feature = "shell",
    feature = "skills"
))]
pub mod builtin;
pub mod call;
#[cfg(feature = "cli")]
pub mod cli;
pub mod collection;
pub mod context;
pub mod definition;
pub mod dialect;
mod dispatch;
mod future;
#[cfg(any(feature = "mcp-client", feature = "mcp-server"))]
pub mod mcp;
#[cfg(feature = "agent")]
pub mod model;
#[cfg(any(feature = "openai", feature = "anthropic", feature = "gemini"))]
pub mod provider;
pub mod schema;
#[cfg(feature = "search")]
pub mod search;
#[cfg(feature = "agent")]
pub mod testing;
mod text;
pub mod tool;
mod validate;
#[cfg(feature = "agent")]
pub mod wire;

#[doc(hidden)]
pub mod __private;

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

/// Returns the [`ServerInfo`](mcp::ServerInfo) of the crate that calls it: the name and version in
/// its manifest.
#[cfg(feature = "mcp-server")]
#[macro_export]
macro_rules! server_info {
    () => {
        $crate::mcp::ServerInfo::new(env!("CARGO_PKG_NAME"), env!("CARGO_PKG_VERSION"))
    };
}

/// The code blocks of the pages outside of this crate, compiled with its tests.
#[cfg(all(
    doctest,
    unix,
    feature = "openai",
    feature = "search",
    feature = "mcp",
    feature = "files",
    feature = "shell",
    feature = "http"
))]
#[doc = include_str!("../../README.md")]
mod readme {}

/// The page on arguments, which needs no feature.
#[cfg(all(doctest, feature = "macros"))]
#[doc = include_str!("../../docs/arguments.md")]
mod arguments_page {}

/// The page for users of rmcp.
#[cfg(all(doctest, feature = "mcp-server"))]
#[doc = include_str!("../../docs/from-rmcp.md")]
mod from_rmcp_page {}

/// The page for users of rig.
#[cfg(all(doctest, feature = "agent"))]
#[doc = include_str!("../../docs/from-rig.md")]
mod from_rig_page {}

/// The page on commands.
#[cfg(all(doctest, target_os = "linux", feature = "shell"))]
#[doc = include_str!("../../docs/shell.md")]
mod shell_page {}

/// The page on the program.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../../docs/program.md")]
mod program_page {}
