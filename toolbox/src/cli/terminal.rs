//! Questions of tools and servers, and approvals, put on the terminal.

use std::fmt::Write as _;
use std::io::{self, BufRead, IsTerminal, Write};

use serde_json::{Map, Value};

use super::call::value;
use super::text::{line, visible};
use crate::context::{Answer, Question, QuestionForm, ScriptExcerpt};
use crate::text::cut;

/// The number of times that a value is asked for.
const ATTEMPTS: usize = 3;

/// The most bytes that are shown of a line of a script, and those of one row of the terminal. No
/// character is wider than its bytes, so a terminal of 80 columns breaks no row.
const LINE_BYTES: usize = 200;
const ROW_BYTES: usize = 70;

/// Returns `true` if there is somebody to ask.
pub(super) fn is_attended() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Puts a question on the terminal. Without a terminal, there is nobody to ask.
pub(super) async fn ask(question: Question) -> Answer {
    if !is_attended() {
        return Answer::Nobody;
    }
    // The thread does not delay the end of the process.
    let (sender, answer) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let answer = converse(&question, &mut io::stdin().lock(), &mut io::stderr());
        let _ = sender.send(answer.unwrap_or(Answer::Dismissed));
    });
    answer.await.unwrap_or(Answer::Dismissed)
}

/// Puts a question, field by field. The end of the input declines it.
fn converse(
    question: &Question,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Answer> {
    writeln!(output, "{} asks: {}", line(question.origin()), line(&question.message))?;
    if let Some(excerpt) = question.context.script_excerpt() {
        output.write_all(rows(&excerpt).as_bytes())?;
    }
    let form = match &question.form {
        QuestionForm::Fields(form) => form,
        QuestionForm::Url(url) => {
            write!(output, "It wants you to open this page in a browser:\n  {}\n", line(url))?;
            let agreed = prompt("Did you open it? [y/N] ", input, output)?;
            let agreed = agreed.is_some_and(|text| matches!(text.trim(), "y" | "Y" | "yes"));
            return Ok(if agreed { Answer::Accepted(Value::Null) } else { Answer::Declined });
        }
    };
    let mut content = Map::new();
    let required = form.get("required").and_then(Value::as_array);
    for (name, schema) in form.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let is_required = required.is_some_and(|names| names.iter().any(|own| own == name));
        let label = label(name, schema, is_required);
        let mut attempts = 0;
        loop {
            let Some(text) = prompt(&label, input, output)? else { return Ok(Answer::Declined) };
            let text = text.trim();
            if text.is_empty() {
                match schema.get("default") {
                    Some(default) => drop(content.insert(name.clone(), default.clone())),
                    None if is_required => return Ok(Answer::Declined),
                    None => {}
                }
                break;
            }
            match read(name, text, schema) {
                Ok(value) => {
                    content.insert(name.clone(), value);
                    break;
                }
                Err(fault) => writeln!(output, "{fault}")?,
            }
            attempts += 1;
            if attempts == ATTEMPTS {
                return Ok(Answer::Declined);
            }
        }
    }
    Ok(Answer::Accepted(Value::Object(content)))
}

/// Returns the lines of a script in rows: each begins with the number of its line, or with blanks
/// where a line goes on, and the line of the call is marked.
fn rows(excerpt: &ScriptExcerpt) -> String {
    let mut rows = format!("It is called by line {} of a script:\n", excerpt.line);
    for (number, text) in (excerpt.first..).zip(&excerpt.lines) {
        let text = visible(text).replace('\t', "    ");
        let mut rest = cut(&text, LINE_BYTES);
        let end = if rest.len() < text.len() { "…" } else { "" };
        let mark = if number == excerpt.line { '>' } else { ' ' };
        let mut head = format!("{mark}{number:>4} ");
        loop {
            let row = cut(rest, ROW_BYTES);
            rest = &rest[row.len()..];
            let end = if rest.is_empty() { end } else { "" };
            let _ = writeln!(rows, "{head} {row}{end}");
            if rest.is_empty() {
                break;
            }
            head = " ".repeat(6);
        }
    }
    rows
}

