//! The beginning of a run, and of the part of each agent in it.

use std::sync::Arc;

use super::account::RunAccount;
use super::answer::{AnswerType, TypedAnswer};
use super::conversation::RunConversation;
use super::guards::RunGuards;
use super::legs::{HandedOver, Leg};
use super::limits::{CancelOnDrop, RunLimits};
use super::offer::ToolOffer;
use super::results::{offer_reader, with_results};
use super::scope::CallScope;
use super::{ActiveRun, Setup};
use crate::agent::agent::AgentInner;
use crate::agent::budget::SharedBudget;
use crate::agent::handle::{PauseFlag, Steering};
use crate::agent::jobs::Jobs;
use crate::agent::joined::JoinedTools;
use crate::agent::log::RunLog;
use crate::agent::run_scope::RunScope;
use crate::agent::spending::SpendingLimits;
use crate::agent::window::ContextWindow;
use crate::context::keeper::ResultTokens;
use crate::context::promotion::Promotions;
use crate::context::{CancellationToken, Taint, ToolContext, now};
use crate::event::{EventSink, Reporter};
use crate::model::{History, Message, ModelRequest};
use crate::tool::Tool;

/// What the part of an agent in a run begins with: the run, or a handoff.
pub(super) struct LegStart {
    pub(super) agent: Arc<AgentInner>,
    pub(super) name: String,
    pub(super) system: Option<String>,
    pub(super) given: ToolContext,
    pub(super) above: RunScope,
    pub(super) handed: HandedOver,
    pub(super) sinks: Vec<EventSink>,
    /// The reporter of the agent that had the conversation before.
    pub(super) before: Option<Reporter>,
    pub(super) steering: Arc<Steering>,
    pub(super) pauses: Arc<[PauseFlag]>,
    pub(super) kept: KeptConversation,
}

/// The part of a conversation that it keeps when it is handed over.
pub(super) struct KeptConversation {
    pub(super) answer: Option<AnswerType>,
    /// The messages that the run was started with.
    pub(super) task: Vec<Message>,
    pub(super) taint: Taint,
    /// `true` if a user asked for the run, and not a model above.
    pub(super) asked_by_user: bool,
    pub(super) jobs: Jobs,
    pub(super) log: Option<RunLog>,
    /// The tools that were given to the run.
    pub(super) tools: Arc<[Tool]>,
}

impl ActiveRun {
    pub(super) fn new(setup: &Setup, log: Option<RunLog>) -> Self {
        let agent = Arc::clone(&setup.agent.inner);
        let given = with_results(&setup.context, &setup.start, &agent.toolbox);
        let above = given.get::<RunScope>();
        let flags = above.filter(|_| setup.pauses_with_above);
        let flags = flags.into_iter().flat_map(|above| above.pauses.iter().cloned());
        let pauses = flags.chain([setup.steering.pause.clone()]).collect();
        let taint = given.taint_of_run();
        let asked_by_user = above.is_none();
        #[cfg(feature = "schedule")]
        let asked_by_user = asked_by_user && !taint.is_begun_by_others();
        // A run that was called within one that waits for it pauses with that one, or not at all.
        let called_as = setup.called_as.as_deref();
        let can_pause = called_as.is_none() || above.is_some() && given.is_deferrable();
        let above = above.cloned().unwrap_or_default();
        let name = called_as.unwrap_or(&agent.name).to_owned();
        let mut system = agent.system.clone();
        if called_as.is_some() && system.is_none() {
            system.clone_from(&agent.task);
        }
        let shared = given.get::<SharedBudget>().into_iter().chain(&agent.settings.shared_budgets);
        let shared: Vec<_> = shared.cloned().collect();
        let mut account = RunAccount::new(&above.budgets, &agent.settings, &shared);
        let spending = given.get::<SpendingLimits>().into_iter().chain(&agent.settings.spending);
        account.budgets.spending = account.budgets.spending.with(spending, &given);
        let token =
            given.given_cancellation().map(CancellationToken::child_token).unwrap_or_default();
        let jobs = Jobs::new();
        let mut context = given
            .clone()
            .with(taint.clone())
            .with_depth(given.depth().saturating_add(1))
            .with_cancellation(token.clone())
            .with_completions(jobs.sender());
        context = if setup.refuses_to_wait {
            context.without_deferral()
        } else {
            context.with_deferral()
        };
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
        let mut guards = RunGuards::new(RunLimits {
            cancellation: CancelOnDrop { token, armed: true },
            deadline: context.deadline(),
            began: now(),
            max_depth: above.max_depth,
        });
        let start = LegStart {
            handed: HandedOver::new(&name, agent.settings.max_handoffs),
            agent,
            name,
            system,
            given: context,
            above,
            sinks: setup.sinks.clone(),
            before: None,
            steering: Arc::clone(&setup.steering),
            pauses,
            kept: KeptConversation {
                answer: setup.answer.clone(),
                task: Vec::new(),
                taint,
                asked_by_user,
                jobs,
                log,
                tools: Arc::clone(&setup.tools),
            },
        };
        let (leg, conversation) = start.begin(&mut guards, &mut account);
        Self { leg, conversation, guards, account }
    }
}

