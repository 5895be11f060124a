//! The catalog, and its gateway.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

mod catalog;
mod envelope;
mod everyday;
mod gateway;
mod requests;

use support::bounded;
