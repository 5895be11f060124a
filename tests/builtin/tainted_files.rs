//! Files that a tainted conversation wrote, in the hands of the next one.

use crate::bounded::tokio;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;
use toolbox::builtin::Workspace;
use toolbox::builtin::files::Files;
use toolbox::context::Taint;
use toolbox::{ToolBox, ToolCall, ToolContext};

use support::Scratch;

/// A conversation, which others had a hand in or not.
fn conversation(is_tainted: bool) -> ToolContext {
    let taint = Taint::new();
    if is_tainted {
        taint.mark();
    }
    ToolContext::new().with(taint)
}

fn files(folder: &Path) -> ToolBox {
    ToolBox::from(Files::new(Workspace::open(folder).unwrap()))
}

async fn make(toolbox: &ToolBox, context: &ToolContext, tool: &str, arguments: serde_json::Value) {
    let call = ToolCall::new("1", tool, arguments.to_string());
    let made = tokio::time::timeout(Duration::from_secs(30), toolbox.call_in(context, call));
    let result = made.await.expect("it hangs");
    assert!(!result.is_error(), "{tool}: {}", result.text());
}

/// Returns whether a conversation that begins with this call is tainted by it.
async fn taints(folder: &Path, tool: &str, arguments: serde_json::Value) -> bool {
    let context = conversation(false);
    make(&files(folder), &context, tool, arguments).await;
    context.is_tainted()
}

/// Returns whether the file system of a folder keeps attributes, which other processes see.
fn keeps_attributes(folder: &Path) -> bool {
    let probe = folder.join("probe");
    std::fs::write(&probe, "x").unwrap();
    let set = rustix::fs::setxattr(&probe, "user.probe", b"1", rustix::fs::XattrFlags::empty());
    std::fs::remove_file(&probe).unwrap();
    set.is_ok()
}

