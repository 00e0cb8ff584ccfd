//! `pullback-fuzz`: random programs against the engine.
//!
//! Exits with 0 if nothing is wrong, 1 if something is, 2 if it was called wrongly.

#![forbid(unsafe_code)]

use pullback_fuzz::campaign::{self, Options};
use pullback_fuzz::check::{self, Checks, Order, Standard, Verdict};
use pullback_fuzz::{rust, safe};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Random programs against Pullback's engine

Usage: pullback-fuzz [OPTIONS]

  --programs N    how many programs in the IR (1000)
  --seed S        the campaign's seed (1)
  --nested        derivatives of derivatives of programs in the IR
  --rust N        so many programs in Rust instead, end to end with `cargo pullback`, in both profiles
  --driver PATH   the program cargo-pullback (the one on the PATH)
  --directory DIR where the crates of Rust programs are written (fuzz-rust in the system's temporary directory)
  --safe N        so many safe programs around derivatives instead, under valgrind
  --only SEED     with --safe: the programs of this seed, of which there are eight
  --batch N       how many Rust programs in one crate (50)
  --jobs N        how many at once (one per core)
  --failures N    stop after so many failures; of Rust programs, make so many small (1)
  --show SEED     print the program of this seed and how it fares, made small if it fails
  --no-shrink     print failing programs as they are
  --strict        count it as a failure, too, that the engine refuses a program for want of information
  --trace         print each seed before its check
  --digests       print a number for the derivatives of each program in the IR instead: engines that make the same
                  derivatives print the same";

struct Arguments {
    options: Options,
    show: Option<u64>,
    shrink: bool,
    digests: bool,
    rust: Option<u64>,
    safe: Option<u64>,
    only: Vec<u64>,
    batch: usize,
    driver: PathBuf,
    directory: Option<PathBuf>,
}

fn parse() -> Result<Option<Arguments>, String> {
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut arguments = Arguments {
        options: Options {
            programs: 1000,
            seed: 1,
            jobs,
            most_failures: 1,
            checks: Checks { standard: Standard::MayRefuse, order: Order::First },
            trace: false,
        },
        show: None,
        shrink: true,
        digests: false,
        rust: None,
        safe: None,
        only: Vec::new(),
        batch: 50,
        driver: "cargo-pullback".into(),
        directory: None,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--driver" => {
                arguments.driver = words.next().ok_or("--driver needs a path")?.into();
                continue;
            }
            "--directory" => {
                arguments.directory = Some(words.next().ok_or("--directory needs a path")?.into());
                continue;
            }
            _ => {}
        }
        let mut number = || -> Result<u64, String> {
            let value = words.next().ok_or_else(|| format!("{word} needs a number"))?;
            value.parse().map_err(|_| format!("{word}: `{value}` is not a number"))
        };
        match word.as_str() {
            "--programs" => arguments.options.programs = number()?,
            "--seed" => arguments.options.seed = number()?,
            "--jobs" => arguments.options.jobs = number()? as usize,
            "--failures" => arguments.options.most_failures = number()? as usize,
            "--batch" => arguments.batch = number()? as usize,
            "--rust" => arguments.rust = Some(number()?),
            "--safe" => arguments.safe = Some(number()?),
            "--only" => arguments.only.push(number()?),
            "--show" => arguments.show = Some(number()?),
            "--strict" => arguments.options.checks.standard = Standard::NoRefusal,
            "--nested" => arguments.options.checks.order = Order::Higher,
            "--trace" => arguments.options.trace = true,
            "--digests" => arguments.digests = true,
            "--no-shrink" => arguments.shrink = false,
            "--help" | "-h" => return Ok(None),
            _ => return Err(format!("unknown option `{word}`")),
        }
    }
    Ok(Some(arguments))
}

