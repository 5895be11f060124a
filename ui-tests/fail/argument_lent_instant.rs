use toolbox::tool;

/// Waits.
#[tool]
fn wait(until: &std::time::Instant) -> bool {
    until.elapsed().is_zero()
}

fn main() {}
