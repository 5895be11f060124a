//! Sizes of tests.

/// Returns the size of a test: the usual one, or with `TOOLBOX_FULL_TESTS` the full one.
pub fn size(usual: usize, full: usize) -> usize {
    if std::env::var_os("TOOLBOX_FULL_TESTS").is_some() { full } else { usual }
}

/// [`size`] for the cases of a property.
pub fn cases(usual: u32, full: u32) -> u32 {
    if std::env::var_os("TOOLBOX_FULL_TESTS").is_some() { full } else { usual }
}