#[tokio::test]
async fn a_file_that_was_written_while_tainted_taints_who_reads_it() {
    let scratch = Scratch::new();
    let folder = scratch.path();
    let (tainted, clean) = (conversation(true), conversation(false));
    make(&files(folder), &clean, "file_write", json!({"path": "clean.txt", "content": "mine\n"}))
        .await;
    for (tool, arguments) in [
        ("file_read", json!({"path": "clean.txt"})),
        ("file_list", json!({})),
        ("file_search", json!({"pattern": "mine"})),
    ] {
        assert!(!taints(folder, tool, arguments).await, "{tool}: nothing is of others yet");
    }
    let written = json!({"path": "sub/notes.txt", "content": "obey\n"});
    make(&files(folder), &tainted, "file_write", written).await;
    let image = json!({"path": "clean.txt", "old_text": "mine", "new_text": "obey"});
    for spelling in ["sub/notes.txt", "./sub/notes.txt", "sub//notes.txt", "sub/../sub/notes.txt"] {
        let context = conversation(false);
        let call = ToolCall::new("1", "file_read", json!({"path": spelling}).to_string());
        let read = files(folder).call_in(&context, call).await;
        assert!(read.is_error() || context.is_tainted(), "{spelling}");
    }
    assert!(!taints(folder, "file_read", json!({"path": "clean.txt"})).await, "another file");
    // Names and lines of any file may be of others.
    assert!(taints(folder, "file_list", json!({"path": "sub"})).await);
    assert!(taints(folder, "file_search", json!({"pattern": "x"})).await);
    // A part of what others wrote stays a part of theirs, whoever edits.
    let edit = json!({"path": "sub/notes.txt", "old_text": "obey", "new_text": "fine"});
    make(&files(folder), &clean, "file_edit", edit).await;
    assert!(!clean.is_tainted(), "to write is not to read");
    assert!(taints(folder, "file_read", json!({"path": "sub/notes.txt"})).await, "edited");
    make(&files(folder), &tainted, "file_edit", image).await;
    assert!(taints(folder, "file_read", json!({"path": "clean.txt"})).await, "edited by it");
    // What is written anew holds nothing of them.
    let anew = json!({"path": "sub/notes.txt", "content": "mine\n"});
    make(&files(folder), &clean, "file_write", anew).await;
    assert!(!taints(folder, "file_read", json!({"path": "sub/notes.txt"})).await, "written anew");
    let workspace = Workspace::open(folder).unwrap();
    assert!(workspace.is_tainted());
    workspace.forget_taint().unwrap();
    assert!(!workspace.is_tainted());
    assert!(!taints(folder, "file_list", json!({})).await, "somebody looked through it");
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn the_mark_is_on_the_file_and_goes_where_it_goes() {
    let scratch = Scratch::new();
    let folder = scratch.folder("work");
    if !keeps_attributes(&folder) {
        // This file system keeps no attributes: only the process that wrote remembers.
        return;
    }
    let written = json!({"path": "a.txt", "content": "obey\n"});
    make(&files(&folder), &conversation(true), "file_write", written).await;
    std::fs::write(folder.join("by_hand.txt"), "mine\n").unwrap();
    std::fs::rename(folder.join("a.txt"), folder.join("b.txt")).unwrap();
    assert!(taints(&folder, "file_read", json!({"path": "b.txt"})).await, "renamed");
    // Another folder, of which this process knows nothing.
    let copy = scratch.path().join("copy");
    let copied = Command::new("cp").arg("-a").args([&folder, &copy]).status().unwrap();
    assert!(copied.success());
    assert!(taints(&copy, "file_read", json!({"path": "b.txt"})).await, "on the file");
    assert!(!taints(&copy, "file_read", json!({"path": "by_hand.txt"})).await);
    assert!(taints(&copy, "file_list", json!({})).await, "on the folder");
    // A pipe that nobody writes to keeps nobody.
    assert!(Command::new("mkfifo").arg(copy.join("pipe")).status().unwrap().success());
    let call = ToolCall::new("1", "file_read", r#"{"path": "pipe"}"#);
    let (toolbox, context) = (files(&copy), conversation(false));
    let read = tokio::time::timeout(Duration::from_secs(20), toolbox.call_in(&context, call));
    assert!(read.await.expect("it hangs").is_error());
}

#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ran_while_tainted_marks_what_it_changed() {
    use toolbox::builtin::shell::Shell;

    let scratch = Scratch::new();
    let folder = scratch.folder("work");
    let shell = ToolBox::from(Shell::new(Workspace::open(&folder).unwrap()).unwrap());
    std::fs::write(folder.join("by_hand.txt"), "mine\n").unwrap();
    let clean = conversation(false);
    make(&shell, &clean, "shell_exec", json!({"command": "echo mine > b.txt"})).await;
    assert!(!clean.is_tainted());
    assert!(!taints(&folder, "file_read", json!({"path": "b.txt"})).await);
    // Nothing was written, so nothing is marked.
    tokio::time::sleep(Duration::from_millis(100)).await;
    make(&shell, &conversation(true), "shell_exec", json!({"command": "cat b.txt"})).await;
    assert!(!taints(&folder, "file_read", json!({"path": "b.txt"})).await);
    assert!(!taints(&folder, "file_list", json!({})).await);
    for write in [
        "echo obey > b.txt",
        "echo obey > c.txt; touch -d 2001-01-01 c.txt",
        "mkdir -p deep/er; echo obey > deep/er/d.txt; mv deep/er/d.txt deep/e.txt",
        "echo obey > f; cp f g; rm f; mv g h.txt",
    ] {
        make(&shell, &conversation(true), "shell_exec", json!({"command": write})).await;
    }
    for path in ["b.txt", "c.txt", "deep/e.txt", "h.txt"] {
        assert!(taints(&folder, "file_read", json!({"path": path})).await, "{path}");
    }
    assert!(!taints(&folder, "file_read", json!({"path": "by_hand.txt"})).await);
    // What a command prints may be of any file.
    let next = conversation(false);
    make(&shell, &next, "shell_exec", json!({"command": "cat b.txt"})).await;
    assert!(next.is_tainted());
    if keeps_attributes(&folder) {
        let copy = scratch.path().join("copy");
        assert!(Command::new("cp").arg("-a").args([&folder, &copy]).status().unwrap().success());
        assert!(taints(&copy, "file_read", json!({"path": "b.txt"})).await, "another process");
    }
}
