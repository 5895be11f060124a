//! Items that macro expansions use. Not part of the public API: semantic versioning does not cover
//! them.

mod beside;
mod kind;
mod made;
mod presentation;
mod receiver;
mod streams;

pub use beside::{
    MethodCompleter, PromptOutput, ResourceOutput, TraitSet, add_offers, add_prompt, add_resource,
    add_set, completer, completer_of, make_prompt, make_resource,
};
#[cfg(feature = "stream")]
pub use streams::{CollectedOutput, StreamKind};
// Some of them for a short path in compiler messages.
pub use kind::{
    AwaitedOutput, ExampleValue, FutureKind, KindOf, Returned, Side, ToolFailure, ToolOutput,
    kind_of, returned,
};
pub use made::{
    Meta, checked_name, make_async, make_async_of, make_async_of_trait, make_sync, make_sync_of,
    make_sync_of_trait, tidy, tool_future_must_be_send, two_prompts_of_one_name,
    two_resources_of_one_uri, two_tools_of_one_name,
};

#[cfg(all(feature = "clients", feature = "macros"))]
pub use toolbox_macros::mcp_tools;
#[cfg(feature = "macros")]
pub use toolbox_macros::{carrier, prompts, resources, tools};

pub use crate::arguments::call::HandlerCall;
pub use crate::arguments::signature::SignatureBuilder;
// Re-exported only for a short path in compiler messages.
pub use crate::arguments::slot::{CheckedSlot, Fill, LentSlot, OwnedSlot, Peek, checked};
pub use crate::arguments::unfit::{TakeReference, TakeShared, TakeSupplied, TakeUnkeyed};
pub use crate::call::CheckResult;
pub use crate::definition::Icon;
pub use crate::future::BoxFuture;
pub use crate::tool::SetOffers;
pub use presentation::{MetaValue, ToolIcon};
pub use receiver::ToolReceiver;
pub use streams::{
    Collect, CollectedStream, Fold, FoldFn, NoItems, Streamed, collect, fold, fold_of, schema_of,
    streamed,
};

/// Items that expansions bring into scope: traits for their methods, and names that compiler
/// messages display where the user's own code stands, each behind `__` so that it hides nothing.
pub mod names {
    pub use super::ToolReceiver as __Receiver;
    pub use super::beside::{NoPrompt as _, NoResource as _};
    pub use super::beside::{PromptOutput as __Prompt, ResourceOutput as __Resource};
    pub use super::kind::NoTool as _;
    pub use super::kind::{
        AroundText as _, Awaitable as _, Displayed as _, ExampleValue as __Example, Failing as _,
        Json as _, NoJson as _, NotResult as _, NotResultKind as _, OfText as _, OwnResult as _,
        RangeEnd as __End, Serialized as _, Sourced as _, StillText as _, Structured as _,
        ToolFailure as __Failure, ToolOutput as __Output,
    };
    pub use super::made::{
        tool_future_must_be_send as __must_be_send, two_prompts_of_one_name as __distinct_prompt,
        two_resources_of_one_uri as __distinct_resource, two_tools_of_one_name as __distinct,
    };
    pub use super::presentation::{MetaValue as __Meta, ToolIcon as __Icon};
    #[cfg(feature = "stream")]
    pub use super::streams::Streaming as _;
    pub use super::streams::{NoStream as _, NoStreamKind as _};
    pub use crate::arguments::argument::{LentArgument as __Lent, ToolArgument as __Owned};
    pub use crate::arguments::unfit::{
        TakeReference as _, TakeShared as _, TakeSupplied as _, TakeUnkeyed as _,
    };

    /// A type itself.
    pub type __It<T> = T;
}
