//! The protocol both ways, tested with peers that behave and with peers that do not.

mod client;
mod config;
mod names;
mod server;

use support::bounded;

support::programs!("mcp-programs");
