//! Builds and runs batches of programs, and finds out which of them is at fault when one does not build or crashes.

use super::batch;
use super::compare::{Oracle, Records, compare};
use super::program::Program;
use super::template::Side;
use crate::process::{End, Ran, run};
use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How programs are compiled.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Profile {
    /// Without optimisation.
    Debug,
    /// With it.
    Release,
}

impl Profile {
    /// Both.
    pub const ALL: [Profile; 2] = [Profile::Debug, Profile::Release];

    /// What cargo calls its directory.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Debug => "debug",
            Profile::Release => "release",
        }
    }
}

/// What kind of thing is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    /// A derivative is not that of the dual numbers.
    Wrong,
    /// A derivative returns another value than the primal, or leaves another one in an argument.
    Value,
    /// A derivative panics where the primal does not, or the other way round, or leaves shadows changed.
    Panic,
    /// The program is killed, or does not end.
    Crash,
    /// The driver fails, as it never should, or does not end.
    Driver,
    /// The driver says that it cannot differentiate the program.
    Refused,
    /// rustc does not compile the program: the fuzzer is wrong.
    Invalid,
}

/// What was seen of a program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finding {
    /// Which of the programs.
    pub program: usize,
    /// In which profile; none if it does not even compile.
    pub profile: Option<Profile>,
    /// What kind of thing is wrong.
    pub kind: Kind,
    /// What was said or seen.
    pub said: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = self.profile.map_or("both profiles", Profile::name);
        write!(f, "{:?}, {profile}: {}", self.kind, self.said.lines().next().unwrap_or(""))
    }
}

/// What came of a batch.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Outcome {
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// Points at which nothing could be compared.
    pub skipped: u64,
    /// Points at which the program panics.
    pub panics: u64,
}

/// Where and with what programs are built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workshop {
    /// The program `cargo-pullback`.
    driver: PathBuf,
    /// Where the crates are written.
    directory: PathBuf,
}

const BUILD_LIMIT: Duration = Duration::from_secs(900);
const RUN_LIMIT: Duration = Duration::from_secs(60);

impl Workshop {
    /// A directory with all but the programs.
    pub fn new(driver: &Path, directory: &Path) -> io::Result<Self> {
        let pullback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pullback");
        batch::prepare(directory, &pullback)?;
        Ok(Workshop { driver: driver.to_owned(), directory: directory.to_owned() })
    }

