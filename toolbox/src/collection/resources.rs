//! The resources of a box.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value};
use tokio::sync::broadcast;

use super::notices::{ResourceNotices, WantedUri, WantedUris};
use super::toolbox::ToolBox;
use crate::context::InvalidRuleError;
use crate::context::rules::ToolRule;
use crate::resource::{self, IntoResources, Resource, at_server};

/// The resources of a [`ToolBox`], by their URIs; a cheap handle.
///
/// Reading has the timeout, the limits, the state and the asker of the box. Its layers, its rules,
/// its journal and its store of results are of tools alone: resources have a blacklist of their
/// own. What is read is never cut: if it is larger than
/// [`max_resource_bytes`](crate::ToolBoxBuilder::max_resource_bytes), it fails.
///
/// ```
/// use toolbox::{ToolBox, resource, resources};
///
/// /// The state of an order.
/// #[resource("orders://{id}")]
/// fn order(id: u64) -> String {
///     format!("Order {id} is on its way")
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), toolbox::ToolError> {
/// let toolbox = ToolBox::builder().resources(resources![order]).build().unwrap();
/// let contents = toolbox.resources().read("orders://7").await?;
/// assert_eq!(contents[0].text.as_deref(), Some("Order 7 is on its way"));
/// toolbox.resources().changed("orders://7");
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Resources {
    /// The functions that read resources, as tools whose names are URIs.
    pub(crate) calls: ToolBox,
    notices: ResourceNotices,
}

impl ToolBox {
    /// Returns the resources of the box.
    #[must_use]
    pub fn resources(&self) -> Resources {
        Resources { calls: self.resource_calls().clone(), notices: self.resource_notices().clone() }
    }

    /// Returns the resources, if the box ever had one.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn own_resources(&self) -> Option<Resources> {
        self.used_resource_calls()?;
        Some(self.resources())
    }
}

impl Resources {
    /// Adds resources; one whose URI is taken replaces the other, at its position.
    pub fn register(&self, resources: impl IntoResources) {
        self.calls.register(resource::tools_of(resources));
    }

