//! Traits with `#[toolset]` that are written in uncommon ways, and checks that are.
#![deny(warnings)]
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use toolbox::{ToolBox, ToolCall, ToolContext, tool, toolset};

mod inner {
    use super::*;

    /// A grid.
    #[toolset(crate = ::toolbox)]
    pub trait Grid<const N: usize, T>
    where
        T: serde::de::DeserializeOwned + schemars::JsonSchema + Send + Sync + 'static,
    {
        /// The side.
        #[tool]
        fn side(&self) -> usize {
            N
        }

        /// Puts a value.
        #[tool(blocking)]
        fn put(&self, value: T, r#type: Option<T>) -> bool;

        /// Streams the lines.
        #[tool(collect = "lines")]
        fn lines(&self) -> Pin<Box<dyn Stream<Item = String> + Send + '_>>;

        /// Is recursive.
        #[tool]
        async fn down(&self, mut from: u32) -> u32 {
            if from == 0 {
                return 0;
            }
            from -= 1;
            self.down(from).await + 1
        }

        /// Takes lists and maps.
        #[tool]
        async fn all(
            self: Arc<Self>,
            list: Vec<&str>,
            map: BTreeMap<String, u8>,
            slice: Option<Vec<u8>>,
            text: Cow<'_, str>,
            context: &ToolContext,
        ) -> Result<String, std::fmt::Error> {
            let _ = context.call_id();
            Ok(format!("{}{}{slice:?}{text}", list.len(), map.len()))
        }

        /// Is there under a condition.
        #[cfg(any())]
        #[tool]
        async fn never(&self) -> Missing;

        /// Has a condition on its documentation.
        #[cfg_attr(all(), doc = "More.")]
        #[tool(name = "documented")]
        fn documented(&self);

        /// Is generic, and no method of a trait object.
        async fn generic<'a, U: Send + Sync>(&self, value: &'a U, by: fn(&U) -> u8) -> (&'a U, u8)
        where
            Self: Sized,
        {
            (value, by(value))
        }
    }
}

use inner::Grid;

struct Four<T>(T);

#[toolset]
impl<T: Send + Sync + 'static> Grid<4, u8> for Four<T> {
    fn put(&self, value: u8, r#type: Option<u8>) -> bool {
        r#type == Some(value)
    }

    fn lines(&self) -> Pin<Box<dyn Stream<Item = String> + Send + '_>> {
        let lines = (0..2).map(|line| format!("{line} {}", size_of_val(&self.0)));
        Box::pin(futures_util::stream::iter(lines))
    }

    fn documented(&self) {}
}

fn short(text: &str) -> Result<(), String> {
    if text.len() < 4 { Ok(()) } else { Err("must be short".to_owned()) }
}

fn any<T: ?Sized>(_: &T) -> Result<(), std::convert::Infallible> {
    Ok(())
}

struct Rules;

#[toolset]
impl Rules {
    fn own(value: &[u8]) -> Result<(), std::fmt::Error> {
        if value.is_empty() { Err(std::fmt::Error) } else { Ok(()) }
    }

    /// Has checks of many types.
    #[tool(check = Self::together)]
    async fn many(
        &self,
        #[arg(check = short)] lent: &str,
        #[arg(check = short)] cow: Cow<'_, str>,
        #[arg(check = short)] optional: Option<&str>,
        #[arg(check = short, default)] owned: String,
        #[arg(check = Self::own)] list: &[u8],
        #[arg(check = any::<[u8]>)] more: Option<Vec<u8>>,
        #[arg(check = any)] map: BTreeMap<&str, u8>,
        context: &ToolContext,
    ) -> String {
        std::future::ready(()).await;
        let _ = (list, more, map, context.call_id());
        format!("{lent}{cow}{optional:?}{owned}")
    }

    #[allow(clippy::too_many_arguments)]
    fn together(
        lent: &str,
        cow: &Cow<'_, str>,
        _: &Option<&str>,
        _: &String,
        _: &[u8],
        _: &Option<Vec<u8>>,
        _: &BTreeMap<&str, u8>,
    ) -> Result<(), &'static str> {
        if lent == cow { Err("are the same") } else { Ok(()) }
    }
}

/// Has one argument under a condition.
#[tool(check = short(text))]
fn conditional(text: &str, #[cfg(any())] never: Missing, #[cfg(all())] more: Option<u8>) -> Option<u8> {
    let _ = text;
    more
}

async fn text(toolbox: &ToolBox, name: &str, arguments: &str) -> String {
    toolbox.call(ToolCall::new("1", name, arguments)).await.into_text()
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let grid: Arc<dyn Grid<4, u8>> = Arc::new(Four("four"));
    let toolbox = ToolBox::from(grid);
    assert_eq!(text(&toolbox, "side", "").await, "4");
    assert_eq!(text(&toolbox, "put", r#"{"value":2,"type":2}"#).await, "true");
    assert_eq!(text(&toolbox, "lines", "").await, "0 16\n1 16");
    assert_eq!(text(&toolbox, "down", r#"{"from":3}"#).await, "3");
    assert_eq!(text(&toolbox, "all", r#"{"list":["a"],"map":{},"text":"x"}"#).await, "10Nonex");
    assert_eq!(toolbox.len(), 6);
    assert_eq!(Four(1).generic(&7, |value| *value + 1).await, (&7, 8));

    let rules = ToolBox::from(Rules);
    let many = r#"{"lent":"a","cow":"b","list":[1],"map":{}}"#;
    assert_eq!(text(&rules, "many", many).await, "abNone");
    let many = r#"{"lent":"a","cow":"a","optional":"long","list":[],"map":{}}"#;
    let refused = text(&rules, "many", many).await;
    assert!(refused.contains("`optional` must be short") && refused.contains("`list`"), "{refused}");
    let same = text(&rules, "many", r#"{"lent":"a","cow":"a","list":[1],"map":{}}"#).await;
    assert!(same.contains("the arguments are the same"), "{same}");
    let conditional = ToolBox::from(conditional::tool());
    assert!(text(&conditional, "conditional", r#"{"text":"long"}"#).await.contains("must be short"));
}
