//! Formatting and printing inside a differentiated function: it happens, and carries no derivative.

use pullback::{autodiff, grad, jvp, non_differentiable};
use std::cell::Cell;
use std::fmt::{self, Write};
use std::io::{self, Cursor};

#[autodiff(d_logged, Reverse, Active, Const, Active)]
#[autodiff(t_logged, Forward, Dual, Const, Dual)]
fn logged(x: f64, log: &mut String) -> f64 {
    let y = x * x;
    writeln!(log, "x = {x}, y = {y:.3}").unwrap();
    y + x
}

#[test]
fn into_a_string() {
    let mut log = String::new();
    assert_eq!(d_logged(3.0, &mut log), (7.0, 12.0));
    assert_eq!(t_logged(2.0, 1.0, &mut log), (6.0, 5.0));
    assert_eq!(log, "x = 3, y = 9.000\nx = 2, y = 4.000\n");
}

pullback_e2e::differentiated! {
    fn printing(x) {
        let mut sum = 0.0;
        for (i, v) in x.iter().enumerate() {
            sum += v * v;
            println!("after {i}: {sum:?}");
            eprintln!("{:>8.2e} of {x:?}", sum);
        }
        sum
    } at [1.0, 2.0];

    fn length_of_text(x) {
        let text = format!("{:.0}", x[0]);
        x[0] * text.len() as f64
    } at [1234.2], [5.1];

    fn debug_assertions(x) {
        debug_assert!(x[0].is_finite(), "{} is not finite", x[0]);
        assert_ne!(x[0], 0.0, "x is {:?}", x);
        1.0 / x[0]
    } at [2.0];
}

/// Counts how often it is shown.
struct Point {
    x: f64,
    y: f64,
    shown: Cell<usize>,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.shown.set(self.shown.get() + 1);
        write!(f, "({}, {})", self.x, self.y)
    }
}

#[derive(Debug)]
struct Model {
    name: String,
    weights: Vec<f64>,
}

/// A sink of the program's own, for bytes.
struct Log<'a>(&'a mut Vec<u8>);

impl fmt::Write for Log<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }
}

impl io::Write for Log<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[non_differentiable]
fn norm(x: &[f64]) -> f64 {
    x.iter().map(|x| x * x).sum::<f64>().sqrt()
}

#[non_differentiable]
fn count(counter: &Cell<usize>, x: &[f64]) {
    counter.set(counter.get() + x.len());
}

#[non_differentiable]
fn record(history: &mut Vec<f64>, x: f64) {
    history.push(x);
}

#[non_differentiable]
fn rename(name: &mut String, by: &str) {
    name.push_str(by);
}

#[non_differentiable]
fn name(model: &Model) -> &str {
    &model.name
}

/// The value is x₀x₁ + x₀²·|x| + x₀, and some numbers.
fn observed(x: &[f64]) -> f64 {
    let point = Point { x: x[0] * x[1], y: x[1], shown: Cell::new(0) };
    let mut model = Model { name: "model".to_owned(), weights: x.iter().map(|x| x * x).collect() };
    let text = format!("{point} {model:?} {point}");
    let mut bytes = Vec::new();
    let mut history = Vec::new();
    write!(Log(&mut bytes), "{point} {:?}", model.weights).unwrap();
    io::Write::write_fmt(&mut Log(&mut bytes), format_args!("{x:?}")).unwrap();
    count(&point.shown, x);
    count(&point.shown, &model.weights);
    record(&mut history, x[0]);
    rename(&mut model.name, " of many words, so many that they need memory of their own");
    let moved = Cursor::new([x[0], x[1]]).into_inner();
    let numbers = text.len() + bytes.len() + point.shown.get() + name(&model).len();
    point.x + model.weights[0] * norm(x) + moved[0] + 0.0 * history[0] + numbers as f64
}

/// A sink of the program's own that computes.
struct Sum<'a> {
    sum: &'a mut f64,
    by: f64,
}

impl fmt::Write for Sum<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self.sum += self.by * text.len() as f64;
        Ok(())
    }
}

