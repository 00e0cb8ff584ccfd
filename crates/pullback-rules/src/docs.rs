//! The tables as a page: `docs/rules.md` is what [`markdown`] makes of the rules and of the [cases] that tests assert,
//! and a test holds the two together.

use crate::cases::{self, Case, Number};
use crate::{Rule, rule};
use pullback_ir::MathFn;

/// The page.
pub fn markdown() -> String {
    let cases = cases::cases();
    let mut page = String::from(HEAD);
    for function in MathFn::ALL {
        let rule = rule(*function);
        let points = points(&cases, function.name());
        page += &format!("| `{}` | {} | {points} | {} |\n", signature(*function), partials(rule), rule.remark);
    }
    page += ARITHMETIC;
    for (name, operator, partials) in OPERATORS {
        page += &format!("| `{operator}` | {partials} | {} |\n", points(&cases, name));
    }
    page += COMPOSITIONS;
    for cases::Composition { name, at, forward, reverse } in cases::COMPOSITIONS {
        let [forward, strong_forward] = forward.map(Number::from);
        let [reverse, strong_reverse] = reverse.map(Number::from);
        let at = Number::from(at);
        page += &format!("| `{name}` | {at} | {forward} | {reverse} | {strong_forward} | {strong_reverse} |\n");
    }
    page
}

const HEAD: &str = "\
# Derivative rules of the float functions

Made from the tables in `crates/pullback-rules/src` (`table.rs`: the formulas; `cases.rs`: the singular points); to \
make it anew,
run `UPDATE_DOCS=1 cargo test -p pullback-rules`. What is said of a point here is asserted by tests: of the formulas, \
of derivatives that
the interpreter runs, and of compiled ones, optimised and not, in both modes, with and without `strong_zero`, for \
`f64` and `f32`
(`crates/pullback-ad/tests/singular_points.rs`, `tests/e2e/tests/singular_points.rs`).

`r` is the function's result, `n` an `i32`, *tiny* the smallest number above zero (a subnormal one), *huge* the \
largest finite one. A partial that
is not listed is zero. Each formula is computed in the operands' own type, with the fast-math flags the primal had and \
no others. At
singular points a derivative is what IEEE arithmetic makes of the formula, unless the formula has a case of its own \
for it.

- Forward mode computes `ṙ = Σ pᵢ·ẋᵢ` over the operands that depend on the inputs, reverse mode adds `pᵢ·r̄` to each \
`x̄ᵢ`.
- **Zero times infinity** is NaN: where a partial is infinite or NaN, a tangent or cotangent that is zero becomes NaN. \
With the option `strong_zero` it
  stays zero, whatever it is multiplied with, in both modes. So it does through a rule that is written in Rust \
  (`scalar_rule!`, `#[rrule]`, `#[frule]`), if
  the function is one of numbers (in forward mode, if the tangents of all arguments are zero); other rules do not see \
  the option. What is zero
  in between stays zero, too: `1/(1/x)` at 0.
- **What is chosen is not multiplied.** A minimum, a maximum or a selection passes on the tangent of the operand that \
was taken as it is, and gives
  that one the cotangent; the other operand's tangent does not count, also if it is infinite or NaN, and its cotangent \
  is zero. Where a formula
  says \"0 if …\", the product is zero there, whatever the tangent or cotangent is.
- In reverse mode the cotangent zero of an operand that was not taken goes on to what that was computed from: `min(1, \
1/x)` is NaN at 0 without
  `strong_zero`, for there 0 is multiplied with −∞. A branch that was not taken has no derivative, in either mode.

## Functions

| function | partial derivatives | at singular points | |
|---|---|---|---|
";

const ARITHMETIC: &str = "
## Arithmetic

`k` is the whole number in `x % y = x − k·y`. A quotient is differentiated as `ṙ = (ẋ − r·ẏ) / y`.

| operator | partial derivatives | at singular points |
|---|---|---|
";

/// The name of an operator in the cases, how it is written, and its partial derivatives.
const OPERATORS: [(&str, &str, &str); 8] = [
    ("add", "x + y", "∂x: 1<br>∂y: 1"),
    ("sub", "x - y", "∂x: 1<br>∂y: −1"),
    ("neg", "-x", "∂x: −1"),
    ("mul", "x * y", "∂x: y<br>∂y: x"),
    ("square", "x * x", "∂x: 2 · x"),
    ("div", "x / y", "∂x: 1 / y<br>∂y: −r / y"),
    ("recip", "1 / x", "∂x: −r · r"),
    ("rem", "x % y", "∂x: 1<br>∂y: −k"),
];

const COMPOSITIONS: &str = "
## Several together

| expression | at x = | forward | reverse | forward, `strong_zero` | reverse, `strong_zero` |
|---|---|---|---|---|---|
";

fn operand(function: MathFn, index: usize) -> &'static str {
    match index {
        1 if function.takes_int() => "n",
        _ => ["x", "y", "z"][index],
    }
}

fn signature(function: MathFn) -> String {
    let operands: Vec<_> = (0..function.arity()).map(|i| operand(function, i)).collect();
    format!("{function}({})", operands.join(", "))
}

fn partials(rule: &Rule) -> String {
    let one = |(i, p): (usize, &Option<crate::Expr>)| Some(format!("∂{}: {}", operand(rule.function, i), (*p)?));
    let all: Vec<_> = rule.partials.iter().enumerate().filter_map(one).collect();
    if all.is_empty() { "0".to_owned() } else { all.join("<br>") }
}

/// What the cases say of a function: each list of partial derivatives, and the points where they are so.
fn points(cases: &[Case], function: &str) -> String {
    let is_int = MathFn::from_name(function).is_some_and(MathFn::takes_int);
    let mut groups: Vec<(String, Vec<&[Number]>)> = Vec::new();
    for case in cases.iter().filter(|case| case.function == function) {
        // An integer has no derivative.
        let partials = tuple(&case.partials[..if is_int { 1 } else { case.partials.len() }]);
        match groups.iter_mut().find(|(p, _)| *p == partials) {
            Some((_, points)) => points.push(&case.at),
            None => groups.push((partials, vec![&case.at])),
        }
    }
    let group = |(partials, points): (String, Vec<&[Number]>)| format!("{partials} at {}", places(&points));
    groups.into_iter().map(group).collect::<Vec<_>>().join("; ")
}

/// Points in a row; of a number and its negative one is written.
fn places(points: &[&[Number]]) -> String {
    let all: Vec<String> = points.iter().map(|point| tuple(point)).collect();
    let place = |name: &String| match name.strip_prefix('−') {
        Some(positive) if all.iter().any(|other| other == positive) => None,
        None if all.contains(&format!("−{name}")) => Some(format!("±{name}")),
        _ => Some(name.clone()),
    };
    all.iter().filter_map(place).collect::<Vec<_>>().join(", ")
}

fn tuple(numbers: &[Number]) -> String {
    match numbers {
        [one] => one.to_string(),
        all => format!("({})", all.iter().map(Number::to_string).collect::<Vec<_>>().join(", ")),
    }
}
