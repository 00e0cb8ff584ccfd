//! What the attributes accept, and the signatures of what they make. Derivatives are not called here, since that needs
//! the driver: `tests/e2e` does.
#![allow(dead_code, clippy::type_complexity)]

use pullback::{Differentiable, Writable, autodiff, autodiff_forward, autodiff_reverse};
use std::collections::HashMap;

/// That a derivative has a signature, without a call to it.
macro_rules! signature {
    ($derivative:expr => $ty:ty) => {
        const _: () = {
            fn check() {
                let _: $ty = $derivative;
            }
        };
    };
}

mod seed {
    use super::*;

    #[autodiff(df, Reverse, Active, Duplicated, Active)]
    #[autodiff(df_only, Reverse, Active, Duplicated, ActiveOnly)]
    #[autodiff(df_no_need, Reverse, Active, Duplicated, DuplicatedNoNeed)]
    #[autodiff(df_seeded, Reverse, Active, Duplicated, Duplicated)]
    #[autodiff(df_const, Reverse, Const, Duplicated, Const)]
    #[autodiff(df_named, Reverse, y = Duplicated, return = Active)]
    #[autodiff(df_batch, Reverse(2), Active, Duplicated, Active)]
    #[autodiff(jvp, Forward, Dual, Dual, Dual)]
    #[autodiff(jvp_only, Forward, Dual, Constant, DualOnly)]
    #[autodiff(jvp_const, Forward, Duplicated, Const, Const)]
    #[autodiff(jvp_batch, Forward(3), Dual, Dual, Dual)]
    #[autodiff(with_options, Reverse, strong_zero, Active, Const, Active)]
    fn f(x: f32, y: &f32) -> f32 {
        x * x + 3.0 * y
    }
    signature!(df => fn(f32, &f32, &mut f32) -> (f32, f32));
    signature!(df_only => fn(f32, &f32, &mut f32) -> f32);
    signature!(df_no_need => fn(f32, &f32, &mut f32) -> f32);
    signature!(df_seeded => fn(f32, &f32, &mut f32, f32) -> (f32, f32));
    signature!(df_const => fn(f32, &f32, &mut f32) -> f32);
    signature!(df_named => fn(f32, &f32, &mut f32) -> f32);
    signature!(df_batch => fn(f32, &f32, [&mut f32; 2], [f32; 2]) -> ([f32; 2], f32));
    signature!(jvp => fn(f32, f32, &f32, &f32) -> (f32, f32));
    signature!(jvp_only => fn(f32, f32, &f32) -> f32);
    signature!(jvp_const => fn(f32, f32, &f32) -> f32);
    signature!(jvp_batch => fn(f32, [f32; 3], &f32, [&f32; 3]) -> (f32, [f32; 3]));
    signature!(with_options => fn(f32, &f32) -> (f32, f32));
}

mod std_signatures {
    use super::*;

    #[autodiff_forward(df1, Dual, Const, Dual)]
    #[autodiff_forward(df2, Dual, Const, Const)]
    #[autodiff_forward(df3, Const, Dual, DualOnly)]
    #[autodiff_forward(df4, 4, Dual, Const, Dual)]
    #[autodiff_forward(df5, 4, Dual, Const, DualOnly)]
    #[autodiff_forward(df6, 2, Dualv, Const, DualOnly)]
    #[autodiff_forward(df7, 1, Dual, Const, Dual)]
    #[autodiff_reverse(dr1, Duplicated, Const, Active)]
    #[autodiff_reverse(dr2, Duplicated, Active, Active)]
    #[autodiff_reverse(dr3, 2, Duplicated, Const, Active)]
    #[autodiff_reverse(dr4, Duplicated, Active, ActiveOnly)]
    pub fn f(x: &[f64], y: f64) -> f64 {
        x[0] * y
    }
    signature!(df1 => fn(&[f64], &[f64], f64) -> (f64, f64));
    signature!(df2 => fn(&[f64], &[f64], f64) -> f64);
    signature!(df3 => fn(&[f64], f64, f64) -> f64);
    signature!(df4 => fn(&[f64], &[f64], &[f64], &[f64], &[f64], f64) -> [f64; 5]);
    signature!(df5 => fn(&[f64], &[f64], &[f64], &[f64], &[f64], f64) -> [f64; 4]);
    signature!(df6 => fn(&[f64], &[f64], f64) -> [f64; 2]);
    signature!(df7 => fn(&[f64], &[f64], f64) -> (f64, f64));
    signature!(dr1 => fn(&[f64], &mut [f64], f64, f64) -> f64);
    signature!(dr2 => fn(&[f64], &mut [f64], f64, f64) -> (f64, f64));
    signature!(dr3 => fn(&[f64], &mut [f64], &mut [f64], f64, [f64; 2]) -> f64);
    signature!(dr4 => fn(&[f64], &mut [f64], f64, f64) -> f64);

