use std::rc::Rc;

use toolbox::{State, tool};

/// Searches.
#[tool]
fn search(index: State<Rc<String>>) -> usize {
    index.len()
}

fn main() {}
