//! Builds batches of random safe programs with `cargo pullback`, and runs them under valgrind.
//!
//! A program that does not build is left out of its batch. Programs run one after the other in one process, each with its number before
//! and after it; where one brings the process down, the rest runs in another one.

use super::program::program;
use crate::rng::program_seed;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How the programs are checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many programs.
    pub programs: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// The seeds of the programs themselves, if they are given.
    pub seeds: Vec<u64>,
    /// How many in one crate.
    pub batch: usize,
    /// The program `cargo-pullback`.
    pub driver: PathBuf,
    /// Where the crates are written, and what is found.
    pub directory: PathBuf,
}

/// How a program is compiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Profile {
    /// `cargo pullback build`.
    Debug,
    /// `cargo pullback build --release`.
    Release,
}

impl Profile {
    fn name(self) -> &'static str {
        match self {
            Profile::Debug => "debug",
            Profile::Release => "release",
        }
    }
}

/// A program that is not as it should be.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// The program.
    pub seed: u64,
    /// Where it is so.
    pub profile: Profile,
    /// What was seen.
    pub text: String,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// Programs that ran, in one profile each.
    pub ran: u64,
    /// Programs that are not as they should be.
    pub faults: Vec<Fault>,
    /// Programs that do not build, by what is said.
    pub refused: BTreeMap<String, Vec<u64>>,
    /// Derivatives that panic where the function does not, by what they say.
    pub refused_at_run_time: BTreeMap<String, Vec<u64>>,
    /// Calls that returned, and were compared; that panicked like the function; that refused; that were too large to be compared.
    pub calls: [u64; 4],
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused: usize = self.refused.values().map(Vec::len).sum();
        let [values, panics, refusals, _] = self.calls;
        write!(
            f,
            "{} programs ran ({values} calls returned, {panics} panicked as the function does, {refusals} refused), \
             {refused} did not build, {} faults",
            self.ran,
            self.faults.len()
        )
    }
}

impl Report {
    fn add(&mut self, other: Report) {
        self.ran += other.ran;
        self.faults.extend(other.faults);
        for (text, seeds) in other.refused {
            self.refused.entry(text).or_default().extend(seeds);
        }
        for (text, seeds) in other.refused_at_run_time {
            self.refused_at_run_time.entry(text).or_default().extend(seeds);
        }
        for (sum, count) in self.calls.iter_mut().zip(other.calls) {
            *sum += count;
        }
    }
}

/// Check programs in batches, both profiles side by side; `progress` is told after each batch.
pub fn run(options: &Options, progress: impl Fn(&Report)) -> io::Result<Report> {
    let seeds: Vec<u64> = if options.seeds.is_empty() {
        (0..options.programs).map(|i| program_seed(options.seed, i)).collect()
    } else {
        options.seeds.clone()
    };
    let mut report = Report::default();
    for batch in seeds.chunks(options.batch.max(1)) {
        let both = std::thread::scope(|scope| {
            let threads =
                [Profile::Debug, Profile::Release].map(|profile| scope.spawn(move || check(options, batch, profile)));
            threads.map(|thread| thread.join().expect("a batch's thread panicked, a bug in pullback-fuzz"))
        });
        for part in both {
            report.add(part?);
        }
        progress(&report);
    }
    Ok(report)
}

/// Build and run a batch in one profile.
fn check(options: &Options, seeds: &[u64], profile: Profile) -> io::Result<Report> {
    let bench = Bench::new(options, profile)?;
    let mut report = Report::default();
    bench.build_and_run(seeds, &mut report)?;
    for fault in &report.faults {
        let text: String = fault.text.lines().map(|line| format!("// {line}\n")).collect();
        let name = format!("{}-{}.rs", fault.seed, profile.name());
        let faults = options.directory.join("faults");
        fs::create_dir_all(&faults)?;
        fs::write(faults.join(name), text + &program(fault.seed))?;
    }
    Ok(report)
}

/// A crate of programs, in one profile.
struct Bench<'a> {
    options: &'a Options,
    profile: Profile,
    directory: PathBuf,
}

