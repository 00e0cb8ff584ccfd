//! `cargo xtask bench --instructions`: how many instructions derivatives take, and whether that has grown.
//!
//! The benchmarks and our tool for GradBench run under callgrind, so that a busy machine changes nothing. With the same
//! of another checkout, one of an earlier commit, a derivative that takes more than [`MOST`] times what it took there
//! is a failure. (A commit from before this task gets the `bench` of this one.)
//!
//! ```text
//! function                              before            now   ratio
//! dot                                  7500042        7500042   1.000
//! ```

use crate::driver::{self, Driver, Stream, root};
use crate::{TaskResult, valgrind};
use std::path::Path;

/// What a derivative may take of what it took before.
const MOST: f64 = 1.03;

/// A derivative's name and its instructions.
type Count = (String, u64);

/// Count in this checkout and, if there is one, in the checkout `base`; compare.
pub fn run(base: Option<&str>) -> TaskResult {
    if !valgrind::is_there() {
        return Err("valgrind is not installed".to_owned());
    }
    let before = base.map(|base| counts(Path::new(base))).transpose()?;
    let now = counts(root())?;
    let Some(before) = before else { return Ok(()) };
    println!("\n{:<28} {:>14} {:>14} {:>7}", "function", "before", "now", "ratio");
    let mut grown = Vec::new();
    for (name, now) in now {
        let Some((_, before)) = before.iter().find(|before| before.0 == name) else {
            println!("{name:<28} {:>14} {now:>14}", "–");
            continue;
        };
        let ratio = now as f64 / *before as f64;
        println!("{name:<28} {before:>14} {now:>14} {ratio:>7.3}");
        if ratio > MOST {
            grown.push(name);
        }
    }
    if grown.is_empty() { Ok(()) } else { Err(format!("more than {MOST} times what it was: {}", grown.join(", "))) }
}

/// Build the driver of a checkout and count with it.
fn counts(checkout: &Path) -> Result<Vec<Count>, String> {
    let driver = Driver::build_in(checkout)?;
    let mut counts = Vec::new();
    let mut hear = |line: &str| counts.extend(count(line));
    let bench = driver.cargo_pullback("bench", &["run", "--release", "--", "--instructions"]);
    driver::run_heard(bench, Stream::Output, &mut hear)?;
    // For any processor: callgrind does not know all instructions of the newest.
    driver::run(driver.cargo_pullback("bench/gradbench", &["build", "--release"]))?;
    let harness = ["run", "--release", "--bin", "harness", "--", "instructions"];
    driver::run_heard(driver.cargo_pullback("bench/gradbench", &harness), Stream::Output, &mut hear)?;
    if counts.is_empty() { Err(format!("nothing was counted in `{}`", checkout.display())) } else { Ok(counts) }
}

/// A line of either program: a name, which may have spaces, the count of the value and that of the derivative.
fn count(line: &str) -> Option<Count> {
    let (rest, derivative) = line.trim_end().rsplit_once(' ')?;
    let (name, _value) = rest.trim_end().rsplit_once(' ')?;
    Some((name.trim().to_owned(), derivative.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn a_name_may_have_spaces() {
        assert_eq!(count("sum of squares       100      250"), Some(("sum of squares".to_owned(), 250)));
        assert_eq!(count("gradbench saddle rr    –      250"), Some(("gradbench saddle rr".to_owned(), 250)));
        assert_eq!(count("   Compiling something"), None);
    }
}
