//! Crates of many programs: one with floats, which the driver builds, and one with dual numbers, which cargo builds.
//!
//! ```text
//! floats/   what programs with floats need
//! dual/     dual numbers
//! fuzzed/   the programs, and a `main` that runs them and their derivatives
//! oracle/   the same programs, and a `main` that prints their exact derivatives
//! ```

use super::program::{POINTS, Program};
use super::template::{Precision, Side, render};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Write the crates around the programs; `pullback` is the crate that users depend on.
pub fn prepare(directory: &Path, pullback: &Path) -> io::Result<()> {
    let package = |name: &str, dependencies: &str| {
        format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n\
             [dependencies]\n{dependencies}\n"
        )
    };
    let workspace = "[workspace]\nmembers = [\"floats\", \"dual\", \"fuzzed\", \"oracle\"]\nresolver = \"3\"\n\n\
                     [profile.dev]\ndebug = \"line-tables-only\"\n";
    let pullback =
        format!("floats = {{ path = \"../floats\" }}\npullback = {{ path = {:?} }}", pullback.to_string_lossy());
    let numbers = format!("#[allow(dead_code)]\nmod numbers {{\n{STREAM}}}\n\n{DATA}");
    let files = [
        ("Cargo.toml", workspace.to_owned()),
        ("floats/Cargo.toml", package("floats", "")),
        ("floats/src/lib.rs", format!("{FLOATS}\n{numbers}")),
        ("dual/Cargo.toml", package("dual", "")),
        ("dual/src/lib.rs", format!("{DUAL}\n{numbers}")),
        ("fuzzed/Cargo.toml", package("fuzzed", &pullback)),
        ("oracle/Cargo.toml", package("oracle", "dual = { path = \"../dual\" }")),
    ];
    for (path, text) in files {
        write_if_other(&directory.join(path), &text)?;
    }
    for side in [Side::Floats, Side::Duals] {
        write(directory, &[], &BTreeSet::new(), side)?;
    }
    Ok(())
}

/// Write the programs; `of` says which of them, by number.
pub fn write(directory: &Path, programs: &[Program], of: &BTreeSet<usize>, side: Side) -> io::Result<()> {
    let name = if side == Side::Floats { "fuzzed" } else { "oracle" };
    let source = directory.join(name).join("src");
    for number in of {
        write_if_other(&source.join(format!("p{number}.rs")), &programs[*number].module(*number, side))?;
    }
    write_if_other(&source.join("main.rs"), &main(programs, of, side))
}

fn main(programs: &[Program], of: &BTreeSet<usize>, side: Side) -> String {
    let mut text = String::from("#![allow(warnings)]\n\n");
    for precision in [Precision::Single, Precision::Double] {
        let (module, float) = (precision.module(), precision.float());
        text += &match side {
            Side::Floats => {
                format!("mod {module} {{\nuse floats::*;\nuse pullback::Differentiable;\npub type F = {float};\n")
            }
            Side::Duals => format!(
                "mod {module} {{\nuse dual::*;\npub type F = Dual<{float}>;\n\
                 pub trait AsFloat {{ fn as_float(self) -> F; }}\n\
                 impl AsFloat for usize {{ fn as_float(self) -> F {{ F::from(self) }} }}\n"
            ),
        };
        text += &render(TYPES, side, precision);
        text += "}\n\n";
    }
    for number in of {
        text += &format!("mod p{number};\n");
    }
    match side {
        Side::Floats => {
            // Those that are named are left out: what has crashed is not run again.
            text += "\nfn main() {\n    std::panic::set_hook(Box::new(|_| {}));\n    \
                     let skip: Vec<usize> = std::env::args().skip(1).map(|word| word.parse().unwrap()).collect();\n    \
                     let run = |program: usize, seed: u64, check: fn(&floats::Session)| {\n        \
                     if !skip.contains(&program) {\n            ";
            text += &format!(
                "for point in 0..{POINTS} {{ check(&floats::Session {{ program, seed, point }}); \
                 }}\n        }}\n    }};\n"
            );
            for number in of {
                text += &format!("    run({number}, {}, p{number}::check);\n", programs[*number].seed);
            }
        }
        Side::Duals => {
            text += "\nfn main() {\n    std::panic::set_hook(Box::new(|_| {}));\n";
            for number in of {
                let (seed, inputs) = (programs[*number].seed, programs[*number].signature.inputs());
                text += &format!("    dual::tell({number}, {seed}, {POINTS}, {inputs}, p{number}::run);\n");
            }
        }
    }
    text + "}\n"
}

/// Write a file, unless it is there with the same content: cargo looks at its time.
fn write_if_other(path: &Path, text: &str) -> io::Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    if let Some(directory) = path.parent() {
        std::fs::create_dir_all(directory)?;
    }
    std::fs::write(path, text)
}

const STREAM: &str = include_str!("support/stream.rs");
const DATA: &str = include_str!("support/data.rs");
const FLOATS: &str = include_str!("support/floats.rs");
const DUAL: &str = include_str!("support/dual.rs");
const TYPES: &str = include_str!("support/types.rs");
