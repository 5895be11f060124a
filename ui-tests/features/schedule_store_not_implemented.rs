use toolbox::builtin::schedule::Schedules;

struct Database;

fn main() {
    let _ = Schedules::new(Database);
}
