use toolbox::tools;

fn main() {
    tools![search];
}
