//! A box as a server: what a client sees that speaks the protocol byte by byte.

mod ends;
mod http;
mod lists;
mod peer;
mod process;
mod results;
mod stream;
mod tools;
