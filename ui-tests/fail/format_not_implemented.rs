use toolbox::model::ModelRequest;
use toolbox::wire::Format;

struct Service;

fn body<F: Format>(request: &ModelRequest) -> String {
    F::body(request, "large", true)
}

fn main() {
    let _ = body::<Service>;
}
