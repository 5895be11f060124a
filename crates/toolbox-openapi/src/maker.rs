//! Operations made into tools.

use std::sync::Arc;
use std::time::Duration;

use toolbox::call::Arguments;
use toolbox::definition::ToolAnnotations;
use toolbox::{Tool, ToolContext};
use url::{Origin, Url};

use crate::api::Api;
use crate::arguments::merged;
use crate::call::{Connection, Endpoint, is_idempotent, is_safe};
use crate::credential::{Bound, Scheme};
use crate::names::{Names, of_path};
use crate::openapi::OpenApi;
use crate::operation::{Operation, Parameter, Requirement, read_all};
use crate::report::Report;
use crate::request::files_of;
use crate::schema::{Direction, Schemas};
use crate::text::{cut, excerpt, shown};

/// The longest description of a tool, in bytes.
const MAX_DESCRIPTION: usize = 2_000;
/// The largest schema of the arguments of a tool, and of its result, in bytes.
const MAX_INPUT: usize = 64 << 10;
const MAX_OUTPUT: usize = 16 << 10;
/// The most tags of a tool, and the longest, in bytes.
const MAX_TAGS: usize = 10;
const MAX_TAG: usize = 60;
/// The requests that one call makes at most: with a token that was refused, after waits, and for
/// two tokens.
const MAX_REQUESTS: u32 = 6;

