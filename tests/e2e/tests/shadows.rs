//! A shadow that does not fit its primal is told with argument, path and sizes, before anything is written.

use pullback::{Differentiable, autodiff, make_zero};
use std::panic::{AssertUnwindSafe, catch_unwind};

fn message<T>(f: impl FnOnce() -> T) -> String {
    *catch_unwind(AssertUnwindSafe(f)).err().expect("it panics").downcast::<String>().expect("a message")
}

#[autodiff(d_dot, Reverse, Duplicated, Duplicated, Active)]
#[autodiff(t_dot, Forward, Dual, Dual, Dual)]
#[autodiff(t_dot_2, Forward(2), Dualv, Const, Dual)]
fn dot(x: &[f64], weights: &[f64]) -> f64 {
    x.iter().zip(weights).map(|(x, w)| x * w).sum()
}

#[test]
fn a_short_slice() {
    let (x, mut dx, mut dw) = ([1.0; 10], [0.0; 10], [0.0; 1]);
    assert_eq!(
        message(|| d_dot(&x, &mut dx, &x, &mut dw)),
        "shadow of argument `weights` does not fit: `weights` has length 10, its shadow has length 1\n\
         help: `pullback::make_zero` makes a shadow that fits"
    );
    assert_eq!((dx, dw), ([0.0; 10], [0.0; 1]), "nothing is written");
    assert!(message(|| t_dot(&x, &x[..3], &x, &x)).contains("`x` has length 10, its shadow has length 3"));
    assert!(message(|| t_dot_2(&x, &[0.0; 19], &x)).contains("length 20, but the slice has length 19"));
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Model {
    layers: Vec<Layer>,
    scale: Option<f64>,
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Layer {
    rows: Vec<Vec<f64>>,
    activation: Activation,
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
enum Activation {
    Linear,
    Scaled { by: f64 },
}

#[autodiff(d_run, Reverse, Duplicated, Duplicated, Active)]
fn run(model: &Model, x: &[f64]) -> f64 {
    let mut sum = 0.0;
    for layer in &model.layers {
        for row in &layer.rows {
            let value: f64 = row.iter().zip(x).map(|(w, x)| w * x).sum();
            sum += match layer.activation {
                Activation::Linear => value,
                Activation::Scaled { by } => by * value,
            };
        }
    }
    sum * model.scale.unwrap_or(1.0)
}

fn model() -> Model {
    let linear = Layer { rows: vec![vec![1.0, 2.0], vec![3.0, 4.0]], activation: Activation::Linear };
    let scaled = Layer { rows: vec![vec![5.0, 6.0]], activation: Activation::Scaled { by: 0.5 } };
    Model { layers: vec![linear, scaled], scale: Some(2.0) }
}

#[test]
fn a_fitting_shadow() {
    let mut shadow = make_zero(&model());
    let mut dx = [0.0; 2];
    let value = d_run(&model(), &mut shadow, &[1.0, 10.0], &mut dx);
    assert_eq!(value, run(&model(), &[1.0, 10.0]));
    assert_eq!(shadow.layers[0].rows, [[2.0, 20.0], [2.0, 20.0]]);
    assert_eq!(shadow.layers[1], Layer { rows: vec![vec![1.0, 10.0]], activation: Activation::Scaled { by: 130.0 } });
    assert_eq!(shadow.scale, Some(value / 2.0));
    assert_eq!(dx, [13.0, 18.0]);
}

/// The message for a shadow that was changed.
fn complaint(change: impl FnOnce(&mut Model)) -> String {
    let mut shadow = make_zero(&model());
    change(&mut shadow);
    let before = shadow.clone();
    let mut dx = [0.0; 2];
    let text = message(|| d_run(&model(), &mut shadow, &[1.0, 10.0], &mut dx));
    assert_eq!((shadow, dx), (before, [0.0; 2]), "nothing is written");
    text
}

#[test]
fn deep_mismatches() {
    assert!(
        complaint(|m| m.layers[0].rows[1].truncate(1))
            .contains("`model.layers[0].rows[1]` has length 2, its shadow has length 1")
    );
    assert!(complaint(|m| m.layers.truncate(1)).contains("`model.layers` has length 2, its shadow has length 1"));
    assert!(
        complaint(|m| m.layers[1].rows.push(vec![]))
            .contains("`model.layers[1].rows` has length 1, its shadow has length 2")
    );
    assert!(complaint(|m| m.scale = None).contains("`model.scale` is `Some`, its shadow is `None`"));
    assert!(
        complaint(|m| m.layers[1].activation = Activation::Linear)
            .contains("`model.layers[1].activation` is `Scaled`, its shadow is `Linear`")
    );
}

/// Random shapes for primal and shadow: either they are the same, or it panics and nothing is written.
#[test]
fn randomised_misuse() {
    let mut state = 0x2545f4914f6cdd1du64;
    let mut random = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % bound) as usize
    };
    for _ in 0..300 {
        let mut rows = || -> Vec<Vec<f64>> { (0..random(3)).map(|_| vec![1.0; random(3)]).collect() };
        let layer = |rows| Layer { rows, activation: Activation::Linear };
        let primal = Model { layers: vec![layer(rows())], scale: None };
        let mut shadow = Model { layers: vec![layer(rows())], scale: None };
        let before = shadow.clone();
        let shape = |m: &Model| m.layers[0].rows.iter().map(Vec::len).collect::<Vec<_>>();
        let fits = shape(&primal) == shape(&shadow);
        let result = catch_unwind(AssertUnwindSafe(|| d_run(&primal, &mut shadow, &[1.0; 2], &mut [0.0; 2])));
        assert_eq!(result.is_ok(), fits);
        if !fits {
            assert_eq!(shadow, before);
        }
    }
}

#[autodiff(d_pushed, Reverse, Duplicated, Active)]
fn pushed(values: &mut Vec<f64>, x: f64) {
    values.push(x * x);
}

/// What a shadow once held beyond its length is nobody's cotangent.
#[test]
fn spare_room_holds_no_cotangent() {
    let (mut values, mut shadow) = (vec![1.0, 2.0, 3.0, 4.0], vec![10.0, 20.0, 30.0, 40.0]);
    values.truncate(2);
    shadow.truncate(2);
    assert_eq!(d_pushed(&mut values, &mut shadow, 3.0), 0.0);
    assert_eq!((values, shadow), (vec![1.0, 2.0, 9.0], vec![10.0, 20.0]));
}

mod raw {
    use pullback::Differentiable;

    /// A slice that knows its length, which is none of the derivative's business.
    #[derive(Differentiable)]
    pub struct Raw<'a> {
        start: *mut f64,
        length: usize,
        scale: &'a mut f64,
    }

    impl<'a> Raw<'a> {
        pub fn new(values: &'a mut [f64], scale: &'a mut f64) -> Self {
            Raw { start: values.as_mut_ptr(), length: values.len(), scale }
        }

        pub fn get(&self, index: usize) -> f64 {
            assert!(index < self.length);
            // SAFETY: the values are borrowed, and the index is in bounds.
            unsafe { *self.start.add(index) * *self.scale }
        }
    }
}

