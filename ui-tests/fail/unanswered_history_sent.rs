use toolbox::model::{ModelRequest, Unanswered};

fn send(open: Unanswered) -> ModelRequest {
    ModelRequest::new(open)
}

fn main() {}
