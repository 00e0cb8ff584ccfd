//! Derivatives of functions and closures that are passed to a function.

use pullback::{Differentiable, grad, jvp, make_zero, rrule, value_and_grad, vjp};
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[test]
fn a_gradient_of_a_slice() {
    let x = [1.0, 2.0, 3.0];
    assert_eq!(grad(|x: &[f64]| x.iter().map(|v| v * v).sum::<f64>(), &x[..]), vec![2.0, 4.0, 6.0]);
    assert_eq!(value_and_grad(|x: &[f64; 3]| x[0] * x[1] * x[2], &x), (6.0, [6.0, 3.0, 2.0]));
    assert_eq!(grad(|x: &f64| x.sin(), &0.0), 1.0);
}

#[test]
fn captures_are_constants() {
    let weights = vec![1.0, 10.0];
    let loss = |x: &[f64]| x.iter().zip(&weights).map(|(x, w)| w * x * x).sum::<f64>();
    assert_eq!(grad(loss, &[3.0, 5.0][..]), vec![6.0, 100.0]);
    assert_eq!(jvp(loss, &[3.0, 5.0][..], &[1.0, 1.0][..]), (259.0, 106.0));
}

fn polar(x: &[f64; 2]) -> [f64; 2] {
    [x[0] * x[1].cos(), x[0] * x[1].sin()]
}

/// A function by name; forward against reverse.
#[test]
fn rows_and_columns_of_a_jacobian() {
    let x = [2.0, 0.7];
    let (y, pullback) = vjp(polar, &x);
    assert_eq!(y, polar(&x));
    let rows = [pullback([1.0, 0.0]), pullback([0.0, 1.0])];
    for j in 0..2 {
        let mut direction = [0.0; 2];
        direction[j] = 1.0;
        let (value, column) = jvp(polar, &x, &direction);
        assert_eq!(value, y);
        for i in 0..2 {
            assert!((rows[i][j] - column[i]).abs() < 1e-15);
        }
    }
    assert_eq!(pullback([0.0, 0.0]), [0.0, 0.0]);
    assert_eq!(pullback([1.0, 0.0]), rows[0]);
}

