//! Builds batches of random safe programs with `cargo pullback`, and runs them under valgrind.
//!
//! ```text
//! harness/    what programs and oracle share
//! programs/   the programs, which the driver builds
//! oracle/     the same with dual numbers, which cargo builds
//! ```
//!
//! A program that does not build is left out of its batch. Programs run one after the other in one process, each with
//! its number before and after it; where one brings the process down, the rest runs in another one.

use super::program::{FUNCTIONS, World};
use crate::process::{End, Ran, run};
use crate::rust::build::Profile;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A program: the seed of its world, and its number there.
pub type Program = (u64, usize);

/// A program that is not as it should be.
#[derive(Clone, PartialEq, Debug)]
pub struct Fault {
    /// Its world.
    pub seed: u64,
    /// Which of its programs, if that is known.
    pub number: Option<usize>,
    /// Where it is so.
    pub profile: Profile,
    /// What was seen.
    pub text: String,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Outcome {
    /// Programs that ran, in one profile each.
    pub ran: u64,
    /// Programs that are not as they should be.
    pub faults: Vec<Fault>,
    /// Programs that decide by memory that was never written only where LLVM has optimised them: the function, or the
    /// derivative that the engine has made. (It may take a decision early whose outcome is not used.)
    pub speculated: u64,
    /// Programs that rustc does not take, for whatever the generator did: no derivative is asked for.
    pub invalid: u64,
    /// Programs that do not build, by what is said.
    pub refused: BTreeMap<String, Vec<Program>>,
    /// Derivatives that panic where the function does not, by what they say.
    pub refused_at_run_time: BTreeMap<String, Vec<u64>>,
    /// Calls that returned, and were compared; that panicked like the function; that refused; that were too large to be
    /// compared.
    pub calls: [u64; 4],
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let refused: usize = self.refused.values().map(Vec::len).sum();
        let [values, panics, refusals, _] = self.calls;
        write!(
            f,
            "{} programs in both profiles: {} ran, {refused} did not build; \
             {values} calls returned, {panics} panicked as the function does, {refusals} refused; \
             {} invalid, {} speculated; {} faults",
            (self.ran + refused as u64) / 2,
            self.ran,
            self.invalid,
            self.speculated,
            self.faults.len()
        )
    }
}

impl Outcome {
    /// Both together.
    pub fn add(&mut self, other: Outcome) {
        self.ran += other.ran;
        self.invalid += other.invalid;
        self.speculated += other.speculated;
        self.faults.extend(other.faults);
        for (text, programs) in other.refused {
            self.refused.entry(text).or_default().extend(programs);
        }
        for (text, seeds) in other.refused_at_run_time {
            self.refused_at_run_time.entry(text).or_default().extend(seeds);
        }
        for (sum, count) in self.calls.iter_mut().zip(other.calls) {
            *sum += count;
        }
    }

    /// A program is not as it should be; what is seen of one is kept together.
    fn fault(&mut self, seed: u64, number: Option<usize>, profile: Profile, text: String) {
        let same = |fault: &&mut Fault| (fault.seed, fault.number, fault.profile) == (seed, number, profile);
        match self.faults.last_mut().filter(same) {
            Some(fault) => fault.text += &format!("\n{text}"),
            None => self.faults.push(Fault { seed, number, profile, text }),
        }
    }
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
const RUN_LIMIT: Duration = Duration::from_secs(300);

/// What valgrind is not to tell.
const SUPPRESSIONS: &str = "valgrind.supp";

/// What the oracle said, for the programs.
const SAID: &str = "oracle.txt";

impl Workshop {
    /// A directory with all but the programs.
    pub fn new(driver: &Path, directory: &Path) -> io::Result<Self> {
        let pullback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pullback");
        let package = |name: &str, dependencies: &str| {
            format!(
                "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
                 [dependencies]\n{dependencies}\n"
            )
        };
        let harness = "harness = { path = \"../harness\" }";
        // Nothing is built twice.
        let profile = "debug = \"line-tables-only\"\nincremental = false\n";
        let workspace = format!(
            "[workspace]\nmembers = [\"harness\", \"programs\", \"oracle\"]\nresolver = \"3\"\n\n\
             [profile.dev]\n{profile}\n[profile.release]\n{profile}"
        );
        let files = [
            ("Cargo.toml", workspace),
            ("harness/Cargo.toml", package("harness", "")),
            ("harness/src/lib.rs", include_str!("harness.rs.txt").to_owned()),
            (SUPPRESSIONS, include_str!("valgrind.supp.txt").to_owned()),
            ("programs/Cargo.toml", package("programs", &format!("{harness}\npullback = {{ path = {pullback:?} }}"))),
            ("oracle/Cargo.toml", package("oracle", harness)),
        ];
        for (path, text) in files {
            write_if_new(&directory.join(path), &text)?;
        }
        for main in ["programs/src/main.rs", "oracle/src/main.rs"] {
            write_if_new(&directory.join(main), "fn main() {}\n")?;
        }
        Ok(Workshop { driver: driver.to_owned(), directory: directory.to_owned() })
    }

