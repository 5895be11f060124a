use toolbox::resource;

#[resource("docs://manual")]
fn manual() -> &'static str {
    "read me"
}

fn main() {}
