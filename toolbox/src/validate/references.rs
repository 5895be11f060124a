//! References within a schema document: by pointer, by anchor, by identifier.
//!
//! Nothing is fetched: the target of a reference is in the same document, or unknown.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::HashMap;

use serde_json::{Map, Value};

use super::schema::is_secret;
use super::uri;
use crate::schema::{Keywords as _, children};

/// A draft of JSON Schema, as the root of a schema names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Draft {
    /// Draft 4 and older.
    Four,
    Six,
    Seven,
    Y2019,
    Y2020,
}

impl Draft {
    /// Returns the draft of a URI; `None` for an unsupported one.
    fn named(uri: &str) -> Option<Self> {
        let uri = uri.trim_end_matches('#');
        let uri = uri.strip_prefix("https://").or_else(|| uri.strip_prefix("http://"))?;
        Some(match uri.strip_prefix("json-schema.org/")? {
            "draft-03/schema" | "draft-04/schema" => Self::Four,
            "draft-06/schema" => Self::Six,
            "draft-07/schema" => Self::Seven,
            "draft/2019-09/schema" => Self::Y2019,
            "draft/2020-12/schema" | "schema" => Self::Y2020,
            _ => return None,
        })
    }
}

/// A schema with an identifier of its own, and its anchors.
struct SchemaResource<'s> {
    root: &'s Value,
    /// The absolute URI; `None` if it is too long to be resolved.
    uri: Option<String>,
    /// The anchors by name; `None` for a name that is used twice.
    anchors: HashMap<&'s str, Option<&'s Value>>,
    dynamic: HashMap<&'s str, Option<&'s Value>>,
}

/// The keywords that refer to another schema.
pub(super) const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// The position of a resource in its document; 0 is the whole.
pub(super) type ResourceId = usize;

/// The references of one schema document.
pub(crate) struct References<'s> {
    pub(super) root: &'s Value,
    /// The draft; `None` if the document names none, which means draft 2020-12.
    pub(crate) draft: Option<Draft>,
    /// `true` if the document's `$schema` names a supported draft, or none.
    known: bool,
    /// `true` if an identifier is one in some drafts only and no draft is named.
    ambiguous: bool,
    resources: Vec<SchemaResource<'s>>,
    by_uri: HashMap<String, Option<ResourceId>>,
    /// The resource of each schema outside the first resource.
    owners: HashMap<*const Value, ResourceId>,
    /// Looked up once a value is displayed.
    holds_secret: OnceCell<bool>,
}

impl<'s> References<'s> {
    /// Collects the parts of a document that references can name.
    pub(crate) fn new(root: &'s Value) -> Self {
        let named = root.keyword("$schema").and_then(Value::as_str);
        let draft = named.and_then(Draft::named);
        let mut references = Self {
            root,
            draft,
            known: named.is_none() || draft.is_some(),
            ambiguous: false,
            resources: Vec::new(),
            by_uri: HashMap::new(),
            owners: HashMap::new(),
            holds_secret: OnceCell::new(),
        };
        references.add(root, Some(String::new()));
        let mut open = vec![(root, 0)];
        while let Some((schema, owner)) = open.pop() {
            let Some(map) = schema.as_object() else { continue };
            let owner = references.enter(schema, map, owner);
            subschemas(map, &mut |child| open.push((child, owner)));
        }
        references
    }

