use toolbox::tool;

/// Counts.
#[tool]
fn count(total: std::cell::RefCell<u32>) -> u32 {
    *total.borrow()
}

fn main() {}
