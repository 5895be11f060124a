//! The tools of a request: those that are sent, and those that a search can find.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use crate::call::ToolResult;
use crate::definition::ToolDefinition;
use crate::dialect::{DefinitionList, Dialect, ListedTool};
use crate::model::ModelRequest;

/// The tools of a request, for a format with a tool search of its own.
pub(super) struct Offered<'a> {
    /// The request's tools.
    pub(super) list: Arc<DefinitionList>,
    /// The search; `None` without the tool that searches, because nothing could be found then.
    pub(super) search: Option<OfferedSearch<'a>>,
}

/// A search, and the tools it can find.
pub(super) struct OfferedSearch<'a> {
    tool: &'a str,
    /// The search tool is in here only by mistake; see [`OfferedSearch::place`].
    deferred: Arc<DefinitionList>,
}

impl<'a> Offered<'a> {
    pub(super) fn of(request: &'a ModelRequest, dialect: Dialect) -> Self {
        let search = request
            .search
            .as_ref()
            .filter(|search| request.tools.iter().any(|definition| definition.name == search.tool));
        Self {
            list: request.tools.lowered(dialect),
            search: search.map(|search| OfferedSearch {
                tool: &search.tool,
                deferred: search.deferred.lowered(dialect),
            }),
        }
    }

    /// Returns the name of a call in the request.
    pub(super) fn sent_name<'n>(&self, name: &'n str) -> Cow<'n, str> {
        match (self.list.sent_name(name), &self.search) {
            (Cow::Borrowed(name), Some(search)) => search.deferred.sent_name(name),
            (sent, _) => sent,
        }
    }

    /// Returns `true` if programs may call one of the tools.
    pub(super) fn has_programs(&self) -> bool {
        self.list.pairs().any(|(definition, _)| definition.callers.include_programs())
    }

    /// Returns the tools of the request that are sent without a search. Tools found before may be
    /// among them as well, and no service accepts a name twice.
    pub(super) fn listed(&self) -> impl Iterator<Item = (&ToolDefinition, &ListedTool)> {
        let is_deferred = |definition: &ToolDefinition| {
            self.search.as_ref().is_some_and(|search| search.holds(&definition.name))
        };
        self.list.pairs().filter(move |(definition, _)| !is_deferred(definition))
    }
}

impl OfferedSearch<'_> {
    /// Returns `true` if a call by this name, the tool's own or the one it is sent under, is a
    /// search.
    pub(super) fn is_named(&self, name: &str) -> bool {
        name == self.tool || name == crate::dialect::outbound_name(self.tool, self.dialect())
    }

    fn dialect(&self) -> Dialect {
        self.deferred.dialect()
    }

    /// Returns the tools that can be found.
    pub(super) fn deferred(&self) -> &DefinitionList {
        &self.deferred
    }

    /// Returns `true` if a tool of this name of its own can be found.
    fn holds(&self, name: &str) -> bool {
        self.place(name).is_some_and(|at| self.deferred.definition(at).name == name)
    }

    /// Returns `true` if the tool at an index can be found. The tool that searches is always sent.
    pub(super) fn is_found(&self, place: usize) -> bool {
        self.deferred.definition(place).name != self.tool
    }

    fn place(&self, name: &str) -> Option<usize> {
        self.deferred.position(name).filter(|at| self.is_found(*at))
    }

    /// Returns the indices of the tools that a search found, each once, and `true` if every one of
    /// them can still be found.
    pub(super) fn found(&self, result: &ToolResult) -> (Vec<usize>, bool) {
        if result.is_error() {
            return (Vec::new(), true);
        }
        let places = result.references().iter().map(|name| self.place(name));
        let mut seen = HashSet::new();
        let mut all = true;
        let known = places.filter_map(|place| {
            all &= place.is_some();
            place.filter(|at| seen.insert(*at))
        });
        (known.collect(), all)
    }
}