/// Returns a line of the input; `None` at its end.
fn prompt(
    label: &str,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Option<String>> {
    write!(output, "{label}")?;
    output.flush()?;
    let mut text = String::new();
    let read = input.read_line(&mut text)?;
    Ok((read > 0).then_some(text))
}

/// Returns the text before the value of a field: its name, its description, its choices.
fn label(name: &str, schema: &Value, is_required: bool) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str).map(line);
    let mut label = format!("  {}", text("title").unwrap_or_else(|| line(name)));
    if let Some(description) = text("description") {
        label = format!("{label} ({description})");
    }
    let choices = choices(schema);
    if !choices.is_empty() {
        label = format!("{label} [{}]", choices.join(", "));
    } else if let Some(kind) = text("type").filter(|kind| kind != "string") {
        label = format!("{label}, {kind}");
    }
    match schema.get("default") {
        Some(default) => label = format!("{label}, empty for {}", line(&default.to_string())),
        None if is_required => label.push_str(", empty to decline"),
        None => label.push_str(", may be empty"),
    }
    format!("{label}: ")
}

/// Returns the values to choose from.
fn choices(schema: &Value) -> Vec<String> {
    let schema = if schema["items"].is_object() { &schema["items"] } else { schema };
    let constants = ["oneOf", "anyOf"].iter().filter_map(|key| schema[*key].as_array()).flatten();
    let constants = constants.filter_map(|choice| choice["const"].as_str());
    let plain = ["enum", "examples"].iter().find_map(|key| schema[*key].as_array());
    let plain = plain.into_iter().flatten().filter_map(Value::as_str);
    constants.chain(plain).map(line).collect()
}

/// Reads the value of a field; that of a list by its parts, with commas between.
fn read(name: &str, text: &str, schema: &Value) -> Result<Value, String> {
    if schema["type"] == "array" && !text.starts_with('[') {
        let parts = text.split(',').map(|part| value(name, part.trim(), &schema["items"]));
        return parts.collect::<Result<Vec<_>, _>>().map(Value::from);
    }
    if schema["type"] == "boolean" {
        return match text {
            "y" | "Y" | "yes" | "true" => Ok(true.into()),
            "n" | "N" | "no" | "false" => Ok(false.into()),
            _ => Err("answer yes or no".to_owned()),
        };
    }
    value(name, text, schema)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ToolContext;
    use serde_json::json;

    #[test]
    fn a_question_is_put_field_by_field() {
        let form = json!({"properties": {
            "city": {"type": "string", "description": "The\u{1b}[2J city"},
            "days": {"type": "integer", "default": 3},
            "sure": {"type": "boolean"},
            "shelf": {"type": "string", "oneOf": [{"const": "a", "title": "Left"}, {"const": "b"}]},
            "tags": {"type": "array", "items": {"type": "string", "enum": ["x", "y"]}},
        }, "required": ["city"]});
        let accepted = |value: Value| Answer::Accepted(value);
        for (typed, expected) in [
            (
                "Rome\n\ny\na\nx, y\n",
                accepted(
                    json!({"city": "Rome", "days": 3, "sure": true, "shelf": "a", "tags": ["x", "y"]}),
                ),
            ),
            ("Rome\n5\n\n\n\n", accepted(json!({"city": "Rome", "days": 5}))),
            (
                "Rome\nfive\n5\nmaybe\nno\n\n\n",
                accepted(json!({"city": "Rome", "days": 5, "sure": false})),
            ),
            ("Rome\nfive\nsix\nseven\n", Answer::Declined),
            ("\n", Answer::Declined),
            ("Rome\n5\n", Answer::Declined),
            ("", Answer::Declined),
        ] {
            let form = QuestionForm::Fields(form.clone());
            let mut question = Question::new("Where\nto?".to_owned(), form, ToolContext::new());
            question.server = Some("travel\u{202e}".to_owned());
            let mut shown = Vec::new();
            let answer = converse(&question, &mut typed.as_bytes(), &mut shown).unwrap();
            assert_eq!(answer, expected, "{typed:?}");
            let shown = String::from_utf8(shown).unwrap();
            let first = "travel asks: Where to?\n  city (The city), empty to decline: ";
            assert!(shown.starts_with(first), "{shown:?}");
            assert!(!shown.contains('\u{1b}'));
        }
    }

    #[test]
    fn a_page_is_shown_whole_and_not_opened() {
        for (typed, expected) in [
            ("y\n", Answer::Accepted(Value::Null)),
            ("\n", Answer::Declined),
            ("no\n", Answer::Declined),
            ("", Answer::Declined),
        ] {
            let form = QuestionForm::Url("https://a.example/x?y=1".to_owned());
            let question = Question::new("Sign in".to_owned(), form, ToolContext::new());
            let mut shown = Vec::new();
            let answer = converse(&question, &mut typed.as_bytes(), &mut shown).unwrap();
            assert_eq!(answer, expected, "{typed:?}");
            assert!(String::from_utf8(shown).unwrap().contains("\n  https://a.example/x?y=1\n"));
        }
    }
}
