//! Derivatives at singular points: every case of `rules/cases.rs`, compiled, in both modes, with and without
//! `strong_zero`, for `f64` and `f32`. What Rust has no method for, the test of the same name in `pullback-ad` runs in
//! the interpreter.

#[path = "../../../crates/pullback-rules/src/cases.rs"]
#[allow(dead_code)]
mod cases;

use cases::{COMPOSITIONS, Zeros, agrees};
use std::hint::black_box;

/// Functions of the C library that the standard library has in another form.
mod c {
    pub mod double {
        unsafe extern "C" {
            pub safe fn asinh(x: f64) -> f64;
            pub safe fn exp10(x: f64) -> f64;
            pub safe fn acosh(x: f64) -> f64;
            pub safe fn atanh(x: f64) -> f64;
        }
    }

    pub mod single {
        unsafe extern "C" {
            #[link_name = "asinhf"]
            pub safe fn asinh(x: f32) -> f32;
            #[link_name = "exp10f"]
            pub safe fn exp10(x: f32) -> f32;
            #[link_name = "acoshf"]
            pub safe fn acosh(x: f32) -> f32;
            #[link_name = "atanhf"]
            pub safe fn atanh(x: f32) -> f32;
        }
    }
}

/// `(x, y, z, n) name = expression; …`: `double` and `single` have a function with all of them, and its derivatives.
/// Numbers are of the type `T`.
macro_rules! functions {
    (mod $module:ident: ($x:ident, $y:ident, $z:ident, $n:ident) $($name:ident = $value:expr;)*) => {
        mod $module {
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            #[allow(non_camel_case_types)]
            enum Which { $($name),* }

            #[allow(non_upper_case_globals)]
            mod number {
                $(pub const $name: usize = super::Which::$name as usize;)*
            }

            functions!(in double: f64, ($x, $y, $z, $n) $($name = $value;)*);
            functions!(in single: f32, ($x, $y, $z, $n) $($name = $value;)*);
        }
    };
    (in $module:ident: $T:ident, ($x:ident, $y:ident, $z:ident, $n:ident) $($name:ident = $value:expr;)*) => {
        pub mod $module {
            use super::number;
            #[allow(unused_imports)]
            use crate::c::$module as c;
            type T = $T;

            #[pullback::autodiff(reverse, Reverse, Const, Duplicated, Const, Duplicated)]
            #[pullback::autodiff(forward, Forward, Const, Dual, Const, Dual)]
            #[pullback::autodiff(strong_reverse, Reverse, strong_zero, Const, Duplicated, Const, Duplicated)]
            #[pullback::autodiff(strong_forward, Forward, strong_zero, Const, Dual, Const, Dual)]
            #[allow(deprecated, unused_variables)]
            fn function(which: usize, at: &[T; 3], $n: i32, out: &mut T) {
                let [$x, $y, $z] = *at;
                *out = match which {
                    $(number::$name => $value,)*
                    _ => unreachable!(),
                };
            }

            /// The tangent of the result.
            pub fn tangent(zeros: crate::Zeros, which: usize, at: [f64; 3], direction: [f64; 3]) -> f64 {
                let derivative = if zeros == crate::Zeros::Strong { strong_forward } else { forward };
                let (at, direction, n) = (at.map(|v| v as T), direction.map(|v| v as T), at[1] as i32);
                let (mut out, mut tangent) = (0.0, 0.0);
                derivative(which, &at, &direction, n, &mut out, &mut tangent);
                tangent.into()
            }

            /// The gradient, for the cotangent `seed` of the result.
            pub fn gradient(zeros: crate::Zeros, which: usize, at: [f64; 3], seed: f64) -> [f64; 3] {
                let derivative = if zeros == crate::Zeros::Strong { strong_reverse } else { reverse };
                let (at, n, mut gradient) = (at.map(|v| v as T), at[1] as i32, [0.0; 3]);
                let (mut out, mut cotangent) = (0.0, seed as T);
                derivative(which, &at, &mut gradient, n, &mut out, &mut cotangent);
                gradient.map(f64::from)
            }
        }
    };
}

