//! Many batches of random safe programs, side by side, each in both profiles.

use super::build::{Fault, Outcome, Workshop};
use super::program::{FUNCTIONS, World};
use crate::jobs::side_by_side;
use crate::rng::program_seed;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// How the programs are checked.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many programs.
    pub programs: u64,
    /// The campaign's seed.
    pub seed: u64,
    /// The seeds of the worlds themselves, if they are given.
    pub worlds: Vec<u64>,
    /// How many programs in one crate.
    pub batch: usize,
    /// How many batches side by side.
    pub jobs: usize,
    /// The program `cargo-pullback`.
    pub driver: PathBuf,
    /// Where the crates are written, and what is found.
    pub directory: PathBuf,
}

/// Check programs in batches; `progress` is told after each batch.
pub fn run(options: &Options, progress: impl Fn(&Outcome) + Sync) -> io::Result<Outcome> {
    let seeds: Vec<u64> = if options.worlds.is_empty() {
        (0..options.programs.div_ceil(FUNCTIONS as u64)).map(|i| program_seed(options.seed, i)).collect()
    } else {
        options.worlds.clone()
    };
    let batches: Vec<&[u64]> = seeds.chunks((options.batch / FUNCTIONS).max(1)).collect();
    let whole = Mutex::new(Outcome::default());
    side_by_side(options.jobs, &batches, |job, batches| {
        let workshop = Workshop::new(&options.driver, &options.directory.join(job.to_string()))?;
        for batch in batches {
            let outcome = workshop.check(batch)?;
            outcome.faults.iter().try_for_each(|fault| keep(&options.directory, fault))?;
            let mut whole = whole.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
            whole.add(outcome);
            progress(&whole);
        }
        Ok(())
    })?;
    Ok(whole.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Write a program that is not as it should be to a file.
fn keep(directory: &Path, fault: &Fault) -> io::Result<()> {
    let seen: String = fault.text.lines().map(|line| format!("// {line}\n")).collect();
    let of = match fault.number {
        Some(number) => BTreeSet::from([number]),
        None => (0..FUNCTIONS).collect(),
    };
    let number = fault.number.map_or(String::new(), |number| format!("-f{number}"));
    let faults = directory.join("faults");
    fs::create_dir_all(&faults)?;
    let path = faults.join(format!("{}{number}-{}.rs", fault.seed, fault.profile.name()));
    fs::write(path, seen + &World::new(fault.seed).real(&of))
}