impl LegStart {
    /// Begins the part of an agent.
    pub(super) fn begin(
        self,
        guards: &mut RunGuards,
        account: &mut RunAccount,
    ) -> (Leg, RunConversation) {
        let Self { agent, name, given, above, handed, .. } = self;
        let settings = &agent.settings;
        let path: Arc<[String]> = above.path.iter().cloned().chain([name.clone()]).collect();
        let mut sinks = self.sinks;
        sinks.extend(settings.sinks.iter().cloned());
        sinks.extend(agent.toolbox.sinks().iter().cloned());
        let events = Reporter::of_run(&given, Arc::clone(&path), &sinks, self.before.as_ref());
        guards.enter_leg(settings);
        let limits = &mut guards.limits;
        limits.max_depth = limits.max_depth.min(settings.max_depth);
        account.prices = settings.prices.clone().or_else(|| above.prices.clone());
        let KeptConversation { answer, task, taint, asked_by_user, jobs, log, tools } = self.kept;
        let inherited = above.toolbox.as_ref().filter(|_| settings.inherits);
        let joined = JoinedTools::new(&agent.toolbox, &tools, inherited);
        let promotions = Arc::new(Promotions::default());
        let offer = ToolOffer::new(&agent.toolbox, joined, Arc::clone(&promotions));
        offer_reader(offer.toolbox(), &given, settings, &promotions);
        let nested = Arc::default();
        let scope = RunScope {
            max_depth: limits.max_depth,
            agents: above.agents.iter().copied().chain([agent.id]).collect(),
            path,
            budgets: account.budgets.clone(),
            nested: Arc::clone(&nested),
            toolbox: Some(offer.toolbox().clone()),
            pauses: Arc::clone(&self.pauses),
            prices: account.prices.clone(),
            handoffs_left: handed.left(),
        };
        let mut context = given
            .clone()
            .with(scope)
            .with_shared(promotions)
            .with_fallback(agent.state.as_ref(), settings.inherits);
        // A time that no clock can show is no limit.
        if let Some(deadline) = settings.timeout.and_then(|timeout| now().checked_add(timeout)) {
            context = context.with_deadline(deadline);
        }
        limits.deadline = context.deadline();
        if let Some(approver) = &settings.approver {
            context = context.with_shared_approver(Arc::clone(approver));
        }
        if let Some(tokens) = settings.max_result_tokens {
            context = context.with_extension(ResultTokens(tokens));
        }
        if events.is_on() {
            context = context.with_observer(Arc::new(events.clone()));
        }
        let mut request = ModelRequest::new(History::new())
            .with_parallel_tool_calls(settings.parallel)
            .with_tool_choice(settings.tool_choice.clone());
        request.system = self.system;
        request.options.clone_from(&settings.options);
        let conversation = RunConversation {
            request,
            sent: None,
            scope: CallScope::new(context, nested, taint, asked_by_user),
            window: ContextWindow::new(task),
            answer: answer.map(|kind| TypedAnswer::new(kind, offer.toolbox())),
            offer,
            before_reply: None,
            jobs,
            log,
            tools,
        };
        let (steering, pauses) = (self.steering, self.pauses);
        let leg = Leg { agent, name, given, above, handed, events, steering, pauses };
        (leg, conversation)
    }
}
