//! The catalog, and its gateway.

mod catalog;
mod envelope;
mod gateway;
mod requests;

use support::bounded;
