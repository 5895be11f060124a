fn review() -> &'static str {
    "Review it."
}

fn all() -> Vec<toolbox::prompt::Prompt> {
    toolbox::prompts![review]
}

fn main() {}
