//! Schemas, of arguments and of results.

mod hostile_schemas;
mod odd_schemas;
mod outputs;
mod strict;
