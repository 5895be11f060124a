//! What the expansions of the macros call. Not part of the public API: semantic versioning does not cover it.

mod kind;
mod made;

pub use kind::{ExampleValue, KindOf, Returned, ToolFailure, ToolOutput, kind_of};
pub use made::{
    Meta, make_async, make_sync, tidy, tool_future_must_be_send, two_tools_of_one_name,
};

#[cfg(feature = "macros")]
pub use toolbox_macros::tools;

pub use crate::arguments::about::About;
pub use crate::arguments::call::Call;
pub use crate::arguments::slot::{lent, owned};

/// The traits whose methods expansions call, without their names.
pub mod traits {
    pub use super::kind::{
        Displayed as _, Failing as _, Json as _, NoJson as _, Plain as _, Serialized as _,
        Sourced as _, Structured as _, Whole as _, WholeKind as _,
    };
}
