use toolbox::builtin::knowledge::Knowledge;
use toolbox::store::SqliteStore;

struct Vectors;

fn knowledge(store: SqliteStore) -> Knowledge {
    Knowledge::new(store).with_embedder(Vectors)
}

fn main() {}