    /// Records one schema; returns the resource that it belongs to.
    fn enter(&mut self, schema: &'s Value, map: &'s Map<String, Value>, outer: usize) -> usize {
        let is_root = std::ptr::eq(schema, self.root);
        let text = |keyword: &str| map.keyword(keyword).and_then(Value::as_str);
        let mut owner = outer;
        let keyword = if self.draft == Some(Draft::Four) { "id" } else { "$id" };
        self.ambiguous |= self.draft.is_none() && !is_root && text("id").is_some();
        // If keywords beside a reference are ignored, so is an identifier.
        let is_alone = self.refs_alone() && map.has_keyword("$ref");
        if let Some(id) = text(keyword).filter(|_| !is_alone) {
            let (address, anchor) = id.split_once('#').unwrap_or((id, ""));
            if !address.is_empty() {
                let base = self.resources[outer].uri.as_deref();
                let uri = base.and_then(|base| uri::join(base, address));
                if is_root {
                    self.resources[0].uri.clone_from(&uri);
                    self.register(uri, 0);
                } else {
                    owner = self.add(schema, uri);
                    self.known &= text("$schema").is_none_or(|uri| Draft::named(uri) == self.draft);
                }
            }
            // Up to draft 7, an anchor is an identifier with only a fragment.
            if !anchor.is_empty() && self.draft.is_none_or(|draft| draft < Draft::Y2019) {
                name_once(&mut self.resources[owner].anchors, anchor, schema);
            }
        }
        if self.draft.is_none_or(|draft| draft >= Draft::Y2019) {
            if let Some(name) = text("$anchor") {
                name_once(&mut self.resources[owner].anchors, name, schema);
            }
            if let Some(name) = text("$dynamicAnchor") {
                name_once(&mut self.resources[owner].anchors, name, schema);
                name_once(&mut self.resources[owner].dynamic, name, schema);
            }
        }
        if owner != 0 {
            self.owners.insert(std::ptr::from_ref(schema), owner);
        }
        owner
    }

    fn add(&mut self, root: &'s Value, uri: Option<String>) -> ResourceId {
        let id = self.resources.len();
        self.register(uri.clone(), id);
        let (anchors, dynamic) = (HashMap::new(), HashMap::new());
        self.resources.push(SchemaResource { root, uri, anchors, dynamic });
        id
    }

    fn register(&mut self, uri: Option<String>, id: ResourceId) {
        let Some(uri) = uri else { return };
        self.by_uri.entry(uri).and_modify(|known| *known = None).or_insert(Some(id));
    }

    /// Returns `true` if a part of the document must never be displayed.
    pub(super) fn root_holds_secret(&self) -> bool {
        *self.holds_secret.get_or_init(|| is_secret(self.root, self))
    }

    /// Returns `true` if the schema's draft is supported.
    pub(crate) fn is_known(&self) -> bool {
        self.known
    }

    /// Returns `true` if keywords beside a `$ref` are ignored, as up to draft 7.
    pub(crate) fn refs_alone(&self) -> bool {
        self.draft.is_some_and(|draft| draft <= Draft::Seven)
    }

    /// Returns `true` if an item that meets `contains` counts as evaluated.
    pub(super) fn contains_evaluates(&self) -> bool {
        self.draft != Some(Draft::Y2019)
    }

    /// Returns `true` if `keyword` is part of the draft; others are ignored.
    pub(crate) fn knows(&self, keyword: &str) -> bool {
        let Some(draft) = self.draft else { return true };
        match keyword {
            "const" | "contains" | "propertyNames" => draft >= Draft::Six,
            "if" => draft >= Draft::Seven,
            "dependentRequired"
            | "dependentSchemas"
            | "minContains"
            | "maxContains"
            | "unevaluatedItems"
            | "unevaluatedProperties" => draft >= Draft::Y2019,
            "$recursiveRef" => draft == Draft::Y2019,
            "$dynamicRef" | "prefixItems" => draft >= Draft::Y2020,
            _ => true,
        }
    }

    /// Returns the resource that a schema belongs to.
    pub(super) fn owner(&self, schema: &Value) -> ResourceId {
        if self.owners.is_empty() {
            return 0;
        }
        self.owners.get(&std::ptr::from_ref(schema)).copied().unwrap_or(0)
    }

