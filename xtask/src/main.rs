//! Pullback's own build tasks.
//!
//! ```text
//! cargo xtask demo             build the driver, then build and run the quickstart
//! cargo xtask test [--quick]   all tests: of the crates, and end to end with the driver
//! cargo xtask fuzz [OPTIONS]   random programs, in the IR and in Rust
//! cargo xtask bench [NAME]     what derivatives cost, for a dozen functions; with --instructions compared with another
//!                              checkout's; with --compile how long they take to build, and programs in a directory
//! cargo xtask gradbench        our tool for GradBench: right answers; with --time or --peers how fast, with --growth
//!                              how it grows
//! cargo xtask valgrind         tests of memory, under valgrind
//! cargo xtask miri             the run-time support, and what macros expand to, under Miri
//! ```

mod bench;
mod compile;
mod demo;
mod driver;
mod fuzz;
mod gradbench;
mod instructions;
mod miri;
mod programs;
mod test;
mod valgrind;

use std::process::ExitCode;

const HELP: &str = "\
Pullback's own build tasks

Usage: cargo xtask <TASK>

Tasks:
  demo              Build the driver; with it build and run the quickstart
  test [--quick]    Run all tests; --quick leaves out the optimised end-to-end run, GradBench and random programs
  fuzz [OPTIONS]    Random programs: --programs N in the IR, --rust N in Rust, --safe N safe ones under
                    valgrind, from --seed S; more with --help
  bench [NAME]      Time and memory of derivatives against their primals; NAME is part of a function's name
  bench --instructions [--base DIR]
                    Instructions of derivatives, GradBench's too, as callgrind counts them; more than 3 % above those
                    of the checkout DIR is a failure
  bench --compile   How the time to build a derivative grows with the length of the function
  bench --compile DIR
                    How long the programs in the workspace DIR take to build, by `cargo pullback` and by plain cargo
  gradbench [OPTION] [EVAL…]
                    Our tool for GradBench. Its answers to the logs beside the repository, or in --logs DIR, are
                    compared; with --time it is timed; with --peers DIR also the tools of a GradBench installation;
                    with --growth it is run at growing sizes
  valgrind          Run the tests that do most with memory under valgrind
  miri              Run the tests of the run-time support, and of what macros expand to, under Miri, which rustup adds to
                    a nightly toolchain";

/// How a task ends: without a word if a program it ran has said what is wrong.
type TaskResult = Result<(), String>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let result = match args[..] {
        ["demo"] => demo::run(),
        ["test"] => test::run(test::Extent::Full),
        ["test", "--quick"] => test::run(test::Extent::Quick),
        ["fuzz", ref options @ ..] => fuzz::run(options),
        ["bench", "--compile"] => compile::run(),
        ["bench", "--compile", workspace] => programs::run(workspace),
        ["bench", "--instructions"] => instructions::run(None),
        ["bench", "--instructions", "--base", checkout] => instructions::run(Some(checkout)),
        ["bench"] => bench::run(None),
        ["bench", name] => bench::run(Some(name)),
        ["gradbench", ref options @ ..] => gradbench::run(options),
        ["valgrind"] => valgrind::run(),
        ["miri"] => miri::run(),
        [] | ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => Err(format!("no such task: `{}`\n\n{HELP}", args.join(" "))),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
