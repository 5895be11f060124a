//! URLs that a model composed, which could carry out what it knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Http, WhileTainted};
use crate::context::approval::Condition;
use crate::context::{ApprovalRequest, Taint, ToolContext};
use crate::tool::Tool;

/// The advice for the model where such a URL is not fetched.
const ADVICE: &str = "follow a link as you were shown it and without headers, search for the page, or ask the user for its URL";

impl Http {
    /// Adds the condition for approval to the tool.
    pub(super) fn guarded(self: &Arc<Self>, tool: Tool) -> Tool {
        let tool = tool.showing_urls();
        if self.while_tainted != WhileTainted::Ask {
            return tool;
        }
        let http = Arc::clone(self);
        let holds = move |request: &ApprovalRequest| {
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields)]
            struct FetchArguments {
                url: String,
                #[serde(default)]
                headers: Option<BTreeMap<String, String>>,
                #[serde(default, rename = "raw")]
                _raw: IgnoredAny,
                #[serde(default, rename = "start")]
                _start: IgnoredAny,
            }
            match request.arguments.parse::<FetchArguments>() {
                Ok(arguments) => http.carries(
                    &request.context,
                    &arguments.url,
                    &arguments.headers.unwrap_or_default(),
                ),
                // A URL in arguments that need repairs was not shown to the model.
                Err(_) => request.is_tainted(),
            }
        };
        tool.with_condition(Condition { holds: Arc::new(holds), advice: ADVICE })
    }

    /// Refuses a URL that is not approved, whatever the gate made of the arguments.
    pub(super) fn check_approved(
        &self,
        context: &ToolContext,
        url: &str,
        headers: &BTreeMap<String, String>,
    ) -> Result<(), String> {
        let allowed = match self.while_tainted {
            WhileTainted::Allow => true,
            WhileTainted::Ask => context.approved,
            WhileTainted::Deny => false,
        };
        if !allowed && self.carries(context, url, headers) {
            return Err(format!(
                "this URL is not fetched, for security: you have read what others wrote, and put the URL together since; {ADVICE}"
            ));
        }
        if let (Some(taint), Ok(url)) = (context.get::<Taint>(), Url::parse(url)) {
            // Fetching it again, or reading on, reveals nothing new. The part behind a `#` was not
            // sent, and may look like another URL.
            taint.show_url(url.as_str());
        }
        Ok(())
    }

    /// Returns `true` if a request could carry out what the model knows, on behalf of the author of
    /// a text that it read.
    fn carries(
        &self,
        context: &ToolContext,
        url: &str,
        headers: &BTreeMap<String, String>,
    ) -> bool {
        let Some(taint) = context.get::<Taint>().filter(|taint| taint.is_tainted()) else {
            return false;
        };
        if self.allowed.hosts.is_some() {
            return false;
        }
        let in_its_form = || Url::parse(url).is_ok_and(|url| taint.was_shown(url.as_str()));
        !headers.is_empty() || !(taint.was_shown(url) || in_its_form())
    }
}
