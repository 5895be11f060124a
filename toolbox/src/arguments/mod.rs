//! Conversion of argument text into typed values: the reader, and the signature of a tool.

mod arena;
pub(crate) mod argument;
pub(crate) mod call;
pub(crate) mod describe;
pub(crate) mod reader;
pub(crate) mod shapes;
pub(crate) mod signature;
pub(crate) mod slot;
mod specimen;
pub(crate) mod unfit;
