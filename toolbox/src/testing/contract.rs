//! A contract of a box in a file beside the tests.

use std::fmt::Write as _;
use std::path::Path;

use super::variable::is_set;
use crate::collection::ToolBox;
use crate::contract::{ChangeKind, Contract};

/// The variable that makes [`contract`](fn@contract) write the file.
const BLESS: &str = "TOOLBOX_BLESS";

/// Asserts that the tools of a box are those of a file, which is written the first time.
///
/// The file holds names, schemas, hints and texts as sorted JSON, to be kept in git: see
/// [`Contract`]. Its path is taken from the folder of the package, where `cargo test` runs tests.
/// With the variable `TOOLBOX_BLESS` set, the file is written, and the changes are accepted.
///
/// ```no_run
/// use toolbox::{ToolBox, tool, tools};
///
/// /// Adds two numbers.
/// #[tool]
/// fn add(a: i32, b: i32) -> i64 {
///     i64::from(a) + i64::from(b)
/// }
///
/// // In a `#[test]`:
/// toolbox::testing::contract(&ToolBox::from(tools![add]), "tests/tools.json");
/// ```
///
/// # Panics
///
/// If a tool changed: with each change, whether it breaks callers, and the command that accepts
/// all of them. If the file is damaged or cannot be used. If there is no file and the variable
/// `CI` is set: a contract that nobody has reviewed holds nothing.
#[track_caller]
pub fn contract(toolbox: &ToolBox, path: impl AsRef<Path>) {
    let path = path.as_ref();
    if let Err(problem) = held(&Contract::of(toolbox), path) {
        panic!("{problem}");
    }
}

fn held(now: &Contract, path: &Path) -> Result<(), String> {
    let write = || now.write(path).map_err(|error| error.to_string());
    if is_set(BLESS) {
        return write();
    }
    let shown = path.display();
    let Some(old) = Contract::read(path).map_err(|error| error.to_string())? else {
        if is_set("CI") {
            return Err(format!(
                "there is no contract {shown}, and none is written where `CI` is set: run the test on your machine, and commit the file"
            ));
        }
        return write();
    };
    let changes = now.changes_since(&old);
    if changes.is_empty() {
        return Ok(());
    }
    let mut counts = Vec::new();
    for kind in [ChangeKind::Breaking, ChangeKind::Widening, ChangeKind::Wording] {
        let count = changes.iter().filter(|change| change.kind == kind).count();
        counts.extend(Some(format!("{count} {kind}")).filter(|_| count > 0));
    }
    let mut text = format!("the tools are not those of {shown}: {}\n", counts.join(", "));
    for change in &changes {
        let _ = write!(text, "  {change}");
        if let Some(line) = change.old_line {
            let _ = write!(text, " ({shown}:{line})");
        }
        text.push('\n');
    }
    // A test runs in a thread of its name.
    let thread = std::thread::current();
    let name_of_test = thread.name().filter(|name| *name != "main").map(|name| format!(" {name}"));
    let _ =
        write!(text, "to accept them: {BLESS}=1 cargo test{}", name_of_test.unwrap_or_default());
    Err(text)
}
