//! A resource as a value.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};

use super::skill::SkillManifest;
use super::template::{InvalidUriError, UriTemplate};
use crate::call::ContentAnnotations;
use crate::definition::Icon;
use crate::tool::{Completer, Completers, Origin, Tool};

/// A resource that clients read by its URI, or a template of such resources: a definition, and the
/// function that reads it.
///
/// It comes from [`#[resource]`](macro@crate::resource), or from any tool whose result is to be
/// read as contents ([`Resource::from_tool`]). Cloning shares everything.
///
/// ```
/// use toolbox::resource;
///
/// /// The settings of the program.
/// #[resource("app://settings", mime_type = "application/json")]
/// fn settings() -> serde_json::Value {
///     serde_json::json!({"theme": "dark"})
/// }
///
/// let settings = settings::resource();
/// assert_eq!((settings.uri(), settings.name()), ("app://settings", "settings"));
/// assert!(!settings.is_template());
/// ```
#[derive(Clone)]
pub struct Resource {
    /// The tool that reads it, whose name is the URI.
    pub(crate) tool: Tool,
}

/// The part of a resource that a tool lacks.
#[derive(Clone)]
struct ResourceFacet {
    name: String,
    uri: UriTemplate,
    mime_type: Option<String>,
    size: Option<u64>,
    annotations: Option<ContentAnnotations>,
    fresh_for: Duration,
    is_public: bool,
    completers: Completers,
    skill: Option<Arc<SkillManifest>>,
    /// `true` if it gives way to another of its URI.
    provisional: bool,
}

impl Resource {
    /// Returns a resource whose contents are the parts of a tool's result, under a URI or a
    /// template of URIs. The variables of a template are the arguments of the tool.
    ///
    /// The name, the texts, the state and the limits of the tool are those of the resource.
    ///
    /// ```
    /// use toolbox::Tool;
    /// use toolbox::resource::Resource;
    ///
    /// let clock = Tool::new("clock", "The time of the server").call(|_| "12:00");
    /// let clock = Resource::from_tool("clock://now", clock)?.with_mime_type("text/plain");
    /// assert_eq!(clock.mime_type(), Some("text/plain"));
    /// # Ok::<(), toolbox::resource::InvalidUriError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The text is neither a URI nor a template.
    pub fn from_tool(uri: impl Into<String>, tool: Tool) -> Result<Self, InvalidUriError> {
        Ok(Self::of_uri(UriTemplate::new(uri)?, tool))
    }

    /// Returns a resource of another program, whose URI is any text.
    pub(crate) fn foreign(uri: &str, is_template: bool, tool: Tool) -> Self {
        Self::of_uri(UriTemplate::foreign(uri, is_template), tool)
    }

    fn of_uri(uri: UriTemplate, tool: Tool) -> Self {
        let facet = ResourceFacet {
            name: tool.name().to_owned(),
            mime_type: None,
            size: None,
            annotations: None,
            fresh_for: Duration::ZERO,
            is_public: false,
            completers: Completers::of_schema(&tool.definition().input_schema),
            skill: None,
            provisional: false,
            uri,
        };
        let uri = facet.uri.as_str().to_owned();
        Self { tool: tool.named(uri).with_facet(Arc::new(facet)) }
    }

    /// Returns the resource that a tool of a box of resources is.
    pub(crate) fn of(tool: &Tool) -> Self {
        Self { tool: tool.clone() }
    }

    fn facet(&self) -> Option<&ResourceFacet> {
        self.tool.facet()
    }

    fn change(mut self, change: impl FnOnce(&mut ResourceFacet)) -> Self {
        if let Some(facet) = self.facet() {
            let mut facet = facet.clone();
            change(&mut facet);
            self.tool = self.tool.with_facet(Arc::new(facet));
        }
        self
    }

    fn map(self, change: impl FnOnce(Tool) -> Tool) -> Self {
        Self { tool: change(self.tool) }
    }

    /// Returns the URI, or the text of the template.
    #[must_use]
    pub fn uri(&self) -> &str {
        self.tool.name()
    }

    /// Returns `true` if it is a template of resources.
    #[must_use]
    pub fn is_template(&self) -> bool {
        self.facet().is_some_and(|facet| facet.uri.is_template())
    }

