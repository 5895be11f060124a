use toolbox::ToolBox;
use toolbox::context::{Answer, Question};

fn main() {
    let _ = ToolBox::builder().asker(|_question: Question| Answer::Nobody);
}
