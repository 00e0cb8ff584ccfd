//! Derivatives of simple loops are vector code that keeps nothing: seen in the derivative's LLVM IR, not by a clock.

mod support;

use support::Project;

const MANIFEST: &str = "\
[package]
name = \"app\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
PULLBACK
";

const MAIN: &str = "\
use pullback::autodiff;
use std::hint::black_box;

#[autodiff(d_sum_of_squares, Reverse, Duplicated, Active)]
fn sum_of_squares(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum()
}

#[autodiff(d_dot, Reverse, Duplicated, Duplicated, Active)]
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..x.len().min(y.len()) {
        sum += x[i] * y[i];
    }
    sum
}

#[autodiff(d_scale, Reverse, Active, Duplicated, Duplicated)]
fn scale(a: f64, x: &[f64], out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = a * x;
    }
}

fn norm(x: &[f64]) -> f64 {
    x.iter().map(|v| v * v).sum::<f64>().sqrt()
}

#[autodiff(d_normalise, Reverse, Duplicated, Duplicated, Const)]
fn normalise(x: &[f64], out: &mut [f64]) {
    for i in 0..x.len() {
        out[i] = x[i] / norm(x);
    }
}

#[autodiff(d_zipped, Reverse, Duplicated, Duplicated, Const)]
fn zipped(x: &[f64], out: &mut [f64]) {
    for (out, v) in out.iter_mut().zip(x) {
        *out = v / norm(x);
    }
}

#[autodiff(d_handed_on, Reverse, Duplicated, Duplicated)]
fn handed_on(x: &[f64], y: &mut [f64]) {
    let (mut before, mut slope) = (1.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let half = x * (before + 0.5 * slope);
        slope = x * before;
        before = *y;
        *y += half;
    }
}

#[autodiff(d_neighbours, Reverse, Duplicated, Active)]
fn neighbours(x: &[f64]) -> f64 {
    x.windows(2).map(|w| (w[1] - w[0] * w[0]).powi(2)).sum()
}

