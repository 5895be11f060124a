//! Counts what a piece of work costs, in instructions and allocations, without root and without noise.
//!
//! A benchmark that lists its cases here runs itself again under callgrind, once for each case. The inputs of a case are
//! made before counting begins. Each case is counted beside the same round with nothing in it, which is subtracted.

mod callgrind;
mod report;

use std::hint::black_box;
use std::pin::pin;
use std::process::ExitCode;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Work on inputs that were made for it beforehand.
pub type Work = Box<dyn FnMut()>;

/// What is measured.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Instructions,
    Allocations,
    Time,
}

/// One thing to measure.
pub struct Case {
    name: String,
    rounds: usize,
    prepare: Box<dyn Fn(usize) -> Work>,
    /// One round under callgrind, and one with nothing in it.
    once: [Box<dyn Fn()>; 2],
    check: Option<Box<dyn Fn()>>,
    limit: Option<String>,
    goal: Option<f64>,
    time_goal: Option<f64>,
    allocations: Option<f64>,
}

impl Case {
    /// Says how to find out that the case does its work at all; asked before it is measured.
    pub fn checked(&mut self, check: impl Fn() + 'static) -> &mut Self {
        self.check = Some(Box::new(check));
        self
    }

    /// Compares the case to another one, listed before it.
    pub fn against(&mut self, limit: &str) -> &mut Self {
        self.limit = Some(limit.to_owned());
        self
    }

    /// Sets how many times the cost of its limit the case may have.
    pub fn within(&mut self, goal: f64) -> &mut Self {
        self.goal = Some(goal);
        self
    }

    /// Sets how many times the time of its limit the case may take.
    pub fn within_time(&mut self, goal: f64) -> &mut Self {
        self.time_goal = Some(goal);
        self
    }

    /// Sets how many allocations one round may make.
    pub fn allocating(&mut self, allocations: f64) -> &mut Self {
        self.allocations = Some(allocations);
        self
    }
}

/// The cases of one benchmark.
#[derive(Default)]
pub struct Suite {
    cases: Vec<Case>,
}

impl Suite {
    /// Adds a case: `make` gives the input of one round and is not measured, `run` is.
    pub fn case<I: 'static, O>(
        &mut self,
        name: impl Into<String>,
        rounds: usize,
        make: impl Fn() -> I + Clone + 'static,
        run: impl Fn(I) -> O + Clone + 'static,
    ) -> &mut Case {
        let (make_again, make_idle, run_again) = (make.clone(), make.clone(), run.clone());
        let prepare = move |rounds| -> Work {
            let mut inputs: Vec<I> = (0..rounds).map(|_| make()).collect();
            let run = run.clone();
            Box::new(move || {
                for input in inputs.drain(..) {
                    // The output is dropped here: freeing it is part of the cost.
                    black_box(run(black_box(input)));
                }
            })
        };
        let once = move || {
            let mut input = Some(make_again());
            measured_region(&mut || {
                if let Some(input) = input.take() {
                    black_box(run_again(black_box(input)));
                }
            });
        };
        let idle = move || {
            let mut input = Some(make_idle());
            floor_region(&mut || {
                if let Some(input) = input.take() {
                    std::mem::forget(black_box(input));
                }
            });
        };
        self.cases.push(Case {
            name: name.into(),
            rounds,
            prepare: Box::new(prepare),
            once: [Box::new(once), Box::new(idle)],
            check: None,
            limit: None,
            goal: None,
            time_goal: None,
            allocations: None,
        });
        let last = self.cases.len() - 1;
        &mut self.cases[last]
    }

    /// Counts instructions, or takes the time where that was asked for or valgrind is not there.
    pub fn run(self) -> ExitCode {
        if let Ok(name) = std::env::var(callgrind::CASE) {
            return self.counted(&name);
        }
        if flag("--times") {
            return self.report(Kind::Time, |_| 0.0);
        }
        if !callgrind::is_installed() {
            println!("Instructions are counted where valgrind is installed; these are times.");
            return self.report(Kind::Time, |_| 0.0);
        }
        let annotate = flag("--annotate");
        self.report(Kind::Instructions, |case| callgrind::count(&case.name, case.rounds, annotate))
    }

    /// Counts allocations; `counter` returns how many were made so far.
    pub fn run_allocations(self, counter: impl Fn() -> usize) -> ExitCode {
        self.report(Kind::Allocations, |case| {
            (case.prepare)(case.rounds.min(8))();
            let mut work = (case.prepare)(case.rounds);
            let before = counter();
            work();
            (counter() - before) as f64 / case.rounds as f64
        })
    }

    /// Measures the cases that the command line names, all without a name, and their limits.
    fn report(self, kind: Kind, measure: impl Fn(&Case) -> f64) -> ExitCode {
        let filters: Vec<String> =
            std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
        let asked =
            |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter));
        let asked_for = self.cases.iter().filter(|case| asked(&case.name));
        let limits: Vec<&String> = asked_for.filter_map(|case| case.limit.as_ref()).collect();
        let mut table = report::Table::new(kind);
        for case in &self.cases {
            if asked(&case.name) || limits.contains(&&case.name) {
                case.check.iter().for_each(|check| check());
                let limit =
                    self.cases.iter().find(|limit| case.limit.as_ref() == Some(&limit.name));
                let times = (kind != Kind::Allocations).then(|| least_times(case, limit));
                table.add(case, measure(case), times);
            }
        }
        table.finish()
    }

    /// Does the work of one case where callgrind sees it.
    fn counted(&self, name: &str) -> ExitCode {
        let Some(case) = self.cases.iter().find(|case| case.name == name) else {
            return ExitCode::FAILURE;
        };
        (case.prepare)(case.rounds.min(8))();
        for round in &case.once {
            (0..case.rounds).for_each(|_| round());
        }
        ExitCode::SUCCESS
    }
}

/// Counting is on while this runs: callgrind knows it by its name.
#[inline(never)]
pub fn measured_region(work: &mut dyn FnMut()) {
    work();
    black_box(());
}

/// Counting is on while this runs, for what is subtracted.
#[inline(never)]
pub fn floor_region(work: &mut dyn FnMut()) {
    work();
    black_box(1);
}

fn flag(name: &str) -> bool {
    std::env::args().any(|argument| argument == name)
}

/// Returns the nanoseconds of one round of a case, and of its limit: the least of many batches, taken by turns, since
/// what other programs add is no cost of either.
fn least_times(case: &Case, limit: Option<&Case>) -> (f64, Option<f64>) {
    const BUDGET: Duration = Duration::from_millis(300);
    let batch = |case: &Case| {
        let mut work = (case.prepare)(case.rounds);
        let start = Instant::now();
        work();
        start.elapsed().as_secs_f64() * 1e9 / case.rounds as f64
    };
    let mut least = (batch(case), limit.map(batch));
    let (mut batches, begin) = (0, Instant::now());
    while batches < 5 || (begin.elapsed() < BUDGET && batches < 2000) {
        least = (
            least.0.min(batch(case)),
            limit.map(batch).into_iter().chain(least.1).reduce(f64::min),
        );
        batches += 1;
    }
    least
}

/// Runs a future that is ready at its first poll, so that no runtime's cost is measured.
#[allow(clippy::inline_always, reason = "else the future is copied into its frame")]
#[inline(always)]
pub fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the measured future waits"),
    }
}