    /// Build and run the programs of these worlds, in both profiles.
    pub fn check(&self, seeds: &[u64]) -> io::Result<Outcome> {
        let mut outcome = Outcome::default();
        let seeds = self.ask(seeds.iter().copied().collect(), &mut outcome)?;
        let all: BTreeSet<Program> = seeds.iter().flat_map(|seed| (0..FUNCTIONS).map(|k| (*seed, k))).collect();
        let outlived: BTreeSet<Program> =
            all.iter().copied().filter(|(seed, number)| World::new(*seed).is_outlived(*number)).collect();
        for profile in Profile::ALL {
            // What was refused in one profile will be refused in the other, mostly: apart, it does not stop the others.
            let refused: BTreeSet<Program> = outcome.refused.values().flatten().copied().collect();
            let refused = &refused - &outlived;
            self.attempt(&(&(&all - &refused) - &outlived), profile, &mut outcome)?;
            self.attempt(&refused, profile, &mut outcome)?;
            self.attempt(&outlived, profile, &mut outcome)?;
        }
        Ok(outcome)
    }

    /// Let the oracle speak. Worlds in which a program is not one that rustc takes are left out; the others are
    /// returned.
    fn ask(&self, mut seeds: BTreeSet<u64>, outcome: &mut Outcome) -> io::Result<BTreeSet<u64>> {
        loop {
            let modules: Vec<(u64, String)> = seeds.iter().map(|seed| (*seed, World::new(*seed).dual())).collect();
            self.write("oracle", &modules, "harness::tell(&[", "])")?;
            let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            command.args(["build", "--quiet", "--package", "oracle"]).env_remove("CARGO_TARGET_DIR");
            command.current_dir(&self.directory);
            let built = run(command, BUILD_LIMIT)?;
            if built.end == End::Code(0) {
                break;
            }
            let blamed = refusals(&built.error, &modules);
            if blamed.is_empty() {
                return Err(io::Error::other(format!("the oracle does not build\n{}", built.error)));
            }
            for ((seed, _), _) in blamed {
                outcome.invalid += if seeds.remove(&seed) { FUNCTIONS as u64 } else { 0 };
            }
        }
        let said = run(Command::new(self.directory.join("target/debug/oracle")), RUN_LIMIT)?;
        if said.end != End::Code(0) {
            return Err(io::Error::other(format!("the oracle has failed: {:?}\n{}", said.end, said.error)));
        }
        fs::write(self.directory.join(SAID), said.output)?;
        Ok(seeds)
    }

    /// Build as many of these programs as can be built, and run them.
    fn attempt(&self, programs: &BTreeSet<Program>, profile: Profile, outcome: &mut Outcome) -> io::Result<()> {
        let mut programs = programs.clone();
        while !programs.is_empty() {
            let mut worlds: BTreeMap<u64, BTreeSet<usize>> = BTreeMap::new();
            for (seed, number) in &programs {
                worlds.entry(*seed).or_default().insert(*number);
            }
            let modules: Vec<(u64, String)> =
                worlds.iter().map(|(seed, of)| (*seed, World::new(*seed).real(of))).collect();
            let built = self.build(&modules, profile)?;
            if built.end == End::Code(0) {
                return self.judge(profile, outcome);
            }
            let mut progress = false;
            for (program, error) in refusals(&built.error, &modules) {
                let headline = error.lines().next().unwrap_or_default();
                // Where it is not known which, they are all left out.
                let (seed, number) = program;
                let of: Vec<usize> = worlds.get(&seed).into_iter().flatten().copied().collect();
                for number in of.into_iter().filter(|k| number.is_none_or(|number| number == *k)) {
                    if !programs.remove(&(seed, number)) {
                        continue;
                    }
                    progress = true;
                    // What rustc does not take is a fault as well, of the generator or of the macros; but not where it
                    // must not.
                    let must_not = || headline.starts_with("error[E0597]") && World::new(seed).is_outlived(number);
                    if headline.contains("bug in Pullback") || headline.starts_with("error[") && !must_not() {
                        outcome.fault(seed, Some(number), profile, error.clone());
                    } else {
                        outcome.refused.entry(without_numbers(headline)).or_default().push((seed, number));
                    }
                }
            }
            if progress {
                continue;
            }
            // The driver died, or did not say of which program it speaks.
            if let (Some((seed, number)), 1) = (programs.first(), programs.len()) {
                // What the programs share may be what is refused.
                let refusal = built.error.lines().find(|line| line.starts_with("error: cannot differentiate"));
                if let Some(headline) = refusal.filter(|line| !line.contains("bug in Pullback")) {
                    outcome.refused.entry(without_numbers(headline)).or_default().push((*seed, *number));
                } else {
                    let text = format!("the build fails: {:?}\n{}", built.end, built.error);
                    outcome.fault(*seed, Some(*number), profile, text);
                }
                return Ok(());
            }
            let middle = *programs.iter().nth(programs.len() / 2).expect("there are several");
            let second = programs.split_off(&middle);
            self.attempt(&programs, profile, outcome)?;
            return self.attempt(&second, profile, outcome);
        }
        Ok(())
    }

