//! The settings of a box.

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::context::auditor::SharedAuditor;
use crate::context::availability::Availability;
use crate::context::keeper::{ResultKeeper, ResultLimits};
use crate::context::recorder::CallRecorder;
use crate::context::rules::ToolRule;
use crate::context::{Approver, Requirement};
use crate::event::Reporter;

use crate::tool::layer::Layers;

/// Settings of a [`ToolBox`](crate::ToolBox): limits, timeouts, approval, layers.
#[derive(Clone)]
#[allow(
    clippy::struct_excessive_bools,
    reason = "each is an option of the box with a name of its own"
)]
pub(crate) struct BoxSettings {
    pub(crate) timeout: Option<Duration>,
    pub(crate) concurrency: Option<Arc<Semaphore>>,
    pub(crate) exclusive: Arc<Semaphore>,
    pub(crate) parallel: bool,
    pub(crate) batch_calls: usize,
    pub(crate) argument_bytes: usize,
    pub(crate) argument_depth: usize,
    pub(crate) result_bytes: usize,
    pub(crate) resource_bytes: usize,
    pub(crate) result_tokens: usize,
    /// The keeper of results that are larger than that.
    pub(crate) keeper: Option<Arc<dyn ResultKeeper>>,
    pub(crate) runtime: Option<Handle>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) record_content: bool,
    pub(crate) suggest_tools: bool,
    /// `true` if all tools are closed for strict providers.
    pub(crate) strict: bool,
    /// `true` if a deferred tool can be called by its own name.
    pub(crate) deferred_calls: bool,
    /// The tools that are available only where a predicate holds.
    pub(crate) available: Arc<[(ToolRule, Availability)]>,
    /// The types of the values that the program passes with each call.
    pub(crate) call_state: Vec<Requirement>,
    /// The layers around the calls of every tool, the innermost first.
    pub(crate) layers: Layers,
    /// The journal that records the calls of durable and background tools.
    pub(crate) journal: Option<Arc<dyn CallRecorder>>,
    /// The record of decisions and results.
    pub(crate) auditor: Option<SharedAuditor>,
    /// The reporter of calls to the sinks of the box.
    pub(crate) reporter: Option<Arc<Reporter>>,
    /// `true` if the box's settings allow a call to run in place.
    pub(crate) is_plain: bool,
}

impl BoxSettings {
    pub(crate) const MAX_DEPTH: usize = 64;

    /// Returns the settings for the prompts of the box.
    pub(crate) fn of_prompts(&self) -> Self {
        Self {
            keeper: None,
            journal: None,
            strict: false,
            available: Arc::from([]),
            suggest_tools: true,
            layers: Layers::default(),
            ..self.clone()
        }
    }

    /// Returns the settings for the resources of the box.
    pub(crate) fn of_resources(&self) -> Self {
        Self { result_bytes: self.resource_bytes, ..self.of_prompts() }
    }

    /// Returns the limits on results that are passed on whole.
    pub(crate) fn result_limits(&self) -> ResultLimits {
        ResultLimits { tokens: self.result_tokens, bytes: self.result_bytes }
    }

    /// Computes the values that each call would otherwise compute again.
    pub(crate) fn settled(mut self) -> Self {
        if let Some(keeper) = &self.keeper {
            keeper.set_limits(self.result_limits());
        }
        self.is_plain = self.concurrency.is_none()
            && self.runtime.is_none()
            && self.layers.is_empty()
            && self.keeper.is_none()
            && self.reporter.is_none()
            && self.auditor.is_none()
            && !self.strict;
        self
    }
}

impl Default for BoxSettings {
    fn default() -> Self {
        Self {
            timeout: Some(Duration::from_secs(60)),
            concurrency: None,
            exclusive: Arc::new(Semaphore::new(1)),
            parallel: true,
            batch_calls: 1024,
            argument_bytes: 1 << 20,
            argument_depth: Self::MAX_DEPTH,
            result_bytes: ResultLimits::default().bytes,
            resource_bytes: 8 << 20,
            result_tokens: ResultLimits::default().tokens,
            keeper: None,
            runtime: None,
            approver: None,
            record_content: false,
            suggest_tools: true,
            strict: false,
            deferred_calls: true,
            available: Arc::from([]),
            call_state: Vec::new(),
            layers: Layers::default(),
            journal: None,
            auditor: None,
            reporter: None,
            is_plain: true,
        }
    }
}
