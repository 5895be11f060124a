//! Construction of prompts and resources from expansions.

use crate::call::ToolResult;
use crate::prompt::{IntoPromptMessages, Prompt};
use crate::resource::{IntoResourceContents, Resource};
use crate::tool::{Completer, Tool, completing};

use super::kind::Never;

/// Returns the tool that runs a completer.
#[must_use]
pub fn completer<M>(completer: impl Completer<M>) -> Tool {
    completing(completer)
}

/// Makes a prompt of its tool and the completers of its arguments.
#[must_use]
pub fn make_prompt(tool: Tool, completers: Vec<(&'static str, Tool)>) -> Prompt {
    let prompt = Prompt::from_tool(tool);
    completers.into_iter().fold(prompt, |prompt, (argument, completer)| {
        prompt.with_completing_tool(argument, completer)
    })
}

/// Makes a resource of its URI, its tool and the completers of its variables.
#[must_use]
#[track_caller]
pub fn make_resource(
    uri: &'static str,
    mime_type: Option<&'static str>,
    tool: Tool,
    completers: Vec<(&'static str, Tool)>,
) -> Resource {
    let resource = match Resource::from_tool(uri, tool) {
        Ok(resource) => resource,
        Err(error) => panic!("the URI of a resource is invalid: {error}"),
    };
    let resource = match mime_type {
        Some(mime_type) => resource.with_mime_type(mime_type),
        None => resource,
    };
    completers.into_iter().fold(resource, |resource, (variable, completer)| {
        resource.with_completing_tool(variable, completer)
    })
}

/// The output of a function with `#[prompt]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no message of a prompt",
    label = "a prompt cannot return this",
    note = "return `String`, `Content`, `PromptMessage`, a `Vec` of these, or a `Result` of one",
    note = "implement `toolbox::prompt::IntoPromptMessages` for a type of your own",
    note = "an `async fn` is awaited; a future that a function returns is not"
)]
pub trait PromptOutput {
    #[doc(hidden)]
    fn finish(self) -> ToolResult;
}

#[diagnostic::do_not_recommend]
impl<T: IntoPromptMessages> PromptOutput for T {
    fn finish(self) -> ToolResult {
        crate::prompt::result_of(self.into_messages())
    }
}

/// The output of a function with `#[resource]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the content of a resource",
    label = "a resource cannot return this",
    note = "return text (`String`), bytes (`Vec<u8>`), `serde_json::Value`, `ResourceContents`, a `Vec` of these contents, or an `Option` or `Result` of one",
    note = "for a type of your own, return `serde_json::to_value(value)`, or implement `toolbox::resource::IntoResourceContents`",
    note = "an `async fn` is awaited; a future that a function returns is not"
)]
pub trait ResourceOutput {
    #[doc(hidden)]
    fn finish(self) -> ToolResult;
}

#[diagnostic::do_not_recommend]
impl<T: IntoResourceContents> ResourceOutput for T {
    fn finish(self) -> ToolResult {
        crate::resource::result_of(self.into_contents())
    }
}

impl IntoPromptMessages for Never {
    fn into_messages(self) -> Vec<crate::prompt::PromptMessage> {
        match self {}
    }
}

impl IntoResourceContents for Never {
    fn into_contents(self) -> Option<Vec<crate::call::ResourceContents>> {
        match self {}
    }
}

/// The type beside a function with `#[prompt]`; it has the functions of [`NoPrompt`] as its own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no prompt",
    label = "not the name of a function with `#[prompt]`",
    note = "write `#[prompt]` above the function, and list it by its name: `prompts![review]`"
)]
pub trait PromptOfFunction {}

/// The methods that `prompts![]` calls on its elements, for types that have none of them.
#[doc(hidden)]
pub trait NoPrompt {
    /// Returns no prompt.
    #[must_use]
    fn prompt() -> Prompt
    where
        Self: PromptOfFunction,
    {
        unreachable!("no type is `PromptOfFunction`")
    }
}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> NoPrompt for T {}

/// The type beside a function with `#[resource]`; it has the functions of [`NoResource`] as its
/// own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no resource",
    label = "not the name of a function with `#[resource]`",
    note = "write `#[resource(\"..\")]` above the function, and list it by its name: `resources![manual]`"
)]
pub trait ResourceOfFunction {}

/// The methods that `resources![]` calls on its elements, for types that have none of them.
#[doc(hidden)]
pub trait NoResource {
    /// Returns no resource.
    #[must_use]
    fn resource() -> Resource
    where
        Self: ResourceOfFunction,
    {
        unreachable!("no type is `ResourceOfFunction`")
    }
}

#[diagnostic::do_not_recommend]
impl<T: ?Sized> NoResource for T {}
