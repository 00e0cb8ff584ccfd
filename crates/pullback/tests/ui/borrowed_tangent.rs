//! A tangent that refers to something borrows from the shadow, however the lifetimes are written.

use pullback::{Differentiable, autodiff, autodiff_forward};
use std::marker::PhantomData;

#[derive(Differentiable)]
struct Values {
    all: Vec<f64>,
}

#[derive(Differentiable)]
struct View<'a> {
    all: &'a [f64],
}

impl Values {
    #[autodiff(t_get, Forward, self = Dual, return = Dual)]
    #[autodiff(t_get_2, Forward(2), self = Dual, return = Dual)]
    fn get(&self, i: usize) -> &f64 {
        &self.all[i]
    }

    #[autodiff(t_get_mut, Forward, self = Dual, return = DualOnly)]
    fn get_mut(&mut self, i: usize) -> &mut f64 {
        &mut self.all[i]
    }

    #[autodiff(t_ends, Forward, self = Dual, return = Dual)]
    fn ends(&self) -> (&f64, Option<&f64>) {
        (&self.all[0], self.all.last())
    }

    #[allow(mismatched_lifetime_syntaxes)]
    #[autodiff(t_view, Forward, self = Dual, return = Dual)]
    fn view(&self) -> View {
        View { all: &self.all }
    }
}

impl<'a> View<'a> {
    #[autodiff(t_first, Forward, self = Dual, return = Dual)]
    fn first(&self) -> &'a f64 {
        &self.all[0]
    }
}

#[autodiff_forward(t_last, 2, Dual, Dual)]
fn last(x: &[f64]) -> &f64 {
    &x[x.len() - 1]
}

#[autodiff(t_longer, Forward, Dual, Dual, Const, Dual)]
fn longer<'a, 'b>(x: &'a f64, y: &'b f64, _: PhantomData<&'b &'a ()>) -> &'b f64 {
    if x > y { x } else { y }
}

fn shadow_of_the_receiver(values: &Values) -> &f64 {
    let shadow = Values { all: vec![1.0] };
    values.t_get(&shadow, 0).1
}

fn one_of_several_shadows<'a>(values: &'a Values, long: &'a Values) -> [&'a f64; 2] {
    let short = Values { all: vec![1.0] };
    values.t_get_2([long, &short], 0).1
}

fn mutable(values: &mut Values) -> &mut f64 {
    let mut shadow = Values { all: vec![1.0] };
    values.t_get_mut(&mut shadow, 0)
}

fn tangent_that_is_a_pair(values: &Values) -> Option<&f64> {
    let shadow = Values { all: vec![1.0] };
    values.t_ends(&shadow).1.1
}

fn lifetime_that_a_path_hides(values: &Values) -> View<'_> {
    let shadow = Values { all: vec![1.0] };
    values.t_view(&shadow).1
}

fn lifetime_of_the_type<'a>(view: &View<'a>) -> &'a f64 {
    let all = vec![1.0];
    view.t_first(&View { all: &all }).1
}

fn signature_of_std(x: &[f64]) -> [&f64; 3] {
    let shadow = vec![1.0];
    t_last(x, x, &shadow)
}

fn lifetime_that_outlives_another<'a>(x: &'a f64, y: &'a f64) -> &'a f64 {
    let shadow = 1.0;
    t_longer(x, &shadow, y, y, PhantomData).1
}

fn main() {}
