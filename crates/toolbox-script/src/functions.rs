//! The tools of a box as the functions of a script.

use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use serde_json::json;
use toolbox::context::Taint;
use toolbox::search::Catalog;
use toolbox::{Tool, ToolBox, ToolContext, ToolDefinition};
use toolbox_codegen::typescript::identifier;

use crate::declarations::declarations;

/// The functions that are not tools. `then` would make the object a promise.
const RESERVED: [&str; 3] = ["search", "types", "then"];

/// The most tools that a search finds.
const HITS: usize = 10;

/// The most declarations that are returned at once, in bytes.
const DECLARATIONS_BYTES: usize = 32 << 10;

/// The names by which a script calls tools: identifiers, each of one tool.
///
/// A name that is an identifier stands for itself. In another, each character that an identifier
/// may not have becomes `_`, and what is taken by then gets a `_` at its end.
///
/// ```
/// use toolbox_script::Names;
///
/// let names = Names::of(["list-files", "list_files", "search"]);
/// assert_eq!(names.identifier("list-files"), "list_files_");
/// assert_eq!(names.tool("list_files_"), Some("list-files"));
/// assert_eq!(names.identifier("list_files"), "list_files");
/// assert_eq!(names.identifier("search"), "search_");
/// ```
#[derive(Debug, Clone, Default)]
pub struct Names {
    tools: HashMap<String, String>,
    identifiers: HashMap<String, String>,
}

impl Names {
    /// Finds an identifier for each name.
    #[must_use]
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut names: Vec<&str> = names.into_iter().collect();
        names.sort_unstable();
        names.dedup();
        let is_own = |name: &&&str| identifier(name) == **name && !RESERVED.contains(*name);
        let mut taken: HashSet<String> = RESERVED.map(str::to_owned).into();
        taken.extend(names.iter().filter(is_own).map(|name| (*name).to_owned()));
        let mut found = Self::default();
        for name in &names {
            let mut own = identifier(name);
            if !is_own(&name) {
                while !taken.insert(own.clone()) {
                    own.push('_');
                }
            }
            found.tools.insert(own.clone(), (*name).to_owned());
            found.identifiers.insert((*name).to_owned(), own);
        }
        found
    }

    /// Returns the name of the tool that an identifier stands for.
    #[must_use]
    pub fn tool(&self, identifier: &str) -> Option<&str> {
        self.tools.get(identifier).map(String::as_str)
    }

    /// Returns the identifier of a tool; of a name that is not known, the name.
    #[must_use]
    pub fn identifier<'a>(&'a self, name: &'a str) -> &'a str {
        self.identifiers.get(name).map_or(name, String::as_str)
    }
}

/// The tools that a script may call, as its box has them.
#[derive(Clone)]
pub(crate) struct Functions {
    toolbox: ToolBox,
    /// The context of the calls.
    context: ToolContext,
    names: OnceCell<Names>,
    /// All tools, once the script has searched.
    catalog: OnceCell<Catalog>,
}

impl Functions {
    pub(crate) fn new(toolbox: ToolBox, context: ToolContext) -> Self {
        Self { toolbox, context, names: OnceCell::new(), catalog: OnceCell::new() }
    }

    /// Returns the name of the tool that a function calls. Of one that is not known, the gate says
    /// what is near.
    pub(crate) fn tool<'a>(&'a self, function: &'a str) -> &'a str {
        if self.toolbox.has(function) {
            return function;
        }
        self.names().tool(function).unwrap_or(function)
    }

    fn names(&self) -> &Names {
        self.names.get_or_init(|| Names::of(self.toolbox.names().iter().map(String::as_str)))
    }

    pub(crate) fn search(&self, text: &str) -> String {
        let all = || self.toolbox.tools().iter().map(|tool| tool.definition().clone()).collect();
        let catalog = self.catalog.get_or_init(all);
        let (toolbox, context) = (&self.toolbox, &self.context);
        let search = catalog.search(text).filter(|one| is_open(one, toolbox, context));
        let hits = search.limit(HITS).hits();
        self.show(hits.iter().map(|hit| &*hit.definition));
        let found = hits.iter().map(|hit| {
            let name = self.names().identifier(&hit.definition.name);
            json!({"name": name, "description": hit.definition.description})
        });
        found.collect::<serde_json::Value>().to_string()
    }

    pub(crate) fn types(&self, pattern: &str) -> String {
        let fits = |definition: &ToolDefinition| {
            let identifier = self.names().identifier(&definition.name);
            matches(pattern, &definition.name) || matches(pattern, identifier)
        };
        let tools = self.toolbox.tools();
        let found: Vec<&ToolDefinition> = tools
            .iter()
            .map(Tool::definition)
            .filter(|definition| {
                fits(definition) && is_open(definition, &self.toolbox, &self.context)
            })
            .collect();
        if found.is_empty() {
            return format!("// no tool is named like {pattern:?}: use tools.search(\"...\")");
        }
        let mut shown = found.len();
        let mut text = declarations(found.iter().copied(), self.names());
        while text.len() > DECLARATIONS_BYTES && shown > 1 {
            shown = (shown * DECLARATIONS_BYTES / text.len()).clamp(1, shown - 1);
            text = declarations(found[..shown].iter().copied(), self.names());
        }
        self.show(found[..shown].iter().copied());
        if shown < found.len() {
            let left: Vec<_> = found[shown..]
                .iter()
                .map(|definition| self.names().identifier(&definition.name))
                .collect();
            let _ = writeln!(text, "// left out: {}", left.join(", "));
        }
        text
    }

    /// Records that the model may read these definitions.
    fn show<'a>(&self, definitions: impl IntoIterator<Item = &'a ToolDefinition>) {
        if let Some(taint) = self.context.get::<Taint>() {
            taint.show_definitions(definitions);
        }
    }
}

/// Returns `true` if a script may call a tool.
fn is_open(definition: &ToolDefinition, toolbox: &ToolBox, context: &ToolContext) -> bool {
    toolbox.may_call(&definition.name, context) && !definition.is_for_apps()
}

/// Returns `true` if a name fits a pattern in which `*` stands for any run of characters.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut left) = name.strip_prefix(first) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let last = parts.pop().unwrap_or_default();
    for part in parts {
        match left.find(part) {
            Some(at) => left = &left[at + part.len()..],
            None => return false,
        }
    }
    left.ends_with(last)
}
