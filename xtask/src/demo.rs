//! `cargo xtask demo`: the quickstart, from nothing.

use crate::TaskResult;
use crate::driver::{self, Driver};

/// Build the driver; with it build and run the quickstart.
pub fn run() -> TaskResult {
    let driver = Driver::build()?;
    driver::run(driver.cargo_pullback("examples/quickstart", &["run", "--release"]))
}
