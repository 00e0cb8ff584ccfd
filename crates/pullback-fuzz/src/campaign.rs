//! Many programs, one after the other.

use crate::check::{Checks, Failure, Skip, Verdict, check, digest};
use crate::generate::Program;
use crate::jobs::side_by_side;
use crate::rng::program_seed;
use crate::shrink::{needed, shrink};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// What a campaign found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// How many programs were checked.
    pub programs: u64,
    /// How many passed every check.
    pub good: u64,
    /// How many could not be compared, and why.
    pub skipped: BTreeMap<Skip, u64>,
    /// What is wrong: the seed, and the failure.
    pub failures: Vec<(u64, Failure)>,
}

impl Report {
    fn count(&mut self, seed: u64, verdict: Verdict) {
        self.programs += 1;
        match verdict {
            Verdict::Good => self.good += 1,
            Verdict::Skipped(skip) => *self.skipped.entry(skip).or_default() += 1,
            Verdict::Bad(failure) => self.failures.push((seed, failure)),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} programs: {} good", self.programs, self.good)?;
        for (skip, count) in &self.skipped {
            write!(f, ", {count} {skip:?}")?;
        }
        write!(f, ", {} wrong", self.failures.len())
    }
}

/// How a campaign is run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Options {
    /// How many programs.
    pub programs: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// How many at once.
    pub jobs: usize,
    /// After so many failures it ends.
    pub most_failures: usize,
    /// What is checked.
    pub checks: Checks,
    /// Whether each seed is printed before its check: to find one that never ends.
    pub trace: bool,
}

/// Check programs; `progress` is told now and then how it goes.
pub fn run(options: Options, progress: impl Fn(&Report) + Sync) -> Report {
    let next = AtomicU64::new(0);
    let stop = AtomicBool::new(false);
    let report = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= options.programs {
                        return;
                    }
                    let seed = program_seed(options.seed, index);
                    if options.trace {
                        eprintln!("{seed}");
                    }
                    let verdict = check(&options.checks.program(seed), options.checks);
                    let mut report = report.lock().expect("no thread panics while it counts");
                    report.count(seed, verdict);
                    if report.failures.len() >= options.most_failures {
                        stop.store(true, Ordering::Relaxed);
                    }
                    if report.programs % 100 == 0 {
                        progress(&report);
                    }
                }
            });
        }
    });
    report.into_inner().expect("no thread panics while it counts")
}

/// For each program its seed and the [digest] of its derivatives, in order. Two engines that give the same digests make
/// the same derivatives.
pub fn digests(options: Options) -> Vec<(u64, u64)> {
    let seeds: Vec<u64> = (0..options.programs).map(|index| program_seed(options.seed, index)).collect();
    let digests = Mutex::new(BTreeMap::new());
    let work = |_, seeds: &mut dyn Iterator<Item = &u64>| {
        seeds.for_each(|&seed| {
            let digest = digest(&options.checks.program(seed), options.checks);
            digests.lock().expect("no thread panics while it notes").insert(seed, digest);
        });
        Ok(())
    };
    side_by_side(options.jobs, &seeds, work).expect("the work itself does not fail");
    let digests = digests.into_inner().expect("no thread panics while it notes");
    seeds.into_iter().map(|seed| (seed, digests[&seed])).collect()
}

/// A failing program, made small, as text: what is wrong, the seed, what is asked, and the functions.
pub fn explain(seed: u64, failure: &Failure, checks: Checks) -> String {
    let (program, failure) = shrink(&checks.program(seed), failure, checks);
    format!("{failure}\n{}", describe(&program))
}

/// A program as text.
pub fn describe(program: &Program) -> String {
    let mut text = format!("; seed {} with {:?}\n", program.seed, program.features);
    for (argument, blob) in program.request.args.iter().zip(&program.image.args) {
        let layout = program.request.layouts.get(argument.layout);
        text += &format!("; {}: {} {:?}, blob {blob}\n", argument.name, layout.name, argument.activity);
    }
    for id in needed(program) {
        text += &pullback_ir::text::function_text(&program.module, program.module.func(id));
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::{Order, Standard};

    fn assert_good(programs: u64, order: Order) {
        let checks = Checks { standard: Standard::MayRefuse, order };
        let options = Options { programs, seed: 1, jobs: 2, most_failures: 1, checks, trace: false };
        let report = run(options, |_| {});
        if let Some((seed, failure)) = report.failures.first() {
            panic!("{report}\n{}", explain(*seed, failure, checks));
        }
        assert!(report.good * 2 > report.programs, "too few programs are compared: {report}");
    }

    #[test]
    fn a_derivative_is_the_same_each_time() {
        let checks = Checks { standard: Standard::MayRefuse, order: Order::First };
        let options = Options { programs: 40, seed: 1, jobs: 2, most_failures: 1, checks, trace: false };
        let found = digests(options);
        assert_eq!(found, digests(options));
        assert!(found.iter().any(|(_, digest)| *digest != found[0].1));
    }

    #[test]
    fn a_hundred_programs() {
        assert_good(100, Order::First);
    }

    #[test]
    fn derivatives_of_twenty_derivatives() {
        assert_good(20, Order::Higher);
    }
}
