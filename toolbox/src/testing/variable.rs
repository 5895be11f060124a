//! The environment variables that change what a test does.

/// Returns `true` if a variable is set, to anything but nothing, `0` and `false`.
pub(super) fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !matches!(value.to_str(), Some("" | "0" | "false")))
}
