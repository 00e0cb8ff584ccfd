//! `cargo xtask bench --compile`: how long the derivative of a long function takes to build, and how that grows with
//! its length; and the quickstart beside plain cargo.

use crate::TaskResult;
use crate::driver::{self, Driver, Stream, cargo, root, target_directory};
use pullback_measure::{Noise, clock, growth::exponent};
use std::fmt::Write as _;
use std::fs;

/// How many lines the functions have.
const LINES: [usize; 5] = [500, 1000, 2000, 4000, 5000];
/// What a step takes at least to be printed, at the largest size.
const MILLISECONDS: f64 = 10.0;

/// Build a package for each length, and print how long each of the driver's steps takes.
pub fn run() -> TaskResult {
    let driver = Driver::build()?;
    // What it depends on.
    build(&driver, 0)?;
    let builds: Vec<Vec<(String, f64)>> = LINES.iter().map(|lines| build(&driver, *lines)).collect::<Result<_, _>>()?;
    print!("{:<32}", "milliseconds, by lines");
    LINES.iter().for_each(|lines| print!(" {lines:>8}"));
    println!(" {:>9}", "exponent");
    for (step, _) in builds.last().into_iter().flatten() {
        let time =
            |build: &Vec<(String, f64)>| build.iter().find(|(name, _)| name == step).map_or(0.0, |(_, time)| *time);
        let of_step: Vec<f64> = builds.iter().map(time).collect();
        if of_step.iter().all(|time| *time < MILLISECONDS) {
            continue;
        }
        print!("{step:<32}");
        of_step.iter().for_each(|time| print!(" {time:>8.0}"));
        let points: Vec<(f64, f64)> = LINES.iter().zip(of_step).map(|(lines, time)| (*lines as f64, time)).collect();
        println!(" {:>9}", exponent(&points).map_or("–".to_owned(), |exponent| format!("{exponent:.2}")));
    }
    quickstart(&driver)
}

/// Build the quickstart by `cargo pullback`, and by plain cargo with thin LTO: from nothing, and after a change.
fn quickstart(driver: &Driver) -> TaskResult {
    const PACKAGE: &str = "examples/quickstart";
    let directory = target_directory().join("bench-quickstart");
    let _ = fs::remove_dir_all(&directory);
    let target = |name: &str| directory.join(name).to_string_lossy().into_owned();
    let (ours, plain) = (target("pullback"), target("plain"));
    let with = || driver.cargo_pullback(PACKAGE, &["build", "--release", "--target-dir", &ours]);
    // Without the driver nobody makes derivatives. The source is compiled as it would be with it, and what is missing
    // is not linked.
    let without = || {
        let mut command = cargo(PACKAGE, &["build", "--release", "--target-dir", &plain]);
        command.env("RUSTFLAGS", "--cfg=pullback -Clink-arg=-Wl,--unresolved-symbols=ignore-all");
        command.env("CARGO_PROFILE_RELEASE_LTO", "thin");
        command
    };
    let seconds = |command| {
        let before = clock::seconds_of_children();
        driver::run(command).map(|()| clock::seconds_of_children() - before)
    };
    println!("{:<32} {:>9} {:>9} {:>9}", "\nquickstart, processor seconds", "pullback", "thin LTO", "ratio");
    for round in ["from nothing", "after a change"] {
        if round != "from nothing" {
            let main = root().join(PACKAGE).join("src/main.rs");
            let now = || fs::File::options().append(true).open(&main)?.set_modified(std::time::SystemTime::now());
            now().map_err(|error| format!("`{}`: {error}", main.display()))?;
        }
        let (ours, plain) = (seconds(with())?, seconds(without())?);
        println!("{round:<31} {ours:>9.2} {plain:>9.2} {:>9.2}", ours / plain);
    }
    Ok(())
}

/// Build the function of so many lines; the milliseconds of each step.
fn build(driver: &Driver, lines: usize) -> Result<Vec<(String, f64)>, String> {
    let package = target_directory().join("bench-compile");
    let write = |name: &str, text: String| {
        let path = package.join(name);
        fs::create_dir_all(path.parent().expect("it is below the package"))
            .and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("`{}`: {error}", path.display()))
    };
    let pullback = root().join("crates/pullback");
    write("Cargo.toml", MANIFEST.replace("PULLBACK", &pullback.to_string_lossy()))?;
    write("src/main.rs", program(lines))?;
    let (directory, args) = (package.to_string_lossy(), ["build", "--release"]);
    let mut with = driver.cargo_pullback(&directory, &args);
    with.env("PULLBACK_TIMINGS", "1");
    let mut measured = Vec::new();
    for (name, command) in
        [("all processes of the build", with), ("of a build of the primal alone", cargo(&directory, &args))]
    {
        let before = clock::seconds_of_children();
        driver::run_heard(command, Stream::Error, |line| measured.extend(timing(line)))?;
        measured.push((name.to_owned(), (clock::seconds_of_children() - before) * 1e3));
    }
    Ok(measured)
}