    /// Build programs with derivatives.
    fn build(&self, modules: &[(u64, String)], profile: Profile) -> io::Result<Ran> {
        self.build_with(modules, profile, &[])
    }

    fn build_with(&self, modules: &[(u64, String)], profile: Profile, set: &[(&str, &str)]) -> io::Result<Ran> {
        self.write("programs", modules, "harness::run(&[", "], pullback::rt::release_spare)")?;
        let mut command = Command::new(&self.driver);
        command.args(["pullback", "build", "--quiet", "--package", "programs"]).env_remove("CARGO_TARGET_DIR");
        command.current_dir(&self.directory).envs(set.iter().copied());
        if profile == Profile::Release {
            command.arg("--release");
        }
        run(command, BUILD_LIMIT)
    }

    /// Run what was built. Where a decision depends on memory that was never written, the function alone has a second
    /// look.
    fn judge(&self, profile: Profile, outcome: &mut Outcome) -> io::Result<()> {
        let start = outcome.faults.len();
        self.run(profile, outcome)?;
        for fault in outcome.faults.split_off(start) {
            let is_speculated = match fault.number {
                Some(number) if decides_by_nothing(&fault.text) => {
                    self.is_speculated(fault.seed, number)? || self.is_made_so_by_llvm(fault.seed, number, profile)?
                }
                _ => false,
            };
            if is_speculated {
                outcome.speculated += 1;
            } else {
                outcome.faults.push(fault);
            }
        }
        Ok(())
    }

    /// Whether a function, without derivative, makes valgrind say that a decision depends on memory that was never
    /// written. It is safe code, so nothing comes of the decision. (Derivatives are optimised in all profiles.)
    fn is_speculated(&self, seed: u64, number: usize) -> io::Result<bool> {
        let profile = Profile::Release;
        let built = self.build(&[(seed, World::new(seed).primal(number))], profile)?;
        if built.end != End::Code(0) {
            return Err(io::Error::other(format!("the function alone does not build\n{}", built.error)));
        }
        let mut alone = Outcome::default();
        self.run(profile, &mut alone)?;
        Ok(alone.faults.iter().any(|fault| decides_by_nothing(&fault.text)))
    }

    /// Whether valgrind says so only of what LLVM makes of a derivative: of `pointer == null || length == 0` it may ask
    /// for the length first, which no `None` has, since both ways lead to one place. As the engine makes it, every
    /// decision is one of the program.
    fn is_made_so_by_llvm(&self, seed: u64, number: usize, profile: Profile) -> io::Result<bool> {
        let module = (seed, World::new(seed).real(&BTreeSet::from([number])));
        let built = self.build_with(&[module], profile, &[("PULLBACK_OPTIMISE", "0")])?;
        if built.end != End::Code(0) {
            return Err(io::Error::other(format!("the function alone does not build\n{}", built.error)));
        }
        let mut alone = Outcome::default();
        self.run(profile, &mut alone)?;
        Ok(alone.faults.is_empty())
    }

