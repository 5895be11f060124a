//! Boxes as collections of tools.

mod deprecated;
mod registry;
mod renamed;
