//! Definitions of a box's tools, for models and for people.

use std::sync::Arc;

use super::{Snapshot, ToolBox};
use crate::context::{ToolContext, UNUSED_CONTEXT};
use crate::definition::{Lint, ToolDefinition};
use crate::dialect::{DefinitionList, Definitions, Dialect, SharedDefinition, ToolTokens};
use crate::tool::Tool;

impl ToolBox {
    /// Returns a line about each tool, for people: `` - `name` - description ``.
    #[must_use]
    pub fn summaries(&self) -> Vec<String> {
        let line = |tool: &Tool| format!("- `{}` - {}", tool.name(), tool.description());
        let is_available = |tool: &&Tool| self.offers(tool, &UNUSED_CONTEXT);
        self.snapshot().listed().filter(is_available).map(line).collect()
    }

    /// Returns the definitions that are sent to a model, in order: those of tools that may be
    /// called and are not deferred.
    ///
    /// Of tools that are [not available to all](Tool::available_if), those are among them that are
    /// available without a context; [`ToolBox::definitions_in`] takes one. A changed list has
    /// another [`generation`](Self::generation); an unchanged one costs a reference count. It is an
    /// array for serde, and holds the lists for each provider.
    ///
    /// ```
    /// use toolbox::{tool, tools, ToolBox};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let definitions = ToolBox::from(tools![add]).definitions();
    /// assert_eq!(definitions[0].name, "add");
    /// let json = serde_json::to_string(&definitions)?;
    /// assert!(json.starts_with(r#"[{"name":"add","description":"Adds two numbers.","#));
    /// # Ok::<(), serde_json::Error>(())
    /// ```
    #[must_use]
    pub fn definitions(&self) -> Definitions {
        self.definitions_in(&UNUSED_CONTEXT)
    }

    /// Returns the definitions that are sent to a model whose calls are made in `context`: those of
    /// [`definitions`](Self::definitions) that its rules permit and that are available in it.
    #[must_use]
    pub fn definitions_in(&self, context: &ToolContext) -> Definitions {
        self.offer_with(context, &[])
    }

    /// Returns `true` if some tools are not available to all.
    pub(crate) fn is_conditional(&self) -> bool {
        self.shared.current.load().is_conditional()
    }

    /// Returns `true` if a tool of the box is available in a context.
    pub(crate) fn offers(&self, tool: &Tool, context: &ToolContext) -> bool {
        tool.is_available(context, self.shared.state.as_ref())
    }

    /// Returns `true` if a tool may be called from a context, by its name or an old one: the rules
    /// of both permit it, and it is available there. Of a name that no tool has, the rules by names
    /// decide.
    ///
    /// ```
    /// use toolbox::{Tool, ToolBox, ToolContext};
    ///
    /// let pay = Tool::new("pay", "Pays").call(|_| "paid").with_tags(["money"]);
    /// let toolbox = ToolBox::from(pay);
    /// let context = ToolContext::new();
    /// assert!(toolbox.may_call("pay", &context));
    /// assert!(!toolbox.may_call("pay", &context.with_blacklist("tag:money")));
    /// ```
    #[must_use]
    pub fn may_call(&self, name: &str, context: &ToolContext) -> bool {
        let snapshot = self.shared.current.load();
        match snapshot.by_any_name(name) {
            Some(entry) => entry.may_be_called(context, self.shared.state.as_ref()),
            None => snapshot.permits(name) && context.permits(name),
        }
    }

    /// Tells those who show lists of the tools that the predicates of
    /// [`Tool::available_if`] may answer otherwise now.
    ///
    /// The box gets a new [generation](Self::generation). A server notifies the clients whose list
    /// did change; the predicates themselves are asked for each call in any case.
    pub fn availability_changed(&self) {
        self.change(|_| ());
    }

    /// Returns the definitions of the tools that may be called from `context`, and those of `found`
    /// that may.
    pub(crate) fn offer_with(
        &self,
        context: &ToolContext,
        found: &[Arc<ToolDefinition>],
    ) -> Definitions {
        let snapshot = self.shared.current.load();
        let all = snapshot.definitions();
        let permitted = |tool: &ToolDefinition| self.shows(&snapshot, tool, context);
        if found.is_empty() && self.shows_all(&snapshot, all, context) {
            return all.clone();
        }
        let more = found.iter().filter(|tool| {
            let offered = all.iter().any(|own| own.name == tool.name);
            !offered && snapshot.get(&tool.name).is_some() && snapshot.permits(&tool.name)
        });
        let more = more.map(|tool| SharedDefinition::from(Arc::clone(tool)));
        all.shared().iter().cloned().chain(more).filter(|tool| permitted(tool)).collect()
    }

