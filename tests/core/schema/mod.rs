//! Schemas, of arguments and of results.

mod hostile_schemas;
pub(crate) mod lowered;
mod odd_schemas;
mod outputs;
mod strict;
mod told;