    /// Build and run programs in some profiles.
    pub fn check(&self, programs: &[Program], profiles: &[Profile]) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        let mut all: BTreeSet<usize> = (0..programs.len()).collect();
        let oracle = self.ask(programs, &mut all, &mut outcome)?;
        for profile in profiles {
            // What did not build in one profile will hardly build in the next: apart, it does not stop the others.
            let failed: BTreeSet<usize> = outcome.findings.iter().map(|finding| finding.program).collect();
            let (doubtful, others) = all.iter().partition(|program| failed.contains(program));
            self.attempt(programs, others, *profile, &oracle, &mut outcome)?;
            self.attempt(programs, doubtful, *profile, &oracle, &mut outcome)?;
        }
        Ok(outcome)
    }

    fn cargo(&self, side: Side, profile: Profile) -> Command {
        let mut command = match side {
            Side::Floats => Command::new(&self.driver),
            Side::Duals => Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())),
        };
        match side {
            Side::Floats => command.args(["pullback", "build", "--quiet", "--package", "fuzzed"]),
            Side::Duals => command.args(["build", "--quiet", "--package", "oracle"]),
        };
        if profile == Profile::Release {
            command.arg("--release");
        }
        command.current_dir(&self.directory).env_remove("CARGO_TARGET_DIR");
        command
    }

    /// What dual numbers say; programs that rustc does not compile are taken out.
    fn ask(&self, programs: &[Program], all: &mut BTreeSet<usize>, outcome: &mut Outcome) -> io::Result<Oracle> {
        loop {
            batch::write(&self.directory, programs, all, Side::Duals)?;
            let built = run(self.cargo(Side::Duals, Profile::Debug), BUILD_LIMIT)?;
            if built.end == End::Code(0) {
                break;
            }
            let blamed = blamed(&built.error, all);
            if blamed.is_empty() {
                return Err(io::Error::other(built.error));
            }
            for (program, said) in blamed {
                all.remove(&program);
                outcome.findings.push(Finding { program, profile: None, kind: Kind::Invalid, said });
            }
        }
        let ran = run(Command::new(self.directory.join("target/debug/oracle")), RUN_LIMIT)?;
        match ran.end {
            End::Code(0) => Ok(Oracle::read(&ran.output)),
            end => Err(io::Error::other(format!("the oracle has failed: {end:?}\n{}", ran.error))),
        }
    }

    /// Build and run some of the programs; those that do not build are found, and the others built without them.
    fn attempt(
        &self,
        programs: &[Program],
        mut of: BTreeSet<usize>,
        profile: Profile,
        oracle: &Oracle,
        outcome: &mut Outcome,
    ) -> io::Result<()> {
        while !of.is_empty() {
            batch::write(&self.directory, programs, &of, Side::Floats)?;
            let built = run(self.cargo(Side::Floats, profile), BUILD_LIMIT)?;
            if built.end == End::Code(0) {
                return self.run(programs, &of, profile, oracle, outcome);
            }
            let kind = failure(&built);
            let mut finding = |program, said: String| {
                let kind =
                    if kind == Kind::Refused && !said.contains("cannot differentiate") { Kind::Invalid } else { kind };
                outcome.findings.push(Finding { program, profile: Some(profile), kind, said });
            };
            let blamed = blamed(&built.error, &of);
            if let (Some(program), 1) = (of.first(), of.len()) {
                finding(*program, built.error.clone());
                return Ok(());
            }
            if blamed.is_empty() || built.end == End::Timeout {
                let mut rest = of.clone();
                let half = rest.split_off(of.iter().nth(of.len() / 2).expect("there are several"));
                self.attempt(programs, half, profile, oracle, outcome)?;
                return self.attempt(programs, rest, profile, oracle, outcome);
            }
            for (program, said) in blamed {
                of.remove(&program);
                finding(program, said);
            }
        }
        Ok(())
    }

    fn run(
        &self,
        programs: &[Program],
        of: &BTreeSet<usize>,
        profile: Profile,
        oracle: &Oracle,
        outcome: &mut Outcome,
    ) -> io::Result<()> {
        let executable = self.executable(profile)?;
        let mut crashed = BTreeSet::new();
        let mut records = Records::default();
        loop {
            let mut command = Command::new(&executable);
            command.args(crashed.iter().map(ToString::to_string));
            let ran = run(command, RUN_LIMIT)?;
            records.read(&ran.output);
            if ran.end == End::Code(0) {
                break;
            }
            let (program, form) = records.last.take().ok_or_else(|| io::Error::other(ran.error.clone()))?;
            let said = format!("{form}: {:?}: {}", ran.end, ran.error);
            outcome.findings.push(Finding { program, profile: Some(profile), kind: Kind::Crash, said });
            if !crashed.insert(program) {
                return Err(io::Error::other(format!("a program that was left out crashes: {}", ran.error)));
            }
        }
        for program in of.difference(&crashed) {
            let verdict = compare(*program, &programs[*program], &records, oracle);
            outcome.skipped += verdict.skipped;
            outcome.panics += verdict.panics;
            if let Some(first) = verdict.wrong.first() {
                let is = |words: &[&str]| words.iter().any(|word| first.contains(word));
                let kind = match () {
                    () if is(&["bits: "]) && verdict.wrong.iter().all(|said| said.contains("bits: ")) => Kind::Value,
                    () if is(&["panics", "after the panic"]) => Kind::Panic,
                    () => Kind::Wrong,
                };
                let said = verdict.wrong.iter().take(8).cloned().collect::<Vec<_>>().join("\n");
                outcome.findings.push(Finding { program: *program, profile: Some(profile), kind, said });
            }
        }
        Ok(())
    }

    /// The program that was built: below the target directory there is one directory for the target.
    fn executable(&self, profile: Profile) -> io::Result<PathBuf> {
        let target = self.directory.join("target/pullback");
        for entry in std::fs::read_dir(&target)? {
            let executable = entry?.path().join(profile.name()).join("fuzzed");
            if executable.is_file() {
                return Ok(executable);
            }
        }
        Err(io::Error::other(format!("there is no program below {}", target.display())))
    }
}

/// Why a build failed.
fn failure(built: &Ran) -> Kind {
    let text = &built.error;
    if built.end == End::Timeout
        || text.contains("bug in Pullback")
        || text.contains("signal: ")
        || text.contains("panicked")
    {
        Kind::Driver
    } else if text.contains("cannot differentiate") {
        Kind::Refused
    } else {
        Kind::Invalid
    }
}

/// The programs that an error text names, each with what is said of it.
fn blamed(text: &str, of: &BTreeSet<usize>) -> Vec<(usize, String)> {
    let mut errors: Vec<String> = Vec::new();
    for line in text.lines() {
        if line.starts_with("error") || errors.is_empty() {
            errors.push(String::new());
        }
        if let Some(last) = errors.last_mut() {
            *last += line;
            last.push('\n');
        }
    }
    let mut blamed: Vec<(usize, String)> = Vec::new();
    for error in errors {
        let names = error.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let number = |word: &str| {
            word.strip_prefix("f_").or_else(|| word.strip_prefix('p'))?.parse().ok().filter(|n| of.contains(n))
        };
        if let Some(program) = names.into_iter().find_map(number) {
            match blamed.iter_mut().find(|(other, _)| *other == program) {
                Some((_, said)) => *said += &error,
                None => blamed.push((program, error)),
            }
        }
    }
    blamed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_programs() {
        let text = "error: cannot differentiate `f_3`: no `f32`\n --> fuzzed/src/p3.rs:8:14\n\nerror: cannot \
                    differentiate a closure\n --> fuzzed/src/p12.rs:9:1\n\nerror: could not compile `fuzzed`\n";
        let found = blamed(text, &(0..20).collect());
        assert_eq!(found.iter().map(|(program, _)| *program).collect::<Vec<_>>(), [3, 12]);
        assert!(found[1].1.contains("p12.rs"));
        assert!(blamed(text, &(0..3).collect()).is_empty());
    }
}
