//! Many batches of random programs, side by side, each in both profiles.

use super::build::{Finding, Kind, Profile, Workshop};
use super::program::Program;
use super::shrink::{headline, shrink};
use super::template::Side;
use crate::jobs::side_by_side;
use crate::rng::program_seed;
use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Mutex;

/// How programs are checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many programs.
    pub programs: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// How many in one crate.
    pub batch: usize,
    /// How many batches side by side.
    pub jobs: usize,
    /// The program `cargo-pullback`.
    pub driver: PathBuf,
    /// Where the crates are written.
    pub directory: PathBuf,
}

/// What was found.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Report {
    /// How many programs were checked, in both profiles.
    pub checked: u64,
    /// At how many points nothing could be compared: the last bit of a value decided on the way that was taken.
    pub skipped: u64,
    /// At how many points a program panicked, as it should.
    pub panics: u64,
    /// What is wrong: the program's seed, and what was seen.
    pub findings: Vec<(u64, Finding)>,
}

impl Report {
    /// How many programs have a finding of this kind.
    fn count(&self, kind: Kind) -> usize {
        let mut seeds: Vec<u64> = self.findings.iter().filter(|(_, f)| f.kind == kind).map(|(seed, _)| *seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        seeds.len()
    }

    /// The messages of refusals: how many programs there are, in which profiles, and one of them.
    pub fn refusals(&self) -> Vec<String> {
        let mut by_message: BTreeMap<String, BTreeMap<u64, Vec<Profile>>> = BTreeMap::new();
        for (seed, finding) in self.findings.iter().filter(|(_, finding)| finding.kind == Kind::Refused) {
            let programs = by_message.entry(headline(&finding.said)).or_default();
            programs.entry(*seed).or_default().extend(finding.profile);
        }
        let line = |(message, programs): (&String, &BTreeMap<u64, Vec<Profile>>)| {
            let one = programs.values().filter(|profiles| profiles.len() == 1).count();
            let seed = programs.keys().next().copied().unwrap_or(0);
            format!("{:>4} refused ({one} in one profile only): {message} (seed {seed})", programs.len())
        };
        by_message.iter().map(line).collect()
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [wrong, value, panic, crash, driver, refused, invalid] =
            [Kind::Wrong, Kind::Value, Kind::Panic, Kind::Crash, Kind::Driver, Kind::Refused, Kind::Invalid]
                .map(|kind| self.count(kind));
        write!(
            f,
            "{} programs: {wrong} wrong, {value} with other values, {panic} with other panics, {crash} crashed, \
             {driver} failures of the driver, {refused} refused, {invalid} invalid; {} points with panics, {} skipped",
            self.checked, self.panics, self.skipped
        )
    }
}

/// Check programs in batches; `progress` is told after each how it went so far, and what is new.
pub fn run(options: &Options, progress: impl Fn(&Report, &[(u64, Finding)]) + Sync) -> io::Result<Report> {
    let seeds: Vec<u64> = (0..options.programs).map(|i| program_seed(options.seed, i)).collect();
    let batches: Vec<&[u64]> = seeds.chunks(options.batch.max(1)).collect();
    let report = Mutex::new(Report::default());
    side_by_side(options.jobs, &batches, |job, batches| {
        let workshop = workshop(options, job)?;
        for batch in batches {
            let programs: Vec<Program> = batch.iter().map(|seed| Program::new(*seed)).collect();
            let outcome = workshop.check(&programs, &Profile::ALL)?;
            let mut report = report.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            report.checked += batch.len() as u64;
            report.skipped += outcome.skipped;
            report.panics += outcome.panics;
            let before = report.findings.len();
            report.findings.extend(outcome.findings.into_iter().map(|finding| (batch[finding.program], finding)));
            progress(&report, &report.findings[before..]);
        }
        Ok(())
    })?;
    let mut report = report.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    report.findings.sort_by_key(|(seed, finding)| (finding.kind, *seed, finding.profile));
    Ok(report)
}

fn workshop(options: &Options, job: usize) -> io::Result<Workshop> {
    Workshop::new(&options.driver, &options.directory.join(job.to_string()))
}

/// Check the program of one seed.
pub fn check(options: &Options, seed: u64) -> io::Result<Report> {
    let outcome = workshop(options, 0)?.check(&[Program::new(seed)], &Profile::ALL)?;
    Ok(Report {
        checked: 1,
        skipped: outcome.skipped,
        panics: outcome.panics,
        findings: outcome.findings.into_iter().map(|finding| (seed, finding)).collect(),
    })
}

/// Whether programs are made small before they are shown.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Detail {
    /// As they are.
    Whole,
    /// Made small.
    Small,
}

/// What is wrong with a program, its source, and how to see it again.
pub fn explain(options: &Options, seed: u64, finding: &Finding, detail: Detail) -> io::Result<String> {
    let whole = Program::new(seed);
    let (program, said) = match detail {
        Detail::Whole => (whole, finding.said.clone()),
        Detail::Small => shrink(&workshop(options, 0)?, &whole, finding)?,
    };
    let (kind, profile) = (finding.kind, finding.profile);
    Ok(format!(
        "── {kind:?}, {profile:?}, seed {seed}; again: cargo xtask fuzz --rust 1 --show {seed}\n{said}\n{}",
        program.module(0, Side::Floats)
    ))
}
