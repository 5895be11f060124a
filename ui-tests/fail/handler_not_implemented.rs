use toolbox::Tool;

struct Echo;

fn main() {
    let _ = Tool::from_handler(Echo);
}