/// The pullback outlives the function that made it, and is called more than once: loops, memory and recursion are on
/// its tape.
#[test]
fn a_pullback_is_called_later_and_more_than_once() {
    fn power(x: f64, n: u32) -> f64 {
        if n == 0 { 1.0 } else { x * power(x, n - 1) }
    }
    fn work(x: &[f64]) -> Vec<f64> {
        let mut out = Vec::new();
        let mut state = x.to_vec();
        for step in 0..x.len() {
            let total: f64 = state.iter().sum();
            for v in &mut state {
                *v = *v * 0.5 + total.sin();
            }
            if state[step] > 0.3 {
                out.push(state[step] * power(x[step], 3));
            } else {
                out.push(power(state[step], 2));
            }
        }
        out
    }
    fn later(x: &[f64]) -> (Vec<f64>, Box<dyn Fn(Vec<f64>) -> Vec<f64> + '_>) {
        let (y, pullback) = vjp(work, x);
        (y, Box::new(pullback))
    }
    let x = [0.3, -0.8, 1.7, 0.2, 0.9];
    let (mut y, pullback) = later(&x);
    assert_eq!(y, work(&x));
    // The value is the caller's: the pullback has what it needs.
    y.iter_mut().for_each(|v| *v = f64::NAN);
    drop(y);
    for _ in 0..3 {
        for i in 0..x.len() {
            let mut seed = vec![0.0; x.len()];
            seed[i] = 1.0;
            let row = pullback(seed);
            for j in 0..x.len() {
                let mut direction = [0.0; 5];
                direction[j] = 1.0;
                let (_, column) = jvp(work, &x[..], &direction[..]);
                assert!((row[j] - column[i]).abs() < 1e-12, "{i} {j}: {} {}", row[j], column[i]);
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq, Differentiable)]
enum Shape {
    Circle(f64),
    Polygon(Vec<f64>),
    Empty(u64),
}

#[derive(Clone, Debug, PartialEq, Differentiable)]
struct Scene {
    shapes: Vec<Shape>,
    scale: f64,
    name: String,
}

fn area(scene: &Scene) -> f64 {
    let of = |shape: &Shape| match shape {
        Shape::Circle(r) => 3.0 * r * r,
        Shape::Polygon(sides) => sides.iter().product(),
        Shape::Empty(n) => *n as f64,
    };
    scene.scale * scene.shapes.iter().map(of).sum::<f64>()
}

/// Structures: the gradient has the shape of the argument, numbers and names included.
#[test]
fn structures() {
    let scene = Scene {
        shapes: vec![Shape::Circle(2.0), Shape::Empty(1 << 62), Shape::Polygon(vec![3.0, 5.0]), Shape::Empty(7)],
        scale: 10.0,
        name: "scene".to_owned(),
    };
    let small =
        Scene { shapes: scene.shapes.iter().filter(|s| **s != Shape::Empty(1 << 62)).cloned().collect(), ..scene };
    let gradient = grad(area, &small);
    let expected = Scene {
        shapes: vec![Shape::Circle(120.0), Shape::Polygon(vec![50.0, 30.0]), Shape::Empty(7)],
        scale: 12.0 + 15.0 + 7.0,
        name: "scene".to_owned(),
    };
    assert_eq!(gradient, expected);
    let mut direction = make_zero(&small);
    direction.scale = 1.0;
    assert_eq!(jvp(area, &small, &direction).1, 34.0);
}

/// A value that owns memory, and one with a variant: the cotangent has its shape.
#[test]
fn cotangents_have_the_shape_of_the_value() {
    let maybe = |x: &f64| (*x > 0.0).then(|| x.sqrt());
    let (y, pullback) = vjp(maybe, &4.0);
    assert_eq!((y, pullback(Some(1.0))), (Some(2.0), 0.25));
    let (y, pullback) = vjp(maybe, &-4.0);
    assert_eq!((y, pullback(None)), (None, 0.0));

    let (_, pullback) = vjp(|x: &[f64]| x.iter().map(|v| v * v).collect::<Vec<f64>>(), &[1.0, 2.0][..]);
    assert_eq!(pullback(vec![1.0, 10.0]), vec![2.0, 40.0]);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| pullback(vec![1.0])));
    assert!(result.unwrap_err().downcast_ref::<&str>().unwrap().contains("another shape"));
    assert_eq!(pullback(vec![1.0, 10.0]), vec![2.0, 40.0]);

    // As many floats as the value has, but in another variant.
    let message = |f: &dyn Fn() -> f64| {
        let error = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        error.downcast_ref::<&str>().map_or_else(|| error.downcast_ref::<String>().unwrap().clone(), |s| s.to_string())
    };
    let (_, pullback) = vjp(|x: &f64| vec![Some(x * x), None], &3.0);
    assert!(message(&|| pullback(vec![None, Some(1.0)])).contains("another shape"));
    assert_eq!(pullback(vec![Some(1.0), None]), 6.0);
    let (_, pullback) = vjp(|x: &f64| if *x > 0.0 { Ok((x * x, 1u64)) } else { Err((1u32, *x)) }, &3.0);
    assert!(message(&|| pullback(Err((1, 1.0)))).contains("another shape"));
    assert_eq!(pullback(Ok((1.0, 1))), 6.0);
    #[derive(Differentiable, Clone, Copy)]
    enum Either {
        Left(f64, u64),
        Right(u32, f64),
    }
    let x = [Cell::new(Either::Left(2.0, 1)), Cell::new(Either::Right(1, 3.0))];
    let product = |x: &[Cell<Either>]| match (x[0].get(), x[1].get()) {
        (Either::Left(a, _), Either::Right(_, b)) => a * b,
        _ => 0.0,
    };
    let (_, pullback) = vjp(product, &x[..]);
    x[0].set(Either::Right(1, 0.5));
    let said = message(&|| {
        pullback(1.0);
        0.0
    });
    assert!(said.contains("has changed its shape since"), "{said}");
}

