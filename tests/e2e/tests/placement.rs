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

/// Results that refer to an argument: their tangents refer to its shadow.
mod borrowed {
    use pullback::{Differentiable, autodiff, autodiff_forward};

    #[derive(Differentiable)]
    struct Values {
        all: Vec<f64>,
    }

    #[derive(Differentiable, Clone, Copy)]
    struct View<'a> {
        all: &'a [f64],
        at: usize,
    }

    impl Values {
        #[autodiff(t_get, Forward, self = Dual, return = Dual)]
        #[autodiff(t_get_2, Forward(2), self = Dual, return = Dual)]
        #[autodiff(t_get_only, Forward, self = Dual, return = DualOnly)]
        fn get(&self, i: usize) -> &f64 {
            &self.all[i]
        }

        #[autodiff(t_get_mut, Forward, self = Dual, return = Dual)]
        fn get_mut(&mut self, i: usize) -> &mut f64 {
            &mut self.all[i]
        }

        #[autodiff(t_of_either, Forward, self = Dual, other = Const, return = Dual)]
        #[allow(clippy::needless_arbitrary_self_type)]
        fn of_either(self: &Self, other: &f64) -> &f64 {
            &self.all[usize::from(*other > 0.0)]
        }

        #[autodiff(t_view, Forward, self = Dual, return = Dual)]
        #[allow(mismatched_lifetime_syntaxes)]
        fn view(&self) -> View {
            View { all: &self.all, at: 1 }
        }
    }

    impl<'a> View<'a> {
        #[autodiff(t_value, Forward, self = Dual, return = Dual)]
        fn value(&self) -> &'a f64 {
            &self.all[self.at]
        }

        #[autodiff(t_previous, Forward, self = Dual, return = Dual)]
        fn previous(self) -> Self {
            View { at: self.at - 1, ..self }
        }
    }

    fn values(all: &[f64]) -> Values {
        Values { all: all.to_vec() }
    }

    #[test]
    fn from_the_receiver() {
        let (primal, shadow, other) = (values(&[1.0, 2.0]), values(&[3.0, 4.0]), values(&[5.0, 6.0]));
        assert_eq!(primal.t_get_2([&shadow, &other], 1), (&2.0, [&4.0, &6.0]));
        assert_eq!(primal.t_get_only(&shadow, 1), &4.0);
        assert_eq!(primal.t_of_either(&shadow, &1.0), (&2.0, &4.0));
        let (view, tangent) = primal.t_view(&shadow);
        assert_eq!((view.all, tangent.all, tangent.at), (&[1.0, 2.0][..], &[3.0, 4.0][..], 1));
        // The references in a view live longer than the view.
        let value = {
            let (view, tangent) = (view, tangent);
            view.t_value(&tangent)
        };
        assert_eq!(value, (&2.0, &4.0));
        assert_eq!(view.t_previous(tangent).1.at, 0);
    }

    #[test]
    fn the_primal_result_outlives_the_shadow() {
        let primal = values(&[1.0, 2.0]);
        let (value, tangent) = {
            let shadow = values(&[3.0, 4.0]);
            let (value, tangent) = primal.t_get(&shadow, 1);
            (value, *tangent)
        };
        assert_eq!((value, tangent), (&2.0, 4.0));
    }

    #[test]
    fn written_through() {
        let (mut primal, mut shadow) = (values(&[1.0, 2.0]), values(&[3.0, 4.0]));
        let (value, tangent) = primal.t_get_mut(&mut shadow, 0);
        (*value, *tangent) = (7.0, 8.0);
        assert_eq!((primal.all, shadow.all), (vec![7.0, 2.0], vec![8.0, 4.0]));
    }

    #[autodiff(t_last, Forward, Dual, Dual)]
    #[autodiff(t_last_of_stacked, Forward(2), Dualv, Dual)]
    #[autodiff_forward(std_last, 2, Dual, Dual)]
    fn last(x: &[f64]) -> &f64 {
        &x[x.len() - 1]
    }

    #[autodiff(t_ends, Forward, Dual, Dual)]
    fn ends(x: &[f64]) -> (&f64, Option<&f64>) {
        (&x[0], x.last())
    }

    #[autodiff(t_at, Forward, Dual, Dual)]
    fn at(view: View<'_>) -> &f64 {
        &view.all[view.at]
    }

    #[autodiff(t_larger, Forward, Dual, Dual, Dual)]
    fn larger<'a: 'b, 'b>(x: &'a f64, y: &'b f64) -> &'b f64 {
        if x > y { x } else { y }
    }

    #[autodiff(d_scale, Reverse, Duplicated, Const)]
    fn scale(x: &mut [f64]) -> &f64 {
        x[0] *= x[1];
        &x[0]
    }

    #[test]
    fn from_an_argument() {
        let (x, dx) = ([1.0, 2.0], [3.0, 4.0]);
        assert_eq!(t_last(&x, &dx), (&2.0, &4.0));
        assert_eq!(t_last_of_stacked(&x, &[3.0, 4.0, 5.0, 6.0]), (&2.0, [&4.0, &6.0]));
        assert_eq!(std_last(&x, &dx, &[5.0, 6.0]), [&2.0, &4.0, &6.0]);
        assert_eq!(t_ends(&x, &dx), ((&1.0, Some(&2.0)), (&3.0, Some(&4.0))));
        assert_eq!(t_at(View { all: &x, at: 1 }, View { all: &dx, at: 1 }), (&2.0, &4.0));
        assert_eq!(t_larger(&2.0, &5.0, &1.0, &7.0), (&2.0, &5.0));
    }

    #[test]
    fn a_constant_result_of_reverse_mode() {
        let (mut x, mut shadow) = ([2.0, 3.0], [1.0, 0.0]);
        assert_eq!(d_scale(&mut x, &mut shadow), &6.0);
        assert_eq!(shadow, [3.0, 2.0]);
    }
}