    /// Write the modules of a crate, and a `main` that calls them.
    fn write(&self, name: &str, modules: &[(u64, String)], before: &str, after: &str) -> io::Result<()> {
        let source = self.directory.join(name).join("src");
        for entry in fs::read_dir(&source)? {
            fs::remove_file(entry?.path())?;
        }
        let mut main = String::new();
        for (seed, text) in modules {
            fs::write(source.join(format!("p{seed}.rs")), text)?;
            main += &format!("mod p{seed};\n");
        }
        main += &format!("\nfn main() {{\n    {before}\n");
        for (seed, _) in modules {
            main += &format!("        ({seed}, p{seed}::PROGRAMS),\n");
        }
        fs::write(source.join("main.rs"), format!("{main}    {after};\n}}\n"))
    }

    fn run(&self, profile: Profile, outcome: &mut Outcome) -> io::Result<()> {
        let executable = self.directory.join("target/pullback").join(TARGET).join(profile.name()).join("programs");
        let mut first = 0;
        loop {
            let mut command = Command::new("valgrind");
            command.args(["--quiet", "--leak-check=no", "--exit-on-first-error=yes", "--error-exitcode=99"]);
            let suppressions = self.directory.join(SUPPRESSIONS);
            command.arg(format!("--suppressions={}", suppressions.display()));
            command.args(["--log-fd=1", "--num-callers=20"]).arg(&executable);
            command.arg(self.directory.join(SAID)).arg(first.to_string());
            let ran = run(command, RUN_LIMIT)?;
            let last = read(&ran.output, profile, outcome);
            if ran.end == End::Code(0) {
                return Ok(());
            }
            let Some((at, seed, number)) = last else {
                let text = format!("no program was run: {:?}\n{}{}", ran.end, ran.output, ran.error);
                return Err(io::Error::other(text));
            };
            let start = ran.output.find(&format!("BEGIN {at} ")).unwrap_or(0);
            let text = format!("{:?}\n{}{}", ran.end, &ran.output[start..], ran.error);
            outcome.fault(seed, Some(number), profile, text);
            outcome.ran += 1;
            first = at + 1;
        }
    }
}

/// Whether valgrind says of a program that a decision depends on memory that was never written, and nothing else.
fn decides_by_nothing(said: &str) -> bool {
    said.contains("Conditional jump or move depends on uninitialised value") && !said.contains("WRONG")
}

/// Read what programs say; the one that began and did not end is returned: its position, world and number.
fn read(said: &str, profile: Profile, outcome: &mut Outcome) -> Option<(usize, u64, usize)> {
    let mut running = None;
    let mut current = None;
    for line in said.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["BEGIN", at, seed, number] => {
                current = number.parse().ok();
                running = Some((at.parse().ok()?, seed.parse().ok()?, current?));
            }
            ["END", ..] => {
                running = None;
                outcome.ran += 1;
            }
            ["WRONG" | "LEAK", seed, ..] => {
                let Ok(seed) = seed.parse() else { continue };
                outcome.fault(seed, current, profile, line.to_owned());
            }
            ["REFUSED", seed, ref text @ ..] => {
                let Ok(seed) = seed.parse() else { continue };
                outcome.refused_at_run_time.entry(without_numbers(&text.join(" "))).or_default().push(seed);
            }
            ["COUNTS", ref counts @ ..] => {
                for (sum, count) in outcome.calls.iter_mut().zip(counts) {
                    *sum += count.parse().unwrap_or(0);
                }
            }
            _ => {}
        }
    }
    running
}

/// The host, which `cargo pullback` builds for.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The programs that a build's errors are about, where no number means all of a world; each with an error.
fn refusals(said: &str, modules: &[(u64, String)]) -> Vec<((u64, Option<usize>), String)> {
    let mut refused: Vec<((u64, Option<usize>), String)> = Vec::new();
    let errors = said
        .split("\nerror")
        .enumerate()
        .map(|(i, text)| if i == 0 { text.to_owned() } else { format!("error{text}") });
    for error in errors {
        let digits = |text: &str| -> String { text.chars().take_while(char::is_ascii_digit).collect() };
        // What is refused may stand in a function that several programs call; the closure is one program's.
        let closure = error.find("the closure is at ").map(|at| &error[at..]);
        let about = closure.unwrap_or(&error);
        let place = about.match_indices("src/p").find_map(|(at, start)| {
            let rest = &about[at + start.len()..];
            let seed = digits(rest);
            let line = digits(rest[seed.len()..].trim_start_matches(".rs:"));
            Some((seed.parse::<u64>().ok()?, line))
        });
        let Some((seed, line)) = place else { continue };
        let Some((_, text)) = modules.iter().find(|(other, _)| *other == seed) else { continue };
        let number = named(&error).filter(|_| closure.is_none()).or_else(|| around(text, line.parse().ok()?));
        if !refused.iter().any(|(known, _)| *known == (seed, number)) {
            refused.push(((seed, number), error));
        }
    }
    refused
}