pullback_e2e::differentiated! {
    fn a_sink_that_is_called(x) {
        let mut sum = 0.0;
        let mut sink = Sum { sum: &mut sum, by: x[0] * x[1] };
        sink.write_str("abc").unwrap();
        sink.write_char('d').unwrap();
        sum
    } at [2.0, 3.0];

    fn a_sink_that_is_given_no_number(x) {
        let mut sum = 0.0;
        write!(Sum { sum: &mut sum, by: 2.0 }, "{}", x[0] > 1.0).unwrap();
        sum * x[0] * x[1]
    } at [2.0, 3.0];
}

#[test]
fn code_of_the_program_that_only_reads() {
    let x = [3.0, 4.0];
    assert_eq!(grad(observed, &x[..]), [4.0 + 2.0 * 3.0 * 5.0 + 1.0, 3.0]);
    let (value, tangent) = jvp(observed, &x[..], &[1.0, 0.0][..]);
    assert_eq!((value, tangent), (observed(&x), 35.0));
}

/// A log that has a shadow, without floats.
#[derive(pullback::Differentiable, Clone, Debug, PartialEq)]
struct Journal {
    x: f64,
    bytes: Vec<u8>,
    text: String,
}

impl Journal {
    fn new(x: f64) -> Self {
        Journal { x, bytes: vec![1, 2], text: "ab".to_owned() }
    }
}

/// (In forward mode the tangent's vector would have to grow, too, which std does not know: that is an error.)
#[autodiff(d_in_bytes, Reverse, Duplicated, Active)]
fn in_bytes(of: &mut Journal) -> f64 {
    io::Write::write_fmt(&mut of.bytes, format_args!("x = {}, and more than there is room for", of.x)).unwrap();
    of.bytes.push(b'!');
    let length = of.bytes.len();
    of.bytes.extend_from_slice(&[3; 40]);
    of.x * of.x * length as f64
}

#[autodiff(d_in_text, Reverse, Duplicated, Active)]
#[autodiff(t_in_text, Forward, Dual, Dual)]
fn in_text(of: &mut Journal) -> f64 {
    write!(of.text, "x = {}, and more than there is room for", of.x).unwrap();
    of.text.push('!');
    let length = of.text.len();
    of.text.push_str("and more and more and more");
    of.x * of.x * length as f64
}

/// Which element is read depends on what was written.
#[autodiff(d_by_text, Reverse, Duplicated, Duplicated, Active)]
fn by_text(x: &[f64], log: &mut Vec<u8>) -> f64 {
    let mut sum = 0.0;
    for i in 0..3 {
        io::Write::write_fmt(log, format_args!("{i}")).unwrap();
        sum += x[usize::from(log[log.len() - 1] - b'0')] * x[log.len() % 2];
    }
    log.clear();
    io::Write::write_fmt(log, format_args!("{:>100}", "another text that needs more room")).unwrap();
    sum
}

#[test]
fn into_what_has_a_shadow() {
    let (mut of, mut shadow) = (Journal::new(3.0), Journal::new(0.0));
    assert_eq!(d_in_bytes(&mut of, &mut shadow), 9.0 * 41.0);
    assert_eq!((of.bytes.len(), shadow), (81, Journal::new(6.0 * 41.0)));
    let (mut of, mut shadow) = (Journal::new(3.0), Journal::new(0.0));
    assert_eq!(d_in_text(&mut of, &mut shadow), 9.0 * 41.0);
    assert_eq!((of.text.len(), shadow), (67, Journal::new(6.0 * 41.0)));
    let (mut of, mut tangent) = (Journal::new(3.0), Journal::new(1.0));
    assert_eq!(t_in_text(&mut of, &mut tangent), (9.0 * 41.0, 6.0 * 41.0));
    assert_eq!((&of.text, of.x, tangent.x), (&tangent.text, 3.0, 1.0));
    let (mut log, mut shadow, mut gradient) = (Vec::new(), Vec::new(), [0.0; 3]);
    assert_eq!(d_by_text(&[1.0, 2.0, 3.0], &mut gradient, &mut log, &mut shadow), 10.0);
    assert_eq!((gradient, log.len(), shadow.len()), ([4.0, 5.0, 2.0], 100, 0));
}
