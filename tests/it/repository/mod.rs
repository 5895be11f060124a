//! Rules that the repository keeps: rows, modules, pages.

mod errors_page;
mod rows;
mod walls;
