//! What a person is asked to approve would run: arguments are checked before, by their schema and by
//! their types, whoever could be asked.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use crate::bounded::tokio;
use schemars::JsonSchema;
use serde::Deserialize;
use toolbox::call::FailureKind;
use toolbox::context::Decision;
use toolbox::{State, Tool, ToolBox, ToolCall, tool};

/// A name in capital letters, which its schema does not say.
#[derive(Deserialize, JsonSchema)]
#[serde(try_from = "String")]
#[schemars(with = "String")]
struct Loud(String);

impl TryFrom<String> for Loud {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let is_loud = text.chars().all(char::is_uppercase);
        if is_loud { Ok(Self(text)) } else { Err("must be in capital letters".to_owned()) }
    }
}

type Runs = State<AtomicUsize>;

/// Pays.
#[tool(approval)]
fn pay(to: Loud, #[arg(range = 1..=100)] amount: u32, runs: Runs) -> String {
    runs.fetch_add(1, SeqCst);
    format!("{} {amount}", to.0)
}

/// Pays later.
#[tool(approval)]
async fn pay_later(to: Loud, #[arg(range = 1..=100)] amount: u32, runs: Runs) -> String {
    tokio::task::yield_now().await;
    runs.fetch_add(1, SeqCst);
    format!("{} {amount}", to.0)
}

#[derive(Deserialize, JsonSchema)]
struct Payment {
    to: Loud,
    #[schemars(range(min = 1, max = 100))]
    amount: u32,
}

/// Who can be asked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Asked {
    Nobody,
    Approver,
    ApproverOfTool,
}

#[tokio::test]
async fn nobody_is_asked_to_approve_what_would_be_refused() {
    let runs = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&runs);
    let whole = Tool::from_fn("whole", "Pays.", move |payment: Payment| {
        count.fetch_add(1, SeqCst);
        format!("{} {}", payment.to.0, payment.amount)
    });
    for tool in [pay::tool(), pay_later::tool(), whole.needs_approval()] {
        for asked in [Asked::Nobody, Asked::Approver, Asked::ApproverOfTool] {
            let questions = Arc::new(AtomicUsize::new(0));
            let (on_box, on_tool) = (Arc::clone(&questions), Arc::clone(&questions));
            let mut tool = tool.clone();
            if asked == Asked::ApproverOfTool {
                tool = tool.with_approver(move |_| {
                    on_tool.fetch_add(1, SeqCst);
                    async { Decision::Approve }
                });
            }
            let mut builder = ToolBox::builder().shared_state(Arc::clone(&runs)).tool(tool.clone());
            if asked == Asked::Approver {
                builder = builder.approver(move |_| {
                    on_box.fetch_add(1, SeqCst);
                    async { Decision::Approve }
                });
            }
            let toolbox = builder.build().unwrap();
            for (arguments, fault) in [
                (r#"{"to":"ada","amount":5}"#, "must be in capital letters"),
                (r#"{"to":"ADA","amount":500}"#, "at most 100"),
                (r#"{"to":"ADA"}"#, "missing required argument `amount`"),
                (r#"{"to":"ADA","amount":5,"fast":true}"#, "fast"),
                ("{", "JSON"),
            ] {
                let call = ToolCall::new("1", tool.name(), arguments);
                let result = toolbox.call(call.clone()).await;
                let kind = result.failure_kind();
                assert_eq!(kind, Some(FailureKind::InvalidArguments), "{asked:?} {arguments}");
                assert!(result.text().contains(fault), "{}", result.text());
                assert_eq!(toolbox.check(&call).unwrap_err().text(), result.text(), "{asked:?}");
            }
            assert_eq!((questions.load(SeqCst), runs.load(SeqCst)), (0, 0), "{asked:?}");
            let call = ToolCall::new("1", tool.name(), r#"{"to":"ADA","amount":5}"#);
            assert!(toolbox.check(&call).is_ok());
            assert_eq!(runs.load(SeqCst), 0, "a check runs nothing");
            let result = toolbox.call(call).await;
            if asked == Asked::Nobody {
                assert_eq!(result.code(), Some(FailureKind::NotApproved.code()));
            } else {
                assert_eq!((&*result.text(), runs.swap(0, SeqCst)), ("ADA 5", 1));
                assert!(questions.load(SeqCst) > 0);
            }
        }
    }
}
