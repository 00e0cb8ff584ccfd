//! Small derivatives are inlined in their callers: their symbols are gone from the program.

mod support;

use object::{Object, ObjectSymbol};
use support::Project;

const MANIFEST: &str = "\
[package]
name = \"inlined\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
PULLBACK

[profile.parts]
inherits = \"release\"
codegen-units = 16
";

/// Two derivatives by attributes, one of them called twice, and one of a closure in each of two modules.
const MAIN: &str = "\
use pullback::autodiff;

mod one {
    #[inline(never)]
    pub fn slope(x: f64) -> f64 {
        pullback::jvp(|x: &f64| x * x * x, &x, &1.0).1
    }
}

mod two {
    #[inline(never)]
    pub fn slope(x: f64) -> f64 {
        pullback::grad(|x: &f64| 1.0 / x, &x)
    }
}

#[autodiff(d_area, Reverse, Active, Active, Active)]
fn area(x: f64, y: f64) -> f64 {
    x * x * y
}

#[autodiff(d_length, Forward, Dual, Dual, Dual)]
fn length(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

fn main() {
    let n = std::env::args().count() as f64;
    println!(\"{:?} {:?}\", d_area(3.0 * n, 2.0), d_area(n, n));
    println!(\"{:?}\", d_length(3.0 * n, 1.0, 4.0 * n, 0.0));
    println!(\"{} {}\", one::slope(2.0 * n), two::slope(2.0 * n));
}
";

const ANSWERS: &str = "(12.0, 9.0, 18.0) (2.0, 1.0, 1.0)\n(5.0, 0.6000000000000001)\n12 -0.25\n";

/// The derivatives that are functions of their own in the program that `cargo pullback build <arguments>` makes.
fn derivatives(arguments: &str, profile: &str, variables: &[(&str, &str)]) -> Vec<String> {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    let run = project.cargo_with(&format!("pullback run {arguments}"), variables);
    assert_eq!(run.stdout(), ANSWERS, "{arguments}");
    let target = project.target().join("pullback");
    let host = std::fs::read_dir(target).unwrap().map(|entry| entry.unwrap().path().join(profile).join("inlined"));
    let program = host.into_iter().find(|path| path.exists()).expect("the program");
    let bytes = std::fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let names: Vec<String> = file.symbols().filter_map(|s| Some(s.name().ok()?.to_owned())).collect();
    assert!(names.iter().any(|name| name.contains("slope")), "the program has no symbols: nothing can be seen");
    names.into_iter().filter(|n| n.starts_with("__pullback_forward") || n.starts_with("__pullback_reverse")).collect()
}

#[test]
fn in_release() {
    assert_eq!(derivatives("--release", "release", &[]), [""; 0]);
}

/// For a linker that reads no bitcode they join their caller just the same.
#[test]
fn without_lld() {
    let flags = [("RUSTFLAGS", "-Clink-arg=-fuse-ld=bfd")];
    assert_eq!(derivatives("--release", "release", &flags), [""; 0]);
}

/// Where several modules ask, the derivatives are a module of their own, from which the linker takes them.
#[test]
fn of_several_modules() {
    assert_eq!(derivatives("--profile parts", "parts", &[]), [""; 0]);
}

/// Without optimisation they are functions, as all others are.
#[test]
fn in_debug() {
    assert_eq!(derivatives("", "debug", &[]).len(), 4);
}

/// Where they are to stay as they are made, no linker and no caller makes anything of them.
#[test]
fn in_release_as_they_are_made() {
    let left = [("PULLBACK_OPTIMISE", "0")];
    assert_eq!(derivatives("--release", "release", &left).len(), 4);
    assert_eq!(derivatives("--profile parts", "parts", &left).len(), 4);
    let flags = [("RUSTFLAGS", "-Clink-arg=-fuse-ld=bfd"), left[0]];
    assert_eq!(derivatives("--release", "release", &flags).len(), 4);
}
