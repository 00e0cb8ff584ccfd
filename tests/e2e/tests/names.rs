//! What a function is called says nothing of what it computes: not the types that it is for, nor its own name.

use pullback::{Differentiable, autodiff, make_zero};
use std::fmt;
use std::io::Write;
use std::path::{Component, Path};
use std::time::Instant;

/// A function of the program's, for a function of std's that formats.
#[inline(never)]
fn besides<F: Fn(&f64, &mut fmt::Formatter<'_>) -> fmt::Result>(x: f64, _: F) -> f64 {
    x * x
}

#[autodiff(d_besides_formatting, Reverse, Active, Active)]
#[autodiff(t_besides_formatting, Forward, Dual, DualOnly)]
fn besides_formatting(x: f64) -> f64 {
    besides(x, <f64 as fmt::Debug>::fmt)
}

/// A trait of the program's, for a type of std's.
trait Scaled {
    fn scaled(&self, x: f64) -> f64;

    #[inline(never)]
    fn twice(&self, x: f64) -> f64 {
        2.0 * self.scaled(x)
    }
}

impl Scaled for Instant {
    #[inline(never)]
    fn scaled(&self, x: f64) -> f64 {
        x * x * x
    }
}

#[autodiff(d_traits, Reverse, Const, Active, Active)]
#[autodiff(t_traits, Forward, Const, Dual, DualOnly)]
fn traits(at: Instant, x: f64) -> f64 {
    at.scaled(x) + at.twice(x)
}

/// A trait of std's with a type of the program's, for a type of std's.
struct Factor(f64);

impl std::ops::Mul<Factor> for fmt::Error {
    type Output = f64;

    #[inline(never)]
    fn mul(self, by: Factor) -> f64 {
        2.0 * by.0 * by.0
    }
}

#[autodiff(d_operators, Reverse, Active, Active)]
#[autodiff(t_operators, Forward, Dual, DualOnly)]
fn operators(x: f64) -> f64 {
    fmt::Error * Factor(x)
}

/// A method of std's that runs a function of the program's.
#[autodiff(d_folded, Reverse, Const, Active, Active)]
#[autodiff(t_folded, Forward, Const, Dual, DualOnly)]
fn folded(path: &Path, x: f64) -> f64 {
    path.components().fold(x, |product, _| product * x)
}

#[inline(never)]
fn squared(x: f64, _: Component<'_>) -> f64 {
    x * x
}

