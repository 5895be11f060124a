//! The tools of servers in a box.

mod calls;
mod drift;
mod faults;
mod foreign;
mod http;
#[cfg(target_os = "linux")]
mod killed;
mod read;
pub(crate) mod support;