/// The number of the program that an error names: as `f3`, or as what is inside of `form3`.
fn named(error: &str) -> Option<usize> {
    let quoted = error.split('`').skip(1).step_by(2);
    let mut parts = quoted.flat_map(|name| name.split("::"));
    parts.find_map(|part| part.strip_prefix("form").or_else(|| part.strip_prefix('f'))?.parse().ok())
}

/// The number of the program in whose text a line is.
fn around(text: &str, line: usize) -> Option<usize> {
    let above: Vec<&str> = text.lines().take(line).collect();
    let function = above.iter().rev().find_map(|line| line.strip_prefix("fn "))?;
    let number = function.strip_prefix("form").or_else(|| function.strip_prefix('f'))?;
    number[..number.find(['(', '<'])?].parse().ok()
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
    if fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        fs::create_dir_all(directory)?;
    }
    fs::write(path, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn errors_are_about_programs() {
        let modules = [
            (12, String::new()),
            (345, "fn f0() {\n}\nfn form0(\n{\n    grad(f0)\n}\nfn h5() {\n    it\n}\nfn form2(\n".to_owned()),
        ];
        let said = "error: cannot differentiate `f3`: no\n   --> harness/src/lib.rs:1:1\n = note: it is in \
                    core/src/ptr.rs, called from programs/src/p12.rs:8:14\n    |\n\
                    error: cannot differentiate a closure\n --> programs/src/p345.rs:5:1\n\
                    error: it\n --> programs/src/p345.rs:8:1\n\
                    error: cannot differentiate `a closure`: no\n   --> harness/src/lib.rs:1:1\n = note: by `f7`\n \
                    = note: the closure is at programs/src/p345.rs:10\n";
        let found: Vec<_> = refusals(said, &modules).into_iter().map(|(program, _)| program).collect();
        assert_eq!(found, [(12, Some(3)), (345, Some(0)), (345, None), (345, Some(2))]);
    }

    #[test]
    fn programs_are_the_same_for_good() {
        let text = || World::new(7).real(&(0..FUNCTIONS).collect());
        assert_eq!(text(), text());
    }

    /// What comes of a program of which valgrind says that it decides by memory that was never written. It says so
    /// neither of the function alone nor where a shell command succeeds.
    fn outcome(name: &str, is_quiet: &str, profile: Profile) -> Outcome {
        let name = format!("pullback-fuzz-{name}-{}-{}", profile.name(), std::process::id());
        let directory = std::env::temp_dir().join(name);
        let driver = directory.join("driver");
        let workshop = Workshop::new(&driver, &directory).unwrap();
        let script = format!(
            "#!/bin/sh
            said='echo \"Conditional jump or move depends on uninitialised value(s)\"; exit 99'
            if grep -q outcome programs/src/p12.rs || {is_quiet}; then said=; fi
            for profile in debug release; do
                to=target/pullback/{TARGET}/$profile
                mkdir -p $to
                printf '%s\\n' '#!/bin/sh' '[ $2 = 0 ] || exit 0' 'echo BEGIN 0 12 3' \"$said\" > $to/programs
                echo echo END 0 12 >> $to/programs
                chmod +x $to/programs
            done"
        );
        fs::write(&driver, script).unwrap();
        fs::set_permissions(&driver, fs::Permissions::from_mode(0o755)).unwrap();
        let mut outcome = Outcome::default();
        workshop.attempt(&BTreeSet::from([(12, 3)]), profile, &mut outcome).unwrap();
        fs::remove_dir_all(directory).unwrap();
        outcome
    }

    #[test]
    fn decisions_by_nothing_are_faults_of_derivatives_as_they_are_made() {
        if Command::new("valgrind").arg("--version").output().is_err() {
            return;
        }
        for profile in Profile::ALL {
            let by_llvm = outcome("by-llvm", "[ \"$PULLBACK_OPTIMISE\" = 0 ]", profile);
            assert_eq!((by_llvm.speculated, by_llvm.faults.len()), (1, 0), "{by_llvm:?}");
            let by_the_engine = outcome("by-the-engine", "false", profile);
            assert_eq!((by_the_engine.speculated, by_the_engine.faults.len()), (0, 1), "{by_the_engine:?}");
        }
    }
}
