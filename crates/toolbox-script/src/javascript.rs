//! JavaScript in `QuickJS`.

use std::cell::RefCell;
use std::rc::Rc;

use rquickjs::context::{EvalOptions, intrinsic};
use rquickjs::{CatchResultExt, CaughtError, Context, Ctx, Exception, Function, Object, Runtime};

use crate::call_sites::CallSites;
use crate::engine::{Engine, Script, ScriptError};
use crate::host::{CallResult, Host};
use crate::limits::Limits;
use crate::text::beginning;

/// The functions of a script that are not of the language.
const PRELUDE: &str = include_str!("prelude.js");

/// The name of the script in stacks.
const FILE: &str = "script.js";

/// The longest message of an error, in bytes.
const MESSAGE_BYTES: usize = 4 << 10;

/// The parts of the language: all but clocks and weak references.
type Parts = (
    intrinsic::Date,
    intrinsic::Eval,
    intrinsic::RegExpCompiler,
    intrinsic::RegExp,
    intrinsic::Json,
    intrinsic::Proxy,
    intrinsic::MapSet,
    intrinsic::TypedArrays,
    intrinsic::Promise,
);

/// JavaScript, in an engine of its own for each script.
///
/// A script is the body of an async function. `Date` has the time at which the script began, in
/// UTC, and `Math.random` begins with a seed of the record. Numbers of JSON are those of the
/// language: integers beyond 2⁵³ are rounded.
#[derive(Debug, Clone, Copy, Default)]
pub struct JavaScript;

/// The end of a script, once it is there.
type End = Rc<RefCell<Option<Result<String, ScriptError>>>>;

impl Engine for JavaScript {
    fn language(&self) -> &'static str {
        "JavaScript"
    }

    fn run(&self, script: &Script, limits: &Limits, host: Host) -> Result<String, ScriptError> {
        let runtime = runtime(limits)?;
        runtime.set_interrupt_handler(Some(Box::new(host.over())));
        let context = Context::custom::<Parts>(&runtime).map_err(|error| failed(&error))?;
        context.with(|ctx| {
            let end = End::default();
            let caught = driven(&ctx, script, &host, &end).catch(&ctx);
            let end = end.take();
            match (end, caught) {
                _ if host.is_over() => Err(ScriptError::new("the script was stopped")),
                (Some(Ok(value)), _) if value.len() > limits.value_bytes => {
                    let (own, most) = (value.len(), limits.value_bytes);
                    Err(ScriptError::new(format!(
                        "the returned value has {own} bytes of JSON; at most {most} are returned"
                    )))
                }
                (Some(end), _) => end,
                (None, Err(error)) => Err(described(&error)),
                (None, Ok(())) => {
                    Err(ScriptError::new("the script waits for a promise that nothing resolves"))
                }
            }
        })
    }

    fn check(&self, script: &str, limits: &Limits) -> Result<(), ScriptError> {
        let runtime = runtime(limits)?;
        let context = Context::custom::<Parts>(&runtime).map_err(|error| failed(&error))?;
        context.with(|ctx| {
            // The function is made, and not called.
            let made: rquickjs::Result<Function<'_>> =
                ctx.eval_with_options(function(script, None), of_script());
            made.map(drop).catch(&ctx).map_err(|error| described(&error))
        })
    }
}

fn runtime(limits: &Limits) -> Result<Runtime, ScriptError> {
    let runtime = Runtime::new().map_err(|error| failed(&error))?;
    runtime.set_memory_limit(limits.memory_bytes);
    runtime.set_max_stack_size(limits.stack_bytes);
    Ok(runtime)
}

fn failed(error: &rquickjs::Error) -> ScriptError {
    ScriptError::new(format!("the engine failed: {error}"))
}

/// Returns the options by which a text is the script.
fn of_script() -> EvalOptions {
    let mut options = EvalOptions::default();
    options.filename = Some(FILE.to_owned());
    options
}