    /// Returns the name, for programs.
    #[must_use]
    pub fn name(&self) -> &str {
        self.facet().map_or("", |facet| &facet.name)
    }

    /// Returns the name for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.tool.definition().title.as_deref()
    }

    /// Returns the description.
    #[must_use]
    pub fn description(&self) -> &str {
        self.tool.description()
    }

    /// Returns the MIME type, when known.
    #[must_use]
    pub fn mime_type(&self) -> Option<&str> {
        self.facet()?.mime_type.as_deref()
    }

    /// Returns the size in bytes, when known.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.facet()?.size
    }

    /// Returns the hints for clients.
    #[must_use]
    pub fn annotations(&self) -> Option<&ContentAnnotations> {
        self.facet()?.annotations.as_ref()
    }

    /// Returns the time for which clients may keep what they read. Default zero.
    #[must_use]
    pub fn fresh_for(&self) -> Duration {
        self.facet().map_or(Duration::ZERO, |facet| facet.fresh_for)
    }

    /// Returns `true` if all users may be given what one has read. Default `false`.
    #[must_use]
    pub fn is_public(&self) -> bool {
        self.facet().is_some_and(|facet| facet.is_public)
    }

    /// Returns the icons that clients display beside it.
    #[must_use]
    pub fn icons(&self) -> &[Icon] {
        &self.tool.definition().icons
    }

    /// Returns the `_meta` that MCP clients get along with it.
    #[must_use]
    pub fn meta(&self) -> &Map<String, Value> {
        &self.tool.definition().meta
    }

    /// Returns the source location where the resource was made.
    #[must_use]
    pub fn origin(&self) -> &Origin {
        self.tool.origin()
    }

    /// Returns the server the resource comes from, if it comes from one.
    #[must_use]
    pub fn source(&self) -> Option<&str> {
        self.tool.source()
    }

    /// Returns the values of the variables in a URI; `None` if it does not match.
    #[must_use]
    pub fn matches(&self, uri: &str) -> Option<Map<String, Value>> {
        self.facet()?.uri.matches(uri)
    }

    /// Returns the variables of the template, in order.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.facet().into_iter().flat_map(|facet| facet.uri.variables())
    }

    /// Returns `true` if the resource gives way to another of its URI.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn is_provisional(&self) -> bool {
        self.facet().is_some_and(|facet| facet.provisional)
    }

    /// Returns the manifest of the skill whose `SKILL.md` it is.
    pub(crate) fn skill(&self) -> Option<&SkillManifest> {
        self.facet()?.skill.as_deref()
    }

    pub(crate) fn completers(&self) -> Option<&Completers> {
        self.facet().map(|facet| &facet.completers)
    }

    /// Sets the name, for programs: any text.
    #[must_use]
    pub fn with_name(self, name: impl Into<String>) -> Self {
        self.change(|facet| facet.name = name.into())
    }

    /// Sets the name for people.
    #[must_use]
    pub fn with_title(self, title: impl Into<String>) -> Self {
        self.map(|tool| tool.with_title(title))
    }

    /// Sets the MIME type, such as `text/markdown`.
    #[must_use]
    pub fn with_mime_type(self, mime_type: impl Into<String>) -> Self {
        self.change(|facet| facet.mime_type = Some(mime_type.into()))
    }

    /// Sets the size in bytes.
    #[must_use]
    pub fn with_size(self, bytes: u64) -> Self {
        self.change(|facet| facet.size = Some(bytes))
    }

    /// Sets the hints for clients.
    #[must_use]
    pub fn with_annotations(self, annotations: ContentAnnotations) -> Self {
        self.change(|facet| facet.annotations = Some(annotations))
    }

    /// Lets clients keep what they read for a time. Default: not at all.
    #[must_use]
    pub fn with_fresh_for(self, time: Duration) -> Self {
        self.change(|facet| facet.fresh_for = time)
    }

    /// Declares that every user reads the same, so that caches between may give one user what
    /// another has read. Default: each user has contents of their own.
    #[must_use]
    pub fn public(self) -> Self {
        self.change(|facet| facet.is_public = true)
    }

    /// Adds an icon for MCP clients to display beside the resource.
    #[must_use]
    pub fn with_icon(self, icon: Icon) -> Self {
        self.map(|tool| tool.with_icon(icon))
    }

    /// Adds an entry to the `_meta` that MCP clients get along with it.
    #[must_use]
    pub fn with_meta(self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.map(|tool| tool.with_meta(key, value))
    }

    /// Limits the time of reading; otherwise the timeout of the box holds.
    #[must_use]
    pub fn with_timeout(self, timeout: Duration) -> Self {
        self.map(|tool| tool.with_timeout(timeout))
    }

    /// Completes a variable of the template by a function while a person types it. Without one, the
    /// values of an enum are proposed.
    #[must_use]
    pub fn with_completer<M>(self, variable: &str, completer: impl Completer<M>) -> Self {
        self.change(|facet| {
            facet.completers = std::mem::take(&mut facet.completers).with(variable, completer);
        })
    }

    /// Makes it the `SKILL.md` of a skill.
    #[allow(dead_code, reason = "for folders of skills, and for mounted servers")]
    pub(crate) fn with_skill(self, manifest: SkillManifest) -> Self {
        self.change(|facet| facet.skill = Some(Arc::new(manifest)))
    }

    /// Lets it give way to another of its URI.
    #[allow(dead_code, reason = "for mounted servers")]
    pub(crate) fn provisional(self) -> Self {
        self.change(|facet| facet.provisional = true)
    }

    /// Returns the resource with the completer of a variable, made already.
    pub(crate) fn with_completing_tool(self, variable: &str, completer: Tool) -> Self {
        self.change(|facet| {
            facet.completers = std::mem::take(&mut facet.completers).with_tool(variable, completer);
        })
    }
}

