use toolbox::builtin::knowledge::Knowledge;

struct Database;

fn main() {
    let _ = Knowledge::new(Database);
}