#[autodiff(d_raw, Reverse, Duplicated, Active)]
#[autodiff(t_raw, Forward, Dual, Dual)]
fn last(x: &raw::Raw<'_>) -> f64 {
    x.get(99) * x.get(0)
}

/// As above. Shadows have as many values.
#[autodiff(d_answered, Reverse, Duplicated, Active)]
unsafe fn answered(x: &raw::Raw<'_>) -> f64 {
    x.get(1) * x.get(0)
}

/// A sound type may have other lengths behind its pointers in each value, and a safe derivative believes nothing of
/// them.
#[test]
fn what_is_behind_raw_pointers_is_not_believed() {
    use raw::Raw;
    let (mut all, mut scale, mut few, mut d_scale) = ([1.0; 100], 2.0, [0.0; 2], 0.0);
    let (x, mut dx) = (Raw::new(&mut all, &mut scale), Raw::new(&mut few, &mut d_scale));
    let said = message(|| d_raw(&x, &mut dx));
    assert!(
        said.contains("argument `x` cannot be differentiated by a safe function: `x.start` is a raw pointer"),
        "{said}"
    );
    assert!(message(|| t_raw(&x, &dx)).contains("`x.start` is a raw pointer"));
    assert!(message(|| pullback::jvp(|x: &Raw<'_>| x.get(0), &x, &dx)).contains("`x.start` is a raw pointer"));
    let (mut two, mut scale) = ([3.0, 5.0], 2.0);
    // SAFETY: two values behind each pointer.
    assert_eq!(unsafe { d_answered(&Raw::new(&mut two, &mut scale), &mut dx) }, 60.0);
    drop(dx);
    assert_eq!((few, d_scale), ([20.0, 12.0], 60.0));
}
