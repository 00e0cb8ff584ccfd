//! Methods, traits, generics, functions in functions, several attributes on one function.

use pullback::{Differentiable, Writable, autodiff, make_zero};

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Line {
    slope: f64,
    offset: f64,
    calls: u32,
}

impl Line {
    #[autodiff(d_at, Reverse, Duplicated, Active, Active)]
    #[autodiff(d_at_x, Reverse, Const, Active, Active)]
    #[autodiff(t_at, Forward, self = Dual, return = Dual)]
    fn at(&self, x: f64) -> f64 {
        self.slope * x + self.offset
    }

    #[autodiff(d_shift, Reverse, Duplicated, Active)]
    fn shift(&mut self, by: f64) {
        self.offset += self.slope * by;
        self.calls += 1;
    }

    #[autodiff(d_into_root, Reverse, Active, Active)]
    fn into_root(self) -> f64 {
        -self.offset / self.slope
    }

    #[autodiff(Self::d_square, Reverse, Active, Active)]
    fn square(x: f64) -> f64 {
        x * x
    }
}

const LINE: Line = Line { slope: 2.0, offset: 3.0, calls: 0 };

#[test]
fn methods() {
    let mut d_line = make_zero(&LINE);
    assert_eq!(LINE.d_at(&mut d_line, 5.0), (2.0, 13.0));
    assert_eq!(d_line, Line { slope: 5.0, offset: 1.0, calls: 0 });
    assert_eq!(LINE.d_at_x(5.0), (2.0, 13.0));
    assert_eq!(LINE.t_at(&Line { slope: 1.0, offset: 0.0, calls: 0 }, 5.0), (13.0, 5.0));
}

#[test]
fn methods_that_change_or_consume() {
    let (mut line, mut d_line) = (LINE, Line { slope: 0.0, offset: 10.0, calls: 0 });
    assert_eq!(line.d_shift(&mut d_line, 0.5), 20.0);
    assert_eq!(line, Line { slope: 2.0, offset: 4.0, calls: 1 });
    assert_eq!((d_line.slope, d_line.offset), (5.0, 10.0));
    let (gradient, root) = LINE.d_into_root();
    assert_eq!((root, gradient.slope, gradient.offset), (-1.5, 0.75, -0.5));
    assert_eq!(Line::d_square(3.0), (6.0, 9.0));
}

trait Energy: Differentiable + Writable {
    fn energy(&self, x: f64) -> f64;
    fn d_energy(&self, d_self: &mut Self, x: f64) -> (f64, f64);

    #[autodiff(d_twice, Reverse, Duplicated, Active, Active)]
    fn twice(&self, x: f64) -> f64 {
        2.0 * self.energy(x)
    }
}

impl Energy for Line {
    #[autodiff(d_energy, Reverse, Duplicated, Active, Active)]
    fn energy(&self, x: f64) -> f64 {
        self.slope * x * x
    }
}

impl Energy for f64 {
    #[autodiff(d_energy, Reverse, Duplicated, Active, Active)]
    fn energy(&self, x: f64) -> f64 {
        self * x
    }
}

#[test]
fn trait_impls_and_defaults() {
    let mut d_line = make_zero(&LINE);
    assert_eq!(LINE.d_energy(&mut d_line, 3.0), (12.0, 18.0));
    assert_eq!(d_line.slope, 9.0);
    assert_eq!(LINE.d_twice(&mut d_line, 3.0), (24.0, 36.0));
    assert_eq!(d_line.slope, 27.0);
    let mut d = 0.0;
    assert_eq!(5.0.d_twice(&mut d, 3.0), (10.0, 30.0));
    assert_eq!(d, 6.0);
}

#[autodiff(d_generic, Reverse, Duplicated, Const, Active)]
fn generic<'a, T, const N: usize>(xs: &'a [T; N], f: impl Fn(T) -> T + 'a) -> T
where
    T: Copy + std::iter::Sum,
{
    xs.iter().map(|x| f(*x)).sum()
}

#[test]
fn generics() {
    let mut d64 = [0.0; 3];
    assert_eq!(d_generic(&[1.0, 2.0, 3.0], &mut d64, |x: f64| x * x), 14.0);
    assert_eq!(d64, [2.0, 4.0, 6.0]);
    let mut d32 = [0.0; 2];
    assert_eq!(d_generic(&[1.0, 2.0], &mut d32, |x: f32| x * x * x), 9.0);
    assert_eq!(d32, [3.0, 12.0]);
    let scale = 10.0;
    assert_eq!(d_generic(&[1.0], &mut [0.0], |x: f64| x * scale), 10.0);
}

#[derive(Differentiable)]
struct Pair<T> {
    first: T,
    second: Vec<T>,
}

impl<T: Copy + std::ops::Mul<Output = T> + Writable + pullback::ActiveResult> Pair<T> {
    #[autodiff(d_product, Reverse, Duplicated, Active)]
    fn product(&self) -> T {
        self.first * self.second[0]
    }
}

#[test]
fn methods_of_generic_types() {
    let pair = Pair { first: 2.0f32, second: vec![5.0, 7.0] };
    let mut d_pair = make_zero(&pair);
    assert_eq!(pair.d_product(&mut d_pair), 10.0);
    assert_eq!((d_pair.first, d_pair.second), (5.0, vec![2.0, 0.0]));
}

#[test]
fn functions_in_functions() {
    #[autodiff(d_inner, Reverse, Active, Active)]
    fn inner(x: f64) -> f64 {
        x.powi(3)
    }
    assert_eq!(d_inner(2.0), (12.0, 8.0));
}

/// Each attribute has its own derivative, whatever the others say.
#[autodiff(dx, Reverse, Active, Const, Const, Active)]
#[autodiff(dy, Reverse, Const, Active, Const, Active)]
#[autodiff(dz, Reverse, Const, Const, Active, ActiveOnly)]
#[autodiff(tx, Forward, Dual, Const, Const, DualOnly)]
fn three(x: f64, y: f64, z: f64) -> f64 {
    x * y * y * z * z * z
}

#[test]
fn several_attributes() {
    assert_eq!(dx(2.0, 3.0, 5.0), (9.0 * 125.0, 2250.0));
    assert_eq!(dy(2.0, 3.0, 5.0), (2.0 * 6.0 * 125.0, 2250.0));
    assert_eq!(dz(2.0, 3.0, 5.0), 18.0 * 75.0);
    assert_eq!(tx(2.0, 1.0, 3.0, 5.0), 9.0 * 125.0);
}

#[test]
fn a_derivative_is_a_function_like_any_other() {
    let derivative: fn(f64, f64, f64) -> (f64, f64) = dx;
    let values: Vec<f64> = [1.0, 2.0].iter().map(|x| derivative(*x, 1.0, 2.0).1).collect();
    assert_eq!(values, [8.0, 16.0]);
}
