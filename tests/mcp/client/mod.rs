//! The tools of servers in a box.

mod asking;
mod authorization_servers;
mod bodies;
mod calls;
mod client_credentials;
mod dpop;
mod drift;
#[cfg(target_os = "linux")]
mod escape;
mod faults;
mod foreign;
mod frames;
pub(crate) mod http;
#[cfg(target_os = "linux")]
mod killed;
mod live;
mod lost_sessions;
mod no_endpoint;
pub(crate) mod oauth;
mod odd;
mod program_grants;
mod read;
mod same_uris;
mod sign_in_midway;
#[cfg(unix)]
mod startup;
mod streams;
pub(crate) mod support;
mod tasks;
mod typed;
mod versions;
