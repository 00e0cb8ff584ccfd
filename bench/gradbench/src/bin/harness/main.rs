//! Runs the tool: against logs of correct answers, against the clock, at growing sizes, or with its instructions
//! counted.
//!
//! ```text
//! harness golden DIR [EVAL…]        answer the messages of the logs DIR/*.jsonl again, and compare
//! harness time [--peers DIR] [--out DIR] [EVAL…]
//!                                   time primals and derivatives, beside the tools of a GradBench installation in DIR
//! harness growth [--out DIR] [EVAL…]
//!                                   how time and memory of derivatives grow with the work
//! harness instructions [EVAL…]      how many instructions primals and derivatives take
//! ```
//!
//! The tool is the program `gradbench` that is built beside this one.

mod chart;
mod compare;
mod golden;
mod growth;
mod instructions;
mod results;
mod time;
mod tools;
mod workloads;

use std::path::Path;
use std::process::ExitCode;

/// What went wrong, in words.
type Outcome<T> = Result<T, String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> Outcome<()> {
    match args {
        ["golden", logs, evals @ ..] => golden::run(Path::new(logs), evals),
        ["time", options @ ..] => time::run(options),
        ["growth", options @ ..] => growth::run(options),
        ["instructions", evals @ ..] => instructions::run(evals),
        _ => Err(
            "usage: harness golden DIR [EVAL…] | time [--peers DIR] [--out DIR] [EVAL…] | growth [--out DIR] [EVAL…] \
             | instructions [EVAL…]"
                .into(),
        ),
    }
}