    #[autodiff_forward(d_nothing)]
    pub fn nothing() {}
    signature!(d_nothing => fn());

    #[autodiff_reverse(d_pointers, DuplicatedOnly, Duplicated)]
    pub fn pointers(_x: *const f32, _y: &f32) {}
    signature!(d_pointers => unsafe fn(*const f32, *mut f32, &f32, &mut f32));
}

mod memory {
    use super::*;

    #[autodiff(d_mul, Reverse, r = Duplicated, a = Duplicated, b = DuplicatedOnly)]
    #[autodiff(t_mul, Forward, Dual, Dual, Dual)]
    fn mul(r: &mut [f64], a: &[f64], b: &[f64]) {
        for ((r, a), b) in r.iter_mut().zip(a).zip(b) {
            *r = a * b;
        }
    }
    signature!(d_mul => fn(&mut [f64], &mut [f64], &[f64], &mut [f64], &[f64], &mut [f64]));
    signature!(t_mul => fn(&mut [f64], &mut [f64], &[f64], &[f64], &[f64], &[f64]));

    #[autodiff(d_owned, Reverse, Duplicated, Active, Active)]
    #[autodiff(t_owned, Forward, Dual, Dual, Dual)]
    fn owned(v: Vec<f64>, (a, b): (f64, Vec<f64>)) -> f64 {
        v.iter().sum::<f64>() * a * b[0]
    }
    signature!(d_owned => fn(Vec<f64>, &mut Vec<f64>, (f64, Vec<f64>)) -> ((f64, Vec<f64>), f64));
    signature!(t_owned => fn(Vec<f64>, Vec<f64>, (f64, Vec<f64>), (f64, Vec<f64>)) -> (f64, f64));

    #[autodiff(d_nested, Reverse, Duplicated, Duplicated, Duplicated)]
    fn nested(rows: &[&[f64]], (a, _): (&f64, &str)) -> [f64; 2] {
        [rows[0][0] * a, *a]
    }
    signature!(d_nested => fn(&[&[f64]], &mut [&mut [f64]], (&f64, &str), &mut (&mut f64, &str), [f64; 2]) -> [f64; 2]);

    #[autodiff(t_made, Forward, Dual, Dual)]
    #[autodiff(t_made_only, Forward, Dual, DualOnly)]
    fn made(x: f64) -> Vec<f64> {
        vec![x, x * x]
    }
    signature!(t_made => fn(f64, f64) -> (Vec<f64>, Vec<f64>));

    /// `Const` arguments may be of any type.
    #[autodiff(d_with_map, Reverse, Const, Active, Const, Active)]
    fn with_map(map: &HashMap<String, f64>, x: f64, _: fn(f64) -> f64) -> f64 {
        map["scale"] * x
    }
}

mod placement {
    use super::*;

    #[derive(Differentiable, Clone)]
    pub struct Layer<T> {
        weights: Vec<T>,
        bias: f64,
    }

    impl<T: Copy + Into<f64> + Writable> Layer<T> {
        #[autodiff(d_value, Reverse, Duplicated, Active, Active)]
        #[autodiff(t_value, Forward, self = Const, x = Dual, return = Dual)]
        pub fn value(&self, x: f64) -> f64 {
            self.weights[0].into() * x + self.bias
        }

        #[autodiff(d_update, Reverse, Duplicated, Active)]
        fn update(&mut self, x: f64) {
            self.bias += x;
        }

        #[autodiff(d_consume, Reverse, Duplicated, Active)]
        fn consume(self) -> f64 {
            self.bias
        }

        #[autodiff(Self::d_associated, Reverse, Active, Active)]
        fn associated(x: f64) -> f64 {
            x * x
        }

        #[autodiff(d_seen, Reverse, Active, Active)]
        fn seen(x: f64) -> f64 {
            Self::associated(x) + 1.0
        }
    }
    signature!(Layer::<f32>::d_value => fn(&Layer<f32>, &mut Layer<f32>, f64) -> (f64, f64));
    signature!(Layer::<f32>::t_value => fn(&Layer<f32>, f64, f64) -> (f64, f64));
    signature!(Layer::<f32>::d_update => fn(&mut Layer<f32>, &mut Layer<f32>, f64) -> f64);
    signature!(Layer::<f32>::d_consume => fn(Layer<f32>, &mut Layer<f32>) -> f64);
    signature!(Layer::<f32>::d_associated => fn(f64) -> (f64, f64));

