use toolbox::tools;

fn search() {}

fn main() {
    tools![search];
}