fn main() {
    let (x, y) = ([3.0, 4.0], [1.0, 2.0]);
    let (mut dx, mut dy) = ([0.0; 2], [0.0; 2]);
    d_dot(black_box(&x), black_box(&mut dx), black_box(&y), black_box(&mut dy));
    (dx, dy) = ([0.0; 2], [0.0; 2]);
    println!(\"{} {dx:?}\", d_sum_of_squares(&x, &mut dx));
    println!(\"{} {dx:?} {dy:?}\", d_dot(&x, &mut dx, &y, &mut dy));
    let (mut out, mut dout) = ([0.0; 2], [1.0, 10.0]);
    println!(\"{} {dx:?}\", d_scale(2.0, &x, &mut dx, &mut out, &mut dout));
    let (mut out, mut dout) = ([0.0; 2], [1.0, 0.0]);
    let mut dx = [0.0; 2];
    d_normalise(&x, &mut dx, &mut out, &mut dout);
    println!(\"{out:?} {dx:.3?}\");
    let (mut dout, mut dx) = ([1.0, 0.0], [0.0; 2]);
    d_zipped(&x, &mut dx, &mut out, &mut dout);
    println!(\"{out:?} {dx:.3?}\");
    let (mut dx, mut y, mut dy) = ([0.0; 2], [1.0, 2.0], [1.0, 10.0]);
    d_handed_on(&x, &mut dx, &mut y, &mut dy);
    println!(\"{y:?} {dx:?} {dy:?}\");
    let mut dx = [0.0; 2];
    println!(\"{} {dx:?}\", d_neighbours(black_box(&x), black_box(&mut dx)));
}
";

/// What is in the derivatives' IR after the optimiser, function by function; and, after `linked`, in that of the whole
/// program as it is linked.
fn derivatives(arguments: &str) -> Vec<(String, String)> {
    let printed = [
        "25 [6.0, 8.0]",
        "11 [7.0, 10.0] [3.0, 4.0]",
        "43 [9.0, 30.0]",
        "[0.6, 0.8] [0.128, -0.096]",
        "[0.6, 0.8] [0.128, -0.096]",
        "[4.0, 12.0] [21.0, 25.0] [41.0, 10.0]",
        "25 [60.0, -10.0]",
    ];
    functions(MAIN, arguments, &printed)
}

/// The functions of a program that prints these lines.
fn functions(main: &str, arguments: &str, printed: &[&str]) -> Vec<(String, String)> {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", main)]);
    let saved = tempfile::tempdir().unwrap();
    let run = project.cargo_with(arguments, &[("PULLBACK_SAVE", saved.path().to_str().unwrap())]);
    assert_eq!(run.stdout().lines().collect::<Vec<_>>(), printed);
    let mut functions = Vec::new();
    for file in std::fs::read_dir(saved.path()).unwrap().map(|file| file.unwrap().path()) {
        let place = match file.to_string_lossy() {
            name if name.ends_with(".derivative.ll") => "",
            name if name.ends_with(".final.ll") => "linked ",
            _ => continue,
        };
        let text = std::fs::read_to_string(&file).unwrap();
        for function in text.split("\ndefine ").skip(1) {
            let body = function.split("\n}").next().unwrap();
            let name = body.split(['@', '(']).nth(1).unwrap();
            functions.push((format!("{place}{name}"), body.to_owned()));
        }
    }
    functions
}

/// The code of one derivative.
fn body<'f>(functions: &'f [(String, String)], name: &str) -> &'f str {
    let start = format!("__pullback_reverse_{name}.");
    let found = functions.iter().find(|(name, _)| name.starts_with(&start));
    &found.unwrap_or_else(|| panic!("no derivative of {name}")).1
}

fn check(functions: &[(String, String)], profile: &str) {
    for name in ["sum_of_squares", "dot"] {
        let body = body(functions, name);
        for vector in ["fmul <", "fadd reassoc <", "store <"] {
            assert!(body.contains(vector), "{profile}: no `{vector}` in the derivative of {name}\n{body}");
        }
        let keeps = ["__pullback_tape", "pullback_rt_"].iter().any(|callee| body.contains(callee));
        assert!(!keeps, "{profile}: {name} keeps something\n{body}");
        let zeros = |line: &&str| line.contains(" fadd ") && (line.contains("0.0000") || line.contains("zeroinit"));
        assert_eq!(body.lines().find(zeros), None, "{profile}: {name} adds zeros\n{body}");
    }
}

/// The primal of `scale` has no sum. Its derivative has one, of `x · out'`: several partial sums, side by side.
fn check_sum(functions: &[(String, String)], profile: &str) {
    let body = body(functions, "scale");
    let sum = |line: &str| line.contains(" = phi <") && line.contains("-0.000000e+00");
    assert!(body.lines().any(sum), "{profile}: no vector of partial sums in the derivative of scale\n{body}");
}

/// How many of the blocks with `instruction` in them can come back to themselves, and how many cannot.
fn in_loops(body: &str, instruction: &str) -> [usize; 2] {
    let mut blocks: Vec<(&str, Vec<&str>)> = vec![("", Vec::new())];
    let mut found = Vec::new();
    for line in body.lines().skip(1) {
        if let Some((label, _)) = line.split_once(':').filter(|_| !line.starts_with([' ', ';'])) {
            blocks.push((label, Vec::new()));
        }
        if line.contains(instruction) {
            found.push(blocks.len() - 1);
        }
        let targets = line.split("label %").skip(1);
        let names = targets.map(|t| t.split(|c: char| !c.is_alphanumeric() && !"._-$".contains(c)).next().unwrap());
        blocks.last_mut().unwrap().1.extend(names);
    }
    let comes_back = |start: usize| {
        let mut seen = vec![false; blocks.len()];
        let mut work = vec![start];
        while let Some(block) = work.pop() {
            for target in &blocks[block].1 {
                let next =
                    blocks.iter().position(|(label, _)| label == target).unwrap_or_else(|| panic!("no {target}"));
                if !std::mem::replace(&mut seen[next], true) {
                    work.push(next);
                }
            }
        }
        seen[start]
    };
    let inside = found.iter().filter(|block| comes_back(**block)).count();
    [inside, found.len() - inside]
}

/// The norm is computed once, and its loop runs backwards once: the loop has left the loop around it.
fn check_norm(functions: &[(String, String)], profile: &str) {
    for name in ["normalise", "zipped"] {
        let body = body(functions, name);
        let ([roots_inside, roots], [divisions, _]) = (in_loops(body, "@llvm.sqrt"), in_loops(body, "fdiv "));
        assert_eq!((roots_inside, roots), (0, 1), "{profile}: {name} computes the norm in each iteration\n{body}");
        assert!(divisions > 0, "{profile}: {name} has no loop\n{body}");
    }
}

/// A loop that hands values on to its next iteration is vector code in both sweeps: what is stored are `y`, two kept
/// values, and the shadows of `x` and `y`.
fn check_handed_on(functions: &[(String, String)], profile: &str) {
    let body = body(functions, "handed_on");
    let [stores, _] = in_loops(body, "store <");
    assert_eq!(stores, 5, "{profile}: vector stores in the loops of handed_on\n{body}");
}

#[test]
fn in_debug() {
    let functions = derivatives("pullback run");
    check(&functions, "debug");
    check_sum(&functions, "debug");
    check_norm(&functions, "debug");
    check_handed_on(&functions, "debug");
}

#[test]
fn in_release() {
    let functions = derivatives("pullback run --release");
    check(&functions, "release");
    check_sum(&functions, "release");
    check_norm(&functions, "release");
    check_handed_on(&functions, "release");
    let normalise = body(&functions, "normalise");
    for vector in ["fdiv <", "fmul <", "store <"] {
        assert!(normalise.contains(vector), "no `{vector}` in the derivative of normalise\n{normalise}");
    }
    // Two additions to neighbouring places in each iteration: the one that is ahead comes first, or there would be no
    // vectors.
    let neighbours = body(&functions, "neighbours");
    for vector in ["fmul <", "store <", "@llvm.vector.reduce.fadd"] {
        assert!(neighbours.contains(vector), "no `{vector}` in the derivative of neighbours\n{neighbours}");
    }
    // What is linked is optimised by the linker: the sum keeps its order there, and is no obstacle.
    let linked = |(name, _): &&(String, String)| name.starts_with("linked ") && name.contains("5d_dot");
    let dot = &functions.iter().find(linked).expect("the function that the derivative is inlined in").1;
    for vector in ["fmul <", "store <", "@llvm.vector.reduce.fadd"] {
        assert!(dot.contains(vector), "no `{vector}` in the linked derivative of dot\n{dot}");
    }
}

/// Derivatives that need no tape, called for each element, and what a user would write by hand.
const SMALL: &str = "\
use pullback::autodiff;
use std::hint::black_box;

#[autodiff(d_polynomial, Reverse, Active, Active, Active, Active, Active)]
fn polynomial(x: f32, a: f32, b: f32, c: f32) -> f32 {
    (a * x + b) * x + c
}

#[autodiff(d_norm, Reverse, Duplicated, Active)]
fn norm(v: &[f64; 3]) -> f64 {
    (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]).sqrt()
}

#[autodiff(d_squares, Reverse, Duplicated, Active)]
fn squares(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum()
}

#[unsafe(no_mangle)]
pub fn by_element(x: &[f32], out: &mut [f32], a: f32, b: f32, c: f32) {
    for (x, out) in x.iter().zip(out) {
        *out = d_polynomial(*x, a, b, c).0;
    }
}

#[unsafe(no_mangle)]
pub fn by_element_by_hand(x: &[f32], out: &mut [f32], a: f32, b: f32, _: f32) {
    for (x, out) in x.iter().zip(out) {
        *out = 2.0 * a * x + b;
    }
}

#[unsafe(no_mangle)]
pub fn two(x: f32, y: f32) -> (f32, f32, f32, f32, f32) {
    d_polynomial(x, y, x, y)
}

#[unsafe(no_mangle)]
pub fn of_an_array(v: &[f64; 3], d_v: &mut [f64; 3]) -> f64 {
    d_norm(v, d_v)
}

#[unsafe(no_mangle)]
pub fn of_a_slice(x: &[f64], d_x: &mut [f64]) -> f64 {
    d_squares(x, d_x)
}

fn main() {
    let (x, mut out) = ([1.0, 2.0, 3.0], [0.0; 3]);
    by_element(black_box(&x), black_box(&mut out), 2.0, 0.5, 1.0);
    println!(\"{out:?}\");
    by_element_by_hand(black_box(&x), black_box(&mut out), 2.0, 0.5, 1.0);
    println!(\"{out:?} {:?}\", two(black_box(2.0), 3.0));
    let mut d = [0.0; 3];
    println!(\"{} {d:.3?}\", of_an_array(black_box(&[0.0, 3.0, -4.0]), &mut d));
    println!(\"{} {d:.3?}\", of_a_slice(black_box(&[2.0, 3.0, 6.0]), black_box(&mut d[..])));
}
";

/// Nothing is left of the tape, of what is masked, and of names that are compared: no memory, and no call but that of a
/// panic. In a loop that is vector code.
#[test]
fn small_derivatives_are_level_with_those_by_hand() {
    let printed = [
        "[4.5, 8.5, 12.5]",
        "[4.5, 8.5, 12.5] (14.0, 4.0, 2.0, 1.0, 19.0)",
        "5 [0.000, 0.600, -0.800]",
        "49 [4.000, 6.600, 11.200]",
    ];
    let functions = functions(SMALL, "pullback run --release", &printed);
    let linked = |name: &str| {
        let name = format!("linked {name}");
        &functions.iter().find(|(found, _)| *found == name).unwrap_or_else(|| panic!("no {name}")).1
    };
    let count = |body: &str, instruction: &str| body.lines().filter(|line| line.contains(instruction)).count();
    let (element, by_hand) = (linked("by_element"), linked("by_element_by_hand"));
    assert!(element.contains("fmul <"), "no vectors in\n{element}");
    assert!(
        element.lines().count() <= by_hand.lines().count() + 8,
        "more than what is written by hand:\n{element}\n{by_hand}"
    );
    for name in ["by_element", "two", "of_an_array"] {
        let body = linked(name);
        assert_eq!((count(body, "alloca "), count(body, " @_R")), (0, 0), "something is left in {name}\n{body}");
    }
    // What is left are the words that the panic is given, for shadows of another length: the tape's are many.
    let slice = linked("of_a_slice");
    assert!(slice.contains("fmul <") && slice.contains("mismatched"), "{slice}");
    let bytes = slice.split("alloca [").skip(1).map(|rest| rest.split(' ').next().unwrap().parse::<usize>().unwrap());
    assert!(bytes.sum::<usize>() <= 64 && count(slice, " icmp ") <= 8, "something is left in of_a_slice\n{slice}");
}

/// The derivative of one function for each element of a slice, by every way to ask for it.
const EACH: &str = "\
use pullback::{Differentiable, autodiff, derivative, grad, jvp, value_and_grad};
use std::hint::black_box;

#[autodiff(d_cubic, Reverse, Active, Active, Const, Active)]
#[autodiff(d_cubic_two, Reverse(2), Active, Active, Const, Active)]
#[autodiff(t_cubic, Forward, Dual, Const, Const, Dual)]
#[autodiff(t_cubic_two, Forward(2), Dual, Const, Const, Dual)]
fn cubic(x: f64, a: f64, b: f64) -> f64 {
    (a * x + b) * x
}

#[derive(Differentiable, Clone, Copy)]
struct Point {
    x: f64,
    y: f64,
    z: f64,
}

#[autodiff(d_area, Reverse, Active, Active)]
#[autodiff(t_area, Forward, Dual, Dual)]
fn area(p: Point) -> f64 {
    p.x * p.y + p.z * p.z
}

#[autodiff(d_tile, Reverse, Duplicated, Duplicated, Const, Const)]
fn tile(x: &[f64], out: &mut [f64], a: f64, b: f64) {
    for (x, out) in x.iter().zip(out) {
        *out = cubic(*x, a, b);
    }
}

#[unsafe(no_mangle)]
#[inline(never)]
pub fn tiled(x: &[f64], dx: &mut [f64], out: &mut [f64], dout: &mut [f64], a: f64, b: f64) {
    d_tile(x, dx, out, dout, a, b);
}

macro_rules! each {
    ($($name:ident: |$x:ident, $a:ident, $b:ident| $value:expr;)*) => {
        $(
            #[unsafe(no_mangle)]
            #[inline(never)]
            pub fn $name(x: &[f64], out: &mut [f64], $a: f64, $b: f64) {
                for ($x, out) in x.iter().copied().zip(out) {
                    *out = $value;
                }
            }
        )*

        fn main() {
            let x = black_box([1.0, 2.0, 3.0]);
            $(
                let mut out = [0.0; 3];
                $name(&x, black_box(&mut out), black_box(2.0), 0.5);
                println!(\"{} {out:?}\", stringify!($name));
            )*
            let (mut dx, mut out, mut dout) = ([0.0; 3], [0.0; 3], [1.0; 3]);
            tiled(&x, black_box(&mut dx), &mut out, black_box(&mut dout), black_box(2.0), 0.5);
            println!(\"tiled {dx:?}\");
        }
    };
}

each! {
    reverse: |x, a, b| d_cubic(x, a, b).0;
    reverse_two: |x, a, b| d_cubic_two(x, a, b, [1.0, 3.0]).0[0];
    forward: |x, a, b| t_cubic(x, 1.0, a, b).1;
    forward_two: |x, a, b| t_cubic_two(x, [1.0, 3.0], a, b).1[0];
    by_grad: |x, a, b| grad(|x: &f64| cubic(*x, a, b), &x);
    by_value_and_grad: |x, a, b| value_and_grad(|v: &[f64; 2]| cubic(v[0], v[1], b), &[x, a]).1[0];
    by_jvp: |x, a, b| jvp(|x: &f64| cubic(*x, a, b), &x, &1.0).1;
    by_derivative: |x, a, b| derivative(|x: f64| cubic(x, a, b), x);
    of_a_struct: |x, a, b| 2.0 * a * d_area(Point { x, y: a, z: b }).0.y + b;
    struct_by_grad: |x, a, b| 2.0 * a * grad(|p: &Point| area(*p), &Point { x, y: a, z: b }).y + b;
    struct_forward: |x, a, b| 2.0 * a * t_area(Point { x, y: a, z: b }, Point { x: 0.0, y: 1.0, z: 0.0 }).1 + b;
}
";

const NAMES: [&str; 12] = [
    "reverse",
    "reverse_two",
    "forward",
    "forward_two",
    "by_grad",
    "by_value_and_grad",
    "by_jvp",
    "by_derivative",
    "of_a_struct",
    "struct_by_grad",
    "struct_forward",
    "tiled",
];

/// A loop that calls a derivative for each element is vector code with nothing beside it, whichever way it is asked for:
/// no memory of its own, no call.
#[test]
fn derivatives_of_each_element_are_vector_code() {
    let printed = NAMES.map(|name| format!("{name} [4.5, 8.5, 12.5]"));
    let functions = functions(EACH, "pullback run --release", &printed.each_ref().map(String::as_str));
    for name in NAMES {
        let linked = format!("linked {name}");
        let body = &functions.iter().find(|(found, _)| *found == linked).unwrap_or_else(|| panic!("no {name}")).1;
        assert!(["fmul <", "fadd <"].iter().any(|vector| body.contains(vector)), "no vectors in {name}\n{body}");
        let left = body.lines().find(|line| name != "tiled" && (line.contains("alloca ") || line.contains(" @_R")));
        assert_eq!(left, None, "something is left in {name}\n{body}");
    }
}
