use toolbox::prompt;

/// Asks for a review.
#[prompt]
async fn review() -> String {
    let held = std::rc::Rc::new(String::new());
    std::future::ready(()).await;
    held.to_string()
}

fn main() {}
