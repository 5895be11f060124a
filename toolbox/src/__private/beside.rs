//! Construction of prompts and resources from expansions.

use std::marker::PhantomData;
use std::sync::Arc;

use crate::call::ToolResult;
use crate::prompt::{IntoPromptMessages, Prompt};
use crate::resource::{IntoResourceContents, Resource};
use crate::tool::{Completer, CompletionRequest, IntoSuggestions, SetOffers, Tool, completing};

use super::kind::Never;

/// Returns the tool that runs a completer.
#[must_use]
pub fn completer<M>(completer: impl Completer<M>) -> Tool {
    completing(completer)
}

/// A completer of an argument of a method: a method of the same set, or any [`Completer`].
///
/// `M` tells the forms apart.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not complete an argument",
    label = "neither a completer nor a method of the toolset that is one",
    note = "write `fn(&self, &CompletionRequest) -> Vec<String>`, or `async fn(self: Arc<Self>, CompletionRequest) -> Vec<String>`; both may return a `Result` with a `ToolError`",
    note = "a function of the request alone is one too: `fn(&CompletionRequest) -> Vec<String>`"
)]
pub trait MethodCompleter<S: ?Sized, M> {
    #[doc(hidden)]
    fn tool_of(self, set: &Arc<S>) -> Tool;
}

/// The form of a completer without a set.
#[derive(Debug)]
pub struct WithoutSet<M>(PhantomData<M>);

#[diagnostic::do_not_recommend]
impl<S: ?Sized, M, C: Completer<M>> MethodCompleter<S, WithoutSet<M>> for C {
    fn tool_of(self, _: &Arc<S>) -> Tool {
        completing(self)
    }
}

#[diagnostic::do_not_recommend]
impl<S: ?Sized, F, T> MethodCompleter<S, fn(&S, &CompletionRequest) -> T> for F
where
    S: Send + Sync + 'static,
    F: Fn(&S, &CompletionRequest) -> T + Send + Sync + 'static,
    T: IntoSuggestions,
{
    fn tool_of(self, set: &Arc<S>) -> Tool {
        let set = Arc::clone(set);
        completing(move |request: &CompletionRequest| self(&set, request).into_suggestions())
    }
}

#[diagnostic::do_not_recommend]
impl<S: ?Sized, F, Fut, T> MethodCompleter<S, fn(Arc<S>, CompletionRequest) -> (Fut, T)> for F
where
    S: Send + Sync + 'static,
    F: Fn(Arc<S>, CompletionRequest) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = T> + Send + 'static,
    T: IntoSuggestions,
{
    fn tool_of(self, set: &Arc<S>) -> Tool {
        let set = Arc::clone(set);
        completing(move |request: CompletionRequest| {
            let suggestions = self(Arc::clone(&set), request);
            async move { suggestions.await.into_suggestions() }
        })
    }
}

/// Returns the tool that runs a completer of a method's argument.
#[must_use]
pub fn completer_of<S: ?Sized, M>(set: &Arc<S>, completer: impl MethodCompleter<S, M>) -> Tool {
    completer.tool_of(set)
}

/// Adds a prompt to those of a toolset.
pub fn add_prompt(offers: &mut SetOffers, prompt: Prompt) {
    offers.prompts.push(prompt.tool);
}

/// Adds a resource to those of a toolset.
pub fn add_resource(offers: &mut SetOffers, resource: Resource) {
    offers.resources.push(resource.tool);
}

/// The tools of a value by a trait, with its prompts and resources.
#[derive(Debug, Default)]
#[allow(missing_docs, reason = "they are those of the line above")]
pub struct TraitSet {
    pub tools: Vec<Tool>,
    pub offers: SetOffers,
}

/// Adds the prompts and resources of one set to those of another.
pub fn add_offers(offers: &mut SetOffers, more: SetOffers) {
    offers.prompts.extend(more.prompts);
    offers.resources.extend(more.resources);
}

/// Adds what a value has by one trait to what it has by another.
pub fn add_set(set: &mut TraitSet, more: TraitSet) {
    set.tools.extend(more.tools);
    add_offers(&mut set.offers, more.offers);
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
