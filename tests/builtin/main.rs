//! The tools that come with the crate, each with the escapes that a model, a page or another
//! program may try.

mod ask_user;
mod broken_rows;
mod calls;
mod changes;
#[cfg(target_os = "linux")]
mod confinement;
mod files;
mod http;
mod kept;
mod knowledge;
mod notes;
mod pages;
mod protected;
mod schedule;
#[cfg(target_os = "linux")]
mod shell;
mod skills;
mod taint;
mod tainted_files;
mod web_search;

use support::bounded;

support::programs!("builtin-programs");

/// Each room is a value that yields tools, and they share one box.
#[cfg(target_os = "linux")]
#[test]
fn each_built_in_is_a_value_that_yields_tools() {
    use toolbox::builtin::{
        Workspace, ask_user, files, http, knowledge, notes, schedule, shell, web_search,
    };
    use toolbox::store::SqliteStore;

    let scratch = support::Scratch::new();
    let workspace = Workspace::open(scratch.path()).unwrap();
    let store = SqliteStore::in_memory().unwrap();
    let toolbox = toolbox::ToolBox::new();
    toolbox.try_register(files::Files::new(workspace.clone())).unwrap();
    toolbox.try_register(shell::Shell::unconfined(workspace)).unwrap();
    toolbox.try_register(http::Http::new()).unwrap();
    toolbox.try_register(web_search::WebSearch::new(web_search::Brave::new("k"))).unwrap();
    toolbox.try_register(knowledge::Knowledge::new(store.clone())).unwrap();
    toolbox.try_register(schedule::Schedules::new(store.clone())).unwrap();
    toolbox.try_register(notes::Notes::new(store)).unwrap();
    toolbox.try_register(ask_user::AskUser::new()).unwrap();
    assert_eq!(toolbox.lints(), [], "each tool and argument is described");
}
