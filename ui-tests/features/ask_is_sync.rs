use toolbox::builtin::ask_user::{Answer, AskUser, Question};

fn main() {
    let _ = AskUser::new(|_question: Question| Answer::Nobody);
}
