//! `cargo xtask bench`: what derivatives cost.

use crate::TaskResult;
use crate::driver::{self, Driver};

/// Build the driver; with it build and run the benchmarks, all or those with `name` in their name.
pub fn run(name: Option<&str>) -> TaskResult {
    let driver = Driver::build()?;
    let mut args = vec!["run", "--release", "--"];
    args.extend(name);
    driver::run(driver.cargo_pullback("bench", &args))
}
