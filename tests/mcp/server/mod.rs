//! A box as a server: what a client sees that speaks the protocol byte by byte.

#![allow(clippy::needless_pass_by_value, reason = "tools take their arguments by value")]

mod apps;
mod arguments;
mod asking;
mod available;
mod batches;
mod ends;
mod envelopes;
mod gateway_offers;
mod gateway_skills;
mod http;
mod lists;
mod offers;
mod pace;
mod peer;
mod process;
mod recorded;
pub(crate) mod relay;
mod relayed_tasks;
mod results;
mod sessions;
mod shares;
mod skills;
mod stream;
mod strict;
mod tasks;
mod tokens;
mod tools;
mod web;
