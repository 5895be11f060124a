//! Asks the machine for what some tests need.

#[allow(
    dead_code,
    clippy::print_stdout,
    reason = "each package asks for its own, and cargo listens"
)]
#[path = "../support/needs.rs"]
mod needs;

fn main() {
    needs::check(&[needs::TSC]);
}
