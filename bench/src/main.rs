//! What derivatives cost: for a dozen functions the time and memory of value and gradient against those of the value.
//!
//! `cargo xtask bench [name]`. Times are medians; what counts is the ratio, taken in turns within one run. Each
//! gradient is first checked at a small size against a central difference in one direction.
//!
//! With `--instructions` before the name, instructions are counted instead: the program runs itself under callgrind,
//! with `--counted`.

mod by_hand;
mod functions;

use functions as f;
use pullback::{MakeZero, make_zero};
use pullback_measure::instructions::{self, Callgrind, counted};
use pullback_measure::{Noise, clock, growth::exponent, memory};
use std::hint::black_box;
use std::io;
use std::process::Stdio;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

/// An argument: so many floats, in some shape.
trait Point: MakeZero {
    /// Each float, in order.
    fn each(&mut self, visit: &mut dyn FnMut(&mut f64));
}

impl Point for Vec<f64> {
    fn each(&mut self, visit: &mut dyn FnMut(&mut f64)) {
        self.iter_mut().for_each(visit);
    }
}

impl<const N: usize> Point for [f64; N] {
    fn each(&mut self, visit: &mut dyn FnMut(&mut f64)) {
        self.iter_mut().for_each(visit);
    }
}

impl<A: Point, B: Point> Point for (A, B) {
    fn each(&mut self, visit: &mut dyn FnMut(&mut f64)) {
        self.0.each(visit);
        self.1.each(visit);
    }
}

impl Point for f::List {
    fn each(&mut self, visit: &mut dyn FnMut(&mut f64)) {
        let mut list = self;
        while let f::List::Cons(value, rest) = list {
            visit(value);
            list = rest;
        }
    }
}

/// Numbers between −1 and 1 that look random.
fn noise(n: usize) -> Vec<f64> {
    Noise::new().list(n).into_iter().map(|v| 2.0 * v - 1.0).collect()
}

/// Compare `gradient` with a central difference of `value` in one direction.
fn check<P: Point>(name: &str, make: impl Fn() -> P, value: impl Fn(&P) -> f64, gradient: impl Fn(&P, &mut P) -> f64) {
    let moved = |by: f64| {
        let (mut point, mut k) = (make(), 0.0);
        point.each(&mut |v| {
            k += 1.0;
            *v += by * f64::sin(k);
        });
        value(&point)
    };
    let step = 1e-6;
    let expected = (moved(step) - moved(-step)) / (2.0 * step);
    let point = make();
    let mut shadow = make_zero(&point);
    let found_value = gradient(&point, &mut shadow);
    let (mut found, mut k) = (0.0, 0.0);
    shadow.each(&mut |v| {
        k += 1.0;
        found += *v * f64::sin(k);
    });
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + a.abs().max(b.abs()));
    assert!(close(found_value, value(&point)), "{name}: value {found_value}, expected {}", value(&point));
    assert!(close(found, expected), "{name}: derivative {found}, differences give {expected}");
}

/// Seconds a call takes: of the two in turns, and the ratio of the second to the first, each as a median.
fn measure(mut primal: impl FnMut(), mut derivative: impl FnMut()) -> (f64, f64, f64) {
    fn seconds(work: &mut impl FnMut(), times: u32) -> f64 {
        let start = clock::seconds();
        (0..times).for_each(|_| work());
        (clock::seconds() - start) / f64::from(times)
    }
    let first = seconds(&mut primal, 1).max(seconds(&mut derivative, 1));
    // Short and many, so that most are not interrupted.
    let times = (0.002 / first).ceil().clamp(1.0, 1e6) as u32;
    let rounds: Vec<(f64, f64)> =
        (0..31).map(|_| (seconds(&mut primal, times), seconds(&mut derivative, times))).collect();
    let median = |of: fn(&(f64, f64)) -> f64| {
        let mut all: Vec<f64> = rounds.iter().map(of).collect();
        all.sort_by(f64::total_cmp);
        all[all.len() / 2]
    };
    (median(|r| r.0), median(|r| r.1), median(|r| r.1 / r.0))
}

/// What is measured of a function.
#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    /// Time and memory.
    Time,
    /// Instructions, by the callgrind that runs the program; a row is the function's name.
    Instructions,
}

/// What is measured, and what of it is to be printed.
struct Bench {
    what: What,
    wanted: Option<String>,
}

impl Bench {
    fn wants(&self, name: &str) -> bool {
        self.wanted.as_ref().is_none_or(|wanted| name.contains(wanted))
    }

