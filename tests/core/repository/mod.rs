//! Rules that the repository keeps: rows, modules, pages.

mod errors_page;
mod figures;
mod locks;
mod packages;
mod pages;
mod paths;
mod public_items;
mod rows;
mod walls;