    pub trait Model: Differentiable + Writable {
        fn energy(&self, x: f64) -> f64;
        fn d_energy(&self, d_self: &mut Self, x: f64) -> (f64, f64);

        #[autodiff(d_twice, Reverse, Duplicated, Active, Active)]
        fn twice(&self, x: f64) -> f64 {
            2.0 * self.energy(x)
        }

        #[autodiff(d_required, Reverse, Const, Active, Active)]
        fn required(&self, x: f64) -> f64;
    }

    impl Model for Layer<f64> {
        #[autodiff(d_energy, Reverse, Duplicated, Active, Active)]
        fn energy(&self, x: f64) -> f64 {
            self.bias * x
        }

        fn required(&self, x: f64) -> f64 {
            x
        }
    }

    #[autodiff(d_generic, Reverse, Duplicated, Const, Active, Active)]
    #[autodiff(t_generic, Forward, Dual, Const, Dual, Dual)]
    fn generic<'a, T, const N: usize>(xs: &'a [T; N], f: impl Fn(&T) -> T + 'a, y: T) -> T
    where
        T: Copy + std::iter::Sum + std::ops::Mul<Output = T>,
    {
        xs.iter().map(f).sum::<T>() * y
    }

    fn outer() {
        #[autodiff(d_inner, Reverse, Active, Active)]
        fn inner(x: f64) -> f64 {
            x * x
        }
        let _: fn(f64) -> (f64, f64) = d_inner;
    }

    #[autodiff(d_dangerous, Reverse, Duplicated, Active)]
    unsafe fn dangerous(x: &[f64]) -> f64 {
        unsafe { *x.get_unchecked(0) }
    }
    signature!(d_dangerous => unsafe fn(&[f64], &mut [f64]) -> f64);

    #[autodiff(d_constant, Reverse, Active, Active)]
    const fn constant(mut x: f64) -> f64 {
        x *= 2.0;
        x
    }

    #[autodiff(d_foreign, Reverse, Active, Active)]
    extern "C" fn foreign(x: f64) -> f64 {
        x
    }

    /// Names that the expansion might use itself.
    #[autodiff(d_names, Reverse, Active, Active, Duplicated, Const, Active)]
    fn names(out: f64, tape: f64, a0: &f64, d_a0: &f64) -> f64 {
        out * tape * a0 * d_a0
    }
    signature!(d_names => fn(f64, f64, &f64, &mut f64, &f64) -> (f64, f64, f64));
}

mod derives {
    use super::*;

    #[derive(Differentiable)]
    pub struct Unit;

    #[derive(Differentiable)]
    pub struct Tuple(f64, pub Vec<Vec<f32>>);

    #[derive(Differentiable)]
    pub enum List {
        Nil,
        Cons(f64, Box<List>),
    }

    #[derive(Differentiable)]
    pub enum Tree<T: Clone> {
        Leaf(T),
        Node { left: Box<Tree<T>>, right: Option<Box<Tree<T>>> },
    }

    #[derive(Differentiable)]
    pub struct View<'a, T> {
        values: &'a [T],
        inner: Inner<'a>,
    }

    #[derive(Differentiable)]
    pub struct Inner<'a> {
        value: &'a mut f64,
    }

    #[derive(Differentiable)]
    pub struct Named {
        value: f64,
        #[pullback(skip)]
        names: HashMap<String, usize>,
    }

    #[derive(Differentiable)]
    pub enum Never {}

    #[autodiff(d_list, Reverse, Duplicated, Active)]
    pub fn list(list: &List) -> f64 {
        match list {
            List::Nil => 0.0,
            List::Cons(value, rest) => value + crate::derives::list(rest),
        }
    }
    signature!(d_list => fn(&List, &mut List) -> f64);

    #[autodiff(d_inner, Reverse, Duplicated, Active)]
    #[autodiff(t_inner, Forward, Dual, Dual)]
    fn by_view(inner: Inner<'_>) -> f64 {
        *inner.value
    }

    #[autodiff(t_view, Forward, Dual, Dual)]
    fn view(view: &View<'_, f64>) -> f64 {
        view.values[0]
    }
}
