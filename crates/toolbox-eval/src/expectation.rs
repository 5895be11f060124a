//! The comparison of a run with what is expected of it.

use serde_json::Value;

use crate::matcher::contains_text;
use crate::report::{Fault, FaultKind, MadeCall};
use crate::suite::{Case, ExpectedAnswer, ExpectedCall, Order};

/// The length of arguments in a message, in characters.
const SHOWN: usize = 200;

/// Returns the faults of the calls of a run.
pub(crate) fn call_faults(case: &Case, made: &[MadeCall]) -> Vec<Fault> {
    if case.no_calls {
        return made.iter().map(unexpected).collect();
    }
    let expected = &case.calls;
    let found = match case.order {
        Order::Any => assigned(expected, made),
        Order::InOrder => in_order(expected, made),
        Order::Exact => positions(expected, made),
    };
    let missing = expected.iter().zip(&found).filter(|(_, found)| found.is_none());
    let mut faults: Vec<Fault> = missing.map(|(expected, _)| missed(expected, made)).collect();
    if case.order == Order::Exact {
        let others = made.iter().enumerate().filter(|(at, _)| !found.contains(&Some(*at)));
        faults.extend(others.map(|(_, call)| unexpected(call)));
    }
    faults
}

/// Returns the faults of an answer, except for those that a judge finds.
pub(crate) fn answer_faults(expected: &ExpectedAnswer, answer: &str) -> Vec<Fault> {
    let missing = expected.contains.iter().filter(|part| !contains_text(answer, part));
    let mut faults: Vec<Fault> = missing
        .map(|part| wrong_answer(&format!("the answer does not contain {part:?}"), answer))
        .collect();
    if let Some(pattern) = &expected.regex
        && !pattern.is_match(answer)
    {
        faults.push(wrong_answer(&format!("the answer does not match `{pattern}`"), answer));
    }
    faults
}

fn wrong_answer(what: &str, answer: &str) -> Fault {
    Fault::new(FaultKind::WrongAnswer, format!("{what}: {:?}", cut(answer)))
}

fn unexpected(call: &MadeCall) -> Fault {
    let what = format!("`{}` was called with {}", call.name, cut(&call.arguments.to_string()));
    Fault::new(FaultKind::UnexpectedCall, what)
}

/// Returns the fault of an expected call that was not found: the nearest call of that tool says why.
fn missed(expected: &ExpectedCall, made: &[MadeCall]) -> Fault {
    let name = &expected.name;
    let named = made.iter().filter(|call| call.name == *name);
    let nearest = named.min_by_key(|call| mismatches(expected, call).len());
    let Some(call) = nearest else {
        let others: Vec<String> = made.iter().map(|call| format!("`{}`", call.name)).collect();
        let others = if others.is_empty() { "no tool".to_owned() } else { others.join(", ") };
        return Fault::new(
            FaultKind::MissingCall,
            format!("`{name}` was not called; called was {}", cut(&others)),
        );
    };
    let mismatches = mismatches(expected, call);
    match &call.code {
        Some(code) if !call.fits() => Fault::new(
            FaultKind::RefusedCall,
            format!("`{name}` was called with {}: {code}", cut(&call.arguments.to_string())),
        ),
        _ if mismatches.is_empty() => Fault::new(
            FaultKind::WrongOrder,
            format!("`{name}` was not called at its place, or not as often as expected"),
        ),
        _ => Fault::new(FaultKind::WrongArguments, format!("`{name}`: {}", mismatches.join("; "))),
    }
}

fn matches(expected: &ExpectedCall, call: &MadeCall) -> bool {
    call.name == expected.name && call.fits() && mismatches(expected, call).is_empty()
}

/// Returns a sentence for each argument that is not as expected.
fn mismatches(expected: &ExpectedCall, call: &MadeCall) -> Vec<String> {
    let wrong = expected.arguments.iter().filter_map(|(name, matcher)| {
        let own = call.arguments.get(name);
        (!matcher.matches(own)).then(|| {
            let own = own.map_or("missing".to_owned(), |own| cut(&own.to_string()));
            format!("`{name}` is {own}, expected {matcher}")
        })
    });
    wrong.collect()
}

/// Assigns each expected call another call, as many as possible (Kuhn's augmenting paths).
fn assigned(expected: &[ExpectedCall], made: &[MadeCall]) -> Vec<Option<usize>> {
    let mut taken: Vec<Option<usize>> = vec![None; made.len()];
    for wanted in 0..expected.len() {
        let mut seen = vec![false; made.len()];
        assign(wanted, expected, made, &mut taken, &mut seen);
    }
    let at = |wanted| taken.iter().position(|own| *own == Some(wanted));
    (0..expected.len()).map(at).collect()
}

fn assign(
    wanted: usize,
    expected: &[ExpectedCall],
    made: &[MadeCall],
    taken: &mut [Option<usize>],
    seen: &mut [bool],
) -> bool {
    for (at, call) in made.iter().enumerate() {
        if seen[at] || !matches(&expected[wanted], call) {
            continue;
        }
        seen[at] = true;
        if taken[at].is_none_or(|other| assign(other, expected, made, taken, seen)) {
            taken[at] = Some(wanted);
            return true;
        }
    }
    false
}

/// Finds each expected call behind the one before. The earliest match leaves most room.
fn in_order(expected: &[ExpectedCall], made: &[MadeCall]) -> Vec<Option<usize>> {
    let mut from = 0;
    let find = |expected: &ExpectedCall| {
        let at = from + made[from..].iter().position(|call| matches(expected, call))?;
        from = at + 1;
        Some(at)
    };
    expected.iter().map(find).collect()
}

fn positions(expected: &[ExpectedCall], made: &[MadeCall]) -> Vec<Option<usize>> {
    let is_at = |at: usize| made.get(at).is_some_and(|call| matches(&expected[at], call));
    (0..expected.len()).map(|at| is_at(at).then_some(at)).collect()
}

pub(crate) fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Returns the name of an argument's value for a judge.
pub(crate) fn line_of(call: &MadeCall) -> String {
    let arguments = match &call.arguments {
        Value::String(text) => cut(text),
        other => cut(&other.to_string()),
    };
    format!("{} {arguments}", call.name)
}
