//! Ordinary Rust functions as tools that language models call.

extern crate self as toolbox;

mod arguments;
mod definition;
pub mod schema;

pub use definition::{check_name, InvalidNameError, ToolAnnotations, ToolDefinition, MAX_NAME_LEN};
