//! One module names the locks of the standard library: the others use those of `toolbox::sync`,
//! which do not poison.

use super::walls::sources;

/// Files that name the locks of the standard library, and the reason.
const EXCEPTIONS: [(&str, &str); 2] =
    [("sync.rs", "wraps them"), ("arguments/unfit.rs", "refuses them as the type of an argument")];

/// Returns whether a path leads to a lock of the standard library, or to its poison.
fn is_lock(path: &[String]) -> bool {
    let path: Vec<_> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["std", "sync", "Mutex" | "RwLock" | "*" | "poison" | "nonpoison", ..]
        | ["sync", "Mutex" | "RwLock", ..] => true,
        path => path.contains(&"PoisonError"),
    }
}

#[test]
fn only_one_module_names_the_locks_that_poison() {
    let mut used = [false; EXCEPTIONS.len()];
    let mut faults = Vec::new();
    for source in sources() {
        let named = source.written().into_iter().map(|(_, path)| path).filter(|path| is_lock(path));
        match EXCEPTIONS.iter().position(|(file, _)| source.file.starts_with(file)) {
            Some(at) => used[at] |= named.count() > 0,
            None => faults.extend(named.map(|path| {
                let path = path.join("::");
                format!("toolbox/src/{}: `{path}`, where `crate::sync` has a lock", source.file)
            })),
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let unused = EXCEPTIONS.iter().zip(used).filter(|(_, used)| !used);
    assert_eq!(unused.count(), 0, "an exception is needed no more: {used:?} of {EXCEPTIONS:?}");
}
