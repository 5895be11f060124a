use toolbox::tools;

mod search {}

fn main() {
    tools![search];
}
