//! How time and memory of our derivatives grow with the work.
//!
//! Each eval runs at growing sizes, where the work is known by a formula. A line is fitted to the logarithms: its slope
//! is the exponent with which time or memory grows, 1 if it is linear. Time is that of the processor, the shortest of
//! all runs. Memory is what the derivative has allocated at once, at most, beyond the primal: tape, shadows and the
//! gradient itself.

use crate::Outcome;
use crate::chart::{self, Line};
use crate::results::Results;
use crate::tools::Ours;
use crate::workloads::{self, Growing};
use pullback_measure::{Noise, growth::exponent};
use serde_json::json;

/// How often each size is run.
const ROUNDS: usize = 3;

/// An eval at one size: the work, nanoseconds and bytes.
struct Point {
    work: f64,
    primal: Option<f64>,
    derivative: f64,
    bytes: f64,
}

pub fn run(options: &[&str]) -> Outcome<()> {
    let mut results = Results::new(options)?;
    results.line(format!(
        "{:<11} {:<22} {:>9} {:>9}  {:>17} {:>9}  {:>17} {:>9}  {:>17} {:>9}",
        "eval", "work", "from", "to", "primal, ns each", "grows", "derivative", "grows", "bytes each", "grows"
    ));
    let (mut times, mut memory) = (Vec::new(), Vec::new());
    for growing in workloads::growing() {
        if !results.is_wanted(growing.eval) {
            continue;
        }
        let points: Vec<Point> = growing.sizes.iter().map(|size| measure(&growing, size)).collect::<Outcome<_>>()?;
        results.line(row(&growing, &points));
        times.push(Line { name: name(&growing), points: each(&points, |point| Some(point.derivative)) });
        memory.push(Line { name: name(&growing), points: each(&points, |point| Some(point.bytes)) });
    }
    results.save("growth.txt", "growth.svg", &chart::lines(&[("time", times), ("memory", memory)]))
}

fn measure(growing: &Growing, size: &[usize]) -> Outcome<Point> {
    let mut input = (growing.input)(&mut Noise::new(), size);
    input["min_runs"] = json!(3);
    input["min_seconds"] = json!(0.05);
    let evaluate = |function: &str| Ours::start()?.evaluate(growing.eval, function, &input);
    let mut point = Point { work: (growing.work)(size) as f64, primal: None, derivative: f64::INFINITY, bytes: 0.0 };
    for _ in 0..ROUNDS {
        let primal = growing.primal.map(evaluate).transpose()?;
        let derivative = evaluate(growing.derivative)?;
        let peak = primal.as_ref().map_or(0, |primal| primal.peak);
        point.bytes = derivative.peak.saturating_sub(peak) as f64;
        point.derivative = point.derivative.min(derivative.least_processor());
        point.primal = point.primal.into_iter().chain(primal.map(|primal| primal.least_processor())).reduce(f64::min);
    }
    Ok(point)
}

/// The work, and something of each size.
fn each(points: &[Point], of: impl Fn(&Point) -> Option<f64>) -> Vec<(f64, f64)> {
    points.iter().filter_map(|point| Some((point.work, of(point)?))).collect()
}

fn name(growing: &Growing) -> String {
    match growing.primal {
        Some(_) => growing.eval.to_owned(),
        None => format!("{} {}", growing.eval, growing.derivative),
    }
}

fn row(growing: &Growing, points: &[Point]) -> String {
    let ends: Vec<f64> = points.iter().map(|point| point.work).collect();
    let mut row = format!(
        "{:<11} {:<22} {:>9.1e} {:>9.1e}",
        name(growing),
        growing.unit,
        ends.first().unwrap_or(&0.0),
        ends.last().unwrap_or(&0.0)
    );
    let columns: [fn(&Point) -> Option<f64>; 3] = [|p| p.primal, |p| Some(p.derivative), |p| Some(p.bytes)];
    for of in columns {
        let points = each(points, of);
        let per_work = |point: Option<&(f64, f64)>| point.map_or(f64::NAN, |(work, amount)| amount / work);
        let ends = format!("{} → {}", short(per_work(points.first())), short(per_work(points.last())));
        let grows = exponent(&points).map_or("–".to_owned(), |exponent| format!("{exponent:.2}"));
        row += &format!("  {:>17} {grows:>9}", if points.is_empty() { "–".to_owned() } else { ends });
    }
    row
}

/// A number with three digits.
fn short(number: f64) -> String {
    match number {
        n if n >= 100.0 || n == 0.0 => format!("{n:.0}"),
        n if n >= 10.0 => format!("{n:.1}"),
        n if n >= 0.1 => format!("{n:.2}"),
        n => format!("{n:.1e}"),
    }
}
