use toolbox::context::{ApprovalRequest, Decision};
use toolbox::tool;

/// Sends money.
#[tool]
fn pay(cents: u64) -> u64 {
    cents
}

fn main() {
    let _ = pay::tool().with_approver(|_: ApprovalRequest| Decision::Approve);
}