    /// Returns the target of the `$ref` of a schema.
    pub(crate) fn target(&self, schema: &Value) -> Option<&'s Value> {
        self.resolve(schema.keyword("$ref")?.as_str()?, schema)
    }

    /// Returns the target of a reference in `from`; `None` if it points nowhere or to another
    /// document.
    pub(crate) fn resolve(&self, reference: &str, from: &Value) -> Option<&'s Value> {
        if self.ambiguous {
            return None;
        }
        let (address, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        let id = if address.is_empty() {
            self.owner(from)
        } else {
            let base = self.resources[self.owner(from)].uri.as_deref()?;
            (*self.by_uri.get(&uri::join(base, address)?)?)?
        };
        let resource = &self.resources[id];
        if fragment.is_empty() {
            return Some(resource.root);
        }
        let fragment = &*decoded(fragment)?;
        if !fragment.starts_with('/') {
            return *resource.anchors.get(fragment)?;
        }
        let target = resource.root.pointer(fragment)?;
        // Outside the positions of schemas, the base of the target's own references is unknown.
        let is_placed = id == 0 && target.keyword("$id").is_none()
            || self.owners.contains_key(&std::ptr::from_ref(target));
        is_placed.then_some(target)
    }

    /// Returns the target of a reference that depends on how the schema was reached: the outermost
    /// of `scopes` decides.
    pub(super) fn resolve_dynamic(
        &self,
        keyword: &str,
        reference: &str,
        from: &Value,
        scopes: &[ResourceId],
    ) -> Option<&'s Value> {
        let first = self.resolve(reference, from)?;
        let resources = scopes.iter().map(|id| &self.resources[*id]);
        let outermost = if keyword == "$recursiveRef" {
            let is_open =
                |root: &Value| root.keyword("$recursiveAnchor") == Some(&Value::Bool(true));
            let mut roots = resources.map(|resource| resource.root);
            if is_open(first) { roots.find(|root| is_open(root)) } else { None }
        } else {
            let name = reference.split_once('#').map_or("", |(_, name)| name);
            let is_open = first.keyword("$dynamicAnchor").and_then(Value::as_str) == Some(name);
            let mut named = resources.filter_map(|resource| resource.dynamic.get(name));
            match named.next().filter(|_| is_open) {
                Some(target) => Some((*target)?),
                None => None,
            }
        };
        Some(outermost.unwrap_or(first))
    }

    /// Returns every schema that the references of a schema may mean, however it is reached.
    pub(super) fn targets(&self, schema: &'s Value) -> Vec<&'s Value> {
        let mut all = Vec::new();
        for keyword in REFERENCES {
            let reference = schema.keyword(keyword).and_then(Value::as_str);
            let Some((reference, first)) =
                reference.and_then(|reference| Some((reference, self.resolve(reference, schema)?)))
            else {
                continue;
            };
            all.push(first);
            let name = reference.split_once('#').map_or("", |(_, name)| name);
            match keyword {
                "$dynamicRef" => {
                    let named = |resource: &SchemaResource<'s>| *resource.dynamic.get(name)?;
                    all.extend(self.resources.iter().filter_map(named));
                }
                "$recursiveRef" => all.extend(self.resources.iter().map(|resource| resource.root)),
                _ => {}
            }
        }
        all
    }
}

fn name_once<'s>(
    names: &mut HashMap<&'s str, Option<&'s Value>>,
    name: &'s str,
    schema: &'s Value,
) {
    names.entry(name).and_modify(|known| *known = None).or_insert(Some(schema));
}

/// Calls `visit` with each direct subschema, those of `dependencies` included.
pub(super) fn subschemas<'v>(map: &'v Map<String, Value>, visit: &mut dyn FnMut(&'v Value)) {
    children(map, &mut |_, _, child| visit(child));
    if let Some(Value::Object(dependencies)) = map.keyword("dependencies") {
        dependencies.values().for_each(visit);
    }
}

/// Returns a fragment with its percent signs decoded; `None` if the result is no text.
fn decoded(fragment: &str) -> Option<Cow<'_, str>> {
    if !fragment.contains('%') {
        return Some(Cow::Borrowed(fragment));
    }
    let mut bytes = Vec::new();
    let mut rest = fragment.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let code = behind.get(..2).filter(|_| byte == b'%');
        let decoded = code
            .and_then(|code| std::str::from_utf8(code).ok())
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        bytes.push(decoded.unwrap_or(byte));
        rest = if decoded.is_some() { &behind[2..] } else { behind };
    }
    String::from_utf8(bytes).ok().map(Cow::Owned)
}
