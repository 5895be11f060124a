//! Tool definitions in the dialect of each provider.
//!
//! [`lower`](fn@lower) turns a definition into the entry of one provider's tool list, and reports
//! what that provider cannot express. [`Definitions`] keeps the lists of a whole box, lowered and
//! serialized once. All of it is pure: no I/O, no state.
//!
//! ```
//! use toolbox::dialect::{Dialect, lower};
//! use toolbox::tool;
//!
//! /// Adds two numbers.
//! #[tool]
//! fn add(a: i64, b: i64) -> i64 {
//!     a + b
//! }
//!
//! for dialect in Dialect::ALL {
//!     let lowered = lower(add::tool().definition(), dialect);
//!     assert!(lowered.tool.to_string().contains("Adds two numbers."));
//!     assert!(lowered.losses.is_empty());
//! }
//! ```
//!
//! | to | see |
//! |---|---|
//! | lower one definition, or list several | [`lower`](fn@lower), [`list`], [`Lowered`], [`Loss`] |
//! | choose a provider's form | [`Dialect`] |
//! | keep the lists of many definitions | [`Definitions`], [`DefinitionList`], [`ListedTool`] |
//! | count what they cost | [`Definitions::tokens`], [`ToolTokens`], [`TokenCounter`], [`EstimatedTokens`] |
//! | map names and optional arguments back | [`outbound_name`], [`restore_optional`] |

mod dialect;
pub(crate) mod grouped;
mod list;
mod lower;
mod names;
mod restore;
mod shared;
mod tokens;

pub use dialect::{Dialect, Loss, Lowered};
pub use list::{DefinitionList, Definitions, DefinitionsIter};
pub(crate) use lower::mcp_tool;
pub use lower::{list, lower};
pub(crate) use names::fits;
pub use names::outbound_name;
pub use restore::restore_optional;
pub(crate) use restore::restore_strict;
pub use shared::ListedTool;
pub(crate) use shared::SharedDefinition;
pub use tokens::{EstimatedTokens, TokenCounter, ToolTokens};
