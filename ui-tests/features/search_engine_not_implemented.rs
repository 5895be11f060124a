use toolbox::builtin::web_search::WebSearch;

struct Engine;

fn main() {
    let _ = WebSearch::new(Engine);
}
