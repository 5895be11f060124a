//! Ways to make a tool, and the rules for its name.

mod builders;
mod error_data;
mod made;
mod media;
mod names;
mod traits;