#[autodiff(d_folded_by_pointer, Reverse, Const, Active, Active)]
#[autodiff(t_folded_by_pointer, Forward, Const, Dual, DualOnly)]
fn folded_by_pointer(path: &Path, x: f64) -> f64 {
    path.components().fold(x, squared as fn(f64, Component<'_>) -> f64)
}

/// Names of the run time.
mod own {
    #[inline(never)]
    pub fn __rust_alloc(x: f64, _: usize) -> f64 {
        x * x
    }

    #[inline(never)]
    pub fn __rust_no_alloc_shim_is_unstable(x: f64) -> f64 {
        x * x
    }

    #[inline(never)]
    pub fn rust_eh_personality(x: f64) -> f64 {
        x * x
    }
}

#[autodiff(d_run_time, Reverse, Active, Active)]
#[autodiff(t_run_time, Forward, Dual, DualOnly)]
fn run_time(x: f64) -> f64 {
    own::__rust_alloc(x, 8) + own::__rust_no_alloc_shim_is_unstable(x) + own::rust_eh_personality(x)
}

/// Names that the program gives to the linker: paths of std's, and those of C's functions, which it defines itself.
mod exported {
    #[unsafe(export_name = "std::time::scale")]
    #[inline(never)]
    pub fn scale(x: f64) -> f64 {
        x * x
    }

    #[unsafe(export_name = "core::fmt::write")]
    #[inline(never)]
    pub fn write(x: &mut f64) {
        *x *= *x;
    }

    #[unsafe(export_name = "pullback::walk_bookkeeping")]
    #[inline(never)]
    pub fn walk(x: f64) -> f64 {
        x * x
    }

    #[unsafe(no_mangle)]
    #[inline(never)]
    pub extern "C" fn hypot(x: f64, y: f64) -> f64 {
        x * x * y
    }

    #[unsafe(no_mangle)]
    #[inline(never)]
    pub extern "C" fn cbrt(x: f64) -> f64 {
        x * x
    }
}

#[autodiff(d_exported_names, Reverse, Active, Active)]
#[autodiff(t_exported_names, Forward, Dual, DualOnly)]
fn exported_names(x: f64) -> f64 {
    let mut square = x;
    exported::write(&mut square);
    exported::scale(x) + square + exported::walk(x) + exported::hypot(x, 2.0) + exported::cbrt(x)
}

#[test]
fn what_the_program_computes_is_differentiated() {
    assert_eq!((d_besides_formatting(3.0), t_besides_formatting(3.0, 1.0)), ((6.0, 9.0), 6.0));
    let now = Instant::now();
    assert_eq!((d_traits(now, 3.0), t_traits(now, 3.0, 1.0)), ((81.0, 81.0), 81.0));
    assert_eq!((d_operators(3.0), t_operators(3.0, 1.0)), ((12.0, 18.0), 12.0));
    let path = Path::new("a/b");
    assert_eq!((d_folded(path, 3.0), t_folded(path, 3.0, 1.0)), ((27.0, 27.0), 27.0));
    assert_eq!((d_folded_by_pointer(path, 3.0), t_folded_by_pointer(path, 3.0, 1.0)), ((108.0, 81.0), 108.0));
    assert_eq!((d_run_time(3.0), t_run_time(3.0, 1.0)), ((18.0, 27.0), 18.0));
    assert_eq!((d_exported_names(3.0), t_exported_names(3.0, 1.0)), ((36.0, 54.0), 36.0));
}

/// What std does to the world outside is left as it is.
#[autodiff(d_outside, Reverse, Const, Active, Active)]
#[autodiff(t_outside, Forward, Const, Dual, DualOnly)]
fn outside(words: &[String], x: f64) -> f64 {
    let mut text: Vec<u8> = Vec::new();
    let mut writer = std::io::BufWriter::with_capacity(0, &mut text);
    writer.write_all(words[0].as_bytes()).unwrap();
    let first = writer.get_ref().len();
    writeln!(writer, "{x} {:?}", words[1]).unwrap();
    let second = writer.get_ref().len();
    writeln!(std::io::BufWriter::new(std::io::sink()), "{:?}", Instant::now().elapsed()).unwrap();
    let unset = std::env::var("E2E_IS_NOT_SET").map_or(1, |value| value.len());
    assert_eq!(Some(x), Some(x), "{words:?}");
    x * x * first as f64 + x * (second - first) as f64 * unset as f64
}

#[test]
fn the_world_outside_carries_no_derivative() {
    let words = ["abc".to_owned(), "de".to_owned()];
    assert_eq!((d_outside(&words, 3.0), t_outside(&words, 3.0, 1.0)), ((25.0, 48.0), 25.0));
}

/// Names that the macros have use for themselves.
#[derive(Differentiable, Clone, Debug, PartialEq)]
enum Taken<__Visit, Visitor> {
    Some { visit: __Visit, shadow: Visitor, path: f64, sharing: f64, r#type: f64 },
    None,
}

#[autodiff(d_taken, Reverse, Active, Duplicated, Active)]
fn taken(tape: f64, seed: &Taken<f64, f64>) -> f64 {
    match seed {
        Taken::Some { visit, shadow, path, sharing, r#type } => tape * visit * shadow * path * sharing * r#type,
        Taken::None => tape,
    }
}

#[test]
fn names_of_the_macros() {
    let seed = Taken::Some { visit: 2.0, shadow: 3.0, path: 5.0, sharing: 7.0, r#type: 11.0 };
    let mut shadow = make_zero(&seed);
    assert_eq!(d_taken(1.0, &seed, &mut shadow), (2310.0, 2310.0));
    let gradient = Taken::Some { visit: 1155.0, shadow: 770.0, path: 462.0, sharing: 330.0, r#type: 210.0 };
    assert_eq!(shadow, gradient);
    assert_eq!(d_taken(1.0, &Taken::None, &mut Taken::None), (1.0, 1.0));
}
