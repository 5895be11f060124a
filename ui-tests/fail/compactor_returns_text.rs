use toolbox::History;
use toolbox::agent::ContextRule;

fn main() {
    let _ = ContextRule::summarize_oldest(|removed: History| format!("{} messages", removed.len()));
}
