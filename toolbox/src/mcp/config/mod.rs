//! What a program is told about servers: one server as a value, and the file that names many.

mod server;

pub(crate) use server::Reach;
pub use server::ServerConfig;
