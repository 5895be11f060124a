//! How do several tools share one value?
//!
//! `#[toolset]` on an `impl` block makes its methods tools of one value, which lives as long as they do.
//!
//! `cargo run -p toolbox-basics --example toolset`

#![allow(
    clippy::print_stdout,
    clippy::needless_pass_by_value,
    reason = "an example shows what it does"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use toolbox::{ToolBox, ToolCall, toolset};

/// A pantry: what is there, and how much of it.
#[derive(Default)]
struct Pantry {
    stock: Mutex<BTreeMap<String, u32>>,
}

#[toolset]
impl Pantry {
    /// Puts something into the pantry.
    #[tool]
    fn put(
        &self,
        /// What it is
        item: String,
        /// How many pieces
        #[arg(default = 1, range = 1..)]
        pieces: u32,
    ) -> String {
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let now = stock.entry(item.clone()).or_default();
        *now += pieces;
        format!("{now} × {item}")
    }

    /// Takes something out of the pantry.
    #[tool]
    fn take(
        &self,
        /// What it is
        item: &str,
    ) -> Result<String, String> {
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        match stock.get_mut(item) {
            Some(pieces) if *pieces > 0 => {
                *pieces -= 1;
                Ok(format!("{pieces} × {item} left"))
            }
            _ => Err(format!("there is no {item}")),
        }
    }

    /// Lists what is in the pantry.
    #[tool(read_only)]
    fn list(&self) -> BTreeMap<String, u32> {
        self.stock.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[tokio::main]
async fn main() {
    let pantry = Arc::new(Pantry::default());
    let toolbox = ToolBox::from(Arc::clone(&pantry)).prefixed("pantry");
    let calls = [
        ("pantry_put", r#"{"item":"egg","pieces":6}"#),
        ("pantry_take", r#"{"item":"egg"}"#),
        ("pantry_take", r#"{"item":"caviar"}"#),
        ("pantry_list", ""),
    ];
    for (name, arguments) in calls {
        let result = toolbox.call(ToolCall::new("1", name, arguments)).await;
        println!("{name}({arguments}) -> {}", result.text());
    }
    // The methods are methods as before.
    println!("directly: {}", pantry.put("egg".into(), 1));
}
