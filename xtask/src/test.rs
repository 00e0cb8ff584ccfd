//! `cargo xtask test`: everything that can be checked.
//!
//! All steps run, also after one has failed; a table at the end says how each went.

use crate::TaskResult;
use crate::driver::{self, Driver, Stream, cargo};
use crate::fuzz::{ir_programs, rust_programs, safe_programs};
use crate::gradbench;
use crate::miri;
use crate::valgrind;
use std::process::Command;
use std::time::{Duration, Instant};

/// How much to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    Full,
    /// Without the optimised end-to-end runs, GradBench and random programs.
    Quick,
}

/// The seed of the random programs: the same in every run, so that a failure is the last change's.
const SEED: &str = "2026";

/// Run the crates' own tests, then with the driver the end-to-end suite at opt-level 0 and 3 and parts of it under
/// valgrind, the run-time support and what macros expand to under Miri, the documentation's examples, the quickstart's and the GradBench tool's tests, then random programs.
pub fn run(extent: Extent) -> TaskResult {
    let mut summary = Summary::default();
    summary.step("the crates' own tests", cargo(".", &["test", "--workspace", "--no-fail-fast"]));
    let driver = Driver::build()?;
    let pullback = |directory, args: &[&str]| driver.cargo_pullback(directory, args);
    summary.step("end to end, opt-level 0", pullback("tests/e2e", &["test", "--no-fail-fast"]));
    if extent == Extent::Full {
        summary.step("end to end, opt-level 3", pullback("tests/e2e", &["test", "--no-fail-fast", "--release"]));
        if valgrind::is_there() {
            summary.step("end to end, under valgrind", valgrind::command(&driver));
        } else {
            summary.skip("end to end, under valgrind", "valgrind is not installed");
        }
    }
    if extent == Extent::Full {
        match miri::add() {
            Ok(()) => miri::commands().into_iter().for_each(|(name, command)| summary.step(name, command)),
            Err(why) => {
                eprintln!("\nwarning: nothing runs under Miri: {why}");
                summary.skip("the run-time support, under Miri", "there is no nightly toolchain with Miri");
            }
        }
    }
    summary.step("the documentation's examples", pullback(".", &["test", "--doc", "--package", "pullback"]));
    summary.step("the quickstart", pullback("examples/quickstart", &["test"]));
    if extent == Extent::Full {
        let packages = ["test", "--release", "--package", "pullback-gradbench", "--package", "pullback-measure"];
        summary.step("the GradBench tool", pullback("bench", &packages));
        let (name, logs) = ("the GradBench tool's answers", gradbench::logs());
        match logs.to_str().filter(|_| logs.is_dir()) {
            Some(logs) => {
                summary.step("the GradBench tool's build", gradbench::build(&driver));
                summary.step(name, gradbench::harness(&driver, &["golden", logs]));
            }
            None => summary.skip(name, "no logs of GradBench beside the repository"),
        }
        summary.step("random programs in the IR", ir_programs(&["--programs", "500", "--seed", SEED]));
        let nested = ["--nested", "--programs", "200", "--seed", SEED];
        summary.step("random programs, twice", ir_programs(&nested));
        summary.step("random programs in Rust", rust_programs(&driver, "200", &["--seed", SEED]));
        if valgrind::is_there() {
            let options = ["--seed", SEED, "--batch", "104"];
            summary.step("random safe programs", safe_programs(&driver, "200", &options));
        } else {
            summary.skip("random safe programs", "valgrind is not installed");
        }
    }
    summary.finish()
}

/// How a step went.
struct Step {
    name: &'static str,
    time: Duration,
    passed: usize,
    failed: usize,
    result: TaskResult,
}

/// How all went so far.
#[derive(Default)]
struct Summary {
    steps: Vec<Step>,
    /// Steps that were not run, and why.
    skipped: Vec<(&'static str, &'static str)>,
}

impl Summary {
    /// Run a step, and count the tests that it reports.
    fn step(&mut self, name: &'static str, command: Command) {
        let start = Instant::now();
        let (mut passed, mut failed) = (0, 0);
        let result = driver::run_heard(command, Stream::Output, |line| {
            passed += counted(line, "passed");
            failed += counted(line, "failed");
        });
        self.steps.push(Step { name, time: start.elapsed(), passed, failed, result });
    }

    /// Leave a step out, and say why.
    fn skip(&mut self, name: &'static str, reason: &'static str) {
        self.skipped.push((name, reason));
    }

    /// Print how each step went.
    fn finish(self) -> TaskResult {
        println!();
        for step in &self.steps {
            let word = if step.result.is_ok() { "ok" } else { "FAILED" };
            let tests = match (step.passed, step.failed) {
                (0, 0) => String::new(),
                (passed, 0) => format!("{passed} passed"),
                (passed, failed) => format!("{passed} passed, {failed} failed"),
            };
            println!("{word:>6}  {:<32} {:>4} s  {tests}", step.name, step.time.as_secs());
        }
        for (name, reason) in &self.skipped {
            println!("{:>6}  {name:<32} {reason}", "left");
        }
        let passed: usize = self.steps.iter().map(|step| step.passed).sum();
        let total: Duration = self.steps.iter().map(|step| step.time).sum();
        let failures: Vec<String> = self.steps.into_iter().filter_map(|step| step.result.err()).collect();
        println!();
        if failures.is_empty() {
            println!("all is well: {passed} tests passed in {} s", total.as_secs());
            Ok(())
        } else {
            Err(failures.join("\nerror: "))
        }
    }
}

/// The number before a word in a summary of Rust's test runner: `test result: ok. 3 passed; 0 failed; …`.
fn counted(line: &str, word: &str) -> usize {
    let Some(summary) = line.strip_prefix("test result: ") else { return 0 };
    let words: Vec<&str> = summary.split([' ', ';', '.']).filter(|word| !word.is_empty()).collect();
    let number = words.windows(2).find(|pair| pair[1] == word).and_then(|pair| pair[0].parse().ok());
    number.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_read() {
        let line = "test result: FAILED. 3 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.02s";
        assert_eq!((counted(line, "passed"), counted(line, "failed")), (3, 1));
        assert_eq!(counted("test a ... ok", "passed"), 0);
    }
}
