//! `cargo pullback`, the subcommand and link driver of Pullback.
//!
//! One executable with four faces; which one is shown depends on the file name it was started as.
//!
//! # Who calls whom
//!
//! ```text
//! cargo pullback run                 the user
//!   └─ cargo-pullback                face 1, `cargo.rs`: chooses target and target directory, makes the other faces
//!        └─ cargo run                with RUSTC_WRAPPER=pullback-rustc and RUSTDOC=pullback-rustdoc
//!             ├─ pullback-rustc       face 2, `rustc.rs`: adds the flags that make rustc leave bitcode to the linker
//!             │    └─ rustc
//!             │         └─ pullback-linker   face 4, `link/`: watches
//!             │              └─ pullback-linker    differentiates, then
//!             │                   └─ cc      (or the user's own linker) links
//!             └─ pullback-rustdoc     face 3, `rustdoc.rs`: the same flags for documentation tests
//!                  └─ rustdoc ─▶ rustc ─▶ pullback-linker ─▶ cc
//! ```
//!
//! Faces 2 to 4 are links to this executable in `<target directory>/.driver-<hash>/`. What one face tells another
//! travels in the environment; the variables are listed in [`mod@env`].
//!
//! Errors of the link driver go back to face 2 in a file (see [`report`]), because what a linker prints is shown by
//! rustc only inside a wall of arguments. Face 2 shows them as diagnostics like rustc's own, and drops the wall.

mod cargo;
mod codegen_flags;
mod config;
mod dep_info;
mod diagnostics;
mod env;
mod link;
mod process;
mod report;
mod rustc;
mod rustdoc;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

/// The link driver's file name. Rustc guesses a linker's command-line dialect from its name: this one must not end in
/// `-ld` or `link`, or rustc would speak to it as to a bare linker and not as to a C compiler.
const LINKER_FACE: &str = "pullback-linker";
/// The compiler wrapper's file name.
const RUSTC_FACE: &str = "pullback-rustc";
/// The documentation tool wrapper's file name.
const RUSTDOC_FACE: &str = "pullback-rustdoc";

fn main() -> ExitCode {
    let mut args = std::env::args_os();
    let started_as = args.next().unwrap_or_default();
    let args: Vec<OsString> = args.collect();
    let face = Path::new(&started_as).file_stem().unwrap_or_default();
    let result = match face.to_str() {
        Some(RUSTC_FACE) => rustc::run(args),
        Some(RUSTDOC_FACE) => rustdoc::run(args),
        Some(LINKER_FACE) => link::run(args),
        _ => cargo::run(args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
