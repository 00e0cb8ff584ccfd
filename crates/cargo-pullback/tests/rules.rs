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

/// `sine` computes the cosine with it, and keeps that: a derivative needs no second trigonometric function, and not `x`.
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
        for name in ["once", "often"] {
            let body = derivative(&text, name);
            for function in ["sin", "cos"] {
                let calls = body.matches(&format!("@llvm.{function}.f64(")).count();
                assert_eq!(calls, 1, "{arguments}: calls of {function} in the derivative of {name}\n{body}");
            }
        }
        // Nothing is kept outside of loops; in the loop one float for each iteration.
        let once = derivative(&text, "once");
        assert!(!once.contains("alloca") && !once.contains("pullback_rt"), "{arguments}\n{once}");
        let often = derivative(&text, "often");
        let stores = often.lines().filter(|line| line.contains(" store double ") && !line.contains("%2")).count();
        assert!(stores <= 2, "{arguments}: {stores} stores in\n{often}");
    }
}