    /// Check at the size `small`, measure at `large`, print a row. `work(n)` is how many iterations a call at size `n`
    /// is.
    fn row<P: Point>(
        &self,
        name: &str,
        [small, large]: [usize; 2],
        work: impl Fn(usize) -> usize,
        make: impl Fn(usize) -> P,
        value: impl Fn(&P, usize) -> f64,
        gradient: impl Fn(&P, &mut P, usize) -> f64,
    ) {
        if !self.wants(name) {
            return;
        }
        check(name, || make(small), |p| value(p, small), |p, s| gradient(p, s, small));
        let point = make(large);
        let mut shadow = make_zero(&point);
        if self.what == What::Instructions {
            // The first gradient allocates what those that follow find.
            black_box(gradient(&point, &mut shadow, large));
            counted(|| black_box(value(black_box(&point), large)));
            counted(|| black_box(gradient(black_box(&point), black_box(&mut shadow), large)));
            println!("{name}");
            return;
        }
        pullback::__private::release_spare();
        let (_, with_gradient) = memory::peak(|| gradient(&point, &mut shadow, large));
        let (_, alone) = memory::peak(|| value(&point, large));
        let bytes = with_gradient.saturating_sub(alone);
        let (primal, derivative, ratio) = measure(
            || {
                black_box(value(black_box(&point), large));
            },
            || {
                black_box(gradient(black_box(&point), black_box(&mut shadow), large));
            },
        );
        println!(
            "{name:<24} {:>11} {:>12} {ratio:>8.2} {:>13.2}",
            time(primal),
            time(derivative),
            bytes as f64 / work(large) as f64
        );
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-6 => format!("{:.1} ns", s * 1e9),
        s if s < 1e-3 => format!("{:.1} µs", s * 1e6),
        s => format!("{:.2} ms", s * 1e3),
    }
}

fn normalise_value(x: &[f64], out: &mut [f64]) -> f64 {
    f::normalise(x, out);
    out[0]
}

type Normalise = fn(&[f64], &mut [f64], &mut [f64], &mut [f64]);

fn normalise_gradient(of: Normalise, x: &[f64], dx: &mut [f64], out: &mut [f64], dout: &mut [f64]) -> f64 {
    dout[0] = 1.0;
    of(x, dx, out, dout);
    out[0]
}

/// The exponent with which the time of the norm example grows, fitted over n from 10³ to 10⁶: 1 is linear.
fn growth() {
    let mut points = Vec::new();
    println!("\nnormalise: time of value and gradient over n");
    for n in [1_000, 10_000, 100_000, 1_000_000] {
        let x = noise(n);
        let (mut dx, mut out, mut dout) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
        let mut run = || {
            black_box(normalise_gradient(f::normalise_gradient, &x, &mut dx, &mut out, &mut dout));
        };
        let (seconds, ..) = measure(&mut run, || ());
        println!("  n = {n:>7}: {:>10}, {:.3} ns each", time(seconds), seconds * 1e9 / n as f64);
        points.push((n as f64, seconds));
    }
    println!("  time grows as n^{:.2}", exponent(&points).expect("times are positive"));
}

