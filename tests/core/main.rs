//! Tests of the public API of `toolbox`. ROWS.md maps each promise to its test.

#![allow(
    clippy::items_after_statements,
    clippy::needless_pass_by_value,
    clippy::too_many_arguments,
    clippy::unnecessary_wraps,
    clippy::unused_async,
    reason = "the tools under test take, return and stand where those of users do"
)]

mod arguments;
mod as_tools;
mod collection;
mod contract;
mod dispatch;
mod events;
mod prompts;
mod repository;
mod resources;
mod schema;
mod set_offers;
mod tool;

use support::bounded;
