use toolbox::{State, tool};

/// Reads the library.
#[tool]
fn read(#[deprecated] library: State<String>) -> String {
    library.to_string()
}

fn main() {}