/// The definition in the form of the Model Context Protocol.
impl Serialize for Resource {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct ResourceDefinition<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            uri: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            uri_template: Option<&'a str>,
            name: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            title: Option<&'a str>,
            #[serde(skip_serializing_if = "str::is_empty")]
            description: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            mime_type: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            size: Option<u64>,
            #[serde(skip_serializing_if = "Option::is_none")]
            annotations: Option<&'a ContentAnnotations>,
            #[serde(skip_serializing_if = "<[_]>::is_empty")]
            icons: &'a [Icon],
            #[serde(rename = "_meta", skip_serializing_if = "Map::is_empty")]
            meta: &'a Map<String, Value>,
        }
        let is_template = self.is_template();
        let definition = ResourceDefinition {
            uri: (!is_template).then(|| self.uri()),
            uri_template: is_template.then(|| self.uri()),
            name: self.name(),
            title: self.title(),
            description: self.description(),
            mime_type: self.mime_type(),
            size: self.size().filter(|_| !is_template),
            annotations: self.annotations(),
            icons: self.icons(),
            meta: self.meta(),
        };
        definition.serialize(serializer)
    }
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resource").field("uri", &self.uri()).finish_non_exhaustive()
    }
}

/// Types that can be registered as resources: a resource, or several.
///
/// ```
/// use toolbox::{ToolBox, resource, resources};
///
/// /// The version of the program.
/// #[resource("app://version")]
/// fn version() -> &'static str {
///     "1.2.3"
/// }
///
/// let toolbox = ToolBox::new();
/// toolbox.resources().register(resources![version]);
/// assert_eq!(toolbox.resources().uris(), ["app://version"]);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a resource nor several",
    label = "a box cannot take this as resources",
    note = "the resource of a function `manual` with `#[resource]` is `manual::resource()`; several are `resources![manual, ..]`"
)]
pub trait IntoResources {
    /// Returns the resources, in order.
    fn into_resources(self) -> Vec<Resource>;
}

impl IntoResources for Resource {
    fn into_resources(self) -> Vec<Resource> {
        vec![self]
    }
}

impl IntoResources for Vec<Resource> {
    fn into_resources(self) -> Vec<Resource> {
        self
    }
}

impl<const N: usize> IntoResources for [Resource; N] {
    fn into_resources(self) -> Vec<Resource> {
        self.into()
    }
}

/// Returns the tools that resources are.
pub(crate) fn tools_of(resources: impl IntoResources) -> Vec<Tool> {
    resources.into_resources().into_iter().map(|resource| resource.tool).collect()
}
