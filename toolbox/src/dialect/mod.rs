//! Tool definitions in the dialect of each provider.
//!
//! [`lower`](fn@lower) turns a definition into the entry of one provider's tool list and reports
//! what that provider cannot express. [`Definitions`] keeps the lowered lists of a whole box. All
//! of it is pure: no I/O, no state.

mod dialect;
mod list;
mod lower;
mod names;
mod restore;

pub use dialect::{Dialect, Loss, Lowered};
pub use list::{DefinitionList, Definitions};
pub use lower::{list, lower};
pub(crate) use names::fits;
pub use names::outbound_name;
pub use restore::restore_optional;
pub(crate) use restore::restore_strict;
