//! What derivatives computed, against what dual numbers say.

use super::numbers::{Purpose, Stream};
use super::program::{POINTS, Program};
use super::signature::Output;
use super::template::Precision;
use std::collections::BTreeMap;

/// One line of a program: what a form of the function computed at a point.
#[derive(Clone, PartialEq, Debug, Default)]
struct Record {
    panic: Option<String>,
    values: Vec<u64>,
    derivatives: Vec<u64>,
}

/// All that programs printed, by program, point and form.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Records {
    done: BTreeMap<(usize, u64, String), Record>,
    /// What was begun last.
    pub last: Option<(usize, String)>,
}

impl Records {
    /// Read what a program printed.
    pub fn read(&mut self, text: &str) {
        for line in text.lines() {
            let mut words = line.splitn(4, ' ');
            let (Some(program), Some(point), Some(form), Some(rest)) =
                (words.next(), words.next(), words.next(), words.next())
            else {
                continue;
            };
            let (Ok(program), Ok(point)) = (program.parse(), point.parse()) else { continue };
            if rest == "begins" {
                self.last = Some((program, form.to_owned()));
                continue;
            }
            let mut parts = rest.split('|');
            let how = parts.next().unwrap_or("").trim();
            let mut numbers = || -> Vec<u64> {
                parts
                    .next()
                    .unwrap_or("")
                    .split_whitespace()
                    .map_while(|word| u64::from_str_radix(word, 16).ok())
                    .collect()
            };
            let record = Record {
                panic: how.strip_prefix("panic").map(|message| message.trim().to_owned()),
                values: numbers(),
                derivatives: numbers(),
            };
            self.done.insert((program, point, form.to_owned()), record);
        }
    }
}

/// An output of a program run with dual numbers.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Exact {
    value: f64,
    /// The derivative with respect to the input, and its scale.
    first: Scaled,
    /// The second derivative with respect to the input and in the direction.
    mixed: Scaled,
}

/// A number, and the sum of the absolute values of its terms.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Scaled {
    value: f64,
    scale: f64,
}

impl Scaled {
    const ZERO: Scaled = Scaled { value: 0.0, scale: 0.0 };

    fn add(&mut self, factor: f64, term: Scaled) {
        if factor != 0.0 && term.scale != 0.0 {
            self.value += factor * term.value;
            self.scale += factor.abs() * term.scale;
        }
    }
}

/// What dual numbers say, by program, point and input; nothing where there was a panic, or a tie that may be decided in
/// either way.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Oracle(BTreeMap<(usize, u64), Vec<Option<Vec<Exact>>>>);

impl Oracle {
    /// Read what the oracle printed.
    pub fn read(text: &str) -> Self {
        let mut oracle = Oracle::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [program, point, _input, how, numbers @ ..] = &words[..] else { continue };
            let (Ok(program), Ok(point)) = (program.parse(), point.parse()) else { continue };
            let numbers: Vec<f64> =
                numbers.iter().map(|word| f64::from_bits(u64::from_str_radix(word, 16).unwrap_or(0))).collect();
            let outputs = numbers.chunks_exact(5).map(|n| Exact {
                value: n[0],
                first: Scaled { value: n[1], scale: n[3] },
                mixed: Scaled { value: n[2], scale: n[4] },
            });
            let run = (*how == "ok").then(|| outputs.collect());
            oracle.0.entry((program, point)).or_default().push(run);
        }
        oracle
    }
}

/// How a program fares.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Verdict {
    /// What is wrong.
    pub wrong: Vec<String>,
    /// Points at which nothing could be compared.
    pub skipped: u64,
    /// Points at which the program panics.
    pub panics: u64,
}

/// Compare all forms of a program at all points.
pub fn compare(number: usize, program: &Program, records: &Records, oracle: &Oracle) -> Verdict {
    let mut verdict = Verdict::default();
    for point in 0..POINTS {
        let point = Point { program, number, point, records };
        let record = |form: &str| records.done.get(&(number, point.point, form.to_owned()));
        let (Some(primal), Some(exact)) = (record("primal"), oracle.0.get(&(number, point.point))) else {
            verdict.wrong.push(format!("point {}: nothing was printed", point.point));
            continue;
        };
        let runs: Option<Vec<&Vec<Exact>>> = exact.iter().map(Option::as_ref).collect();
        match (&primal.panic, runs) {
            (Some(_), _) if exact.iter().all(Option::is_none) => {
                verdict.panics += 1;
                point.compare_panics(primal, &mut verdict);
            }
            (None, Some(runs)) if point.same_way(primal, &runs) => point.compare_values(primal, &runs, &mut verdict),
            // The last bit of a value may decide on the way that is taken, and an optimiser may change it; or there is a
            // tie.
            _ => verdict.skipped += 1,
        }
    }
    verdict
}

struct Point<'a> {
    program: &'a Program,
    number: usize,
    point: u64,
    records: &'a Records,
}

