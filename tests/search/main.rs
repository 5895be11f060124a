//! The catalog, and its gateway.

mod catalog;
mod gateway;
mod requests;

use support::bounded;