    /// Removes resources and adds others, as one change.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn exchange(&self, is_gone: impl Fn(&Resource) -> bool, resources: Vec<Resource>) {
        self.calls.exchange(|tool| is_gone(&Resource::of(tool)), resource::tools_of(resources));
    }

    /// Declares that there may be resources, though there are none yet.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn announce(&self) {
        self.calls.change(|_| {});
    }

    /// Declares that some resources are skills, or may become some.
    #[allow(dead_code, reason = "for folders of skills, and for mounted servers")]
    pub(crate) fn announce_skills(&self) {
        self.announce();
        self.notices.skills.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if some resources are skills, or may become some.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn has_skills(&self) -> bool {
        self.notices.skills.load(Ordering::Relaxed)
    }

    /// Returns the resources that are skills, in order. One with a forbidden file is left out.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn skills(&self) -> Vec<Resource> {
        let snapshot = self.calls.snapshot();
        let is_permitted = |resource: &Resource| {
            resource.skill().is_some_and(|skill| {
                let uris = skill.files.iter().map(|file| file.uri.as_str());
                uris.chain([resource.uri()]).all(|uri| !self.forbids(uri))
            })
        };
        snapshot.tools().map(Resource::of).filter(is_permitted).collect()
    }

    /// Returns the maximum size of the contents of a resource, in bytes.
    #[allow(dead_code, reason = "for folders of skills")]
    pub(crate) fn max_bytes(&self) -> usize {
        self.calls.shared.settings.result_bytes
    }

    /// Removes the resource of a URI or of the text of a template, and returns it if it was there.
    #[allow(clippy::must_use_candidate, reason = "taking a resource out is enough")]
    pub fn unregister(&self, uri: &str) -> Option<Resource> {
        self.calls.unregister(uri).as_ref().map(Resource::of)
    }

    /// Returns the resource of a URI: the one registered under it, or the first template that it
    /// matches, with the values of its variables.
    #[must_use]
    pub fn find(&self, uri: &str) -> Option<(Resource, Map<String, Value>)> {
        let snapshot = self.calls.snapshot();
        let exact = snapshot.get(uri).map(|entry| Resource::of(&entry.tool));
        if let Some(exact) = exact.filter(|exact| !exact.is_template()) {
            return Some((exact, Map::new()));
        }
        let mut templates = snapshot.tools().map(Resource::of).filter(Resource::is_template);
        templates.find_map(|template| template.matches(uri).map(|values| (template, values)))
    }

    /// Returns all templates, in the order in which they are tried.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn templates(&self) -> Vec<Resource> {
        let snapshot = self.calls.snapshot();
        snapshot.tools().map(Resource::of).filter(Resource::is_template).collect()
    }

    /// Returns the resource that was registered under a URI, or under the text of a template.
    #[must_use]
    pub fn get(&self, uri: &str) -> Option<Resource> {
        self.calls.get(uri).as_ref().map(Resource::of)
    }

    /// Returns all resources and templates that are not forbidden, in order.
    #[must_use]
    pub fn list(&self) -> Vec<Resource> {
        let listed = self.calls.snapshot().listed().map(Resource::of).collect::<Vec<_>>();
        let is_permitted = |resource: &Resource| !self.forbids_at_server(resource, resource.uri());
        listed.into_iter().filter(is_permitted).collect()
    }

    /// Returns the URIs of all resources and the texts of all templates, in order.
    #[must_use]
    pub fn uris(&self) -> Vec<String> {
        self.calls.names()
    }

    /// Returns the number of resources and templates.
    #[must_use]
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Returns `true` if there are no resources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Forbids a resource by its URI or the text of its template: it is left out of lists, and
    /// reading it fails.
    /// It may hold `*` for any run of characters, and matches whatever the case.
    ///
    /// # Panics
    ///
    /// If it names none, like `""` or `*`.
    #[track_caller]
    pub fn blacklist(&self, uri: &str) {
        if let Err(error) = self.try_blacklist(uri) {
            panic!("{error}");
        }
    }

    /// Forbids a resource, like [`Resources::blacklist`].
    ///
    /// # Errors
    ///
    /// [`InvalidRuleError`] if it names none, like `""` or `*`.
    pub fn try_blacklist(&self, uri: &str) -> Result<(), InvalidRuleError> {
        InvalidRuleError::check_uri(uri)?;
        self.calls.change(|next| next.forbid(&ToolRule::of_uri(uri)));
        Ok(())
    }

    /// Returns `true` if the rules of the box forbid a URI, in this spelling or in another, what it
    /// is found as, or the URI that this has at its server.
    pub(crate) fn forbids(&self, uri: &str) -> bool {
        let is_found_forbidden = |(found, _): (Resource, _)| {
            !self.calls.permits(found.uri()) || self.forbids_at_server(&found, uri)
        };
        !self.permits_spellings(uri) || self.find(uri).is_some_and(is_found_forbidden)
    }

    /// Returns `true` if the rules forbid the URI, or the template, of a resource at its server.
    fn forbids_at_server(&self, resource: &Resource, uri: &str) -> bool {
        let Some(server) = resource.source() else { return false };
        let template = resource.uri();
        !self.permits_spellings(at_server(server, uri))
            || !self.calls.permits(at_server(server, template))
    }

    fn permits_spellings(&self, uri: &str) -> bool {
        permitted_spellings(uri, |uri| self.calls.permits(uri))
    }

    /// Notifies clients that subscribed to a URI, or to one above it, that its contents changed.
    pub fn changed(&self, uri: impl Into<Arc<str>>) {
        // An error means that nobody has subscribed.
        let _ = self.notices.updates.send(uri.into());
    }

    /// Returns a receiver of the URIs that change from here on.
    pub(crate) fn updates(&self) -> broadcast::Receiver<Arc<str>> {
        self.notices.updates.subscribe()
    }

    /// Declares that somebody wants to hear of changes of a URI, until the guard is dropped.
    #[allow(dead_code, reason = "for servers")]
    pub(crate) fn want(&self, uri: &str) -> WantedUri {
        self.notices.want(uri)
    }

    /// Returns the URIs that somebody wants to hear of.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn wanted(&self) -> WantedUris {
        self.notices.wanted()
    }

    /// Returns a number that grows with every change of the list.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.calls.generation()
    }

    /// Waits until the list has another generation than `seen`, and returns it.
    pub async fn changed_since(&self, seen: u64) -> u64 {
        self.calls.changed_since(seen).await
    }
}

/// Returns `true` if a URI is permitted as it is written and as it reads without escapes. A rule
/// for one URI so holds where a template reads it, and however it is escaped.
pub(crate) fn permitted_spellings(uri: &str, permits: impl Fn(&str) -> bool) -> bool {
    permits(uri) && resource::percent_decoded(uri).is_some_and(|plain| permits(&plain))
}

impl fmt::Debug for Resources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resources").field("uris", &self.uris()).finish()
    }
}