/// Runs a script until it has ended, or waits for nothing.
fn driven<'js>(ctx: &Ctx<'js>, script: &Script, host: &Host, end: &End) -> rquickjs::Result<()> {
    let prelude: Function<'js> = ctx.eval(PRELUDE)?;
    #[allow(clippy::cast_precision_loss, reason = "milliseconds since 1970")]
    let time = script.time as f64;
    let text = format!("{}()", function(&script.script, script.input.as_deref()));
    let functions = functions(ctx, host, end)?;
    let written = CallSites::of(text.as_str());
    let written = move |name: String, line, column| written.has(&name, line, column);
    functions.set("written", Function::new(ctx.clone(), written)?)?;
    let world: Object<'js> = prelude.call((functions, time, script.seed, FILE))?;
    let run: Function<'js> = world.get("run")?;
    let settle: Function<'js> = world.get("settle")?;
    let main: Object<'js> = ctx.eval_with_options(text, of_script())?;
    run.call::<_, ()>((main,))?;
    loop {
        while !host.is_over() && ctx.execute_pending_job() {}
        if matches!(&*end.borrow(), Some(Err(_))) {
            return Ok(());
        }
        let Some(results) = host.wait() else { return Ok(()) };
        for CallResult { number, tool, code, json } in results {
            if let (Some(code), true) = (&code, end.borrow().is_some()) {
                host.print(&format!("{tool} was not waited for, and failed: {code} {json}"));
            }
            // The name of the tool is for the error.
            let (tool, code) = code.map(|code| (tool, code)).unzip();
            settle.call::<_, ()>((number, json, tool, code))?;
        }
    }
}

/// Returns a script as an async function. It begins on the first line, so that the lines of the
/// script keep their numbers. To the language the ends of lines are all the same; the engine does
/// not count each.
fn function(script: &str, input: Option<&str>) -> String {
    let script = script.replace("\r\n", "\n").replace('\r', "\n");
    let input = input.map(|json| {
        // A string of JSON is one of JavaScript, and a literal of an object would set `__proto__`.
        format!("const input = JSON.parse({});", serde_json::Value::from(json))
    });
    format!("(async () => {{{}{script}\n}})", input.unwrap_or_default())
}

/// Returns the functions of the host.
fn functions<'js>(ctx: &Ctx<'js>, host: &Host, end: &End) -> rquickjs::Result<Object<'js>> {
    let functions = Object::new(ctx.clone())?;
    let own = host.clone();
    let call = move |ctx: Ctx<'js>, name: String, arguments: String, line: Option<u32>| {
        own.call(&name, arguments, line).map_err(|text| Exception::throw_range(&ctx, &text))
    };
    functions.set("call", Function::new(ctx.clone(), call)?)?;
    let own = host.clone();
    functions.set("search", Function::new(ctx.clone(), move |text: String| own.search(&text))?)?;
    let own = host.clone();
    functions.set("types", Function::new(ctx.clone(), move |text: String| own.types(&text))?)?;
    let own = host.clone();
    functions.set("print", Function::new(ctx.clone(), move |line: String| own.print(&line))?)?;
    let own = Rc::clone(end);
    let returned = move |json: String| *own.borrow_mut() = Some(Ok(json));
    functions.set("returned", Function::new(ctx.clone(), returned)?)?;
    let own = Rc::clone(end);
    let failed = move |message: String, stack: String| {
        let error = ScriptError::new(beginning(&message, MESSAGE_BYTES)).at_line(line_of(&stack));
        *own.borrow_mut() = Some(Err(error));
    };
    functions.set("failed", Function::new(ctx.clone(), failed)?)?;
    Ok(functions)
}

/// Returns an error that ended the script before it began, as it cannot be read.
fn described(error: &CaughtError<'_>) -> ScriptError {
    match error {
        CaughtError::Exception(exception) => {
            let message = exception.message().unwrap_or_default();
            let name: Option<String> = exception.get("name").ok();
            let name = name.unwrap_or_else(|| "Error".to_owned());
            let stack = exception.stack().unwrap_or_default();
            ScriptError::new(beginning(&format!("{name}: {message}"), MESSAGE_BYTES))
                .at_line(line_of(&stack))
        }
        CaughtError::Value(_) => ScriptError::new("the engine has no memory left"),
        CaughtError::Error(error) => failed(error),
    }
}

/// Returns the first line of the script in a stack.
fn line_of(stack: &str) -> Option<u32> {
    let (_, rest) = stack.split_once(&format!("{FILE}:"))?;
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest[..digits].parse().ok()
}