impl<'a> Bench<'a> {
    fn new(options: &'a Options, profile: Profile) -> io::Result<Self> {
        let directory = options.directory.join(profile.name());
        fs::create_dir_all(directory.join("src"))?;
        fs::create_dir_all(directory.join("harness/src"))?;
        let pullback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pullback");
        let head = "version = \"0.1.0\"\nedition = \"2024\"\npublish = false\n";
        write_if_new(
            &directory.join("Cargo.toml"),
            &format!(
                "[package]\nname = \"safe\"\n{head}\n[dependencies]\npullback = {{ path = {pullback:?} }}\n\
                 harness = {{ path = \"harness\" }}\n\n[workspace]\n\n[profile.dev]\ndebug = \"line-tables-only\"\n\n\
                 [profile.release]\ndebug = \"line-tables-only\"\n",
            ),
        )?;
        write_if_new(&directory.join("harness/Cargo.toml"), &format!("[package]\nname = \"harness\"\n{head}"))?;
        write_if_new(&directory.join("harness/src/lib.rs"), include_str!("harness.rs.txt"))?;
        Ok(Bench { options, profile, directory })
    }

    /// Build as many of these programs as can be built, and run them.
    fn build_and_run(&self, seeds: &[u64], report: &mut Report) -> io::Result<()> {
        let mut seeds = seeds.to_vec();
        while !seeds.is_empty() {
            self.write(&seeds)?;
            let (good, said) = self.build()?;
            if good {
                return self.run(&seeds, report);
            }
            let refused = refusals(&said);
            let named: BTreeSet<u64> = refused.iter().map(|(seed, _)| *seed).collect();
            if named.is_empty() || !named.iter().any(|seed| seeds.contains(seed)) {
                // The driver died, or did not say of which program it speaks.
                if let [seed] = seeds[..] {
                    report.faults.push(Fault { seed, profile: self.profile, text: format!("the build fails\n{said}") });
                    return Ok(());
                }
                let (first, second) = seeds.split_at(seeds.len() / 2);
                self.build_and_run(first, report)?;
                return self.build_and_run(second, report);
            }
            for (seed, text) in refused {
                if text.contains("bug in Pullback") {
                    report.faults.push(Fault { seed, profile: self.profile, text });
                } else {
                    report.refused.entry(text).or_default().push(seed);
                }
            }
            seeds.retain(|seed| !named.contains(seed));
        }
        Ok(())
    }

