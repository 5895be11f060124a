//! Reading of resources through the gate.

use std::collections::BTreeMap;

use serde_json::Value;

use super::admitted::Pass;
use super::prompts::{complete, request, unknown, unknown_argument, whole};
use crate::call::{FailureKind, ResourceContents, ToolCall, ToolError};
use crate::collection::{Resources, permitted_spellings};
use crate::context::ToolContext;
use crate::resource::{Resource, contents_of};
use crate::tool::Suggestions;

impl Resources {
    /// Reads the resource of a URI: one or several contents, never none.
    ///
    /// # Errors
    ///
    /// There is no such resource, or it is forbidden ([`FailureKind::NotFound`],
    /// [`FailureKind::Blacklisted`]), it is larger than
    /// [`max_resource_bytes`](crate::ToolBoxBuilder::max_resource_bytes)
    /// ([`FailureKind::ResultTooLarge`]), or its function failed.
    ///
    /// # Cancellation
    ///
    /// Dropping the future drops that of the function where it waits.
    pub async fn read(&self, uri: &str) -> Result<Vec<ResourceContents>, ToolError> {
        self.read_in(&ToolContext::new(), uri).await
    }

    /// Reads the resource of a URI, in a context of the program.
    ///
    /// # Errors
    ///
    /// As for [`Resources::read`].
    ///
    /// # Cancellation
    ///
    /// As for [`Resources::read`].
    pub async fn read_in(
        &self,
        context: &ToolContext,
        uri: &str,
    ) -> Result<Vec<ResourceContents>, ToolError> {
        let (resource, variables) = self.find(uri).ok_or_else(|| unknown("resource", uri))?;
        let permits = |uri: &str| self.calls.permits(uri) && context.permits(uri);
        if !permitted_spellings(uri, permits) {
            return Err(ToolError::of_kind(
                FailureKind::Blacklisted,
                "the resource is blacklisted: it may not be read",
            ));
        }
        let arguments = Value::Object(variables).to_string();
        let call = ToolCall::new(context.call_id(), resource.uri(), arguments);
        let context = context.clone().with_resource_uri(uri);
        let result = self.calls.dispatch(Some(&context), call, Pass::default()).await;
        let limit = self.calls.shared.settings.result_bytes;
        let result = whole(result, "resource", uri, limit).map_err(|error| match error.kind() {
            // A URI whose variables do not fit the types of the function names nothing.
            FailureKind::InvalidArguments | FailureKind::NotFound => unknown("resource", uri),
            _ => error,
        })?;
        Ok(contents_of(result, uri, resource.mime_type()))
    }

    /// Returns values for a variable of a template that a person is typing; `template` is its text,
    /// or a URI that it matches. A variable without a completer has none.
    ///
    /// # Errors
    ///
    /// There is no such template ([`FailureKind::NotFound`]) or variable
    /// ([`FailureKind::InvalidArguments`]), or the completer failed.
    ///
    /// # Cancellation
    ///
    /// As for [`Resources::read`].
    pub async fn complete(
        &self,
        context: &ToolContext,
        template: &str,
        variable: &str,
        value: &str,
        variables: BTreeMap<String, String>,
    ) -> Result<Suggestions, ToolError> {
        let found = self.get(template).or_else(|| self.find(template).map(|(found, _)| found));
        let is_permitted =
            |found: &Resource| self.calls.permits(found.uri()) && context.permits(found.uri());
        let found = found.filter(is_permitted).ok_or_else(|| unknown("resource", template))?;
        if !found.variables().any(|own| own == variable) {
            return Err(unknown_argument("resource", template, variable));
        }
        let request = request(context, variable, value, variables);
        complete(&self.calls, found.completers(), request).await
    }
}
