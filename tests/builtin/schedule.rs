use crate::bounded::tokio;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use jiff::Timestamp;
use serde_json::{Value, json};
use toolbox::builtin::schedule::{Clock, Occurrence, Runner, ScheduledRun, Schedules, Store};
use toolbox::context::{Conversation, Principal};
use toolbox::dialect::Dialect;
use toolbox::store::{SqliteStore, StoreError};
use toolbox::{Tool, ToolBox, ToolCall, ToolContext, ToolResult};

use crate::calls::call;
use support::Scratch;

/// A clock that stands still until it is set.
#[derive(Clone)]
struct Hand(Arc<Mutex<SystemTime>>);

impl Hand {
    fn at(time: &str) -> Self {
        Self(Arc::new(Mutex::new(parsed(time))))
    }

    fn set(&self, time: impl Into<SystemTime>) {
        *self.0.lock().unwrap() = time.into();
    }
}

impl Clock for Hand {
    fn now(&self) -> SystemTime {
        *self.0.lock().unwrap()
    }
}

fn parsed(time: &str) -> SystemTime {
    time.parse::<Timestamp>().unwrap().into()
}

fn timestamp(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap().to_string()
}

/// A store, a clock, and the tools and a runner over both.
fn timetable(now: &str) -> (SqliteStore, Hand, ToolBox, Runner) {
    let store = SqliteStore::in_memory().unwrap();
    let clock = Hand::at(now);
    let schedules = Schedules::new(store.clone()).with_clock(clock.clone());
    let runner = Runner::new(store.clone()).with_clock(clock.clone());
    (store, clock, ToolBox::from(schedules), runner)
}

async fn create(toolbox: &ToolBox, prompt: &str, when: &Value) -> ToolResult {
    call(toolbox, "schedule_create", json!({"prompt": prompt, "when": when})).await
}

async fn next_of(store: &SqliteStore, id: u64) -> Option<SystemTime> {
    let all = Store::list(store, &Principal::default()).await.unwrap();
    all.into_iter().find(|schedule| schedule.id == id).unwrap().next
}

/// Returns the occurrences that a runner yields without waiting.
async fn due(runner: &mut Runner) -> Vec<Occurrence> {
    let mut all = Vec::new();
    // Time is paused: it runs on only when there is nothing to do.
    while let Ok(next) = tokio::time::timeout(Duration::from_secs(3), runner.next()).await {
        all.push(next.unwrap());
    }
    all
}