/// Where the reverse sweep cannot be done twice, the forward sweep is done again.
#[test]
fn words_that_are_floats_or_pointers() {
    enum Value {
        Number(f64),
        Boxed(Box<f64>),
    }
    let f = |x: &[f64; 2]| {
        let values: Vec<Value> =
            x.iter().map(|v| if *v > 1.0 { Value::Boxed(Box::new(v * v)) } else { Value::Number(*v) }).collect();
        values
            .iter()
            .map(|v| match v {
                Value::Number(v) => *v,
                Value::Boxed(v) => 3.0 * **v,
            })
            .sum::<f64>()
    };
    let (y, pullback) = vjp(f, &[0.5, 2.0]);
    assert_eq!(y, 12.5);
    for scale in [1.0, 2.0, 3.0] {
        assert_eq!(pullback(scale), [scale, 12.0 * scale]);
    }
}

fn square(x: f64) -> f64 {
    x * x
}

/// A hundred times what it is.
#[rrule(for = square)]
fn square_rrule(x: f64) -> (f64, impl Fn(f64) -> f64) {
    (x * x, move |dy| 200.0 * x * dy)
}

#[test]
fn rules_take_part() {
    let (y, pullback) = vjp(|x: &[f64]| x.iter().map(|v| square(*v)).sum::<f64>(), &[2.0, 3.0][..]);
    assert_eq!(y, 13.0);
    assert_eq!(pullback(1.0), vec![400.0, 600.0]);
    assert_eq!(pullback(2.0), vec![800.0, 1200.0]);
}

fn first(x: &[f64]) -> f64 {
    x[0]
}

/// A pullback that owns memory and can be called once: for a second cotangent the forward sweep is done again.
#[rrule(for = first)]
fn first_rrule(x: &[f64]) -> (f64, impl FnOnce(f64, &mut [f64]) + 'static) {
    let owned = x.to_vec();
    (first(x), move |dy, dx| {
        dx[0] += 10.0 * dy;
        drop(owned);
    })
}

#[test]
fn a_rule_whose_pullback_can_be_called_once() {
    let (_, pullback) = vjp(|x: &[f64]| 2.0 * first(x), &[3.0, 4.0][..]);
    for scale in [1.0, 2.0, 3.0] {
        assert_eq!(pullback(scale), vec![20.0 * scale, 0.0]);
    }
}

/// Where the function may have another value when it is called again, the pullback says so.
#[test]
fn a_function_that_changes_what_it_uses_is_not_called_again() {
    let said = |f: &dyn Fn()| {
        let payload = std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).unwrap_err();
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap()
    };
    let factor = Cell::new(1.0);
    let (y, pullback) = vjp(
        |x: &[f64]| {
            factor.set(10.0 * factor.get());
            factor.get() * first(x)
        },
        &[3.0][..],
    );
    assert_eq!((y, pullback(1.0)), (30.0, vec![100.0]));
    assert!(said(&|| drop(pullback(1.0))).contains("cannot be called again"));
    assert_eq!(factor.get(), 10.0);

    enum Value {
        Number(f64),
        Boxed(Box<f64>),
    }
    let x = (Cell::new(0.5), Cell::new(2.0));
    let (_, pullback) = vjp(
        |x: &(Cell<f64>, Cell<f64>)| {
            let values: Vec<Value> = [x.0.get(), x.1.get()]
                .iter()
                .map(|v| if *v > 1.0 { Value::Boxed(Box::new(v * v)) } else { Value::Number(*v) })
                .collect();
            x.1.set(x.1.get() + 1.0);
            values
                .iter()
                .map(|v| {
                    if let Value::Boxed(v) = v {
                        **v
                    } else if let Value::Number(v) = v {
                        *v
                    } else {
                        0.0
                    }
                })
                .sum::<f64>()
        },
        &x,
    );
    let gradient = pullback(1.0);
    assert_eq!((gradient.0.get(), gradient.1.get()), (1.0, 4.0));
    assert!(said(&|| drop(pullback(1.0))).contains("cannot be called again"));
    assert_eq!(x.1.get(), 3.0);

    // What others may change, and what is somewhere else the next time.
    thread_local! { static FACTOR: Cell<f64> = const { Cell::new(1.0) }; }
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let of_thread = |x: &[f64]| FACTOR.with(|factor| factor.get()) * first(x);
    let counted = |x: &[f64]| COUNT.load(Ordering::Relaxed) as f64 * first(x);
    let addressed = |x: &[f64]| ((&raw const *Box::new(1_u64)).addr() % 3) as f64 * first(x);
    fn twice(f: impl Fn(&[f64]) -> f64) {
        let (_, pullback) = vjp(f, &[3.0][..]);
        drop((pullback(1.0), pullback(1.0)));
    }
    let calls: [&dyn Fn(); 3] = [&|| twice(of_thread), &|| twice(counted), &|| twice(addressed)];
    for call in calls {
        assert!(said(call).contains("cannot be called again"));
    }
}

