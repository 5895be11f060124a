use toolbox::prompt;

#[prompt]
fn review(code: &str) -> String {
    code.to_owned()
}

fn main() {}