    /// Returns the deferred tools that may be called from `context` by their own names, with the
    /// generation of the box they are of. There are none where such tools are called through a
    /// gateway only.
    pub(crate) fn findable(&self, context: &ToolContext) -> (u64, Definitions) {
        let snapshot = self.snapshot();
        let generation = snapshot.generation();
        if !self.shared.settings.deferred_calls {
            return (generation, Definitions::default());
        }
        let all = snapshot.deferred();
        let permitted = |tool: &ToolDefinition| self.shows(&snapshot, tool, context);
        if self.shows_all(&snapshot, all, context) {
            return (generation, all.clone());
        }
        (generation, all.shared().iter().filter(|tool| permitted(tool)).cloned().collect())
    }

    /// Returns `true` if the definitions of all these tools are sent to a model whose calls are
    /// made in `context`.
    fn shows_all(&self, snapshot: &Snapshot, all: &Definitions, context: &ToolContext) -> bool {
        context.rules().is_none() && !snapshot.is_conditional()
            || all.iter().all(|tool| self.shows(snapshot, tool, context))
    }

    /// Returns `true` if the definition of a tool is sent to a model whose calls are made in
    /// `context`.
    fn shows(&self, snapshot: &Snapshot, tool: &ToolDefinition, context: &ToolContext) -> bool {
        context.permits_tool(tool)
            && (!snapshot.is_conditional()
                || snapshot.get(&tool.name).is_none_or(|entry| self.offers(&entry.tool, context)))
    }

    /// Returns the tool's own name for an alias that a provider uses.
    pub(crate) fn own_name(&self, name: &str) -> Option<String> {
        let snapshot = self.shared.current.load();
        if snapshot.get(name).is_some() {
            return None;
        }
        snapshot.by_alias(name).map(|entry| entry.tool.name().to_owned())
    }

    /// Returns the list of tools as a provider takes it, serialized once for each change of the
    /// box. Each definition is lowered once, however often the box changes.
    ///
    /// ```
    /// use toolbox::{tool, tools, ToolBox};
    /// use toolbox::dialect::Dialect;
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// let list = ToolBox::from(tools![add]).definitions_for(Dialect::Anthropic);
    /// let start = r#"[{"name":"add","description":"Adds two numbers.","input_schema":{"#;
    /// assert!(list.json().starts_with(start));
    /// ```
    #[must_use]
    pub fn definitions_for(&self, dialect: Dialect) -> Arc<DefinitionList> {
        self.definitions().lowered(dialect)
    }

    /// Returns the estimated tokens of each definition that is sent to a model, in order, as one
    /// provider takes it.
    ///
    /// [`Definitions::tokens_with`] takes another counter.
    ///
    /// ```
    /// use toolbox::dialect::Dialect;
    /// use toolbox::{tool, tools, ToolBox};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(a: i64, b: i64) -> i64 {
    ///     a + b
    /// }
    ///
    /// // A limit that a test can hold.
    /// let costs = ToolBox::from(tools![add]).tokens(Dialect::Anthropic);
    /// assert!(costs.iter().map(|tool| tool.tokens).sum::<usize>() < 100);
    /// ```
    #[must_use]
    pub fn tokens(&self, dialect: Dialect) -> Vec<ToolTokens> {
        self.definitions().tokens(dialect)
    }

    /// Returns the lints on all tools, for a test that expects none.
    ///
    /// ```
    /// use toolbox::{tool, tools, ToolBox};
    ///
    /// /// Adds two numbers.
    /// #[tool]
    /// fn add(
    ///     /// The first
    ///     a: i64,
    ///     b: i64,
    /// ) -> i64 {
    ///     a + b
    /// }
    ///
    /// let lints = ToolBox::from(tools![add]).lints();
    /// assert_eq!(lints.len(), 1);
    /// assert!(lints[0].to_string().starts_with("argument `b` of tool `add` has no description"));
    /// ```
    #[must_use]
    pub fn lints(&self) -> Vec<Lint> {
        let mut lints = Vec::new();
        for tool in self.tools() {
            lints.append(&mut tool.definition().lints());
        }
        lints
    }
}

impl From<&ToolBox> for Definitions {
    fn from(toolbox: &ToolBox) -> Self {
        toolbox.definitions()
    }
}
