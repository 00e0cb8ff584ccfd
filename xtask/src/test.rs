//! `cargo xtask test`: everything that can be checked.

use crate::TaskResult;
use crate::driver::{self, Driver, cargo};

/// How much to run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// Everything.
    Full,
    /// Without the optimised end-to-end run.
    Quick,
}

/// Run the crates' own tests, then the end-to-end suite with the driver, at opt-level 0 and 3.
pub fn run(extent: Extent) -> TaskResult {
    driver::run(cargo(".", &["test", "--workspace"]))?;
    let driver = Driver::build()?;
    driver::run(driver.cargo_pullback("tests/e2e", &["test"]))?;
    if extent == Extent::Full {
        driver::run(driver.cargo_pullback("tests/e2e", &["test", "--release"]))?;
    }
    driver::run(driver.cargo_pullback("examples/quickstart", &["test"]))
}
