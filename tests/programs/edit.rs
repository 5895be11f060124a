//! Changes files of a folder, over and over, as one of several processes. Says each change that was
//! acknowledged.

#![allow(clippy::print_stdout, reason = "the test that starts it reads what it says")]

use std::io::Write as _;
use std::time::Duration;

use serde_json::json;
use toolbox::builtin::files::Files;
use toolbox::{ToolBox, ToolCall};

#[tokio::main(flavor = "current_thread")]
pub(crate) async fn main() -> std::io::Result<()> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [folder, name, count, files] = arguments.as_slice() else {
        panic!("a folder, a name, how many changes, and in how many files")
    };
    let (count, files): (usize, usize) = (count.parse().unwrap(), files.parse().unwrap());
    // On a busy disk, a change waits for the flushes of all those before it.
    let files_of_folder = Files::in_folder(folder)?.lock_timeout(Duration::from_secs(300));
    let builder = ToolBox::builder().tools(files_of_folder).no_timeout();
    let toolbox = builder.build().expect("names of their own");
    for number in 0..count {
        let word = format!("{name}-{number}");
        let edit = json!({
            "path": format!("log-{}", number % files),
            "old_text": "END",
            "new_text": format!("{word}\nEND"),
        });
        let mut calls = vec![ToolCall::new("1", "file_edit", edit)];
        if number.is_multiple_of(8) {
            let write = json!({"path": format!("own-{word}"), "content": word});
            calls.push(ToolCall::new("2", "file_write", write));
        }
        for call in calls {
            let result = toolbox.call(call).await;
            assert!(!result.is_error(), "{word}: {}", result.text());
        }
        let mut out = std::io::stdout().lock();
        out.write_all(format!("{word}\n").as_bytes())?;
        out.flush()?;
    }
    Ok(())
}
