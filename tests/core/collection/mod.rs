//! Boxes as collections of tools.

mod available;
mod deprecated;
mod registry;
mod renamed;
mod rules;
