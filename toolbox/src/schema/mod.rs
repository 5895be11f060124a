//! Rust types to one normal schema, and that schema to each provider's dialect.
