use toolbox::durable::{Journal, JournalBuilder};

struct Database;

fn journal(builder: JournalBuilder) -> Option<Journal> {
    builder.over(Database).ok()
}

fn main() {}