impl Point<'_> {
    fn float(&self, bits: u64) -> f64 {
        match self.program.precision {
            Precision::Single => f64::from(f32::from_bits(bits as u32)),
            Precision::Double => f64::from_bits(bits),
        }
    }

    /// So many numbers for a purpose, as the program has them.
    fn numbers(&self, purpose: Purpose, count: usize) -> Vec<f64> {
        let mut stream = Stream::new(self.program.seed, self.point, purpose);
        let number = |_| match self.program.precision {
            Precision::Single => f64::from(stream.number() as f32),
            Precision::Double => stream.number(),
        };
        (0..count).map(number).collect()
    }

    /// Whether the primal took the way of the dual numbers: their values are the same, but for rounding.
    fn same_way(&self, primal: &Record, runs: &[&Vec<Exact>]) -> bool {
        let tolerance = match self.program.precision {
            Precision::Single => 1e-3,
            Precision::Double => 1e-9,
        };
        runs.iter().all(|run| {
            run.len() == primal.values.len()
                && run.iter().zip(&primal.values).all(|(exact, bits)| {
                    let value = self.float(*bits);
                    (exact.value.is_nan() && value.is_nan())
                        || exact.value == value
                        || (exact.value - value).abs() <= tolerance * (1.0 + value.abs())
                })
        })
    }

    fn forms(&self) -> impl Iterator<Item = (&str, &Record)> {
        let range = (self.number, self.point, String::new())..(self.number, self.point + 1, String::new());
        self.records.done.range(range).map(|((_, _, form), record)| (&form[..], record))
    }

    fn compare_panics(&self, primal: &Record, verdict: &mut Verdict) {
        for (form, record) in self.forms() {
            if record.panic != primal.panic {
                let (seen, expected) = (&record.panic, &primal.panic);
                verdict
                    .wrong
                    .push(format!("point {}: {form} panics with {seen:?}, the primal with {expected:?}", self.point));
            } else if form == "reverse" {
                let shadows = self.numbers(Purpose::Cotangents, record.derivatives.len());
                let seen: Vec<f64> = record.derivatives.iter().map(|bits| self.float(*bits)).collect();
                if seen != shadows {
                    verdict.wrong.push(format!(
                        "point {}: after the panic shadows are {seen:?}, before {shadows:?}",
                        self.point
                    ));
                }
            }
        }
    }

    fn compare_values(&self, primal: &Record, runs: &[&Vec<Exact>], verdict: &mut Verdict) {
        for (form, record) in self.forms() {
            if let Some(message) = &record.panic {
                verdict.wrong.push(format!("point {}: {form} panics, the primal does not: {message}", self.point));
                continue;
            }
            let has_values = form != "hvp";
            if has_values && record.values != primal.values {
                let floats = |bits: &[u64]| bits.iter().map(|bits| self.float(*bits)).collect::<Vec<_>>();
                let (seen, expected) = (floats(&record.values), floats(&primal.values));
                verdict.wrong.push(format!(
                    "point {}: bits: {form} computes the value {seen:?}, the primal {expected:?}",
                    self.point
                ));
            }
            let expected = match form {
                "forward" | "jvp" => self.tangents(runs),
                "reverse" => self.gradient(runs, Form::Attribute),
                "grad" => self.gradient(runs, Form::Functional),
                "hvp" => runs.iter().map(|run| run[0].mixed).collect(),
                _ => continue,
            };
            if expected.len() != record.derivatives.len() {
                let seen = record.derivatives.len();
                verdict.wrong.push(format!(
                    "point {}: {form} gives {seen} numbers, not {}",
                    self.point,
                    expected.len()
                ));
                continue;
            }
            for (i, (bits, expected)) in record.derivatives.iter().zip(&expected).enumerate() {
                let seen = self.float(*bits);
                if !self.agrees(seen, *expected) {
                    let (exact, scale) = (expected.value, expected.scale);
                    verdict.wrong.push(format!(
                        "point {}: {form}, number {i}: {seen}, exact is {exact} (scale {scale})",
                        self.point
                    ));
                }
            }
        }
    }

    /// Rounding is in proportion to the terms: each is a product of partials, and what is lost in all of them is a
    /// small multiple of its last bit. A derivative that has no terms is exactly zero.
    fn agrees(&self, seen: f64, expected: Scaled) -> bool {
        let (relative, of_scale, largest) = match self.program.precision {
            Precision::Single => (1e-4, 3e-5, 1e30),
            Precision::Double => (1e-9, 1e-12, 1e250),
        };
        if !expected.value.is_finite() || expected.scale > largest || expected.scale.is_nan() {
            return true;
        }
        let smallest = if expected.scale == 0.0 { 0.0 } else { 1e-30 };
        (seen - expected.value).abs() <= relative * expected.value.abs() + of_scale * expected.scale + smallest
    }

    fn tangents(&self, runs: &[&Vec<Exact>]) -> Vec<Scaled> {
        let direction = self.numbers(Purpose::Direction, runs.len());
        let mut tangents = vec![Scaled::ZERO; runs[0].len()];
        for (run, direction) in runs.iter().zip(direction) {
            for (tangent, exact) in tangents.iter_mut().zip(*run) {
                tangent.add(direction, exact.first);
            }
        }
        tangents
    }

    fn gradient(&self, runs: &[&Vec<Exact>], form: Form) -> Vec<Scaled> {
        let params = || self.program.signature.params.iter().filter(|param| param.active);
        let shadows: usize = params().filter(|param| param.has_shadow()).map(|param| param.kind.floats()).sum();
        let mut shadows = self.numbers(Purpose::Cotangents, shadows).into_iter();
        let output = self.program.signature.output;
        let mut seeds = match output {
            Output::Active => vec![1.0],
            _ => self.numbers(Purpose::Seeds, output.floats()),
        };
        let mut gradient = Vec::new();
        for param in params() {
            for _ in 0..param.kind.floats() {
                let shadow = if param.has_shadow() && form == Form::Attribute { shadows.next() } else { None };
                let before = shadow.filter(|_| !param.kind.is_mut()).unwrap_or(0.0);
                gradient.push(Scaled { value: before, scale: before.abs() });
                seeds.extend(shadow.filter(|_| param.kind.is_mut()));
            }
        }
        for (gradient, run) in gradient.iter_mut().zip(runs) {
            for (seed, exact) in seeds.iter().zip(*run) {
                gradient.add(*seed, exact.first);
            }
        }
        gradient
    }
}

