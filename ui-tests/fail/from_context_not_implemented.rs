use toolbox::{FromContext, ToolContext};

struct User(String);

fn supplied<T: FromContext>(context: &ToolContext) -> Option<T> {
    T::from_context(context).ok()
}

fn main() {
    let _ = supplied::<User>(&ToolContext::new());
}
