//! Types of other crates that take part by a struct with the same fields.

use kurbo::{Line, Point, Vec2};
use pullback::{Differentiable, autodiff, grad, jvp, make_zero, value_and_grad};
use pullback_e2e::assert_close;

#[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
#[pullback(remote = "kurbo::Vec2")]
struct Vector {
    x: f64,
    y: f64,
}

#[derive(Differentiable)]
#[pullback(remote = "kurbo::Point")]
struct Place {
    x: f64,
    y: f64,
}

#[derive(Differentiable)]
#[pullback(remote = "kurbo::Line")]
struct Segment {
    #[pullback(with = "Place")]
    p0: Point,
    #[pullback(with = "Place")]
    p1: Point,
}

/// Of any type of coordinates.
#[derive(Differentiable)]
#[pullback(remote = "mint::Vector3<T>")]
struct Triple<T> {
    x: T,
    y: T,
    z: T,
}

#[test]
fn by_a_reference_to_what_stands_for_it() {
    let v = Vec2::new(3.0, 4.0);
    assert_eq!(*grad(|v: &Vector| v.hypot2(), Vector::of(&v)), Vec2::new(6.0, 8.0));
    let line = Line::new((1.0, 2.0), (4.0, 6.0));
    let gradient: Line = grad(|line: &Segment| (line.p1 - line.p0).hypot2(), Segment::of(&line)).into();
    assert_eq!(gradient, Line::new((-6.0, -8.0), (6.0, 8.0)));
    let (value, tangent) = jvp(|v: &Vector| Vector::from(**v * v.x), Vector::of(&v), Vector::of(&Vec2::new(1.0, 0.0)));
    assert_eq!((*value, *tangent), (Vec2::new(9.0, 12.0), Vec2::new(6.0, 4.0)));
    let triple = mint::Vector3 { x: 1.0_f32, y: 2.0, z: 3.0 };
    let gradient = grad(|v: &Triple<f32>| v.x * v.y * v.z, Triple::of(&triple));
    assert_eq!([gradient.x, gradient.y, gradient.z], [6.0, 3.0, 2.0]);
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Body {
    mass: f64,
    #[pullback(with = "Vector")]
    velocity: Vec2,
    shape: Shape,
    way: Vec<Vector>,
}

#[derive(Differentiable, Clone, Debug, PartialEq)]
enum Shape {
    Round(f64),
    Long(#[pullback(with = "Vector")] Vec2, usize),
}

#[autodiff(d_energy, Reverse, Duplicated, Active)]
#[autodiff(f_energy, Forward, Dual, Dual)]
fn energy(body: &Body) -> f64 {
    let size = match &body.shape {
        Shape::Round(radius) => radius * radius,
        Shape::Long(axis, times) => axis.hypot2() * *times as f64,
    };
    let way: f64 = body.way.iter().map(|step| step.cross(body.velocity)).sum();
    0.5 * body.mass * body.velocity.hypot2() * size + way
}

#[test]
fn as_fields_of_structs_and_enums() {
    let body = |shape| Body {
        mass: 2.0,
        velocity: Vec2::new(0.5, -1.0),
        shape,
        way: vec![Vec2::new(1.0, 2.0).into(), Vec2::new(-0.5, 0.25).into()],
    };
    for body in [body(Shape::Round(1.5)), body(Shape::Long(Vec2::new(0.5, 2.0), 3))] {
        let (value, gradient) = value_and_grad(energy, &body);
        let mut shadow = make_zero(&body);
        assert_eq!(d_energy(&body, &mut shadow), value);
        assert_eq!(shadow, gradient);
        let along = |change: &dyn Fn(&mut Body, f64)| {
            let mut direction = make_zero(&body);
            change(&mut direction, 1.0);
            let at = |step: f64| {
                let mut moved = body.clone();
                change(&mut moved, step);
                energy(&moved)
            };
            (f_energy(&body, &direction), (at(1e-6) - at(-1e-6)) / 2e-6)
        };
        let check = |change: &dyn Fn(&mut Body, f64), in_gradient: f64| {
            let ((of, tangent), difference) = along(change);
            assert_eq!(of, value);
            assert_close(tangent, in_gradient, 1e-12);
            assert_close(tangent, difference, 1e-7);
        };
        check(&|body, by| body.velocity.x += by, gradient.velocity.x);
        check(&|body, by| body.velocity.y += by, gradient.velocity.y);
        check(&|body, by| body.way[1].y += by, gradient.way[1].y);
        match gradient.shape {
            Shape::Round(radius) => check(
                &|body, by| {
                    if let Shape::Round(r) = &mut body.shape {
                        *r += by
                    }
                },
                radius,
            ),
            Shape::Long(axis, _) => {
                check(
                    &|body, by| {
                        if let Shape::Long(axis, _) = &mut body.shape {
                            axis.y += by
                        }
                    },
                    axis.y,
                );
            }
        }
    }
}

#[test]
fn of_another_shape_are_told() {
    let body = Body { mass: 1.0, velocity: Vec2::ZERO, shape: Shape::Round(1.0), way: Vec::new() };
    let mut shadow = Body { shape: Shape::Long(Vec2::ZERO, 1), ..make_zero(&body) };
    let said = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| d_energy(&body, &mut shadow))).unwrap_err();
    assert!(said.downcast_ref::<String>().unwrap().contains("`body.shape` is `Round`, its shadow is `Long`"));
}

