//! Runs this program again under callgrind, and reads what it wrote.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The environment variable that tells the program which case to do.
pub(super) const CASE: &str = "MEASURED_CASE";

pub(super) fn is_installed() -> bool {
    let mut probe = Command::new("valgrind");
    probe.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

/// Returns the instructions of one round of a case, less the harness's own share.
pub(super) fn count(name: &str, rounds: usize, annotate: bool) -> f64 {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("callgrind");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let file = folder.join(format!("{}.out", name.replace(['/', ' '], "_")));
    let status = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet", "--collect-atstart=no"])
        .args(["--toggle-collect=*measured_region*", "--toggle-collect=*floor_region*"])
        .arg(format!("--callgrind-out-file={}", file.display()))
        .arg(std::env::current_exe().expect("a running program has a path"))
        .env(CASE, name)
        .stdout(Stdio::null())
        .status();
    assert!(status.is_ok_and(|status| status.success()), "case {name} fails under callgrind");
    let profile = fs::read_to_string(&file).expect("callgrind writes a profile for each run");
    let profile = Profile::read(&profile);
    assert!(profile.measured > 0, "callgrind saw nothing of the case {name}");
    if annotate {
        profile.print_functions(name, rounds as f64);
    }
    (profile.measured as f64 - profile.floor as f64) / rounds as f64
}

/// What a profile says, of all rounds together.
#[derive(Default)]
struct Profile<'a> {
    measured: u64,
    floor: u64,
    /// Functions, with the instructions of their own and those of what they call.
    functions: HashMap<&'a str, (u64, u64)>,
    /// Callers of the functions of the system, with what a caller spends there.
    callers: HashMap<(&'a str, &'a str), u64>,
}

impl<'a> Profile<'a> {
    /// Reads a profile: `fn=` names a function and lines of it follow, as a position and a count. `cfn=` names what it
    /// calls, then come `calls=` and one line with the count of the call. A name stands behind its number where it occurs first.
    fn read(text: &'a str) -> Self {
        let mut profile = Self::default();
        let mut names = HashMap::new();
        let (mut caller, mut called) = ("", "");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            if let Some(name) = line.strip_prefix("fn=") {
                caller = named(&mut names, name);
            } else if let Some(name) = line.strip_prefix("cfn=") {
                called = named(&mut names, name);
            } else if line.starts_with("calls=") {
                let count = lines.next().and_then(count_of).unwrap_or(0);
                profile.functions.entry(caller).or_default().1 += count;
                if is_of_the_system(called) {
                    *profile.callers.entry((called, caller)).or_default() += count;
                } else if called.contains("measured_region") {
                    profile.measured += count;
                } else if called.contains("floor_region") {
                    profile.floor += count;
                }
            } else if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) {
                profile.functions.entry(caller).or_default().0 += count_of(line).unwrap_or(0);
            }
        }
        profile
    }

    /// Prints where the instructions of a case are spent.
    fn print_functions(&self, name: &str, rounds: f64) {
        println!("\n## {name}: instructions a call");
        let mut own: Vec<_> = self.functions.iter().map(|(name, (own, _))| (*own, *name)).collect();
        let mut whole: Vec<_> =
            self.functions.iter().map(|(name, (own, calls))| (own + calls, *name)).collect();
        whole.retain(|(_, name)| !name.contains("rt::") && !name.contains("main"));
        let callers = self.callers.iter();
        let mut callers: Vec<_> = callers
            .map(|((called, caller), count)| (*count, format!("{called}  <-  {caller}")))
            .collect();
        callers.retain(|(_, text)| !text.contains("<-  _") && !text.contains("<-  free"));
        own.sort_unstable_by(|a, b| b.cmp(a));
        whole.sort_unstable_by(|a, b| b.cmp(a));
        callers.sort_unstable_by(|a, b| b.cmp(a));
        let print = |title: &str, rows: &mut dyn Iterator<Item = (u64, &str)>| {
            println!("{title}");
            for (count, function) in rows.take(25) {
                println!("{:>12.1}  {function}", count as f64 / rounds);
            }
        };
        print(
            "- by what stands in the function itself, and what was inlined there",
            &mut own.into_iter(),
        );
        print("- with what it calls", &mut whole.into_iter());
        print(
            "- who copies, compares, allocates and frees",
            &mut callers.iter().map(|(count, text)| (*count, text.as_str())),
        );
    }
}

/// Returns the count on a line that holds a position and a count.
fn count_of(line: &str) -> Option<u64> {
    line.split(' ').nth(1)?.parse().ok()
}

fn named<'a>(names: &mut HashMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    let (number, name) = text.split_once(' ').unwrap_or((text, ""));
    if !name.is_empty() {
        names.insert(number, name);
    }
    names.get(number).copied().unwrap_or("")
}

fn is_of_the_system(function: &str) -> bool {
    let system = ["malloc", "calloc", "realloc", "free", "__mem", "__str"];
    system.iter().any(|start| function.starts_with(start))
}
