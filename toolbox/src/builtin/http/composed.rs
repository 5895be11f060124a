//! URLs that a model put together, where they could carry out what it knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use reqwest::Url;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{Http, WhileTainted};
use crate::context::approval::Condition;
use crate::context::{ApprovalRequest, Taint, ToolContext};
use crate::tool::Tool;

/// What a model can do where such a URL is not fetched.
const ADVICE: &str = "follow a link as you were shown it and without headers, search for the page, or ask the user for its URL";

impl Http {
    /// Lets the gate ask for approval where it is needed.
    pub(super) fn guarded(self: &Arc<Self>, tool: Tool) -> Tool {
        let tool = tool.showing_urls();
        if self.while_tainted != WhileTainted::Ask {
            return tool;
        }
        let http = Arc::clone(self);
        let holds = move |request: &ApprovalRequest| {
            #[derive(Deserialize)]
            #[serde(deny_unknown_fields)]
            struct Asked {
                url: String,
                #[serde(default)]
                headers: Option<BTreeMap<String, String>>,
                #[serde(default, rename = "raw")]
                _raw: IgnoredAny,
                #[serde(default, rename = "start")]
                _start: IgnoredAny,
            }
            match request.arguments.parse::<Asked>() {
                Ok(asked) => {
                    http.carries(&request.context, &asked.url, &asked.headers.unwrap_or_default())
                }
                // What has to be repaired before it can be read is nothing that was shown.
                Err(_) => request.is_tainted(),
            }
        };
        tool.with_condition(Condition { holds: Arc::new(holds), advice: ADVICE })
    }

    /// Refuses what nobody approved of, whatever the gate made of the arguments.
    pub(super) fn judge(
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
            // To fetch it once more, or to read on, tells nobody anything new. What stands behind a `#` was not sent, and may
            // look like another URL.
            taint.show_url(url.as_str());
        }
        Ok(())
    }

    /// Whether a request could carry out what the model knows, at the wish of somebody whose text it read.
    fn carries(
        &self,
        context: &ToolContext,
        url: &str,
        headers: &BTreeMap<String, String>,
    ) -> bool {
        let Some(taint) = context.get::<Taint>().filter(|taint| taint.is_tainted()) else {
            return false;
        };
        if self.reach.hosts.is_some() {
            return false;
        }
        let in_its_form = || Url::parse(url).is_ok_and(|url| taint.was_shown(url.as_str()));
        !headers.is_empty() || !(taint.was_shown(url) || in_its_form())
    }
}