const MANIFEST: &str = "\
[package]
name = \"bench-compile\"
edition = \"2024\"

[dependencies]
pullback = { path = \"PULLBACK\" }

[workspace]
";

/// A step and its milliseconds, if that is what a line of the driver says: `12.3 ms  differentiate`.
fn timing(line: &str) -> Option<(String, f64)> {
    let (time, name) = line.trim().split_once(" ms  ")?;
    Some((name.to_owned(), time.parse().ok()?))
}

/// A program that prints the gradient of a function of so many lines; its value, if it is not built by `cargo
/// pullback`.
fn program(lines: usize) -> String {
    let mut text = "\
#![allow(unused, unexpected_cfgs)]

fn main() {
    let x: Vec<f64> = (1..=20).map(|i| 1.0 / f64::from(i)).collect();
    let mut gradient = vec![0.0; x.len()];
    #[cfg(pullback)]
    println!(\"{}\", d_long(&x, &mut gradient));
    #[cfg(not(pullback))]
    println!(\"{}\", long(&x));
    println!(\"{gradient:?}\");
}

#[cfg_attr(pullback, pullback::autodiff(d_long, Reverse, Duplicated, Active))]
fn long(x: &[f64]) -> f64 {
    let (mut a, mut b, mut c, mut d, mut e) = (x[0], x[1], x[2], x[3], x[4]);
    let mut list = vec![0.0_f64; x.len()];
"
    .to_owned();
    let mut body = Body { noise: Noise::new(), lines: Vec::new(), loops: 0 };
    while body.lines.len() < lines {
        body.statement(1);
    }
    for line in body.lines {
        let _ = writeln!(text, "{line}");
    }
    text + "    a + b + c + d + e + list.iter().sum::<f64>()\n}\n"
}

/// Statements that look random, always the same.
struct Body {
    noise: Noise,
    lines: Vec<String>,
    /// How many loops there are around.
    loops: usize,
}

impl Body {
    fn line(&mut self, depth: usize, line: &str) {
        self.lines.push(format!("{:width$}{line}", "", width = 4 * depth));
    }

    /// A statement within so many blocks: mostly assignments, some loops and branches.
    fn statement(&mut self, depth: usize) {
        match self.noise.below(10) {
            0 if depth < 3 => {
                let n = 2 + self.noise.below(18);
                self.loops += 1;
                self.block(depth, &format!("for i in 0..{n} {{"));
                self.loops -= 1;
                self.line(depth, "}");
            }
            1 if depth < 3 => {
                let [p, q] = [self.variable(), self.variable()];
                self.block(depth, &format!("if {p} < {q} {{"));
                if self.noise.below(2) == 0 {
                    self.block(depth, "} else {");
                }
                self.line(depth, "}");
            }
            2 | 3 => {
                let (at, value) = (self.index(), self.expression());
                self.line(depth, &format!("list[{at}] = {value};"));
            }
            _ => {
                let (variable, value) = (self.variable(), self.expression());
                self.line(depth, &format!("{variable} = {value};"));
            }
        }
    }

    /// The start of a block, and some statements in it.
    fn block(&mut self, depth: usize, start: &str) {
        self.line(depth, start);
        for _ in 0..1 + self.noise.below(4) {
            self.statement(depth + 1);
        }
    }

    fn variable(&mut self) -> &'static str {
        self.noise.pick(&["a", "b", "c", "d", "e"])
    }

    fn index(&mut self) -> String {
        if self.loops > 0 && self.noise.below(3) > 0 { "i".to_owned() } else { self.noise.below(20).to_string() }
    }

    /// Something of the size of its operands.
    fn expression(&mut self) -> String {
        let [p, q, r] = [self.operand(), self.operand(), self.operand()];
        match self.noise.below(6) {
            0 => format!("0.5 * ({p} + {q})"),
            1 => format!("{p} * {q}.cos()"),
            2 => format!("{p} / (1.0 + {q} * {q})"),
            3 => format!("({p} - {q} * {r}).tanh()"),
            4 => format!("0.3 * {p} - 0.7 * {q} + 0.1 * {r}"),
            _ => format!("({p} * {p} + {q} * {q}).sqrt() - {r}"),
        }
    }

    fn operand(&mut self) -> String {
        match self.noise.below(4) {
            0 => format!("x[{}]", self.index()),
            1 => format!("list[{}]", self.index()),
            _ => self.variable().to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timing_is_read() {
        assert_eq!(timing("     12.5 ms  differentiate"), Some(("differentiate".to_owned(), 12.5)));
        assert_eq!(timing("── pullback: target/release/a"), None);
    }

    #[test]
    fn a_program_is_as_long_as_asked_and_always_the_same() {
        assert_eq!(program(100), program(100));
        let lines = program(1000).lines().count();
        assert!((1000..1050).contains(&lines), "{lines}");
    }
}