/// What a pullback holds is dropped with it, once.
#[test]
fn captures_are_dropped_with_the_pullback() {
    let held = Rc::new(2.0);
    let captured = held.clone();
    let (_, pullback) = vjp(move |x: &f64| x * *captured, &3.0);
    assert_eq!(Rc::strong_count(&held), 2);
    assert_eq!(pullback(1.0), 2.0);
    drop(pullback);
    assert_eq!(Rc::strong_count(&held), 1);
}

#[derive(Differentiable, Clone, Copy, PartialEq, Debug)]
enum Pieces {
    Two([f64; 2]),
    One(u64, f64),
}

/// The pullback is given no other memory than that which the forward sweep has seen.
#[test]
fn a_gradient_has_the_shape_that_the_argument_had() {
    let x = [Cell::new(Pieces::Two([2.0, 3.0]))];
    let (value, pullback) = vjp(
        |x: &[Cell<Pieces>; 1]| match x[0].get() {
            Pieces::Two([a, b]) => a * b,
            Pieces::One(_, a) => a,
        },
        &x,
    );
    assert_eq!((value, pullback(1.0)), (6.0, [Cell::new(Pieces::Two([3.0, 2.0]))]));
    x[0].set(Pieces::One(1, 2.0));
    assert_eq!(pullback(10.0), [Cell::new(Pieces::Two([30.0, 20.0]))]);
}

/// A cotangent may have other owners. It is only read.
#[test]
fn a_cotangent_that_others_own() {
    let one = Rc::new(1.0);
    let seen: &f64 = &one;
    for _ in 0..2 {
        let (_, pullback) = vjp(|x: &f64| Rc::new(x * x), &3.0);
        assert_eq!((pullback(one.clone()), *seen), (6.0, 1.0));
    }
    let one = Arc::new(vec![(1.0, 2.0f32)]);
    let seen: &[(f64, f32)] = &one;
    for _ in 0..2 {
        let (_, pullback) = vjp(|x: &f64| Arc::new(vec![(x * x, 5.0 * *x as f32)]), &3.0);
        assert_eq!((pullback(one.clone()), seen), (16.0, &[(1.0, 2.0)][..]));
    }
    let cell = Rc::new(Cell::new(1.0));
    let (_, pullback) = vjp(|x: &f64| Rc::new(Cell::new(x * x)), &3.0);
    assert_eq!((pullback(cell.clone()), cell.get()), (6.0, 1.0));
}

/// What is one value in the result is one in a cotangent, and what are two are two.
#[test]
fn a_cotangent_with_other_owners_than_the_value() {
    let f = |x: &f64| {
        let (a, b) = (Rc::new(x * x), Rc::new(5.0 * x));
        (a.clone(), a, b)
    };
    let (a, b) = (Rc::new(1.0), Rc::new(10.0));
    assert_eq!(vjp(f, &3.0).1((a.clone(), a.clone(), b.clone())), 6.0 + 50.0);
    let wrong = catch_unwind(|| vjp(f, &3.0).1((Rc::new(1.0), Rc::new(10.0), Rc::new(10.0))));
    assert!(wrong.is_err());
    let wrong = catch_unwind(AssertUnwindSafe(|| vjp(f, &3.0).1((a.clone(), b.clone(), b.clone()))));
    let message = *wrong.unwrap_err().downcast::<&str>().expect("a message");
    assert!(message.contains("a cotangent has another shape than the value"), "{message}");
}
