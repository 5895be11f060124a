//! The tool that runs scripts.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Deserialize;
use serde_json::json;
use toolbox::agent::{AgentBuilder, Run, tool_from_fn};
use toolbox::call::{Arguments, ToolError};
use toolbox::collection::WeakToolBox;
use toolbox::context::CallingScript;
use toolbox::search::Catalog;
use toolbox::tool::{IntoTools, Next};
use toolbox::{Agent, Tool, ToolBox, ToolContext, ToolDefinition};

use crate::callers::CalledByScript;
#[cfg(feature = "cli")]
use crate::engine::ScriptError;
use crate::engine::{Engine, Script};
use crate::functions::Functions;
use crate::javascript::JavaScript;
use crate::kept::{KeptPins, KeptScript};
use crate::limits::Limits;
use crate::model::{ScriptModel, ScriptStart};
use crate::outcome::Outcome;
use crate::session::{EngineSlot, EnginesAtWork};

/// The name of the tool, unless [`Scripts::named`] gives it another.
pub const RUN_SCRIPT: &str = "run_script";

/// The tag of each tool that runs scripts. A script calls no tool that has it.
pub const SCRIPT_TAG: &str = "toolbox-script";

/// A tool by which a model runs a script that calls the tools of a box.
///
/// It stands in the box whose tools it calls, and does not keep that alive. Its scripts see the
/// tools as the box has them when they begin, without those that run scripts: itself, and what has
/// the tag [`SCRIPT_TAG`].
///
/// Each call that a script makes is a call like any other: it passes the gate of the box, in the
/// context of the call that runs the script. To an agent the script is an agent below, whose model
/// is the script: it pauses and resumes with the run, spends its budgets and reports to its events.
///
/// ```
/// use toolbox::{tool, tools, ToolBox, ToolCall};
/// use toolbox_script::Scripts;
///
/// /// Returns the price of a thing, in cents.
/// #[tool]
/// fn price(of: &str) -> u64 {
///     of.len() as u64 * 100
/// }
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() {
/// let toolbox = ToolBox::from(tools![price]);
/// toolbox.register(Scripts::over(&toolbox));
///
/// let script = r#"
///     const prices = await Promise.all(["tea", "milk"].map((of) => tools.price({ of })));
///     return prices.reduce((sum, price) => sum + price, 0);
/// "#;
/// let arguments = serde_json::json!({ "script": script });
/// let result = toolbox.call(ToolCall::new("1", "run_script", arguments)).await;
/// assert_eq!(result.text(), "700");
/// # }
/// ```
#[derive(Clone)]
pub struct Scripts {
    name: Arc<str>,
    toolbox: WeakToolBox,
    selection: Arc<Selection>,
    engine: Arc<dyn Engine>,
    limits: Limits,
    /// Shared by all tools that are made of this.
    engines: EnginesAtWork,
}

/// The tools that scripts may call.
enum Selection {
    All,
    Tagged(HashSet<String>),
    Named(HashSet<String>),
    Found { text: String, limit: usize },
    Programs,
}

/// The tools of one script.
pub(crate) struct ScriptTools {
    /// The box that they are selected of.
    whole: ToolBox,
    /// The generation of the box before the selection: what changes from then on is followed.
    generation: u64,
    selected: ToolBox,
}

impl ScriptTools {
    /// Forbids and removes what was forbidden in the box, or removed from it, since they were
    /// selected.
    pub(crate) fn follow(&mut self) {
        let Self { whole, generation, selected } = self;
        let now = whole.generation();
        if std::mem::replace(generation, now) == now {
            return;
        }
        for name in selected.names() {
            if !whole.has(&name) {
                selected.unregister(&name);
            } else if !whole.permits(&name) && selected.permits(&name) {
                selected.blacklist(&name);
            }
        }
    }
}

impl Scripts {
    /// Returns the tool for the tools of a box: all, unless a method below selects some.
    #[must_use]
    pub fn over(toolbox: &ToolBox) -> Self {
        Self {
            name: Arc::from(RUN_SCRIPT),
            toolbox: toolbox.downgrade(),
            selection: Arc::new(Selection::All),
            engine: Arc::new(JavaScript),
            limits: Limits::default(),
            engines: EnginesAtWork::default(),
        }
    }

    /// Names the tool. Default `run_script`.
    #[must_use]
    pub fn named(mut self, name: impl Into<Arc<str>>) -> Self {
        self.name = name.into();
        self
    }

    /// Lets scripts call only the tools with one of these tags.
    #[must_use]
    pub fn with_tags(self, tags: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selecting(Selection::Tagged(tags.into_iter().map(Into::into).collect()))
    }

    /// Lets scripts call only the tools of these names.
    #[must_use]
    pub fn with_tools(self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.selecting(Selection::Named(names.into_iter().map(Into::into).collect()))
    }

    /// Lets scripts call only the tools that a search for `text` finds when a script begins, at
    /// most `limit`.
    #[must_use]
    pub fn with_search(self, text: impl Into<String>, limit: usize) -> Self {
        self.selecting(Selection::Found { text: text.into(), limit })
    }

    /// Lets scripts call only the tools whose [`callers`](toolbox::definition::Callers) include
    /// programs: those that the programs of a provider call too.
    ///
    /// ```
    /// use toolbox::definition::Callers;
    /// use toolbox::{Tool, ToolBox, ToolCall};
    /// use toolbox_script::Scripts;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() {
    /// let rows = Tool::new("rows", "Returns rows.").call(|_| "3").with_callers(Callers::Both);
    /// let toolbox = ToolBox::from_iter([rows, Tool::new("pay", "Pays.").call(|_| "paid")]);
    /// toolbox.register(Scripts::over(&toolbox).for_programs());
    /// for (tool, is_called) in [("rows", true), ("pay", false)] {
    ///     let script = serde_json::json!({"script": format!("return await tools.{tool}()")});
    ///     let result = toolbox.call(ToolCall::new("1", "run_script", script)).await;
    ///     assert_eq!(!result.is_error(), is_called);
    /// }
    /// # }
    /// ```
    #[must_use]
    pub fn for_programs(self) -> Self {
        self.selecting(Selection::Programs)
    }

    fn selecting(mut self, selection: Selection) -> Self {
        self.selection = Arc::new(selection);
        self
    }

    /// Runs the scripts in another engine. Default: [`JavaScript`].
    #[must_use]
    pub fn with_engine(mut self, engine: impl Engine) -> Self {
        self.engine = Arc::new(engine);
        self
    }

    /// Sets the limits. Default: those of [`Limits::default`].
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Checks that the engine can read a script.
    #[cfg(feature = "cli")]
    pub(crate) fn check(&self, script: &str) -> Result<(), ScriptError> {
        self.engine.check(script, &self.limits)
    }

    /// Returns the tool, to be changed before it is registered.
    ///
    /// # Panics
    ///
    /// If the name is not one that tools may have.
    #[must_use]
    #[track_caller]
    pub fn into_tool(self) -> Tool {
        let definition = self.definition();
        let start = move |context: &ToolContext, arguments: &str| {
            let ScriptArguments { script } = read(arguments)?;
            self.start(context, (script, None), self.script_tools()?)
        };
        match tool_from_fn(definition, start) {
            Ok(tool) => tool.with_tags([SCRIPT_TAG]).layer(|next: Next| {
                let read = read(next.arguments().as_str());
                shown(next, Arc::from(read.map(|read| read.script).unwrap_or_default()))
            }),
            Err(error) => panic!("{error}"),
        }
    }

    /// Returns the tool of a kept script, whose file was checked.
    #[track_caller]
    pub(crate) fn into_kept_tool(self, script: KeptScript, pins: KeptPins) -> Tool {
        let definition = script.definition();
        let text: Arc<str> = Arc::from(script.text());
        let start = move |context: &ToolContext, arguments: &str| {
            let mut tools = self.script_tools()?;
            let input: serde_json::Value = Arguments::from(arguments)
                .parse()
                .map_err(|error| ToolError::from(error.to_string()))?;
            let names: HashSet<&str> = script.tools().iter().map(String::as_str).collect();
            tools.selected = tools.selected.filtered(|tool| names.contains(tool.name()));
            // These are the tools that the script calls, whatever becomes of the box.
            pins.check_tools(&script, &tools.selected)
                .map_err(|error| format!("not run: {error}; a person has to approve it again"))?;
            context.report_script(script.text());
            let text = script.text().to_owned();
            self.start(context, (text, Some(input.to_string())), tools)
        };
        match tool_from_fn(definition, start) {
            Ok(tool) => {
                tool.with_tags([SCRIPT_TAG]).layer(move |next| shown(next, Arc::clone(&text)))
            }
            // The name was checked with the script.
            Err(error) => panic!("{error}"),
        }
    }

    fn definition(&self) -> ToolDefinition {
        let language = self.engine.language();
        // Each request carries it: what a model of today knows of the language is left out.
        let description = format!(
            "Runs a {language} script, for several calls or to filter large results: only what it \
             returns (keep it small) and `console.log` writes comes back.\n\
             `await tools.NAME({{...}})` returns an object or text; a failed call throws \
             `{{tool, code, message}}`; `Promise.all` makes calls at once.\n\
             `tools.search(\"words\")` finds `{{name, description}}`; `tools.types(\"calendar_*\")` \
             returns TypeScript declarations: return them first when unsure.\n\
             No clock, network, files, timers or imports; nothing is kept between scripts."
        );
        let has_types = language == "TypeScript";
        let types = if has_types { "types are not checked" } else { "without types" };
        let described = format!("The body of an async function, {types}");
        let schema = json!({
            "type": "object",
            "properties": {"script": {"type": "string", "description": described}},
            "required": ["script"],
            "additionalProperties": false,
        });
        ToolDefinition::new(&*self.name, description, schema)
    }

    /// Returns the run of a script, with its input, over the tools that were selected of a box.
    fn start(
        &self,
        context: &ToolContext,
        (text, input): (String, Option<String>),
        tools: ScriptTools,
    ) -> Result<Run, ToolError> {
        if text.len() > self.limits.script_bytes {
            let (own, most) = (text.len(), self.limits.script_bytes);
            return Err(format!("the script has {own} bytes; at most {most} are run").into());
        }
        let slot = EngineSlot::take(&self.engines, self.limits.scripts).ok_or_else(|| {
            format!("{} scripts are at work; run it again later", self.limits.scripts)
        })?;
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let time = i64::try_from(time.as_millis()).unwrap_or_default();
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a seed")]
        let seed = (time as u32) ^ 0x9e37_79b9;
        let script = Script { script: text.clone(), time, seed, input: input.clone() };
        let toolbox = tools.selected.clone();
        // The tool may have another name in its box.
        let no_scripts = [format!("tag:{SCRIPT_TAG}"), context.tool_name().to_owned()];
        let inner =
            no_scripts.iter().fold(context.clone(), |inner, rule| inner.with_blacklist(rule));
        let inner = inner.with(CalledByScript);
        let source = CallingScript::new(text.as_str());
        let start = ScriptStart {
            engine: Arc::clone(&self.engine),
            text,
            input,
            call_id: context.call_id().to_owned(),
            functions: Functions::new(toolbox.clone(), inner),
            limits: self.limits,
            slot,
        };
        let agent = Agent::builder(ScriptModel::new(start, tools));
        let agent = no_scripts.into_iter().fold(agent, AgentBuilder::blacklist_tool);
        let agent = agent
            .name(&*self.name)
            .state(CalledByScript)
            .state(source)
            .toolbox(toolbox)
            .max_handoffs(0)
            .max_iterations(u32::MAX)
            .max_total_calls(u64::MAX)
            .no_repeat_limit()
            .max_calls_per_step(usize::MAX)
            // A script filters large results itself.
            .max_result_tokens(usize::MAX)
            .build()
            .map_err(ToolError::infrastructure)?;
        let script = serde_json::to_string(&script).map_err(ToolError::infrastructure)?;
        let run = agent.run(script);
        Ok(if context.can_pause() { run } else { run.without_pauses() })
    }

    /// Returns the tools of a script that begins.
    fn script_tools(&self) -> Result<ScriptTools, ToolError> {
        let whole = self.toolbox.upgrade().ok_or("the toolbox is gone")?;
        let generation = whole.generation();
        let selected = self.selected(&whole);
        Ok(ScriptTools { whole, generation, selected })
    }

    /// Returns the box of the tools that a script may call.
    fn selected(&self, toolbox: &ToolBox) -> ToolBox {
        match &*self.selection {
            Selection::All => toolbox.clone(),
            Selection::Named(names) => toolbox.filtered(|tool| names.contains(tool.name())),
            Selection::Programs => {
                toolbox.filtered(|tool| tool.definition().callers.include_programs())
            }
            Selection::Tagged(tags) => {
                toolbox.filtered(|tool| tool.definition().tags.iter().any(|tag| tags.contains(tag)))
            }
            Selection::Found { text, limit } => {
                let tools = toolbox.tools().into_iter();
                let others = tools.filter(|tool| !runs_scripts(tool));
                let catalog: Catalog = others.map(|tool| tool.definition().clone()).collect();
                let hits = catalog.search(text).limit(*limit).hits();
                let found: HashSet<&str> =
                    hits.iter().map(|hit| hit.definition.name.as_str()).collect();
                toolbox.filtered(|tool| found.contains(tool.name()))
            }
        }
    }
}

impl IntoTools for Scripts {
    #[track_caller]
    fn into_tools(self) -> Vec<Tool> {
        vec![self.into_tool()]
    }
}

impl std::fmt::Debug for Scripts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Scripts").field("name", &self.name).finish_non_exhaustive()
    }
}

fn runs_scripts(tool: &Tool) -> bool {
    tool.definition().tags.iter().any(|tag| tag == SCRIPT_TAG)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptArguments {
    script: String,
}

fn read(arguments: &str) -> Result<ScriptArguments, ToolError> {
    Arguments::from(arguments).parse().map_err(|error| error.to_string().into())
}

/// Writes the end of a script as the model reads it.
async fn shown(next: Next, script: Arc<str>) -> toolbox::ToolResult {
    let result = next.run().await;
    if result.is_error() {
        return result;
    }
    match serde_json::from_str::<Outcome>(&result.text()) {
        Ok(outcome) => outcome.into_result(&script),
        Err(_) => result,
    }
}
