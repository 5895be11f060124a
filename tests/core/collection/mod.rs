//! Boxes as collections of tools.

mod registry;
mod renamed;