#[autodiff(d_moved, Reverse, Duplicated, Active)]
fn moved(at: &mut Vector, by: f64) {
    let x = at.x;
    **at += Vec2::new(by * by, x);
}

#[test]
fn that_are_written() {
    let (mut v, mut d_v) = (Vec2::new(1.0, 2.0), Vec2::new(0.5, 0.25));
    assert_eq!(d_moved(Vector::of_mut(&mut v), Vector::of_mut(&mut d_v), 3.0), 3.0);
    assert_eq!((v, d_v), (Vec2::new(10.0, 3.0), Vec2::new(0.75, 0.25)));
}

#[deny(warnings)]
mod with_parameters {
    use super::*;

    /// What another crate may have: lifetimes, bounds in a where clause, fields that are deprecated.
    mod other {
        pub trait Unit {
            type Scale;
        }

        impl Unit for u8 {
            type Scale = f64;
        }

        #[derive(Clone, Debug, PartialEq)]
        pub struct Named<'a, T> {
            pub name: &'a str,
            pub value: T,
        }

        pub struct Scaled<T, S> {
            pub value: T,
            pub by: S,
        }

        pub struct Old {
            #[deprecated]
            pub old: f64,
            pub r#type: f64,
        }
    }

    #[derive(Differentiable)]
    #[pullback(remote = "other::Named<'a, T>")]
    struct Named<'a, T> {
        #[pullback(skip)]
        name: &'a str,
        value: T,
    }

    #[derive(Differentiable)]
    #[pullback(remote = "other::Scaled<f64, T::Scale>")]
    struct Scaled<T>
    where
        T: other::Unit,
        T::Scale: Copy,
    {
        value: f64,
        #[pullback(skip)]
        by: T::Scale,
    }

    #[derive(Differentiable)]
    #[pullback(remote = "other::Old")]
    struct Old {
        old: f64,
        r#type: f64,
    }

    #[test]
    fn lifetimes_and_bounds() {
        let (text, mut of) = (String::from("name"), other::Named { name: "", value: vec![1.0, 2.0] });
        of.name = &text;
        let gradient = grad(|of: &Named<Vec<f64>>| of.value.iter().map(|v| v * v).sum::<f64>(), Named::of(&of));
        assert_eq!(*gradient, other::Named { name: "name", value: vec![2.0, 4.0] });
        Named::of_mut(&mut of).value.push(3.0);
        assert_eq!(of.value, [1.0, 2.0, 3.0]);
        let scaled: Scaled<u8> = other::Scaled { value: 3.0, by: 2.0 }.into();
        assert_eq!(grad(|of: &Scaled<u8>| of.value * of.by, &scaled).value, 2.0);
    }

    #[test]
    fn deprecated_fields() {
        #[allow(deprecated)]
        let old = other::Old { old: 3.0, r#type: 4.0 };
        let gradient = grad(|of: &Old| of.old * of.r#type, Old::of(&old));
        assert_eq!((gradient.old, gradient.r#type), (4.0, 3.0));
    }
}
