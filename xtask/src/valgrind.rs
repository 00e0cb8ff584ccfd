//! `cargo xtask valgrind`: derivatives neither touch memory that is not theirs nor lose any.
//!
//! Runs tests that allocate, free, move and refuse, optimised, under valgrind: an invalid access, a decision that
//! depends on uninitialised memory or a block that nobody points to any more is a failure.

use crate::TaskResult;
use crate::driver::{self, Driver};
use std::process::{Command, Stdio};

/// The end-to-end tests that do most with memory.
const TESTS: [&str; 31] = [
    "shadow_misuse",
    "shadows",
    "mutation",
    "cells",
    "shadows_after_panics",
    "exchanged_pointers",
    "by_value",
    "skipped_fields",
    "tangents",
    "vec_box_option",
    "lists_and_trees",
    "recursion",
    "joint_loops",
    "joint_calls",
    "enums",
    "enum_shadows",
    "owned_results",
    "queues",
    "ref_cells",
    "changing_variants",
    "unseen_moves",
    "slices_and_memory",
    "types_of_other_crates",
    "unwinding",
    "unwinding_algorithms",
    "custom_rules_memory",
    "functional",
    "rules_unseen",
    "second_order",
    "second_order_attributes",
    "second_order_rules",
];

/// How cargo is told to run tests under valgrind. Memory that is still reachable at the end is the test runner's.
const RUNNER: &str = "target.'cfg(unix)'.runner = 'valgrind --quiet --error-exitcode=99 --leak-check=full \
    --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect'";

/// Build the driver and run the tests, if there is a valgrind.
pub fn run() -> TaskResult {
    if !is_there() {
        return Err("valgrind is not installed".to_owned());
    }
    driver::run(command(&Driver::build()?))
}

/// Whether valgrind can be started.
pub fn is_there() -> bool {
    let quiet = Command::new("valgrind").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// The command that runs the tests under valgrind.
pub fn command(driver: &Driver) -> Command {
    let mut args = vec!["test", "--release", "--no-fail-fast", "--config", RUNNER];
    args.extend(TESTS.iter().flat_map(|test| ["--test", test]));
    args.extend(["--", "--test-threads=1"]);
    driver.cargo_pullback("tests/e2e", &args)
}
