//! The tools of servers in a box.

mod calls;
mod drift;
mod faults;
mod foreign;
mod http;
mod read;
pub(crate) mod support;
