//! What a rule costs, seen in the code that is made of it.

mod support;

use support::Project;

const MANIFEST: &str = r#"
[package]
name = "app"
version = "0.1.0"
edition = "2024"

[dependencies]
PULLBACK
"#;

/// `sine` computes the cosine with it, and keeps that: a derivative needs no second trigonometric function, and not
/// `x`.
const MAIN: &str = r#"
use pullback::{autodiff, rrule};

fn sine(x: f64) -> f64 {
    x.sin()
}

#[rrule(for = sine)]
fn sine_rrule(x: f64) -> (f64, impl FnOnce(f64) -> f64) {
    let (sin, cos) = x.sin_cos();
    (sin, move |dy| dy * cos)
}

#[autodiff(d_once, Reverse, Active, Active)]
fn once(x: f64) -> f64 {
    sine(x)
}

#[autodiff(d_often, Reverse, Active, Const, Active)]
fn often(x: f64, n: usize) -> f64 {
    let mut y = x;
    for _ in 0..n {
        y = sine(y);
    }
    y
}

fn main() {
    println!("{:?}", d_once(0.0));
    println!("{:?}", d_often(0.0, 5));
}
"#;

/// What is in the derivatives' IR after the optimiser, by the name of the primal.
fn derivative<'t>(text: &'t str, name: &str) -> &'t str {
    let functions = text.split("\ndefine ").skip(1).map(|f| f.split("\n}").next().unwrap());
    let start = format!("@__pullback_reverse_{name}.");
    functions.into_iter().find(|f| f.contains(&start)).unwrap_or_else(|| panic!("no derivative of {name}"))
}

#[test]
fn the_closure_is_the_tape() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    for arguments in ["pullback run", "pullback run --release"] {
        let saved = tempfile::tempdir().unwrap();
        let run = project.cargo_with(arguments, &[("PULLBACK_SAVE", saved.path().to_str().unwrap())]);
        assert_eq!(run.stdout(), "(1.0, 0.0)\n(1.0, 0.0)\n");
        let files = std::fs::read_dir(saved.path()).unwrap().map(|file| file.unwrap().path());
        let files = files.filter(|path| path.to_string_lossy().ends_with(".derivative.ll"));
        let text: String = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
        let calls =
            |name: &str, function: &str| derivative(&text, name).matches(&format!("@llvm.{function}.f64(")).count();
        assert_eq!((calls("once", "sin"), calls("once", "cos")), (1, 1), "{arguments}\n{}", derivative(&text, "once"));
        // The optimiser may unroll the loop of the forward sweep. There is no such call in that of the reverse sweep.
        let often = derivative(&text, "often");
        assert_eq!(calls("often", "sin"), calls("often", "cos"), "{arguments}\n{often}");
        let reverse = often.rfind("@llvm.cos.f64(").expect("there is one");
        assert!(often[reverse..].contains("fmul double"), "the reverse sweep multiplies by what was kept\n{often}");
        // Nothing is kept outside of loops.
        let once = derivative(&text, "once");
        assert!(!once.contains("alloca") && !once.contains("tape"), "{arguments}\n{once}");
    }
}

const LIBRARY: &str = r#"
use pullback::rules::NoTangent;
use pullback::{has_rrule, rrule};

pub fn square(x: f64) -> f64 {
    x * x
}

/// A hundred times what it is.
#[rrule(for = square)]
fn square_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x * x, move |d| 200.0 * x * d)
}

pub fn uses(x: f64) -> f64 {
    square(x) + 1.0
}

#[has_rrule(apply_rrule)]
pub fn apply<F: Fn(f64) -> f64>(f: &F, x: f64) -> f64 {
    f(x)
}

#[rrule(generic)]
pub fn apply_rrule<F: Fn(f64) -> f64>(f: &F, x: f64) -> (f64, impl Fn(f64, NoTangent) -> f64 + use<F>) {
    (apply(f, x), |d, _| 7.0 * d)
}
"#;

const APPLICATION: &str = r#"
use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active)]
fn f(x: f64) -> f64 {
    mathlib::uses(x) + mathlib::square(x)
}

#[autodiff(dg, Reverse, Active, Active)]
fn g(x: f64) -> f64 {
    mathlib::apply(&|v| v * v, x)
}

fn main() {
    println!("{:?} {:?}", df(3.0), dg(3.0));
}
"#;

/// A library's rules are used in the programs that depend on it, in its own functions and in theirs.
#[test]
fn rules_of_a_library() {
    let library = MANIFEST.replace("\"app\"", "\"mathlib\"");
    let application = format!("{MANIFEST}mathlib = {{ path = \"../mathlib\" }}\n");
    let project = Project::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"app\", \"mathlib\"]\nresolver = \"3\"\n"),
        ("mathlib/Cargo.toml", &library),
        ("mathlib/src/lib.rs", LIBRARY),
        ("app/Cargo.toml", &application),
        ("app/src/main.rs", APPLICATION),
    ]);
    for arguments in ["pullback run", "pullback run --release"] {
        assert_eq!(project.cargo(arguments).stdout(), "(1200.0, 19.0) (7.0, 9.0)\n", "{arguments}");
    }
}
