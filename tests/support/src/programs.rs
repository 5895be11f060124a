//! The programs that tests start.
//!
//! Each test package links one binary for all of them. It does what its file name says, so each
//! program is a hard link to it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex};

/// Defines `program(name)`, the path of a program of this package, over its binary.
#[macro_export]
macro_rules! programs {
    ($binary:literal) => {
        /// Returns the path of a program of this package.
        pub(crate) fn program(name: &str) -> &'static str {
            $crate::programs::linked(env!(concat!("CARGO_BIN_EXE_", $binary)), name)
        }
    };
}

/// Returns the path of a hard link to a binary, under the name of a program.
///
/// # Panics
///
/// Panics if the link cannot be made.
pub fn linked(binary: &str, name: &str) -> &'static str {
    static LINKS: LazyLock<Mutex<HashMap<String, &'static str>>> = LazyLock::new(Mutex::default);
    let key = format!("{binary}\0{name}");
    let mut links = LINKS.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    links.entry(key).or_insert_with(|| link(Path::new(binary), name).leak())
}

fn link(binary: &Path, name: &str) -> String {
    let folder = binary.with_extension("d.programs");
    let path = folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
    fs::create_dir_all(&folder).unwrap();
    // Another process may do the same, and a build may have replaced the binary since.
    if !is_same(binary, &path) {
        let fresh = folder.join(format!("{name}.{}", std::process::id()));
        let _ = fs::remove_file(&fresh);
        fs::hard_link(binary, &fresh).or_else(|_| fs::copy(binary, &fresh).map(drop)).unwrap();
        fs::rename(&fresh, &path).unwrap();
    }
    path.into_os_string().into_string().unwrap()
}

#[cfg(unix)]
fn is_same(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let id = |path| fs::metadata(path).map(|of| (of.dev(), of.ino())).ok();
    id(a) == id(b)
}

#[cfg(not(unix))]
fn is_same(_: &Path, _: &Path) -> bool {
    false
}

/// A program by its name, and its entry point.
pub type Program = (&'static str, fn() -> ExitCode);

/// Runs the program that the name of this process's file says.
pub fn run(programs: &[Program]) -> ExitCode {
    let file = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&file).file_stem().unwrap_or_default();
    match programs.iter().find(|(of, _)| *of == name) {
        Some((_, main)) => main(),
        None => {
            let names: Vec<&str> = programs.iter().map(|(name, _)| *name).collect();
            panic!("{} is none of the programs {names:?}", name.display())
        }
    }
}
