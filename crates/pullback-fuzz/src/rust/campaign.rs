//! Builds and runs batches of random Rust functions with `cargo pullback`.

use super::batch::{manifest, source};
use super::write::function;
use crate::rng::program_seed;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How the functions are checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many functions.
    pub programs: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// How many in one crate.
    pub batch: usize,
    /// The program `cargo-pullback`.
    pub driver: PathBuf,
    /// Where the crate is written.
    pub directory: PathBuf,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// How many functions were checked and are right.
    pub good: u64,
    /// How many points could not be compared, because a value was not finite.
    pub skipped: u64,
    /// Functions that are wrong: the seed, and what was seen.
    pub wrong: Vec<(u64, String)>,
    /// Functions that do not build: the seed, and what was said.
    pub refused: Vec<(u64, String)>,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (wrong, refused) = (self.wrong.len(), self.refused.len());
        write!(f, "{} good, {} points skipped, {wrong} wrong, {refused} refused", self.good, self.skipped)
    }
}

/// Check functions in batches, every other one in release mode; `progress` is told after each.
pub fn run(options: &Options, progress: impl Fn(&Report)) -> std::io::Result<Report> {
    let seeds: Vec<u64> = (0..options.programs).map(|i| program_seed(options.seed, i)).collect();
    std::fs::create_dir_all(options.directory.join("src"))?;
    let pullback = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pullback");
    std::fs::write(options.directory.join("Cargo.toml"), manifest(&pullback.to_string_lossy()))?;
    let mut report = Report::default();
    for (i, batch) in seeds.chunks(options.batch.max(1)).enumerate() {
        let profile: &[&str] = if i % 2 == 0 { &["--release"] } else { &[] };
        if !attempt(options, batch, profile, &mut report)? {
            // Which of them is it?
            for seed in batch {
                attempt(options, &[*seed], profile, &mut report)?;
            }
        }
        progress(&report);
    }
    Ok(report)
}

/// Build and run one crate; false if it holds several functions and does not build or does not end well.
fn attempt(options: &Options, seeds: &[u64], profile: &[&str], report: &mut Report) -> std::io::Result<bool> {
    std::fs::write(options.directory.join("src/main.rs"), source(seeds))?;
    let cargo = |word: &str| {
        Command::new(&options.driver)
            .args(["pullback", word, "--quiet"])
            .args(profile)
            .current_dir(&options.directory)
            .output()
    };
    let built = cargo("build")?;
    if !built.status.success() {
        if let [seed] = seeds {
            report.refused.push((*seed, String::from_utf8_lossy(&built.stderr).into_owned()));
        }
        return Ok(seeds.len() == 1);
    }
    let ran = cargo("run")?;
    if !matches!(ran.status.code(), Some(0 | 101)) || !String::from_utf8_lossy(&ran.stderr).is_empty() {
        if let [seed] = seeds {
            let said = format!("{}: {}", ran.status, String::from_utf8_lossy(&ran.stderr));
            report.wrong.push((*seed, said));
        }
        return Ok(seeds.len() == 1);
    }
    for line in String::from_utf8_lossy(&ran.stdout).lines() {
        let seed = line.split_whitespace().nth(1).and_then(|word| word.parse().ok()).unwrap_or(0);
        match line.split_whitespace().next() {
            Some("GOOD") => report.good += 1,
            Some("SKIP") => report.skipped += 1,
            _ => report.wrong.push((seed, line.to_owned())),
        }
    }
    Ok(true)
}

/// A function's source, for a message.
pub fn describe(seed: u64) -> String {
    function(seed, &format!("f_{seed}"))
}
