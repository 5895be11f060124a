//! A page in a browser over a box: every tool with its definitions, a form to try it, the calls as
//! they happen, and the decisions that calls wait for.
//!
//! [`Page::router`] puts it into an axum application, [`Page::serve`] on a listener of its own. It
//! is one program with everything embedded, and loads nothing from elsewhere. The forms, the faults
//! beside them and the refusals come from the schemas and the gate that answer a model's calls.
//!
//! ```no_run
//! use toolbox::page::Page;
//! use toolbox::{tool, tools, ToolBox};
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! # async fn open() -> std::io::Result<()> {
//! let page = Page::new(ToolBox::from(tools![add]));
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:8080").await?;
//! println!("{}", page.link("http://127.0.0.1:8080"));
//! axum::serve(listener, page.router()).await
//! # }
//! ```
//!
//! # Who is let in
//!
//! A browser is let in by a [link](Page::link), which holds a token in its fragment, or by a
//! [token](Page::token) of the program's choice that is typed in. A link is used once. Either is
//! exchanged for a session of two halves: a cookie that scripts cannot read, and a key that only
//! pages of this origin can read, so that another server on another port of the machine, which
//! browsers send the cookie to as well, has no use for it. Requests for another host, of pages of
//! another origin, without a session, or faster than the [pace](Page::max_requests_per_second) are
//! refused. Nothing is changed by `GET`.
//!
//! The HTML of MCP Apps is shown in frames of another origin, for which [`Page::serve`] has a
//! listener on a port of its own: see [`Page::serve_apps`].
//!
//! Whoever has a session can call every tool that the box permits, and decide on the calls that
//! wait. The page is for the people who run the program.
//!
//! | to | see |
//! |---|---|
//! | open a page over a box | [`Page`] |
//! | decide on calls and answer questions in it | [`Inbox`] |
//! | talk to a model over its tools | `Page::chat` (feature `agent`) |
//! | show what principals spend | `Page::journal` (feature `durable`) |

mod admission;
mod app_frames;
mod app_listen;
mod app_policy;
mod apps;
mod assets;
mod calls;
#[cfg(feature = "agent")]
mod chat;
#[cfg(not(feature = "agent"))]
#[path = "no_chat.rs"]
mod chat;
mod config_change;
mod config_file;
mod frames;
mod inbox;
mod inner;
mod large;
mod large_parts;
mod listen;
mod live;
mod log;
mod notes;
mod offers;
mod options;
mod page;
mod reply;
mod routes;
mod servers;
mod sessions;
#[cfg(feature = "durable")]
mod spending;
mod tools;

#[cfg(feature = "cli")]
pub(crate) use config_change::{
    ChangeRefusal, ConfigFile, EntryChange, FileChange, WantedChange, WantedImport,
};
pub use inbox::Inbox;
#[cfg(feature = "cli")]
pub(crate) use notes::notes;
pub use page::{OpenPageError, Page};
