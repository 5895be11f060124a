//! The tools of servers in a box.

mod calls;
mod drift;
mod faults;
mod foreign;
mod http;
pub(crate) mod oauth;
mod read;
pub(crate) mod support;
