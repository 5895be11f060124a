use std::rc::Rc;

use toolbox::tool;

/// Counts.
#[tool]
fn count(names: &[Rc<String>]) -> usize {
    names.len()
}

fn main() {}