/// Makes the tools of one description.
pub(crate) struct Maker<'a> {
    open: &'a OpenApi,
    schemas: Schemas<'a>,
    names: Names,
    schemes: Vec<(String, Scheme)>,
    base: Url,
    /// The origins that the program trusts; that of the base URL is the first.
    origins: Vec<Origin>,
    connection: Arc<Connection>,
    source: Option<String>,
    report: Report,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(
        open: &'a OpenApi,
        schemes: Vec<(String, Scheme)>,
        base: Url,
        origins: Vec<Origin>,
        connection: Connection,
    ) -> Self {
        Self {
            open,
            schemas: Schemas::new(&open.document),
            names: Names::default(),
            schemes,
            base,
            origins,
            connection: Arc::new(connection),
            source: open.source_name(),
            report: Report::default(),
        }
    }

    pub(crate) fn api(mut self) -> Api {
        let (operations, unread) = read_all(&self.open.document);
        self.report.operations = operations.len() + unread.len();
        for (reference, why) in &self.open.document.unread {
            let note = format!("the reference `{reference}` is not followed: {why}");
            self.report.notes.push((String::new(), note));
        }
        self.report.dropped = unread.into_iter().map(|own| (own.label, own.reason)).collect();
        let mut tools = Vec::new();
        for operation in operations {
            let (include, exclude) = (&self.open.include, &self.open.exclude);
            let is_chosen = include.is_empty() || include.iter().any(|own| own.matches(&operation));
            if !is_chosen || exclude.iter().any(|own| own.matches(&operation)) {
                self.report.excluded += 1;
                continue;
            }
            let label = label_of(&operation);
            match self.tool(operation) {
                Ok(tool) => tools.push(tool),
                Err(reason) => self.report.dropped.push((label, reason)),
            }
        }
        Api { tools, report: self.report }
    }

    fn tool(&mut self, operation: Operation) -> Result<Tool, String> {
        let document = &self.open.document;
        let mut notes = operation.notes.clone();
        let name = self.name(&operation, &mut notes);
        let label = format!("`{}`", label_of(&operation));
        let base = self.base_of(&operation, &mut notes);
        let (credentials, missing) = self.credentials(&operation, &base);
        let schemes = &self.schemes;
        let is_credential = |parameter: &Parameter| {
            schemes.iter().any(|(_, scheme)| {
                matches!(scheme, Scheme::Key { location, name }
                    if *location == parameter.location && name.eq_ignore_ascii_case(&parameter.name))
            })
        };
        let merged = merged(document, &mut self.schemas, &operation, is_credential, MAX_INPUT);
        notes.extend(merged.notes);
        let files =
            operation.body.as_ref().map(|body| files_of(document, body)).unwrap_or_default();
        let output = operation.output.as_ref().map(|schema| self.output(schema));
        if !missing.is_empty() {
            let missing: Vec<String> =
                missing.iter().map(|name| format!("`{}`", shown(name))).collect();
            notes.push(format!("it needs a credential for {}", missing.join(", ")));
        }
        let method = operation.method.as_str();
        let mut annotations = ToolAnnotations::default();
        let (is_read, is_delete) = (is_safe(method), method == "DELETE");
        annotations.read_only = Some(is_read);
        if !is_read {
            annotations.destructive = Some(is_delete);
            annotations.idempotent = Some(is_idempotent(method));
        }
        let needs_approval =
            is_delete || self.open.approval.iter().any(|own| own.matches(&operation));
        let tags: Vec<String> = operation
            .tags
            .iter()
            .take(MAX_TAGS)
            .map(|tag| excerpt(tag, MAX_TAG))
            .filter(|tag| !tag.is_empty())
            .collect();
        let (description, deprecated) = (description_of(&operation), operation.deprecated);
        let endpoint = Arc::new(Endpoint {
            connection: Arc::clone(&self.connection),
            operation,
            label,
            base,
            arguments: merged.all,
            files,
            credentials,
            missing,
        });
        let call = move |_: ToolContext, arguments: Arguments| {
            let endpoint = Arc::clone(&endpoint);
            async move { endpoint.call(arguments.as_str()).await }
        };
        let tool = Tool::try_raw(name.clone(), description, merged.schema, call);
        let mut tool = tool.map_err(|error| error.to_string())?;
        tool = tool.with_annotations(annotations).with_tags(tags).with_timeout(self.longest_call());
        if let Some(source) = &self.source {
            tool = tool.from_source(source.as_str());
        }
        if let Some(output) = output {
            tool = tool.with_output_schema(output);
        }
        if deprecated {
            tool = tool.deprecated("");
        }
        if needs_approval {
            tool = tool.needs_approval();
        }
        if self.open.deferred {
            tool = tool.deferred();
        }
        if !self.open.trusted {
            tool = tool.untrusted();
            if self.open.fetched_from.is_some() {
                tool = tool.with_untrusted_definition();
            }
        }
        self.report.notes.extend(notes.into_iter().map(|note| (name.clone(), note)));
        Ok(tool)
    }

    fn name(&mut self, operation: &Operation, notes: &mut Vec<String>) -> String {
        let wanted = operation.id.clone().filter(|id| !id.trim().is_empty());
        let by_path = || of_path(&operation.method, &operation.path);
        let name =
            self.names.tool(self.open.prefix.as_deref(), wanted.as_deref().unwrap_or(&by_path()));
        if let Some(wanted) = wanted {
            let plain = self
                .open
                .prefix
                .as_ref()
                .map_or(wanted.clone(), |prefix| format!("{prefix}_{wanted}"));
            if plain != name {
                notes.push(format!("it is the operation `{}`", shown(&wanted)));
            }
        }
        name
    }

    fn base_of(&self, operation: &Operation, notes: &mut Vec<String>) -> Url {
        let Some(server) = &operation.server else { return self.base.clone() };
        match self.open.own_base(server, &self.base, &self.origins) {
            Some(own) => own,
            None => {
                if self.open.base_url.is_none() {
                    notes.push(format!("its own server `{}` is no URL", shown(server)));
                }
                self.base.clone()
            }
        }
    }

    /// Returns the credentials of the first alternative that the program has all of, or the schemes
    /// that are missing of the first one.
    fn credentials(&self, operation: &Operation, base: &Url) -> (Vec<Bound>, Vec<String>) {
        if !self.origins.contains(&base.origin()) {
            return (Vec::new(), missing_of(&operation.security));
        }
        let bound = |requirement: &Requirement| -> Option<Vec<Bound>> {
            requirement.iter().map(|(name, scopes)| self.bound(name, scopes)).collect()
        };
        // An empty alternative means that none is needed; one with a credential is better.
        let given = operation.security.iter().filter_map(bound).find(|all| !all.is_empty());
        match given {
            Some(all) => (all, Vec::new()),
            None => (Vec::new(), missing_of(&operation.security)),
        }
    }

    fn bound(&self, name: &str, scopes: &[String]) -> Option<Bound> {
        let (_, credential) = self.open.credentials.iter().rev().find(|(own, _)| own == name)?;
        let (_, scheme) = self.schemes.iter().find(|(own, _)| own == name)?;
        Some(Bound {
            name: name.to_owned(),
            scheme: scheme.clone(),
            credential: credential.clone(),
            scopes: scopes.to_vec(),
        })
    }

    fn output(&mut self, schema: &serde_json::Value) -> serde_json::Value {
        let root = self.schemas.root(schema).clone();
        let part = self.schemas.part(&root, Direction::Response);
        let mut schema = part.schema.clone();
        if crate::schema::size(&schema) > MAX_OUTPUT {
            // A part of a large schema would say something else.
            let kind = schema.get("type").cloned();
            return kind
                .map_or_else(|| serde_json::json!({}), |kind| serde_json::json!({ "type": kind }));
        }
        self.schemas.complete(&mut schema, &[part], Direction::Response, MAX_OUTPUT);
        schema
    }

    fn longest_call(&self) -> Duration {
        let requests = self.open.timeout.saturating_mul(MAX_REQUESTS);
        requests.saturating_add(self.connection.max_wait).min(Duration::from_secs(24 * 60 * 60))
    }
}

/// Returns the schemes of the first alternative; none if nothing is needed.
fn missing_of(security: &[Requirement]) -> Vec<String> {
    if security.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    security.first().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

fn label_of(operation: &Operation) -> String {
    format!("{} {}", operation.method, shown(&operation.path))
}

fn description_of(operation: &Operation) -> String {
    let summary = excerpt(&operation.summary, MAX_DESCRIPTION);
    let description = excerpt(&operation.description, MAX_DESCRIPTION);
    let both = match (summary.as_str(), description.as_str()) {
        ("", "") => label_of(operation),
        ("", own) | (own, "") => own.to_owned(),
        (summary, description) if description.starts_with(summary) => description.to_owned(),
        (summary, description) => format!("{summary}\n\n{description}"),
    };
    cut(&both, MAX_DESCRIPTION)
}
