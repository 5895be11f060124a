//! The tools that come with the crate, each with the escapes that a model, a page or another program may try.

mod ask_user;
mod files;
mod http;
mod knowledge;
mod notes;
mod schedule;
#[cfg(target_os = "linux")]
mod shell;
mod support;
mod web_search;
