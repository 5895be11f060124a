//! Approvals on a terminal, which `script` of util-linux makes.

use std::path::Path;
use std::process::Command;

use super::{Ended, Folder, ended, program, run};

/// Runs a script by `call` on a terminal, at which this is typed.
fn on_terminal(folder: &Folder, script: &str, typed: &str) -> Ended {
    let file = folder.write("script.js", script);
    let program = program("paying");
    let call = format!(
        "stty -echo cols 80; exec '{program}' call run_script \"script=$(cat '{}')\"",
        file.display()
    );
    let mut command = Command::new("script");
    command.args(["-qec", &call, "/dev/null"]);
    command.env("PAID", folder.path("paid")).env("TERM", "dumb");
    ended(&mut command, typed)
}

/// Returns what was paid, once.
fn paid(folder: &Folder) -> Option<String> {
    let path = folder.path("paid");
    let text = std::fs::read_to_string(&path).ok()?;
    std::fs::remove_file(path).expect("a file");
    Some(text)
}

const FRIENDLY: &str = "// one
const cents = 2;

const four = cents + 2;
return await tools.pay({ cents });
// six

// eight
// nine";

#[test]
fn an_approval_shows_the_line_of_the_script() {
    let folder = Folder::new();
    let shown = on_terminal(&folder, FRIENDLY, "approve\n\n\n");
    let rows: Vec<&str> = shown.out.lines().map(str::trim_end).collect();
    let expected = [
        "pay asks: May tool `pay` run with {\"cents\":2}?",
        "It is called by line 5 of a script:",
        "    2  const cents = 2;",
        "    3",
        "    4  const four = cents + 2;",
        ">   5  return await tools.pay({ cents });",
        "    6  // six",
        "    7",
        "    8  // eight",
    ];
    let at = rows.iter().position(|row| row.ends_with(expected[0]));
    let at = at.unwrap_or_else(|| panic!("{shown:?}"));
    assert_eq!(rows[at + 1..at + expected.len()], expected[1..], "{shown:?}");
    assert!(rows[at + expected.len()].starts_with("  decision [approve, deny"), "{shown:?}");
    assert!(shown.out.contains("paid 2"), "{shown:?}");
    assert_eq!(paid(&folder).as_deref(), Some("2"));

    for typed in ["deny\n\n\n", "\n", ""] {
        let refused = on_terminal(&folder, FRIENDLY, typed);
        assert_eq!(refused.code, Some(1), "{typed:?}: {refused:?}");
        assert!(!refused.out.contains("--yes"), "{typed:?}: {refused:?}");
        assert_eq!(paid(&folder), None, "{typed:?}: {refused:?}");
    }
    // Without a terminal there is nobody to ask.
    let call = ["call", "pay", "cents=2"];
    let unheard = run(program("paying"), Path::new("/nowhere"), &call, "approve\n\n\n");
    unheard.check(1, "", "nobody here can give it\nadd --yes to approve of the call");
}

/// What a script writes hides nothing, looks like no other row, and leaves the question in sight.
#[test]
fn a_hostile_script_is_cut_and_escaped() {
    let folder = Folder::new();
    let forged = "    5  return await tools.pay({ cents: 1 });";
    // At 80 columns, the forged row would begin one of the terminal.
    let wide = format!("//{}{forged}{}", " ".repeat(71), "x".repeat(10_000));
    let script = format!(
        "// \u{1b}[2J\u{1b}[8m\u{202e}\u{7}\u{8}\tx\n{wide}\n{wide}\nconst cents = 9; return await tools.pay({{ cents }}); //\u{1b}[1A\n// \u{4e2d}{}",
        "\u{4e2d}".repeat(5_000)
    );
    let shown = on_terminal(&folder, &script, "approve\n\n\n");
    assert_eq!(paid(&folder).as_deref(), Some("9"), "{shown:?}");
    let (_, asked) = shown.out.split_once("May tool `pay` run with {\"cents\":9}?").expect("asked");
    let (asked, _) = asked.split_once("  decision [").expect("a prompt");
    let asked = asked.replace("\r\n", "\n");
    assert!(!asked.contains(|c: char| c.is_control() && c != '\n'), "{asked:?}");
    assert!(!asked.contains('\u{202e}'), "{asked:?}");
    for expected in [
        "    1  // \\u{1b}[2J\\u{1b}[8m\\u{202e}\\u{7}\\u{8}    x\n",
        ">   4  const cents = 9; return await tools.pay({ cents }); //\\u{1b}[1A\n",
        "x…\n",
        "\u{4e2d}…\n",
    ] {
        assert!(asked.contains(expected), "no {expected:?} in {asked:?}");
    }
    assert!(asked.lines().count() < 24, "{asked:?}");
    for row in asked.lines() {
        assert!(!row.starts_with(forged), "{asked:?}");
        let columns: usize = row.chars().map(|c| if c == '\u{4e2d}' { 2 } else { 1 }).sum();
        assert!(columns < 80, "{row:?}");
    }
}