/// Whether shadows come from the caller.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Attribute,
    Functional,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rust::signature::{Functional, Kind, Param, Signature};

    /// `fn f(a0: &[F]) -> F`, which is `3 · a0[0]`.
    fn program(precision: Precision) -> Program {
        let params = vec![Param::active(Kind::Slice(2))];
        let signature = Signature { params, output: Output::Active, functional: Functional::None };
        Program { seed: 9, precision, signature, body: String::new(), helpers: String::new() }
    }

    /// What is seen if the derivative with respect to the first input is `slope`, and to the second `other`.
    fn seen(precision: Precision, slope: f64, other: f64, panic: &str) -> Verdict {
        let program = program(precision);
        let bits = |number: f64| match precision {
            Precision::Single => format!("{:x}", (number as f32).to_bits()),
            Precision::Double => format!("{:x}", number.to_bits()),
        };
        let (mut text, mut exact) = (String::new(), String::new());
        for number in 0..POINTS {
            let point = Point { program: &program, number: 0, point: number, records: &Records::default() };
            let value = 3.0 * point.numbers(Purpose::Values, 1)[0];
            let (direction, shadows) = (point.numbers(Purpose::Direction, 2), point.numbers(Purpose::Cotangents, 2));
            let value_bits = bits(value);
            let tangent = bits(slope * direction[0] + other * direction[1]);
            let gradient = [bits(shadows[0] + slope), bits(shadows[1] + other)];
            text +=
                &format!("0 {number} primal ok | {value_bits} |\n0 {number} forward ok | {value_bits} | {tangent}\n");
            text += &format!("0 {number} reverse {panic} | {value_bits} | {} {}\n", gradient[0], gradient[1]);
            for (input, slope) in [3.0f64, 0.0].iter().enumerate() {
                exact += &format!(
                    "0 {number} {input} ok {:x} {:x} 0 {:x} 0\n",
                    value.to_bits(),
                    slope.to_bits(),
                    slope.to_bits()
                );
            }
        }
        let mut records = Records::default();
        records.read(&text);
        compare(0, &program, &records, &Oracle::read(&exact))
    }

    #[test]
    fn what_is_right_is_accepted_and_what_is_wrong_is_not() {
        for (precision, rounding, fault) in [(Precision::Double, 1e-12, 1e-7), (Precision::Single, 1e-5, 2e-2)] {
            assert_eq!(seen(precision, 3.0, 0.0, "ok"), Verdict::default());
            assert_eq!(seen(precision, 3.0 * (1.0 + rounding), 0.0, "ok"), Verdict::default());
            assert!(!seen(precision, 3.0 + fault, 0.0, "ok").wrong.is_empty());
            assert!(!seen(precision, 3.0, 0.01, "ok").wrong.is_empty());
            assert!(!seen(precision, f64::NAN, 0.0, "ok").wrong.is_empty());
        }
    }

    #[test]
    fn a_panic_of_the_derivative_alone_is_a_fault() {
        let verdict = seen(Precision::Double, 3.0, 0.0, "panic too long");
        assert!(verdict.wrong.iter().all(|said| said.contains("panics, the primal does not: too long")));
        assert_eq!(verdict.wrong.len(), POINTS as usize);
    }
}
