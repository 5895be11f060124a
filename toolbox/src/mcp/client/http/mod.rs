//! Connections to servers with a URL.

mod address;
mod body;
mod client;
mod demand;
mod event_stream;
mod events;
mod foreign;
pub(in crate::mcp::client) mod lost_session;
mod parameters;
mod refusal;
mod reopened;
mod session_stream;

pub(super) use address::{SharedClient, address};
#[cfg(feature = "mcp-oauth")]
pub(super) use body::client_error;
pub(super) use client::HttpTransport;
#[cfg(feature = "mcp-oauth")]
pub(super) use demand::{answered, challenge_of};
#[cfg(feature = "mcp-oauth")]
pub(super) use foreign::{
    OLD_TRANSPORT, begins_as_old, fault_of, is_html, may_be_old, within_origin,
};
pub(super) use parameters::{WrappedPage, page_of};
