//! Boxes as collections of tools.

mod available;
mod registry;
mod renamed;
