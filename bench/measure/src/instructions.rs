//! How many instructions something takes, as callgrind counts them: the same in each run, however busy the machine is.
//!
//! A program calls [`counted`] for what is to be counted. Run as [`Callgrind::command`] says, it leaves a count for
//! each call, in order.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io, process};

/// Do something whose instructions are to be counted, where callgrind runs the program; elsewhere just do it.
pub fn counted<T>(work: impl FnOnce() -> T) -> T {
    let (mut work, mut made) = (Some(work), None);
    region(&mut || made = work.take().map(|work| work()));
    made.expect("the region runs its work")
}

/// What callgrind goes by: a function that is called and returns.
#[inline(never)]
fn region(work: &mut dyn FnMut()) {
    work();
    // Or the call before would be a jump.
    black_box(());
}

/// A run of callgrind, and the directory it writes its counts to.
pub struct Callgrind {
    directory: PathBuf,
}

impl Callgrind {
    /// In a directory of this process.
    pub fn new() -> io::Result<Self> {
        let directory = env::temp_dir().join(format!("pullback-instructions-{}", process::id()));
        fs::create_dir_all(&directory)?;
        Ok(Callgrind { directory })
    }

    /// Run `program` with a count for each call of [`counted`].
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new("valgrind");
        command
            .args(["--quiet", "--tool=callgrind", "--collect-atstart=no"])
            // Written in two ways: callgrind takes only the first of two options for the same pattern.
            .args(["--toggle-collect=*instructions::region*", "--dump-after=*measure::instructions::region*"])
            .arg(format!("--callgrind-out-file={}", self.directory.join("counts").display()))
            .arg(program);
        command
    }

    /// The counts of the calls up to now, in order.
    pub fn counts(&self) -> io::Result<Vec<u64>> {
        let mut counts = Vec::new();
        loop {
            // Callgrind numbers what it writes.
            let path = self.directory.join(format!("counts.{}", counts.len() + 1));
            if !path.exists() {
                return Ok(counts);
            }
            let written = fs::read_to_string(&path)?;
            let count = written.lines().find_map(|line| line.strip_prefix("totals: ")?.trim().parse().ok());
            counts.push(count.ok_or_else(|| io::Error::other(format!("`{}` has no count", path.display())))?);
        }
    }
}

impl Drop for Callgrind {
    fn drop(&mut self) {
        // Files that are left in the directory for temporary ones do no harm.
        let _ = fs::remove_dir_all(&self.directory);
    }
}

/// A line of the table that `cargo xtask bench --instructions` reads: counts of the value, if there is one, and of the
/// derivative.
pub fn line(name: &str, value: Option<u64>, derivative: u64) -> String {
    format!("{:<28} {:>14} {derivative:>14}", name.trim(), value.map_or("–".to_owned(), |value| value.to_string()))
}
