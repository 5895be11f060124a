//! The protocol both ways, tested with peers that behave and with peers that do not.

#[path = "../bounded.rs"]
mod bounded;
mod client;
mod config;
mod names;
mod page;
mod program;
mod server;