functions! {
    mod one: (x, y, z, n)
    add = x + y;
    sub = x - y;
    neg = -x;
    mul = x * y;
    square = x * x;
    div = x / y;
    recip = x.recip();
    rem = x % y;
    sqrt = x.sqrt();
    cbrt = x.cbrt();
    hypot = x.hypot(y);
    pow = x.powf(y);
    powi = x.powi(n);
    exp = x.exp();
    exp2 = x.exp2();
    exp10 = c::exp10(x);
    expm1 = x.exp_m1();
    log = x.ln();
    log2 = x.log2();
    log10 = x.log10();
    log1p = x.ln_1p();
    sin = x.sin();
    cos = x.cos();
    tan = x.tan();
    asin = x.asin();
    acos = x.acos();
    atan = x.atan();
    atan2 = x.atan2(y);
    sinh = x.sinh();
    cosh = x.cosh();
    tanh = x.tanh();
    asinh = c::asinh(x);
    acosh = c::acosh(x);
    atanh = c::atanh(x);
    fma = x.mul_add(y, z);
    fabs = x.abs();
    copysign = x.copysign(y);
    fdim = x.abs_sub(y);
    minnum = x.min(y);
    maxnum = x.max(y);
    floor = x.floor();
    ceil = x.ceil();
    trunc = x.trunc();
    round = x.round();
    roundeven = x.round_ties_even();
}

functions! {
    mod several: (x, y, z, n)
    capped = T::min(1.0, 1.0 / x);
    floored = T::max(1.0, 1.0 / x);
    root_floored = x.sqrt().max(1.0);
    root_capped = x.sqrt().min(1.0);
    clamped = (1.0 / x).clamp(0.0, 1.0);
    root_clamped = x.sqrt().clamp(1.0, 2.0);
    root_magnitude = x.sqrt().abs();
    root_if_positive = if x > 0.0 { x.sqrt() } else { 0.0 };
    root_of_square = (x * x).sqrt();
    nothing_under_a_root = 1.0 / (x - x).sqrt();
    twice_reciprocal = x.recip().recip();
    to_the_half = x.powf(0.5);
    at_least_one = x.max(1.0);
    one_or_more = T::max(1.0, x);
    at_most_one = x.min(1.0);
    from_zero_to_one = x.clamp(0.0, 1.0);
    larger_of_itself = x.max(x);
}

/// What the compositions of the cases are called here.
const SEVERAL: [(&str, &str); COMPOSITIONS.len()] = [
    ("min(1, 1/x)", "capped"),
    ("max(1, 1/x)", "floored"),
    ("max(sqrt(x), 1)", "root_floored"),
    ("min(sqrt(x), 1)", "root_capped"),
    ("clamp(1/x, 0, 1)", "clamped"),
    ("clamp(sqrt(x), 1, 2)", "root_clamped"),
    ("abs(sqrt(x))", "root_magnitude"),
    ("if x > 0 { sqrt(x) } else { 0 }", "root_if_positive"),
    ("sqrt(x²)", "root_of_square"),
    ("1/sqrt(x − x)", "nothing_under_a_root"),
    ("1/(1/x)", "twice_reciprocal"),
    ("pow(x, 0.5)", "to_the_half"),
    ("max(x, 1)", "at_least_one"),
    ("max(1, x)", "one_or_more"),
    ("min(x, 1)", "at_most_one"),
    ("clamp(x, 0, 1)", "from_zero_to_one"),
    ("max(x, x)", "larger_of_itself"),
];

/// The derivatives of one of the two types: the tangent of a function of this number, and its gradient.
type Tangent = fn(Zeros, usize, [f64; 3], [f64; 3]) -> f64;
type Gradient = fn(Zeros, usize, [f64; 3], f64) -> [f64; 3];

const ALL_ZEROS: [Zeros; 2] = [Zeros::Ieee, Zeros::Strong];

fn direction(of: Option<usize>) -> [f64; 3] {
    std::array::from_fn(|i| if of == Some(i) { 1.0 } else { 0.0 })
}

