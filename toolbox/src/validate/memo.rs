//! Results of a check that may be asked for again: an alternative is counted, explained, and looked
//! through for the names it declares, and each of them looks at everything below it.

use std::rc::Rc;

use foldhash::HashMap;
use serde_json::Value;

use super::json::Node;
use super::references::ResourceId;

/// The steps that a result must have taken to be kept; less is taken again, and needs no memory.
const WORTH_KEEPING: u64 = 16;

/// A chain of resources, as dynamic references look through it; 0 is the whole document alone.
type ScopeId = usize;

/// A value under a schema, within a chain of resources.
type Visit = (usize, *const Value, ScopeId);

/// The faults of a value under a schema.
#[derive(Clone, Copy)]
pub(super) struct KnownFaults {
    pub(super) count: usize,
    /// `true` if they were described, which is done once.
    pub(super) described: bool,
}

/// The results of one check.
#[derive(Default)]
pub(super) struct Memo<'a> {
    scope: ScopeId,
    scopes: HashMap<(ScopeId, ResourceId), ScopeId>,
    faults: HashMap<Visit, KnownFaults>,
    evaluated: HashMap<Visit, bool>,
    applied: HashMap<Visit, Option<Rc<[&'a Value]>>>,
}

impl<'a> Memo<'a> {
    /// Enters a resource; returns the chain to go back to.
    pub(super) fn enter(&mut self, resource: ResourceId) -> ScopeId {
        let next = self.scopes.len() + 1;
        let inner = *self.scopes.entry((self.scope, resource)).or_insert(next);
        std::mem::replace(&mut self.scope, inner)
    }

    pub(super) fn leave(&mut self, outer: ScopeId) {
        self.scope = outer;
    }

    fn visit(&self, node: Node<'_>, schema: &Value) -> Visit {
        (node.start(), std::ptr::from_ref(schema), self.scope)
    }

    /// Returns the faults of a value under a schema.
    pub(super) fn faults(&self, node: Node<'_>, schema: &Value) -> Option<KnownFaults> {
        self.faults.get(&self.visit(node, schema)).copied()
    }

    pub(super) fn keep_faults(
        &mut self,
        node: Node<'_>,
        schema: &Value,
        steps: u64,
        faults: KnownFaults,
    ) {
        if steps > WORTH_KEEPING {
            self.faults.insert(self.visit(node, schema), faults);
        }
    }

    /// Returns `true` if a schema evaluates a field or an item.
    pub(super) fn evaluated(&self, part: Node<'_>, schema: &Value) -> Option<bool> {
        self.evaluated.get(&self.visit(part, schema)).copied()
    }

    pub(super) fn keep_evaluated(
        &mut self,
        part: Node<'_>,
        schema: &Value,
        steps: u64,
        evaluated: bool,
    ) {
        if steps > WORTH_KEEPING {
            self.evaluated.insert(self.visit(part, schema), evaluated);
        }
    }

    /// Returns the schemas that apply in place beside a schema; the inner `None` if some are
    /// unknown.
    #[expect(clippy::option_option, reason = "what is kept may be unknown")]
    pub(super) fn applied(
        &self,
        node: Node<'_>,
        schema: &Value,
    ) -> Option<Option<Rc<[&'a Value]>>> {
        self.applied.get(&self.visit(node, schema)).cloned()
    }

    pub(super) fn keep_applied(
        &mut self,
        node: Node<'_>,
        schema: &Value,
        applied: Option<Rc<[&'a Value]>>,
    ) {
        self.applied.insert(self.visit(node, schema), applied);
    }
}