    fn write(&self, seeds: &[u64]) -> io::Result<()> {
        let mut main = String::new();
        for seed in seeds {
            write_if_new(&self.directory.join(format!("src/p{seed}.rs")), &program(*seed))?;
            main += &format!("mod p{seed};\n");
        }
        main += "\nfn main() {\n    harness::run(&[\n";
        for seed in seeds {
            main += &format!("        ({seed}, p{seed}::run),\n");
        }
        main += "    ], pullback::rt::release_spare);\n}\n";
        fs::write(self.directory.join("src/main.rs"), main)?;
        // Programs of batches before.
        for entry in fs::read_dir(self.directory.join("src"))? {
            let path = entry?.path();
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let number = name.strip_prefix('p').and_then(|number| number.parse::<u64>().ok());
            if number.is_some_and(|number| !seeds.contains(&number)) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Whether it builds, and what was said.
    fn build(&self) -> io::Result<(bool, String)> {
        let mut command = Command::new(&self.options.driver);
        command.args(["pullback", "build"]).current_dir(&self.directory);
        if self.profile == Profile::Release {
            command.arg("--release");
        }
        let (status, said) = self.watched(&mut command, Duration::from_secs(LONGEST_BUILD))?;
        Ok((status == End::Code(0), said))
    }

    fn run(&self, seeds: &[u64], report: &mut Report) -> io::Result<()> {
        let profile = self.profile.name();
        let executable = self.directory.join("target/pullback").join(TARGET).join(profile).join("safe");
        let mut first = 0;
        while first < seeds.len() {
            let mut command = Command::new("valgrind");
            command.args(["--quiet", "--leak-check=no", "--exit-on-first-error=yes", "--error-exitcode=99"]);
            command.args(["--log-fd=1", "--num-callers=20"]).arg(&executable).arg(first.to_string());
            let (end, said) = self.watched(&mut command, Duration::from_secs(60))?;
            let last = self.read(&said, report);
            if end == End::Code(0) {
                break;
            }
            let Some((at, seed)) = last else {
                return Err(io::Error::other(format!("no program was run: {end:?}\n{said}")));
            };
            let start = said.find(&format!("BEGIN {at} ")).unwrap_or(0);
            report.faults.push(Fault { seed, profile: self.profile, text: format!("{end:?}\n{}", &said[start..]) });
            report.ran += 1;
            first = at + 1;
        }
        Ok(())
    }

    /// Read what programs say; the one that began and did not end is returned.
    fn read(&self, said: &str, report: &mut Report) -> Option<(usize, u64)> {
        let mut running = None;
        for line in said.lines() {
            let words: Vec<&str> = line.split(' ').collect();
            match words[..] {
                ["BEGIN", at, seed] => running = Some((at.parse().ok()?, seed.parse().ok()?)),
                ["END", ..] => {
                    running = None;
                    report.ran += 1;
                }
                ["WRONG" | "LEAK", seed, ..] => {
                    let Ok(seed) = seed.parse() else { continue };
                    let text = line.to_owned();
                    match report.faults.last_mut().filter(|fault| fault.seed == seed) {
                        Some(fault) => fault.text += &format!("\n{text}"),
                        None => report.faults.push(Fault { seed, profile: self.profile, text }),
                    }
                }
                ["REFUSED", seed, ref text @ ..] => {
                    let Ok(seed) = seed.parse() else { continue };
                    report.refused_at_run_time.entry(without_numbers(&text.join(" "))).or_default().push(seed);
                }
                ["COUNTS", ref counts @ ..] => {
                    for (sum, count) in report.calls.iter_mut().zip(counts) {
                        *sum += count.parse().unwrap_or(0);
                    }
                }
                _ => {}
            }
        }
        running
    }

    /// Run a command until it ends or has been silent for so long; how it ended, and what it said.
    fn watched(&self, command: &mut Command, silence: Duration) -> io::Result<(End, String)> {
        let path = self.directory.join("said.txt");
        let file = File::create(&path)?;
        command.process_group(0).stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let mut child = command.spawn()?;
        let (mut length, mut since) = (0, Instant::now());
        let end = loop {
            if let Some(status) = child.try_wait()? {
                break status.code().map_or(End::Signal, End::Code);
            }
            let now = fs::metadata(&path)?.len();
            if now != length {
                (length, since) = (now, Instant::now());
            }
            if since.elapsed() > silence {
                // With all that it has started.
                Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status()?;
                child.wait()?;
                break End::Hang;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        Ok((end, String::from_utf8_lossy(&fs::read(&path)?).into_owned()))
    }
}

/// How a process ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum End {
    Code(i32),
    Signal,
    Hang,
}

/// After so many seconds without a word, the driver will not end.
const LONGEST_BUILD: u64 = 300;

/// The host, which `cargo pullback` builds for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The programs that a build's errors are about, each with its first error.
fn refusals(said: &str) -> Vec<(u64, String)> {
    let mut refused: Vec<(u64, String)> = Vec::new();
    let mut message = None;
    for line in said.lines() {
        if line.starts_with("error") {
            message = Some(line);
        }
        let (Some(text), Some(at)) = (message, line.find("src/p")) else { continue };
        let digits: String = line[at + 5..].chars().take_while(char::is_ascii_digit).collect();
        let Ok(seed) = digits.parse() else { continue };
        if !refused.iter().any(|(known, _)| *known == seed) {
            refused.push((seed, without_numbers(text)));
        }
        message = None;
    }
    refused
}

/// A message, so that the same about another program looks the same.
fn without_numbers(text: &str) -> String {
    let mut short = String::new();
    let mut quoted = false;
    for letter in text.chars() {
        match letter {
            '`' => {
                quoted = !quoted;
                short.push('`');
            }
            _ if quoted => {}
            '0'..='9' => {
                if !short.ends_with('#') {
                    short.push('#');
                }
            }
            _ => short.push(letter),
        }
    }
    short
}

fn write_if_new(path: &Path, text: &str) -> io::Result<()> {
    if fs::read_to_string(path).is_ok_and(|old| old == text) { Ok(()) } else { fs::write(path, text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_about_programs() {
        let said = "error: cannot differentiate `safe::p12::real::f`: no\n   --> src/p12.rs:8:14\n    |\n\
                    error[E0277]: it\n --> src/p345.rs:1:1\n";
        let expected = [(12, "error: cannot differentiate ``: no".to_owned()), (345, "error[E#]: it".to_owned())];
        assert_eq!(refusals(said), expected);
    }

    #[test]
    fn programs_are_the_same_for_good() {
        assert_eq!(program(7), program(7));
    }
}