/// What each derivative gives that is not what the cases say.
fn check_cases(tangent: Tangent, gradient: Gradient, single: bool) {
    let tolerance = if single { cases::SINGLE } else { cases::DOUBLE };
    let mut wrong = Vec::new();
    for case in cases::cases() {
        let Some(which) = one::NAMES.iter().position(|name| *name == case.function) else {
            let elsewhere = ["minimumnum", "maximumnum", "minimum", "maximum", "fmuladd", "ldexp", "rint", "nearbyint"];
            assert!(elsewhere.contains(&case.function), "{} is not tested", case.function);
            continue;
        };
        let number = |x: &cases::Number| if single { f64::from(x.single) } else { x.double };
        let partials: Vec<f64> = case.partials.iter().map(number).collect();
        let at = black_box(std::array::from_fn(|i| case.at.get(i).map_or(0.0, number)));
        for zeros in ALL_ZEROS {
            let mut check = |what: String, found: f64, expected: f64| {
                if !agrees(found, expected, tolerance) {
                    let of = &case.function;
                    wrong.push(format!("{of}{at:?}, {zeros:?}: {what} is {found:?}, expected {expected:?}"));
                }
            };
            for of in (0..partials.len()).map(Some).chain([None]) {
                let found = tangent(zeros, which, at, black_box(direction(of)));
                check(format!("forward {of:?}"), found, case.forward(of, zeros, &partials));
            }
            for seed in [1.0, 0.0] {
                let found = gradient(zeros, which, at, black_box(seed));
                for (i, partial) in partials.iter().enumerate() {
                    check(format!("reverse {i}, seed {seed}"), found[i], case.reverse(seed, zeros, *partial));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn double_precision_is_as_the_cases_say() {
    check_cases(one::double::tangent, one::double::gradient, false);
}

#[test]
fn single_precision_is_as_the_cases_say() {
    check_cases(one::single::tangent, one::single::gradient, true);
}

fn check_compositions(tangent: Tangent, gradient: Gradient) {
    let mut wrong = Vec::new();
    for composition in COMPOSITIONS {
        let (_, name) = SEVERAL.iter().find(|(name, _)| *name == composition.name).expect("it has a function");
        let which = several::NAMES.iter().position(|other| other == name).expect("it is written");
        let at = black_box([composition.at, 0.0, 0.0]);
        for (zeros, setting) in ALL_ZEROS.into_iter().zip(0..) {
            let forward = tangent(zeros, which, at, black_box(direction(Some(0))));
            let reverse = gradient(zeros, which, at, black_box(1.0))[0];
            for (mode, found, expected) in
                [("forward", forward, composition.forward[setting]), ("reverse", reverse, composition.reverse[setting])]
            {
                if !agrees(found, expected, 0.0) {
                    let of = composition.name;
                    wrong.push(format!("{of}, {zeros:?}, {mode} is {found:?}, expected {expected:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn compositions_in_double_precision_are_as_the_cases_say() {
    check_compositions(several::double::tangent, several::double::gradient);
}

#[test]
fn compositions_in_single_precision_are_as_the_cases_say() {
    check_compositions(several::single::tangent, several::single::gradient);
}

/// A function of numbers with a rule that is written in Rust: its derivative is infinite at 0.
mod ruled {
    use pullback::{autodiff, scalar_rule};

    fn root(x: f64) -> f64 {
        x.sqrt()
    }

    scalar_rule!(root(x) => r; d/dx = 0.5 / r);

    #[autodiff(reverse, Reverse, Active, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    #[autodiff(strong_reverse, Reverse, strong_zero, Active, Active)]
    #[autodiff(strong_forward, Forward, strong_zero, Dual, Dual)]
    #[autodiff(strong_batch, Forward(2), strong_zero, Dual, Dual)]
    fn at_least_one(x: f64) -> f64 {
        root(x).max(1.0)
    }

    #[autodiff(strong_root, Forward, strong_zero, Dual, Dual)]
    #[autodiff(strong_gradient, Reverse, strong_zero, Active, Active)]
    fn rooted(x: f64) -> f64 {
        root(x)
    }

    #[test]
    fn strong_zeros_hold_for_rules_of_numbers() {
        assert!(reverse(0.0).0.is_nan());
        assert!(forward(0.0, 0.0).1 == 0.0 && forward(0.0, 1.0).1 == 0.0);
        assert_eq!(strong_reverse(0.0), (0.0, 1.0));
        assert_eq!(strong_reverse(4.0), (0.25, 2.0));
        assert_eq!(strong_forward(0.0, 1.0), (1.0, 0.0));
        assert_eq!(strong_batch(4.0, [0.0, 2.0]), (2.0, [0.0, 0.5]));
        assert_eq!(strong_root(0.0, 0.0), (0.0, 0.0));
        assert_eq!(strong_root(0.0, 1.0), (0.0, f64::INFINITY));
        assert_eq!(strong_gradient(0.0), (f64::INFINITY, 0.0));
    }
}
