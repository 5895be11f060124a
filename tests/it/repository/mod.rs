//! Rules that the repository keeps: rows, modules, pages.

mod errors_page;
mod locks;
mod rows;
mod walls;
