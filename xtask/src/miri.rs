//! `cargo xtask miri`: what runs beside derivatives keeps Rust's rules.
//!
//! Miri interprets the run-time support and what the macros expand to, and looks at each access of memory: whether it
//! is in bounds, of what is still there and initialised, and allowed by Stacked Borrows and by Tree Borrows, both of
//! which are stricter than what rustc's optimiser relies on today. Derivatives are made by the driver, which Miri knows
//! nothing of: functions written by hand stand in for them (`crates/pullback/tests/expanded/`).

use crate::TaskResult;
use crate::driver::{self, root};
use std::process::{Command, Stdio};

/// The toolchain that has Miri, as rustup knows it, and as cargo is told.
const TOOLCHAIN: &str = "nightly";
const BY_TOOLCHAIN: &str = "+nightly";

/// What Miri is told: floats are as exact as on the processor, since some tests compare them by bits.
const FLAGS: &str = "-Zmiri-deterministic-floats";

/// Add Miri, if it is not there, and run the tests.
pub fn run() -> TaskResult {
    add()?;
    let failures: Vec<String> = commands().into_iter().filter_map(|(_, command)| driver::run(command).err()).collect();
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\nerror: ")) }
}

/// See to it that there is a toolchain with Miri, by rustup if need be.
pub fn add() -> TaskResult {
    let quietly = |program: &str, args: &[&str]| {
        let status = Command::new(program).args(args).stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    };
    let components = ["--component", "miri", "--component", "rust-src"];
    let install = ["toolchain", "install", TOOLCHAIN, "--profile", "minimal", "--no-self-update"];
    // The first does nothing if both are there.
    let is_there = quietly("rustup", &["component", "add", "--toolchain", TOOLCHAIN, "miri", "rust-src"])
        || quietly("rustup", &[&install[..], &components].concat())
        || quietly("cargo", &[BY_TOOLCHAIN, "miri", "--version"]);
    if is_there {
        Ok(())
    } else {
        Err("there is no nightly toolchain with Miri, and rustup adds none: \
            `rustup toolchain install nightly --component miri --component rust-src`"
            .to_owned())
    }
}

/// What runs under Miri, and what it is called.
pub fn commands() -> [(&'static str, Command); 4] {
    [
        ("the run-time support, under Miri", support(Model::StackedBorrows)),
        ("what macros expand to, under Miri", expanded(Model::StackedBorrows)),
        ("the same, by Tree Borrows", support(Model::TreeBorrows)),
        ("the same, by Tree Borrows", expanded(Model::TreeBorrows)),
    ]
}

/// Which rules of references Miri knows. Neither allows all that the other does.
#[derive(Clone, Copy)]
enum Model {
    StackedBorrows,
    TreeBorrows,
}

fn support(model: Model) -> Command {
    let packages = ["--package", "pullback-abi", "--package", "pullback", "--features", "pullback/ndarray"];
    let mut command = miri(model, &packages);
    command.args(["--lib", "--test", "rules"]).env_remove("RUSTFLAGS");
    command
}

fn expanded(model: Model) -> Command {
    let mut command = miri(model, &["--package", "pullback", "--test", "expanded"]);
    // As the driver passes it. Without it no derivative is built.
    command.env("RUSTFLAGS", "--cfg pullback");
    command
}

fn miri(model: Model, args: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(root()).args([BY_TOOLCHAIN, "miri", "test", "--no-fail-fast"]).args(args);
    // (To print the way to a panic, of which the tests have many, takes Miri seconds.)
    command.env("RUST_BACKTRACE", "0").env_remove("CARGO_ENCODED_RUSTFLAGS");
    command.env(
        "MIRIFLAGS",
        match model {
            Model::StackedBorrows => FLAGS.to_owned(),
            Model::TreeBorrows => format!("{FLAGS} -Zmiri-tree-borrows"),
        },
    );
    command
}
