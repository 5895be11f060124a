//! The beginning of a run, and of the part of each agent in it.

use std::sync::Arc;

use super::ActiveRun;
use super::legs::HandedOver;
use super::limits::{CancelOnDrop, RunLimits};
use super::offer::ToolOffer;
use super::results::offer_reader;
use super::scope::CallScope;
use crate::agent::agent::AgentInner;
use crate::agent::budget::{Budget, SharedBudget};
use crate::agent::handle::{PauseFlag, Steering};
use crate::agent::inherited::Inherited;
use crate::agent::jobs::Jobs;
use crate::agent::log::RunLog;
use crate::agent::repeat::RepeatGuard;
use crate::agent::run_scope::RunScope;
use crate::agent::window::ContextWindow;
use crate::context::promotion::Promotions;
use crate::context::{CancellationToken, Taint, ToolContext, now};
use crate::event::{EventSink, Reporter};
use crate::model::{History, ModelRequest};

/// The part of an agent in a run: from the beginning, or from a handoff on.
pub(super) struct Leg {
    pub(super) agent: Arc<AgentInner>,
    pub(super) name: String,
    pub(super) system: Option<String>,
    pub(super) given: ToolContext,
    pub(super) above: RunScope,
    pub(super) handed: HandedOver,
    pub(super) limits: RunLimits,
    pub(super) sinks: Vec<EventSink>,
    /// The reporter of the agent that had the conversation before.
    pub(super) before: Option<Reporter>,
    pub(super) jobs: Jobs,
    pub(super) taint: Taint,
    pub(super) asked_by_user: bool,
    pub(super) log: Option<RunLog>,
    pub(super) steering: Arc<Steering>,
    pub(super) pauses: Arc<[PauseFlag]>,
}

impl ActiveRun {
    pub(super) fn new(
        agent: Arc<AgentInner>,
        given: &ToolContext,
        sinks: Vec<EventSink>,
        called_as: Option<&str>,
        log: Option<RunLog>,
        steering: Arc<Steering>,
        pauses: Arc<[PauseFlag]>,
    ) -> Self {
        let settings = &agent.settings;
        let asked_by_user = given.get::<RunScope>().is_none();
        let above = given.get::<RunScope>().cloned().unwrap_or_default();
        let taint = given.get::<Taint>().cloned().unwrap_or_default();
        #[cfg(feature = "schedule")]
        let asked_by_user = asked_by_user && !taint.is_begun_by_others();
        let name = called_as.unwrap_or(&agent.name).to_owned();
        let mut system = agent.system.clone();
        if called_as.is_some() && system.is_none() {
            system.clone_from(&agent.task);
        }
        let shared: Vec<SharedBudget> = given
            .get::<SharedBudget>()
            .into_iter()
            .chain(&settings.shared_budgets)
            .cloned()
            .collect();
        let budget =
            Budget::new(settings.max_total_calls, settings.max_total_tokens, settings.max_cost);
        let token = given.cancellation().map(CancellationToken::child).unwrap_or_default();
        let jobs = Jobs::new();
        let mut context = given
            .clone()
            .with(taint.clone())
            .with_depth(given.depth().saturating_add(1))
            .with_cancellation(token.clone())
            .with_completions(jobs.sender())
            .with_deferral();
        // A run that was called within one that waits for it pauses with that one, or not at all.
        let can_pause =
            called_as.is_none() || given.get::<RunScope>().is_some() && given.is_deferrable();
        context = if can_pause {
            context.with_question_desk(Arc::default())
        } else {
            context.without_question_desk()
        };
        context = match &log {
            Some(log) => context.with_recorder(log.recorder()).with_extension(log.scope()),
            // A recorder of the call that starts the run is not one of the calls of the run.
            None => context.with_calls_recorded_by_box(),
        };
        let limits = RunLimits {
            cancellation: CancelOnDrop { token, armed: true },
            deadline: context.deadline(),
            budgets: above.budgets.with(budget, &shared),
            over_budget: false,
            iterations: 0,
            began: now(),
            max_depth: above.max_depth,
        };
        let handed = HandedOver::new(&name, settings.max_handoffs);
        Self::begin(Leg {
            agent,
            name,
            system,
            given: context,
            above,
            handed,
            limits,
            sinks,
            before: None,
            jobs,
            taint,
            asked_by_user,
            log,
            steering,
            pauses,
        })
    }

    /// Begins the part of an agent.
    pub(super) fn begin(leg: Leg) -> Self {
        let Leg { agent, name, system, given, above, handed, mut limits, .. } = leg;
        let settings = &agent.settings;
        let path: Arc<[String]> = above.path.iter().cloned().chain([name.clone()]).collect();
        let mut sinks = leg.sinks;
        sinks.extend(settings.sinks.iter().cloned());
        sinks.extend(agent.toolbox.sinks().iter().cloned());
        let events = Reporter::of_run(&given, Arc::clone(&path), &sinks, leg.before.as_ref());
        let nested = Arc::default();
        limits.max_depth = limits.max_depth.min(settings.max_depth);
        let inherited = above
            .toolbox
            .as_ref()
            .filter(|_| settings.inherits)
            .and_then(|above| Inherited::new(&agent.toolbox, above));
        let toolbox = inherited.as_ref().map_or(&agent.toolbox, Inherited::toolbox).clone();
        let prices = settings.prices.clone().or_else(|| above.prices.clone());
        let promotions = Arc::new(Promotions::default());
        offer_reader(&toolbox, &given, settings, &promotions);
        let scope = RunScope {
            max_depth: limits.max_depth,
            agents: above.agents.iter().copied().chain([agent.id]).collect(),
            path,
            budgets: limits.budgets.clone(),
            nested: Arc::clone(&nested),
            toolbox: Some(toolbox),
            pauses: Arc::clone(&leg.pauses),
            prices: prices.clone(),
            handoffs_left: handed.left(),
        };
        let mut context = given
            .clone()
            .with(scope)
            .with_shared(Arc::clone(&promotions))
            .with_fallback(agent.state.as_ref(), settings.inherits);
        // A time that no clock can show is no limit.
        if let Some(deadline) = settings.timeout.and_then(|timeout| now().checked_add(timeout)) {
            context = context.with_deadline(deadline);
        }
        limits.deadline = context.deadline();
        if let Some(approver) = &settings.approver {
            context = context.with_shared_approver(Arc::clone(approver));
        }
        if events.is_on() {
            context = context.with_observer(Arc::new(events.clone()));
        }
        let mut request = ModelRequest::new(History::new())
            .with_parallel_tool_calls(settings.parallel)
            .with_tool_choice(settings.tool_choice.clone());
        request.system = system;
        request.options.clone_from(&settings.options);
        Self {
            guard: RepeatGuard::new(settings.repeat_limit),
            input_guards: settings.hooks.on_input.clone(),
            passed_guards: 0,
            output_guards: settings.hooks.on_output.clone(),
            agent,
            name,
            given,
            above,
            handed,
            request,
            limits,
            scope: CallScope::new(context, nested, leg.taint, leg.asked_by_user),
            offer: ToolOffer { inherited, promotions, findable: None },
            events,
            jobs: leg.jobs,
            answer: None,
            failed_answers: 0,
            before_reply: None,
            log: leg.log,
            window: ContextWindow::default(),
            prices,
            steering: leg.steering,
            pauses: leg.pauses,
        }
    }
}
