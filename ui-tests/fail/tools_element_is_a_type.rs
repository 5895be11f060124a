use toolbox::tools;

struct Search;

fn main() {
    tools![Search];
}
