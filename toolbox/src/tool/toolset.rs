//! Values that yield several tools.

use std::sync::Arc;

use super::tool::Tool;

/// A value that yields several tools, prompts and resources, which share it.
///
/// `#[toolset] impl` writes the implementation; see [`toolset`](macro@crate::toolset). A box takes
/// the prompts and resources of a set along with its tools.
///
/// ```
/// use std::sync::Arc;
/// use toolbox::{toolset, Tool, ToolBox};
/// use toolbox::tool::Toolset;
///
/// struct Clock;
///
/// #[toolset]
/// impl Clock {
///     /// Returns the year.
///     #[tool]
///     fn year(&self) -> u32 {
///         2026
///     }
/// }
///
/// let tools: Vec<Tool> = Arc::new(Clock).tools();
/// assert_eq!(ToolBox::from(tools).len(), 1);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a set of tools",
    label = "this has no tools",
    note = "write `#[toolset]` above an `impl` block of the type, and `#[tool]` on methods in it",
    note = "a value has the tools of a trait as `Arc<dyn Trait>`, or by `#[toolset(traits(Trait))] impl Type {{}}`"
)]
pub trait Toolset: Send + Sync + 'static {
    /// Returns the tools, each of which keeps the value alive.
    fn tools(self: Arc<Self>) -> Vec<Tool>;

    /// Returns the prompts and resources; a box takes them along with the tools.
    #[doc(hidden)]
    fn offers(self: Arc<Self>) -> SetOffers {
        SetOffers::default()
    }
}

/// The prompts and resources of a toolset, as the tools that they are.
#[doc(hidden)]
#[derive(Debug, Default)]
pub struct SetOffers {
    pub(crate) prompts: Vec<Tool>,
    pub(crate) resources: Vec<Tool>,
}

/// Types that can be registered in a box: a tool, several, a [`Toolset`], another box.
///
/// ```
/// use toolbox::{tool, tools, Tool, ToolBox};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i64, b: i64) -> i64 {
///     a + b
/// }
///
/// let toolbox = ToolBox::new();
/// toolbox.register(tools![add]);
/// toolbox.register(Tool::new("ping", "Answers").call(|_| "pong"));
/// toolbox.register(&ToolBox::new()); // all tools of another box
/// assert_eq!(toolbox.len(), 2);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is neither a tool nor a set of tools",
    label = "a box cannot take this",
    note = "the tool of a function `search` with `#[tool]` is `search::tool()`; several are `tools![search, ..]`",
    note = "a `Tool::new(..)` builder becomes a tool with `.call(..)`",
    note = "a value has tools when `#[toolset]` stands above an `impl` block of its type",
    note = "the tools of a trait are those of an `Arc<dyn Trait>`",
    note = "a name, a description, a schema and a function go to `raw_tool` or `register_raw`"
)]
pub trait IntoTools {
    /// Returns the tools, in order.
    fn into_tools(self) -> Vec<Tool>;

    /// Returns the tools, and what a toolset has beside them.
    #[doc(hidden)]
    fn into_tools_and_offers(self) -> (Vec<Tool>, SetOffers)
    where
        Self: Sized,
    {
        (self.into_tools(), SetOffers::default())
    }
}

impl IntoTools for Tool {
    fn into_tools(self) -> Vec<Tool> {
        vec![self]
    }
}

impl IntoTools for Vec<Tool> {
    fn into_tools(self) -> Vec<Tool> {
        self
    }
}

impl<const N: usize> IntoTools for [Tool; N] {
    fn into_tools(self) -> Vec<Tool> {
        self.into()
    }
}

impl<T: Toolset + ?Sized> IntoTools for Arc<T> {
    fn into_tools(self) -> Vec<Tool> {
        self.tools()
    }

    fn into_tools_and_offers(self) -> (Vec<Tool>, SetOffers) {
        (Self::clone(&self).tools(), self.offers())
    }
}

#[diagnostic::do_not_recommend]
impl<T: Toolset> IntoTools for T {
    fn into_tools(self) -> Vec<Tool> {
        Arc::new(self).tools()
    }

    fn into_tools_and_offers(self) -> (Vec<Tool>, SetOffers) {
        Arc::new(self).into_tools_and_offers()
    }
}
