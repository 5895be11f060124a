//! Asks the machine for what some tests need.

#[allow(dead_code, reason = "each package asks for its own")]
#[path = "../support/needs.rs"]
mod needs;

fn main() {
    needs::check(&[needs::VALGRIND]);
}