#[tokio::test(start_paused = true)]
async fn schedules_are_created_listed_changed_run_and_deleted() {
    let (_store, clock, toolbox, mut runner) = timetable("2026-03-02T08:00:00Z");
    let check = async |tool, arguments: Value, expected: &str| {
        let result = call(&toolbox, tool, arguments.clone()).await;
        let mark = if result.is_error() { "!" } else { "" };
        assert_eq!(format!("{mark}{}", result.text()), expected, "{tool} {arguments}");
    };
    check("schedule_list", json!({}), "nothing is planned").await;
    check(
        "schedule_create",
        json!({"prompt": "Water the ferns", "when": {"repeat": "weekly", "day": "monday", "time": "09:00"}, "time_zone": "europe/berlin"}),
        "created schedule 1: \"Water the ferns\", weekly on monday at 09:00 (Europe/Berlin); next 2026-03-09T09:00+01:00 (Monday)",
    ).await;
    check(
        "schedule_create",
        json!({"prompt": "Call\nAnn", "when": {"repeat": "once", "at": "2026-03-02T08:30"}}),
        "created schedule 2: \"Call\\nAnn\", once at 2026-03-02T08:30 (UTC); next 2026-03-02T08:30+00:00 (Monday)",
    ).await;
    check(
        "schedule_update",
        json!({"id": 1, "when": {"repeat": "days", "days": ["tuesday", "friday"], "time": "07:05"}}),
        "changed schedule 1: \"Water the ferns\", on tuesday, friday at 07:05 (Europe/Berlin); next 2026-03-03T07:05+01:00 (Tuesday)",
    ).await;
    check(
        "schedule_update",
        json!({"id": 1, "enabled": false, "prompt": "Water all"}),
        "changed schedule 1: \"Water all\", on tuesday, friday at 07:05 (Europe/Berlin); switched off",
    ).await;
    clock.set(parsed("2026-03-10T00:00:00Z"));
    let fired = due(&mut runner).await;
    assert_eq!(fired.len(), 1, "a schedule that is off does not happen: {fired:?}");
    assert_eq!(fired[0].schedule.prompt, "Call\nAnn");
    assert_eq!(
        (timestamp(fired[0].planned), fired[0].missed),
        ("2026-03-02T08:30:00Z".to_owned(), 0)
    );
    check(
        "schedule_update",
        json!({"id": 1, "enabled": true}),
        "changed schedule 1: \"Water all\", on tuesday, friday at 07:05 (Europe/Berlin); next 2026-03-10T07:05+01:00 (Tuesday)",
    ).await;
    check(
        "schedule_list",
        json!({}),
        "1: \"Water all\", on tuesday, friday at 07:05 (Europe/Berlin); next 2026-03-10T07:05+01:00 (Tuesday)\n\
         2: \"Call\\nAnn\", once at 2026-03-02T08:30 (UTC); has happened",
    ).await;
    check(
        "schedule_delete",
        json!({"ids": [2]}),
        "deleted 1 schedule:\n2: \"Call\\nAnn\", once at 2026-03-02T08:30 (UTC); has happened",
    )
    .await;
    for (tool, arguments) in
        [("schedule_update", json!({"id": 9})), ("schedule_delete", json!({"ids": [9]}))]
    {
        check(
            tool,
            arguments,
            "!no schedule has the number 9; `schedule_list` shows what there is",
        )
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn times_follow_the_clocks_of_their_zone() {
    let daily = |time: &str| json!({"repeat": "daily", "time": time});
    let monthly = |day: u8| json!({"repeat": "monthly", "day": day, "time": "12:00"});
    let cron = |expression: &str| json!({"repeat": "cron", "expression": expression});
    #[rustfmt::skip]
    let cases: Vec<(&str, &str, Value, &[&str])> = vec![
        // The clocks go forward: 02:30 is 03:30 on that day.
        ("Europe/Berlin", "2026-03-28T00:00:00Z", daily("02:30"), &["2026-03-28T01:30:00Z", "2026-03-29T01:30:00Z", "2026-03-30T00:30:00Z"]),
        // They go back: the first of two.
        ("Europe/Berlin", "2026-10-24T00:00:00Z", daily("02:30"), &["2026-10-24T00:30:00Z", "2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("America/New_York", "2026-03-07T12:00:00Z", daily("02:00"), &["2026-03-08T07:00:00Z", "2026-03-09T06:00:00Z"]),
        ("America/New_York", "2026-10-31T00:00:00Z", daily("01:30"), &["2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z"]),
        // Half an hour, at the other end of the world.
        ("Australia/Lord_Howe", "2026-10-03T00:00:00Z", daily("02:15"), &["2026-10-03T15:45:00Z", "2026-10-04T15:15:00Z"]),
        // Midnight itself is skipped.
        ("Africa/Cairo", "2026-04-22T12:00:00Z", daily("00:30"), &["2026-04-22T22:30:00Z", "2026-04-23T22:30:00Z", "2026-04-24T21:30:00Z"]),
        // A whole day is skipped.
        ("Pacific/Apia", "2011-12-29T00:00:00Z", daily("09:00"), &["2011-12-29T19:00:00Z", "2011-12-30T19:00:00Z", "2011-12-31T19:00:00Z"]),
        ("Asia/Kolkata", "2026-01-01T00:00:00Z", daily("09:00"), &["2026-01-01T03:30:00Z", "2026-01-02T03:30:00Z"]),
        ("UTC", "2026-01-01T09:00:00Z", daily("09:00"), &["2026-01-02T09:00:00Z"]),
        // Ends of months.
        ("UTC", "2026-01-15T00:00:00Z", monthly(31), &["2026-01-31T12:00:00Z", "2026-02-28T12:00:00Z", "2026-03-31T12:00:00Z", "2026-04-30T12:00:00Z"]),
        ("UTC", "2028-01-31T13:00:00Z", monthly(30), &["2028-02-29T12:00:00Z", "2028-03-30T12:00:00Z"]),
        ("UTC", "2100-02-01T00:00:00Z", monthly(29), &["2100-02-28T12:00:00Z", "2100-03-29T12:00:00Z"]),
        ("Pacific/Auckland", "2026-12-31T00:00:00Z", monthly(1), &["2026-12-31T23:00:00Z", "2027-01-31T23:00:00Z"]),
        ("UTC", "2026-11-22T00:00:00Z", json!({"repeat": "weekly", "day": "sunday", "time": "00:00"}), &["2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"]),
        ("UTC", "2026-11-22T00:00:00Z", json!({"repeat": "days", "days": ["friday", "monday", "friday"], "time": "10:00"}), &["2026-11-23T10:00:00Z", "2026-11-27T10:00:00Z", "2026-11-30T10:00:00Z"]),
        ("Europe/Berlin", "2026-07-01T00:00:00Z", json!({"repeat": "once", "at": "2026-12-01T09:00"}), &["2026-12-01T08:00:00Z"]),
        ("Europe/Berlin", "2026-01-01T00:00:00Z", json!({"repeat": "once", "at": "2026-03-29T02:30:00"}), &["2026-03-29T01:30:00Z"]),
        ("Europe/Berlin", "2026-01-01T00:00:00Z", json!({"repeat": "once", "at": "2026-12-01T09:00:00-05:00"}), &["2026-12-01T14:00:00Z"]),
        // Cron: 29 February, the day before a leap year that is none; hours that are skipped and
        // come twice.
        ("UTC", "2096-01-01T00:00:00Z", cron("0 12 29 2 *"), &["2096-02-29T12:00:00Z", "2104-02-29T12:00:00Z"]),
        ("UTC", "2026-01-01T00:00:00Z", cron("0 9 L * *"), &["2026-01-31T09:00:00Z", "2026-02-28T09:00:00Z"]),
        ("Europe/Berlin", "2026-03-28T12:00:00Z", cron("30 2 * * *"), &["2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"]),
        ("Europe/Berlin", "2026-10-24T12:00:00Z", cron("30 2 * * *"), &["2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"]),
        ("Europe/Berlin", "2026-10-24T23:45:00Z", cron("*/30 * * * *"), &["2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z", "2026-10-25T01:00:00Z", "2026-10-25T01:30:00Z", "2026-10-25T02:00:00Z"]),
        ("Europe/Berlin", "2026-03-29T00:15:00Z", cron("*/30 * * * *"), &["2026-03-29T00:30:00Z", "2026-03-29T01:00:00Z", "2026-03-29T01:30:00Z"]),
        ("UTC", "2026-11-22T00:00:00Z", cron("0 9 * * mon-fri"), &["2026-11-23T09:00:00Z", "2026-11-24T09:00:00Z"]),
        ("UTC", "2026-11-22T00:00:00Z", cron("@weekly"), &["2026-11-29T00:00:00Z", "2026-12-06T00:00:00Z"]),
    ];
    for (zone, from, when, expected) in cases {
        let (store, clock, toolbox, mut runner) = timetable(from);
        let arguments = json!({"prompt": "x", "when": when, "time_zone": zone});
        let created = call(&toolbox, "schedule_create", arguments.clone()).await;
        assert!(!created.is_error(), "{arguments}: {}", created.text());
        let mut next = next_of(&store, 1).await;
        for (number, expected) in expected.iter().enumerate() {
            let at = next.expect("another time");
            assert_eq!(timestamp(at), *expected, "{arguments}, time {number}");
            clock.set(at);
            let occurrence = runner.next().await.unwrap();
            assert_eq!(
                (occurrence.planned, occurrence.missed),
                (at, 0),
                "{arguments}, time {number}"
            );
            next = occurrence.schedule.next;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_unclear_is_refused_and_never_guessed() {
    let (_, _, toolbox, _) = timetable("2026-03-02T08:00:00Z");
    let time = "`time` must be a time of day";
    let cases = [
        (json!({"repeat": "daily", "time": ""}), time),
        (json!({"repeat": "daily", "time": ":30"}), time),
        (json!({"repeat": "daily", "time": "9:00"}), time),
        (json!({"repeat": "daily", "time": "24:00"}), time),
        (json!({"repeat": "daily", "time": "09:60"}), time),
        (json!({"repeat": "daily", "time": "+9:00"}), time),
        (json!({"repeat": "daily", "time": "٠٩:00"}), time),
        (json!({"repeat": "daily"}), "refused"),
        (json!({"repeat": "hourly", "time": "09:00"}), "refused"),
        (json!({"time": "09:00"}), "refused"),
        (json!({"repeat": "weekly", "time": "09:00"}), "refused"),
        (json!({"repeat": "weekly", "day": "mon", "time": "09:00"}), "refused"),
        (json!({"repeat": "daily", "day": "monday", "time": "09:00"}), "refused"),
        (json!({"repeat": "days", "days": [], "time": "09:00"}), "`days` is empty"),
        (json!({"repeat": "monthly", "day": 0, "time": "09:00"}), "1"),
        (json!({"repeat": "monthly", "day": 32, "time": "09:00"}), "31"),
        (
            json!({"repeat": "once", "at": "2026-03-02T07:59"}),
            "`at` is past; it is 2026-03-02T08:00+00:00 (Monday) now",
        ),
        (json!({"repeat": "once", "at": "2026-03-05"}), "`at` must be a date and a time"),
        (json!({"repeat": "once", "at": "tomorrow"}), "`at` must be a date and a time"),
        (json!({"repeat": "once", "at": "2026-02-30T09:00"}), "`at` must be a date and a time"),
        (json!({"repeat": "cron", "expression": ""}), "no cron expression"),
        (json!({"repeat": "cron", "expression": "61 * * * *"}), "no cron expression"),
        (json!({"repeat": "cron", "expression": "* * *"}), "no cron expression"),
        (json!({"repeat": "cron", "expression": "0 0 1 1 * 2020"}), ""),
        (json!({"repeat": "cron", "expression": "* ".repeat(500)}), "longer than 200"),
        (json!("daily"), "refused"),
        (json!(null), "refused"),
    ];
    for (when, expected) in cases {
        let result = create(&toolbox, "x", &when).await;
        assert!(result.is_error() && result.text().contains(expected), "{when}: {}", result.text());
    }
    let when = json!({"repeat": "daily", "time": "09:00"});
    for zone in ["", "Mars/Base", "+02:00", "CEST", "../etc/passwd"] {
        let arguments = json!({"prompt": "x", "when": when, "time_zone": zone});
        let result = call(&toolbox, "schedule_create", arguments).await;
        assert!(result.text().starts_with("no time zone is called"), "{zone}: {}", result.text());
    }
    assert!(Schedules::new(SqliteStore::in_memory().unwrap()).time_zone("Nowhere").is_err());
    for prompt in ["", " \n"] {
        assert!(create(&toolbox, prompt, &when).await.is_error());
    }
    assert_eq!(call(&toolbox, "schedule_list", json!({})).await.text(), "nothing is planned");
}

#[tokio::test(start_paused = true)]
async fn what_happened_once_does_not_happen_again_without_a_new_time() {
    let (_, clock, toolbox, mut runner) = timetable("2026-03-02T08:00:00Z");
    create(&toolbox, "x", &json!({"repeat": "once", "at": "2026-03-02T09:00"})).await;
    clock.set(parsed("2026-03-02T09:00:00Z"));
    assert_eq!(due(&mut runner).await.len(), 1);
    for change in
        [json!({"id": 1, "enabled": true}), json!({"id": 1, "time_zone": "America/New_York"})]
    {
        let refused = call(&toolbox, "schedule_update", change).await;
        assert_eq!(
            refused.text(),
            "schedule 1 has happened, and does so once; give it a new time with `when`"
        );
    }
    assert!(!call(&toolbox, "schedule_update", json!({"id": 1, "prompt": "y"})).await.is_error());
    let past = json!({"id": 1, "when": {"repeat": "once", "at": "2026-03-02T08:30"}});
    assert!(call(&toolbox, "schedule_update", past).await.text().starts_with("`at` is past"));
    assert_eq!(due(&mut runner).await, []);
    let anew = json!({"id": 1, "when": {"repeat": "once", "at": "2026-03-02T10:00"}});
    assert!(call(&toolbox, "schedule_update", anew).await.text().contains("next 2026-03-02T10:00"));
    clock.set(parsed("2026-03-02T10:00:00Z"));
    assert_eq!(due(&mut runner).await[0].schedule.prompt, "y");
}

#[tokio::test(start_paused = true)]
async fn several_are_deleted_only_when_that_is_said() {
    let (_, _, toolbox, _) = timetable("2026-03-02T08:00:00Z");
    for prompt in ["Water the ferns", "Water 100% of it", "Call Ann", "water_x"] {
        create(&toolbox, prompt, &json!({"repeat": "daily", "time": "09:00"})).await;
    }
    let refused = [
        (json!({}), "say which"),
        (json!({"all": true}), "say which"),
        (json!({"ids": [], "all": true}), "say which"),
        (json!({"query": ""}), "`query` is empty"),
        (json!({"query": " ", "all": true}), "`query` is empty"),
        (json!({"query": "", "ids": [1]}), "`query` is empty"),
        (json!({"query": "%", "ids": [1], "all": true}), "not both"),
        (json!({"query": "_%", "all": true}), "no prompt holds"),
        (json!({"query": "*", "all": true}), "no prompt holds"),
        (json!({"query": "WATER"}), "that fits 3 schedules, and none was deleted"),
        (json!({"ids": [1, 2]}), "that fits 2 schedules, and none was deleted"),
        (json!({"ids": [1, 99], "all": true}), "no schedule has the number 99"),
        (json!({"query": "water", "all": "yes"}), "refused"),
        (json!({"quer": "water", "all": true}), "refused"),
    ];
    for (arguments, expected) in refused {
        let result = call(&toolbox, "schedule_delete", arguments.clone()).await;
        assert!(
            result.is_error() && result.text().contains(expected),
            "{arguments}: {}",
            result.text()
        );
    }
    for broken in ["", "{", "null", "[]", r#"{"query":"water","all":tru"#] {
        let result = toolbox.call(ToolCall::new("1", "schedule_delete", broken)).await;
        assert!(result.is_error(), "{broken}");
    }
    let count = async || call(&toolbox, "schedule_list", json!({})).await.text().lines().count();
    assert_eq!(count().await, 4);
    for (arguments, left) in [
        (json!({"query": "100%"}), 3),
        (json!({"ids": [3, 3]}), 2),
        (json!({"query": "water", "all": true}), 1),
    ] {
        let result = call(&toolbox, "schedule_delete", arguments.clone()).await;
        assert!(!result.is_error(), "{arguments}: {}", result.text());
        if left > 1 {
            assert_eq!(count().await, left);
        }
    }
    assert_eq!(call(&toolbox, "schedule_list", json!({})).await.text(), "nothing is planned");
}

#[tokio::test(start_paused = true)]
async fn a_schedule_does_not_happen_too_often() {
    let (_, _, toolbox, _) = timetable("2026-03-02T08:00:00Z");
    for expression in [
        "* * * * * *",
        "*/10 * * * * *",
        "0,30 * * * * *",
        "0-1 0 0 1 1 *",
        "0,59 0 9 * * *",
        "0/30 * * * * *",
    ] {
        let result =
            create(&toolbox, "x", &json!({"repeat": "cron", "expression": expression})).await;
        assert!(result.is_error(), "{expression}: {}", result.text());
    }
    for expression in ["* * * * *", "30 * * * * *"] {
        let result =
            create(&toolbox, "x", &json!({"repeat": "cron", "expression": expression})).await;
        assert!(!result.is_error(), "{expression}: {}", result.text());
    }
    let seldom = Schedules::new(SqliteStore::in_memory().unwrap())
        .minimum_interval(Duration::from_secs(900))
        .with_clock(Hand::at("2026-03-02T08:00:00Z"));
    let toolbox = ToolBox::from(seldom);
    for (expression, is_refused) in
        [("*/5 * * * *", true), ("0,10 9 * * *", true), ("*/15 * * * *", false)]
    {
        let result =
            create(&toolbox, "x", &json!({"repeat": "cron", "expression": expression})).await;
        assert_eq!(result.is_error(), is_refused, "{expression}: {}", result.text());
    }
}

#[tokio::test(start_paused = true)]
async fn a_time_that_never_comes_is_refused_at_once() {
    let (_, _, toolbox, _) = timetable("2026-03-02T08:00:00Z");
    for expression in ["0 9 30 2 *", "0 0 31 2,4,6 *", "0 0 0 30 2 *", "59 23 31 11 *"] {
        let before = Instant::now();
        let result =
            create(&toolbox, "x", &json!({"repeat": "cron", "expression": expression})).await;
        assert_eq!(
            result.text(),
            "that time never comes; check the day and the month",
            "{expression}"
        );
        assert!(before.elapsed() < Duration::from_secs(30), "{expression}: {:?}", before.elapsed());
    }
}

#[tokio::test(start_paused = true)]
async fn schedules_are_counted_and_do_not_breed() {
    let (store, clock, toolbox, mut runner) = timetable("2026-03-02T08:00:00Z");
    let daily = json!({"repeat": "daily", "time": "09:00"});
    for number in 0..100 {
        assert!(!create(&toolbox, "x", &daily).await.is_error(), "{number}");
    }
    assert_eq!(
        create(&toolbox, "x", &daily).await.text(),
        "there are 100 schedules, and no more can be created; delete what is not needed"
    );
    // Somebody else's are counted apart.
    let other = ToolContext::new().with(Principal::new("other"));
    let arguments = json!({"prompt": "of another", "when": daily});
    let another = ToolCall::new("1", "schedule_create", arguments.clone());
    assert!(!toolbox.call_in(&other, another.clone()).await.is_error());

    clock.set(parsed("2026-03-02T09:00:00Z"));
    let fired = due(&mut runner).await;
    let fired = fired.iter().find(|fired| fired.schedule.prompt == "of another").unwrap();
    let within = fired.context();
    assert_eq!(within.get::<Principal>(), Some(&Principal::new("other")));
    assert_eq!(within.get::<ScheduledRun>().map(|run| run.schedule), Some(fired.schedule.id));
    assert_eq!(
        toolbox.call_in(&within, another.clone()).await.text(),
        "what a schedule has started may not create schedules"
    );
    let id = fired.schedule.id;
    let change = ToolCall::new("1", "schedule_update", json!({"id": id, "enabled": false}));
    assert!(!toolbox.call_in(&within, change).await.is_error());
    let allowed = Schedules::new(store).with_clock(clock).allow_in_scheduled_runs();
    assert!(!ToolBox::from(allowed).call_in(&within, another).await.is_error());
}

#[tokio::test(start_paused = true)]
async fn what_was_denied_where_a_schedule_was_created_is_denied_when_it_happens() {
    let (store, clock, toolbox, mut runner) = timetable("2026-03-02T08:00:00Z");
    for name in ["shell_exec", "file_read", "web_search"] {
        toolbox.register(Tool::new(name, "Does something.").call(|_| "done"));
    }
    let creator =
        ToolContext::new().with(Conversation::new("telegram", "42")).with_blacklist("Shell_*");
    let arguments = json!({"prompt": "run `ls`", "when": {"repeat": "daily", "time": "09:00"}});
    toolbox.call_in(&creator, ToolCall::new("1", "schedule_create", arguments)).await;
    // What is denied to whoever changes it is denied from then on, and nothing is lifted.
    let changer = ToolContext::new().with_blacklist("web_search");
    let change = ToolCall::new("1", "schedule_update", json!({"id": 1, "prompt": "run `ps`"}));
    assert!(!toolbox.call_in(&changer, change).await.is_error());
    drop(runner);
    runner = Runner::new(store).with_clock(clock.clone());
    clock.set(parsed("2026-03-02T09:00:00Z"));
    let within = runner.next().await.unwrap().context();
    assert_eq!(within.get::<Conversation>(), Some(&Conversation::new("telegram", "42")));
    // Denied in the box since then.
    let check = async |expected: [bool; 3]| {
        for (name, may) in ["shell_exec", "file_read", "web_search"].into_iter().zip(expected) {
            let result = toolbox.call_in(&within, ToolCall::new("1", name, "{}")).await;
            let code = (!may).then_some("tool.blacklisted");
            assert_eq!(result.code(), code, "{name}: {}", result.text());
        }
    };
    check([false, true, false]).await;
    toolbox.blacklist("file_read");
    check([false, false, false]).await;
}

#[tokio::test(start_paused = true)]
async fn three_days_without_the_program_make_one_occurrence() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store");
    let clock = Hand::at("2026-03-02T08:00:30Z");
    let every_minute = json!({"repeat": "cron", "expression": "* * * * *"});
    {
        let store = SqliteStore::open(&path).unwrap();
        let toolbox = ToolBox::from(Schedules::new(store.clone()).with_clock(clock.clone()));
        create(&toolbox, "x", &every_minute).await;
        let mut runner = Runner::new(store).with_clock(clock.clone());
        assert_eq!(due(&mut runner).await, []);
        clock.set(parsed("2026-03-02T08:01:00Z"));
        assert_eq!(due(&mut runner).await.len(), 1);
    }
    clock.set(parsed("2026-03-05T08:01:00Z"));
    let mut runner = Runner::new(SqliteStore::open(&path).unwrap()).with_clock(clock.clone());
    let fired = due(&mut runner).await;
    assert_eq!(fired.len(), 1);
    assert_eq!(timestamp(fired[0].planned), "2026-03-02T08:02:00Z");
    assert_eq!(fired[0].missed, 4_319);
    assert_eq!(fired[0].schedule.next.map(timestamp).as_deref(), Some("2026-03-05T08:02:00Z"));

    // Longer than anybody counts.
    clock.set(parsed("2027-03-05T08:01:00Z"));
    let fired = due(&mut runner).await;
    assert_eq!((fired.len(), fired[0].missed), (1, 10_000));
    assert_eq!(fired[0].schedule.next.map(timestamp).as_deref(), Some("2027-03-05T08:02:00Z"));
}

#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_back_repeats_nothing_and_stops_nothing() {
    let (store, clock, toolbox, mut runner) = timetable("2026-03-02T08:00:00Z");
    create(&toolbox, "x", &json!({"repeat": "daily", "time": "09:00"})).await;
    create(&toolbox, "y", &json!({"repeat": "once", "at": "2026-03-02T09:00"})).await;
    clock.set(parsed("2026-03-02T09:00:00Z"));
    assert_eq!(due(&mut runner).await.len(), 2);
    for earlier in [
        "2026-03-02T08:59:59Z",
        "2026-03-01T08:00:00Z",
        "2026-03-01T09:30:00Z",
        "2026-03-02T09:00:00Z",
    ] {
        clock.set(parsed(earlier));
        assert_eq!(due(&mut runner).await, [], "{earlier}");
        let mut restarted = Runner::new(store.clone()).with_clock(clock.clone());
        assert_eq!(due(&mut restarted).await, [], "{earlier}, after a restart");
    }
    // A year ahead by mistake, noticed an hour later, by this program or by the next.
    clock.set(parsed("2027-03-02T10:00:00Z"));
    let ahead = due(&mut runner).await;
    assert_eq!(ahead.len(), 1);
    assert_eq!(
        (timestamp(ahead[0].planned), ahead[0].missed),
        ("2026-03-03T09:00:00Z".to_owned(), 364)
    );
    clock.set(parsed("2026-03-02T11:00:00Z"));
    let mut restarted = Runner::new(store.clone()).with_clock(clock.clone());
    assert_eq!(due(&mut restarted).await, []);
    assert_eq!(next_of(&store, 1).await.map(timestamp).as_deref(), Some("2026-03-04T09:00:00Z"));
    clock.set(parsed("2026-03-04T09:00:00Z"));
    assert_eq!(due(&mut runner).await.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn two_runners_never_hand_out_the_same() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store");
    let clock = Hand::at("2026-03-02T08:00:00Z");
    let store = SqliteStore::open(&path).unwrap();
    let toolbox = ToolBox::from(Schedules::new(store.clone()).with_clock(clock.clone()));
    for number in 0..40 {
        create(&toolbox, &number.to_string(), &json!({"repeat": "daily", "time": "09:00"})).await;
    }
    clock.set(parsed("2026-03-02T09:00:00Z"));
    // Two over one connection, one over another.
    let stores = [store.clone(), store, SqliteStore::open(&path).unwrap()];
    let mut running = tokio::task::JoinSet::new();
    for store in stores {
        let mut runner = Runner::new(store).with_clock(clock.clone());
        running.spawn(async move { due(&mut runner).await });
    }
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for fired in running.join_all().await.into_iter().flatten() {
        *counts.entry(fired.schedule.prompt).or_default() += 1;
    }
    assert_eq!(counts.len(), 40);
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
}

#[tokio::test]
async fn a_wait_that_is_given_up_loses_no_occurrence() {
    let (_, clock, toolbox, mut runner) = timetable("2026-03-02T08:00:00Z");
    for number in 0..20 {
        create(&toolbox, &number.to_string(), &json!({"repeat": "daily", "time": "09:00"})).await;
    }
    clock.set(parsed("2026-03-02T09:00:00Z"));
    let mut fired = Vec::new();
    for attempt in 0..100_000_u64 {
        // Given up at every possible point.
        let patience = Duration::from_micros(attempt * 37 % 900);
        if let Ok(due) = tokio::time::timeout(patience, runner.next()).await {
            fired.push(due.unwrap().schedule.prompt.parse::<u32>().unwrap());
        }
        if fired.len() == 20 {
            break;
        }
    }
    fired.sort_unstable();
    assert_eq!(fired, (0..20).collect::<Vec<_>>());
}

#[tokio::test]
async fn a_runner_that_is_killed_hands_nothing_out_twice() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store");
    // Long past by the clock of the programs that run.
    let clock = Hand::at("2020-01-01T00:00:00Z");
    let schedules =
        Schedules::new(SqliteStore::open(&path).unwrap()).with_clock(clock).quota(1_000);
    let toolbox = ToolBox::from(schedules);
    let (all, kills) = (100, 12);
    for number in 0..all {
        let at = json!({"repeat": "once", "at": "2020-01-01T12:00"});
        assert!(!create(&toolbox, &number.to_string(), &at).await.is_error());
    }
    drop(toolbox);
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for round in 0..kills {
        let mut child = Command::new(crate::program("alarm"))
            .arg(&path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // It is killed at work on the last of those it was asked for, or soon after: there are
        // always some left.
        let some = round % 5 + 1;
        child.stdin.as_mut().unwrap().write_all("\n".repeat(some + 1).as_bytes()).unwrap();
        let mut said: Vec<String> = lines.by_ref().take(some).map(Result::unwrap).collect();
        std::thread::sleep(Duration::from_micros(round as u64 * 7919 % 5000));
        child.kill().unwrap();
        child.wait().unwrap();
        said.extend(lines.map_while(Result::ok));
        for prompt in said {
            *counts.entry(prompt).or_default() += 1;
        }
    }
    let store = SqliteStore::open(&path).unwrap();
    let mut runner = Runner::new(store.clone());
    while Store::earliest(&store).await.unwrap().is_some() {
        *counts.entry(runner.next().await.unwrap().schedule.prompt).or_default() += 1;
    }
    assert!(counts.values().all(|count| *count == 1), "{counts:?}");
    // At most the one that was about to be told when the program was killed.
    assert!(counts.len() >= all - kills && counts.len() <= all, "{}", counts.len());
}

#[tokio::test(start_paused = true)]
async fn principals_neither_see_nor_change_what_is_anothers() {
    let (_, _, toolbox, _) = timetable("2026-03-02T08:00:00Z");
    let of = |id: &str| ToolContext::new().with(Principal::new(id));
    let arguments = json!({"prompt": "secret", "when": {"repeat": "daily", "time": "09:00"}});
    toolbox.call_in(&of("ann"), ToolCall::new("1", "schedule_create", arguments)).await;
    for context in [of("bob"), ToolContext::new()] {
        for (tool, arguments) in [
            ("schedule_list", json!({})),
            ("schedule_update", json!({"id": 1, "prompt": "mine"})),
            ("schedule_delete", json!({"ids": [1], "all": true})),
            ("schedule_delete", json!({"query": "secret", "all": true})),
        ] {
            let result = toolbox.call_in(&context, ToolCall::new("1", tool, arguments)).await;
            assert!(!result.text().contains("daily"), "{tool}: {}", result.text());
        }
    }
    let list = toolbox.call_in(&of("ann"), ToolCall::new("1", "schedule_list", "{}")).await;
    assert!(list.text().contains("secret"));
}

#[tokio::test(start_paused = true)]
async fn a_schedule_that_could_not_be_kept_is_not_acknowledged() {
    let scratch = Scratch::new();
    let path = scratch.path().join("store");
    let clock = Hand::at("2026-03-02T08:00:00Z");
    let store = SqliteStore::open(&path).unwrap().busy_timeout(Duration::from_millis(20)).unwrap();
    let toolbox = ToolBox::from(Schedules::new(store.clone()).with_clock(clock.clone()));
    let mut runner = Runner::new(store).with_clock(clock.clone());
    let daily = json!({"repeat": "daily", "time": "09:00"});
    assert!(!create(&toolbox, "x", &daily).await.is_error());
    let other = rusqlite::Connection::open(&path).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(
        create(&toolbox, "y", &daily).await.text(),
        "the store is busy, and nothing was done; try again later"
    );
    // Nothing is handed out that could not be marked, and nothing is lost by that.
    clock.set(parsed("2026-03-02T09:00:00Z"));
    assert!(matches!(runner.next().await, Err(StoreError::Busy(_))));
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(due(&mut runner).await.len(), 1);
}

#[test]
fn every_provider_takes_the_arguments_of_schedules() {
    let toolbox = ToolBox::from(Schedules::new(SqliteStore::in_memory().unwrap()));
    for dialect in Dialect::ALL.into_iter().filter(|dialect| *dialect != Dialect::Mcp) {
        let lists = toolbox.definitions_for(dialect);
        let text = lists.json();
        if matches!(dialect, Dialect::OpenAiChat | Dialect::OpenAiResponses) {
            assert_eq!(text.matches(r#""strict":true"#).count(), 4, "{text}");
            assert!(!text.contains("oneOf"), "{text}");
        }
        for word in ["weekly", "monday", "expression", "IANA"] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}