/// Run this program under callgrind and print what it has counted for the functions with `wanted` in their name.
fn count_instructions(wanted: Option<String>) -> io::Result<()> {
    let callgrind = Callgrind::new()?;
    let mut command = callgrind.command(&std::env::current_exe()?);
    let run = command.arg("--counted").args(wanted).stderr(Stdio::inherit()).output()?;
    if !run.status.success() {
        return Err(io::Error::other(format!("under callgrind: {}", run.status)));
    }
    let counts = callgrind.counts()?;
    for (name, counts) in String::from_utf8_lossy(&run.stdout).lines().zip(counts.chunks_exact(2)) {
        println!("{}", instructions::line(name, Some(counts[0]), counts[1]));
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut args = std::env::args().skip(1).peekable();
    let option = args.next_if(|arg| arg.starts_with("--"));
    let wanted = args.next();
    match option.as_deref() {
        None => {
            println!(
                "{:<24} {:>11} {:>12} {:>8} {:>13}",
                "function", "value", "and gradient", "ratio", "bytes kept/it"
            );
            run(&Bench { what: What::Time, wanted });
        }
        Some("--counted") => run(&Bench { what: What::Instructions, wanted }),
        Some("--instructions") => count_instructions(wanted)?,
        Some(option) => return Err(io::Error::other(format!("no such option: `{option}`"))),
    }
    Ok(())
}

/// Measure each function.
fn run(bench: &Bench) {
    let n = |n: usize| n;
    bench.row(
        "sum of squares",
        [10, 1_000_000],
        n,
        noise,
        |x, _| f::sum_of_squares(x),
        |x, dx, _| f::sum_of_squares_gradient(x, dx),
    );
    let two = |n| (noise(n), noise(n));
    bench.row(
        "dot",
        [10, 1_000_000],
        n,
        two,
        |x, _| f::dot(&x.0, &x.1),
        |x, d, _| f::dot_gradient(&x.0, &mut d.0, &x.1, &mut d.1),
    );
    bench.row(
        "  by hand, dot",
        [10, 1_000_000],
        n,
        two,
        |x, _| f::dot(&x.0, &x.1),
        |x, d, _| by_hand::dot(&x.0, &mut d.0, &x.1, &mut d.1),
    );
    bench.row(
        "rosenbrock",
        [10, 1_000_000],
        n,
        noise,
        |x, _| f::rosenbrock(x),
        |x, dx, _| f::rosenbrock_gradient(x, dx),
    );
    bench.row(
        "  by hand, rosenbrock",
        [10, 1_000_000],
        n,
        noise,
        |x, _| f::rosenbrock(x),
        |x, dx, _| by_hand::rosenbrock(x, dx),
    );
    bench.row("logsumexp", [10, 1_000_000], n, noise, |x, _| f::logsumexp(x), |x, dx, _| f::logsumexp_gradient(x, dx));

    let matrices = |n: usize| (noise(n * n), noise(n * n));
    let product = |x: &(Vec<f64>, Vec<f64>), n: usize| {
        let mut c = vec![0.0; n * n];
        f::matmul(n, &x.0, &x.1, &mut c);
        c[1] + c[n]
    };
    bench.row(
        "matmul",
        [4, 256],
        |n| n * n * n,
        matrices,
        product,
        |x, d, n| {
            let (mut c, mut dc) = (vec![0.0; n * n], vec![0.0; n * n]);
            dc[1] = 1.0;
            dc[n] = 1.0;
            f::matmul_gradient(n, &x.0, &mut d.0, &x.1, &mut d.1, &mut c, &mut dc);
            c[1] + c[n]
        },
    );
    let (out, dout) = (std::cell::RefCell::new(vec![0.0; 1_000_000]), std::cell::RefCell::new(vec![0.0; 1_000_000]));
    let value = |x: &Vec<f64>, n: usize| normalise_value(x, &mut out.borrow_mut()[..n]);
    // Once in the cache and once in memory, which is what the larger one waits for.
    for (size, power) in [(10_000, "10⁴"), (1_000_000, "10⁶")] {
        bench.row(&format!("normalise {power}"), [10, size], n, noise, value, |x, dx, n| {
            normalise_gradient(f::normalise_gradient, x, dx, &mut out.borrow_mut()[..n], &mut dout.borrow_mut()[..n])
        });
        bench.row(&format!("  by hand, normalise {power}"), [10, size], n, noise, value, |x, dx, n| {
            normalise_gradient(by_hand::normalise, x, dx, &mut out.borrow_mut()[..n], &mut dout.borrow_mut()[..n])
        });
    }
    let start = |_| [1.0, 1.0, 1.0, 10.0, 28.0, 8.0 / 3.0];
    let step = |steps: usize| 2.0 / steps as f64;
    bench.row(
        "lorenz",
        [100, 1_000_000],
        n,
        start,
        |x, n| f::lorenz(x, n, step(n)),
        |x, dx, n| f::lorenz_gradient(x, dx, n, step(n)),
    );
    let wide = |n| noise(n).into_iter().map(|v| 100.0 * v).collect::<Vec<_>>();
    bench.row("newton", [10, 10_000], n, wide, |x, _| f::newton(x), |x, dx, _| f::newton_gradient(x, dx));
    let image = noise(f::MLP[0]);
    let weights = |_| noise(f::MLP_WEIGHTS).into_iter().map(|w| 0.1 * w).collect::<Vec<_>>();
    bench.row(
        "mlp 784-128-10",
        [0, 0],
        |_| f::MLP_WEIGHTS,
        weights,
        |w, _| f::mlp(w, &image, 3),
        |w, dw, _| f::mlp_gradient(w, dw, &image, 3),
    );
    bench.row(
        "  by hand, mlp",
        [0, 0],
        |_| f::MLP_WEIGHTS,
        weights,
        |w, _| f::mlp(w, &image, 3),
        |w, dw, _| by_hand::mlp(w, dw, &image, 3),
    );
    let start = |_| [10.0, 5.0, 1.1, 0.4, 0.1, 0.4];
    bench.row(
        "rk4",
        [100, 100_000],
        n,
        start,
        |x, n| f::rk4(x, n, step(n)),
        |x, dx, n| f::rk4_gradient(x, dx, n, step(n)),
    );
    bench.row("push", [10, 100_000], n, noise, |x, _| f::push(x), |x, dx, _| f::push_gradient(x, dx));
    let list = |n| noise(n).into_iter().fold(f::List::Nil, |rest, v| f::List::Cons(v, Box::new(rest)));
    bench.row("list", [10, 10_000], n, list, |x, _| f::list(x), |x, dx, _| f::list_gradient(x, dx));
    let dominant = |n: usize| {
        let mut a = noise(n * n);
        (0..n).for_each(|i| a[i * n + i] += n as f64);
        a
    };
    bench.row(
        "log det",
        [4, 128],
        |n| n * n * n / 3,
        dominant,
        |a, n| f::log_det(n, a),
        |a, da, n| f::log_det_gradient(n, a, da),
    );
    if bench.what == What::Time && bench.wants("normalise") {
        growth();
    }
}
