//! The data of the benches, and tantivy as they use it.

use serde_json::Value;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions, Value as _,
};
use tantivy::tokenizer::{
    Language, LowerCaser, SimpleTokenizer, Stemmer, TextAnalyzer, TokenStream,
};
use tantivy::{DocAddress, Index, TantivyDocument, Term};
use toolbox::ToolDefinition;

/// One field with the words of the whole tool, English stems, no writer threads.
pub struct Tantivy {
    searcher: tantivy::Searcher,
    analyzer: std::cell::RefCell<TextAnalyzer>,
    field: tantivy::schema::Field,
    id: tantivy::schema::Field,
}

impl Tantivy {
    pub fn new(texts: &[String]) -> Self {
        let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(LowerCaser)
            .filter(Stemmer::new(Language::English))
            .build();
        let mut schema = Schema::builder();
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("tools")
            .set_index_option(IndexRecordOption::WithFreqs);
        let field =
            schema.add_text_field("text", TextOptions::default().set_indexing_options(indexing));
        let id = schema.add_u64_field("id", STORED);
        let index = Index::create_in_ram(schema.build());
        index.tokenizers().register("tools", analyzer.clone());
        let mut writer = index.writer_with_num_threads(1, 200_000_000).expect("a writer");
        for (number, text) in (0_u64..).zip(texts) {
            let mut document = TantivyDocument::default();
            document.add_text(field, text);
            document.add_u64(id, number);
            writer.add_document(document).expect("a document");
        }
        writer.commit().expect("a commit");
        let searcher = index.reader().expect("a reader").searcher();
        Self { searcher, analyzer: analyzer.into(), field, id }
    }

    /// Returns the best documents by their number, best first.
    pub fn ranked(&self, query: &str, limit: usize) -> Vec<usize> {
        let number = |(_, address): (f32, DocAddress)| {
            let document: TantivyDocument = self.searcher.doc(address).expect("a document");
            let id = document.get_first(self.id).and_then(|id| id.as_u64()).expect("a number");
            id as usize
        };
        self.hits(query, limit).into_iter().map(number).collect()
    }

    /// Returns the best documents with their scores, best first.
    pub fn hits(&self, query: &str, limit: usize) -> Vec<(f32, DocAddress)> {
        let mut analyzer = self.analyzer.borrow_mut();
        let mut stream = analyzer.token_stream(query);
        let mut terms: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        while stream.advance() {
            let word = &stream.token().text;
            if seen.insert(word.clone()) {
                let term = Term::from_field_text(self.field, word);
                terms.push((
                    Occur::Should,
                    Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)),
                ));
            }
        }
        let query = BooleanQuery::new(terms);
        self.searcher
            .search(&query, &TopDocs::with_limit(limit).order_by_score())
            .expect("a search")
    }
}

pub fn lines(path: &str) -> impl Iterator<Item = Value> {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect();
    lines.into_iter()
}

pub fn definitions(path: &str) -> Vec<ToolDefinition> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    lines(path)
        .map(|tool| {
            ToolDefinition::new(
                text(&tool["name"]),
                text(&tool["description"]),
                tool["input_schema"].clone(),
            )
        })
        .collect()
}

/// Returns the words of a tool as one text.
pub fn text(tool: &ToolDefinition) -> String {
    fn walk(value: &Value, text: &mut String) {
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    if let (Some(named), "properties") = (value.as_object(), key.as_str()) {
                        for name in named.keys() {
                            text.push(' ');
                            text.push_str(name);
                        }
                    }
                    if key != "type" && key != "required" {
                        walk(value, text);
                    }
                }
            }
            Value::Array(list) => list.iter().for_each(|value| walk(value, text)),
            Value::String(string) => {
                text.push(' ');
                text.push_str(string);
            }
            _ => {}
        }
    }
    let mut text = format!("{} {}", tool.name, tool.description);
    walk(&tool.input_schema, &mut text);
    text
}
