//! Counts of callgrind by source file.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time after which a road that does not end is a fault.
const PATIENCE: Duration = Duration::from_secs(60);

/// The instructions of one road in each file of `toolbox/src`, in rounds after the first.
pub(crate) struct Profile(BTreeMap<String, u64>);

impl Profile {
    /// Walks a road under callgrind.
    pub(crate) fn of(road: &str) -> Self {
        let out = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{road}.{}", unique()));
        // The file of what was counted before the mark at the end of the rounds.
        let dumped = PathBuf::from(format!("{}.1", out.display()));
        let child = Command::new("valgrind")
            .args(["--tool=callgrind", "--quiet"])
            .args(["--zero-before=*begin_measurement*", "--dump-before=*end_measurement*"])
            .arg(format!("--callgrind-out-file={}", out.display()))
            .args([env!("CARGO_BIN_EXE_road"), road])
            .stdin(Stdio::null())
            .spawn()
            .expect("valgrind starts");
        wait(child, road);
        let text = fs::read_to_string(&dumped).expect("the end of the rounds is reached");
        for file in [out, dumped] {
            let _ = fs::remove_file(file);
        }
        Self::read(&text)
    }

    /// Reads a profile: `fl=` names the file of a function, `fi=` and `fe=` that of lines which
    /// were inlined, and lines with a position and a count follow. `calls=` comes before the
    /// count of what is called, which stands at its own file too. A name stands behind its number
    /// where it occurs first.
    fn read(text: &str) -> Self {
        let (mut names, mut files, mut own) = (HashMap::new(), BTreeMap::new(), "");
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            match line.split_once('=') {
                Some(("fl" | "fi" | "fe", name)) => own = named(&mut names, name),
                Some(("cfi" | "cfl", name)) => drop(named(&mut names, name)),
                Some(("calls", _)) => drop(lines.next()),
                _ if line.starts_with(|c: char| c.is_ascii_digit() || "+-*".contains(c)) => {
                    let count = line.split(' ').nth(1).and_then(|count| count.parse().ok());
                    if let Some((_, file)) = own.split_once("/toolbox/src/") {
                        *files.entry(file.to_owned()).or_default() += count.unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
        Self(files)
    }

    /// Returns `true` if the road passes a file.
    pub(crate) fn enters(&self, file: &str) -> bool {
        self.0.contains_key(file)
    }

    /// Returns the share of each file in the instructions of all, in percent; the largest first.
    pub(crate) fn shares(&self) -> impl Iterator<Item = (&str, f64)> {
        let all: u64 = self.0.values().sum();
        let mut files: Vec<_> = self.0.iter().collect();
        files.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        #[allow(clippy::cast_precision_loss, reason = "the counts are far below 2^52")]
        files.into_iter().map(move |(file, count)| (&**file, 100.0 * *count as f64 / all as f64))
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} instructions in {} files", self.0.values().sum::<u64>(), self.0.len())?;
        self.shares().try_for_each(|(file, share)| writeln!(f, "  {share:5.2} %  {file}"))
    }
}

/// Returns a number that no other profile of this process or another has.
fn unique() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn wait(mut child: Child, road: &str) {
    let start = Instant::now();
    while start.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait().expect("the child of this process") {
            assert!(status.success(), "the road {road} ends with {status}");
            return;
        }
        sleep(Duration::from_millis(5));
    }
    let _ = child.kill();
    panic!("the road {road} is not walked after {PATIENCE:?}");
}

fn named<'a>(names: &mut HashMap<&'a str, &'a str>, text: &'a str) -> &'a str {
    let (number, name) = text.split_once(' ').unwrap_or((text, ""));
    if !name.is_empty() {
        names.insert(number, name);
    }
    names.get(number).copied().unwrap_or_else(|| panic!("no name stands behind {number}"))
}
