//! Results of each kind, and questions whose answers stand anywhere in them: a part and searches by words answer all.

use toolbox::results::MemoryResults;
use toolbox::{Tool, ToolBox, ToolCall};

use crate::bounded::tokio;

#[allow(clippy::pedantic, reason = "shared with a benchmark")]
#[path = "../../../toolbox/benches/corpus/made.rs"]
mod made;
#[allow(clippy::pedantic, reason = "shared with a benchmark")]
#[path = "../../../toolbox/benches/corpus/reader.rs"]
mod reader;

#[tokio::test]
async fn every_question_is_answered_from_little_text() {
    let mut asked = 0;
    for made::Made { kind, text, questions } in made::corpus(25, 20 << 10, 600 << 10) {
        let get = {
            let text = text.clone();
            Tool::new("get", "Gets it").call(move |_| text.clone())
        };
        let toolbox =
            ToolBox::builder().tools([get]).keep_results(MemoryResults::new()).build().unwrap();
        let kept = toolbox.call(ToolCall::new("1", "get", "{}")).await;
        assert_eq!(kept.handle(), Some("r1"), "{kind} of {} bytes", text.len());
        assert!(kept.text().len() <= 4 << 10, "{kind}: {}", kept.text());
        for question in questions {
            let read = reader::read(&toolbox, kept.handle(), &kept.text(), &question).await;
            asked += 1;
            let what = format!("{kind} of {} bytes: {}", text.len(), question.text);
            assert!(read.found, "{what}: not found in {} calls", read.calls);
            assert!(read.bytes <= 12 << 10, "{what}: {} bytes in {} calls", read.bytes, read.calls);
        }
    }
    assert_eq!(asked, 125);
}