fn main() -> ExitCode {
    let arguments = match parse() {
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(message) => {
            eprintln!("error: {message}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if let Some(programs) = arguments.rust {
        return run_rust(&arguments, programs);
    }
    if let Some(programs) = arguments.safe {
        return run_safe(&arguments, programs);
    }
    let checks = arguments.options.checks;
    // A panic of the engine is a finding, and is reported as one.
    std::panic::set_hook(Box::new(|_| {}));
    if arguments.digests {
        for (seed, digest) in campaign::digests(arguments.options) {
            println!("{seed} {digest:016x}");
        }
        return ExitCode::SUCCESS;
    }
    if let Some(seed) = arguments.show {
        let program = checks.program(seed);
        match check::check(&program, checks) {
            Verdict::Bad(failure) if arguments.shrink => println!("{}", campaign::explain(seed, &failure, checks)),
            verdict => println!("{}{verdict:?}", campaign::describe(&program)),
        }
        return ExitCode::SUCCESS;
    }
    // A log would have a line for each round.
    let watched = std::io::stderr().is_terminal();
    let report = campaign::run(arguments.options, |report| {
        if watched {
            eprint!("\r{report}   ");
        }
    });
    eprintln!("{}{report}   ", if watched { "\r" } else { "" });
    for (seed, failure) in &report.failures {
        if arguments.shrink {
            println!("{}", campaign::explain(*seed, failure, checks));
        } else {
            println!("{failure}\n{}", campaign::describe(&checks.program(*seed)));
        }
    }
    if report.failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn run_rust(arguments: &Arguments, programs: u64) -> ExitCode {
    let options = rust::campaign::Options {
        programs,
        seed: arguments.options.seed,
        batch: arguments.batch,
        jobs: arguments.options.jobs,
        driver: arguments.driver.clone(),
        directory: arguments.directory.clone().unwrap_or_else(|| std::env::temp_dir().join("fuzz-rust")),
    };
    match check_rust(arguments, &options) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn check_rust(arguments: &Arguments, options: &rust::campaign::Options) -> std::io::Result<ExitCode> {
    use rust::build::Kind;
    use rust::campaign::{Detail, check, explain, run};

    let report = match arguments.show {
        Some(seed) => check(options, seed)?,
        None => run(options, |report, new| {
            new.iter().for_each(|(seed, finding)| eprintln!("seed {seed}: {finding}"));
            eprintln!("{report}");
        })?,
    };
    eprintln!("{report}");
    for line in report.refusals() {
        println!("{line}");
    }
    // As with programs in the IR: a refusal with the engine's own error is never wrong, only a pity.
    let may_refuse = arguments.options.checks.standard == Standard::MayRefuse;
    let is_failure = |kind: Kind| !(may_refuse && kind == Kind::Refused);
    let mut seen = std::collections::BTreeSet::new();
    let mut code = ExitCode::SUCCESS;
    for (seed, finding) in &report.findings {
        if is_failure(finding.kind) {
            code = ExitCode::FAILURE;
        } else if arguments.show.is_none() {
            continue;
        }
        // What fails in both profiles is shown once; after so many, programs are shown as they are.
        if seen.insert((*seed, finding.kind)) {
            let shrinks = arguments.shrink && seen.len() <= arguments.options.most_failures;
            println!("{}", explain(options, *seed, finding, if shrinks { Detail::Small } else { Detail::Whole })?);
        }
    }
    Ok(code)
}

fn run_safe(arguments: &Arguments, programs: u64) -> ExitCode {
    if let Some(seed) = arguments.show {
        println!("{}", safe::program::World::new(seed).real(&(0..safe::program::FUNCTIONS).collect()));
        return ExitCode::SUCCESS;
    }
    let options = safe::campaign::Options {
        programs,
        seed: arguments.options.seed,
        worlds: arguments.only.clone(),
        batch: arguments.batch,
        jobs: arguments.options.jobs,
        driver: arguments.driver.clone(),
        directory: arguments.directory.clone().unwrap_or_else(|| std::env::temp_dir().join("fuzz-safe")),
    };
    let report = match safe::campaign::run(&options, |report| eprintln!("{report}")) {
        Ok(report) => report,
        Err(error) => {
            eprintln!("error: {}: {error}", options.driver.display());
            return ExitCode::from(2);
        }
    };
    for (text, seeds) in &report.refused {
        let (seed, number) = seeds[0];
        println!("{:>6} did not build, {seed} f{number}: {text}", seeds.len());
    }
    for (text, seeds) in &report.refused_at_run_time {
        println!("{:>6} refused at run time, {}: {text}", seeds.len(), seeds[0]);
    }
    for fault in &report.faults {
        let number = fault.number.map_or(String::new(), |number| format!(" f{number}"));
        println!("FAULT {}{number}, {:?}: {}\n", fault.seed, fault.profile, fault.text);
    }
    println!("{report}");
    if report.faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
