//! Rules that are given, or return, values of which only parts have a derivative, and values that have other owners.

/// What a rule is given may be active in one part and constant in another. The constant part has no shadow.
mod constant_parts {
    use pullback::{Differentiable, autodiff, frule, grad, jvp, non_differentiable, rrule, vjp};
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Mixed {
        a: f64,
        vector: Vec<f64>,
        boxed: Box<(f32, f64)>,
        counted: Rc<Cell<f64>>,
        option: Option<Box<f64>>,
        rows: Vec<Vec<f64>>,
        b: f64,
    }

    fn mixed(a: f64) -> Mixed {
        Mixed {
            a,
            vector: vec![2.0, 3.0],
            boxed: Box::new((4.0, 5.0)),
            counted: Rc::new(Cell::new(6.0)),
            option: Some(Box::new(7.0)),
            rows: vec![vec![8.0], vec![9.0]],
            b: 10.0,
        }
    }

    fn sum(m: &Mixed) -> f64 {
        m.vector[0]
            + m.vector[1]
            + f64::from(m.boxed.0)
            + m.boxed.1
            + m.counted.get()
            + m.option.as_deref().unwrap_or(&0.0)
            + m.rows.iter().flatten().sum::<f64>()
    }

    fn weighted(m: &Mixed) -> f64 {
        m.a * sum(m) + m.b
    }

    /// Twice what it is.
    #[rrule(for = weighted)]
    fn weighted_rrule(m: &Mixed) -> (f64, impl Fn(f64, &mut Mixed) + use<>) {
        let (a, sum) = (m.a, sum(m));
        (weighted(m), move |dy, d| {
            let part = 2.0 * dy * a;
            d.a += 2.0 * dy * sum;
            d.b += 2.0 * dy;
            d.vector.iter_mut().for_each(|d| *d += part);
            *d.boxed = (d.boxed.0 + part as f32, d.boxed.1 + part);
            d.counted.set(d.counted.get() + part);
            d.option.iter_mut().for_each(|d| **d += part);
            d.rows.iter_mut().flatten().for_each(|d| *d += part);
        })
    }

    #[frule(for = weighted)]
    fn weighted_frule(m: &Mixed, d: &Mixed) -> (f64, f64) {
        (weighted(m), 2.0 * (d.a * sum(m) + m.a * sum(d) + d.b))
    }

    #[autodiff(d_local, Reverse, Active, Active)]
    #[autodiff(t_local, Forward, Dual, Dual)]
    fn local(x: f64) -> f64 {
        weighted(&mixed(x))
    }

    #[autodiff(d_given, Reverse, Active, Const, Active)]
    #[autodiff(t_given, Forward, Dual, Const, Dual)]
    fn given(x: f64, vector: Vec<f64>) -> f64 {
        weighted(&Mixed { vector, ..mixed(x) })
    }

    #[non_differentiable]
    fn unseen(n: usize) -> Vec<f64> {
        vec![2.5; n]
    }

    #[autodiff(d_opaque, Reverse, Active, Active)]
    #[autodiff(t_opaque, Forward, Dual, Dual)]
    fn opaque(x: f64) -> f64 {
        weighted(&Mixed { vector: unseen(2), ..mixed(x) })
    }

    /// One row, and the float that comes last.
    #[autodiff(d_row, Reverse, Active, Active)]
    #[autodiff(t_row, Forward, Dual, Dual)]
    fn row(x: f64) -> f64 {
        weighted(&Mixed { rows: vec![vec![8.0], vec![x]], b: 3.0 * x, ..mixed(5.0) })
    }

    #[test]
    fn are_constant() {
        let all = 2.0 + 3.0 + 4.0 + 5.0 + 6.0 + 7.0 + 8.0 + 9.0;
        assert_eq!(d_local(3.0), (2.0 * all, 3.0 * all + 10.0));
        assert_eq!(t_local(3.0, 1.0), (3.0 * all + 10.0, 2.0 * all));
        assert_eq!(d_given(3.0, vec![2.0, 3.0]), (2.0 * all, 3.0 * all + 10.0));
        assert_eq!(t_given(3.0, 1.0, vec![2.0, 3.0]), (3.0 * all + 10.0, 2.0 * all));
        assert_eq!(d_opaque(3.0), (2.0 * all, 3.0 * all + 10.0));
        assert_eq!(t_opaque(3.0, 1.0), (3.0 * all + 10.0, 2.0 * all));
        let value = 5.0 * (all - 9.0 + 3.0) + 9.0;
        assert_eq!(d_row(3.0), (2.0 * (5.0 + 3.0), value));
        assert_eq!(t_row(3.0, 1.0), (value, 2.0 * (5.0 + 3.0)));
    }

    #[test]
    fn are_constant_in_second_order() {
        let f = |x: &f64| product(&(x * x, vec![vec![3.0], vec![4.0]]));
        for x in [1.5, -2.0] {
            assert_eq!(jvp(f, &x, &1.0).1, 2.0 * 2.0 * x * 7.0);
            assert_eq!(grad(f, &x), 2.0 * 2.0 * x * 7.0);
            assert_eq!(jvp(|x: &f64| jvp(f, x, &1.0).1, &x, &1.0).1, 2.0 * 2.0 * 7.0);
            assert_eq!(jvp(|x: &f64| grad(f, x), &x, &1.0).1, 2.0 * 2.0 * 7.0);
        }
    }

    /// What is its own tangent is no constant.
    #[test]
    fn are_not_what_is_its_own_direction() {
        let (m, all) = (Mixed { counted: Rc::new(Cell::new(0.0)), ..mixed(3.0) }, 38.0);
        let other = Mixed { counted: Rc::new(Cell::new(0.0)), ..m.clone() };
        let expected = (3.0 * all + 10.0, 2.0 * (3.0 * all + 3.0 * all + 10.0));
        assert_eq!(jvp(|m: &Mixed| weighted(m), &m, &other), expected);
        let rows = (2.0, vec![vec![3.0], vec![4.0]]);
        assert_eq!(jvp(product, &rows, &rows), (14.0, 2.0 * 28.0));
    }

    fn product(m: &(f64, Vec<Vec<f64>>)) -> f64 {
        m.0 * m.1.iter().flatten().sum::<f64>()
    }

    #[rrule(for = product)]
    fn product_rrule(m: &(f64, Vec<Vec<f64>>)) -> (f64, impl Fn(f64, &mut (f64, Vec<Vec<f64>>)) + use<>) {
        let (a, sum) = (m.0, m.1.iter().flatten().sum::<f64>());
        (product(m), move |dy, d| {
            d.0 += 2.0 * dy * sum;
            d.1.iter_mut().flatten().for_each(|d| *d += 2.0 * dy * a);
        })
    }

    #[frule(for = product)]
    fn product_frule(m: &(f64, Vec<Vec<f64>>), d: &(f64, Vec<Vec<f64>>)) -> (f64, f64) {
        let sum = |m: &(f64, Vec<Vec<f64>>)| m.1.iter().flatten().sum::<f64>();
        (product(m), 2.0 * (d.0 * sum(m) + m.0 * sum(d)))
    }

    /// The value of a function may have constant parts, too, and a cotangent of these is nobody's.
    #[test]
    fn of_a_value_take_any_cotangent() {
        for seed in [1.0, 10.0] {
            let (value, pullback) = vjp(|x: &f64| mixed(x * x), &3.0);
            assert_eq!(value, mixed(9.0));
            assert_eq!(pullback(mixed(seed)), 6.0 * seed);
        }
        let (_, pullback) = vjp(|x: &f64| (vec![1.0], vec![vec![1.0], vec![*x]]), &3.0);
        assert_eq!(pullback((vec![1.0], vec![vec![1.0], vec![10.0]])), 10.0);
    }

    #[autodiff(d_both, Reverse, Const, Active, Active)]
    fn both(constant: &Rc<f64>, x: f64) -> f64 {
        let y = Rc::new(x);
        pair(&(constant.clone(), y.clone(), y))
    }

    fn pair(m: &(Rc<f64>, Rc<f64>, Rc<f64>)) -> f64 {
        *m.0 * *m.1 * *m.2
    }

    #[rrule(for = pair)]
    fn pair_rrule(m: &(Rc<f64>, Rc<f64>, Rc<f64>)) -> (f64, impl Fn(f64, &mut (Rc<f64>, Rc<f64>, Rc<f64>)) + use<>) {
        let m = (*m.0, *m.1);
        (m.0 * m.1 * m.1, move |dy, d| {
            let d_y = 2.0 * 2.0 * dy * m.0 * m.1;
            // Both are one value.
            assert!(Rc::ptr_eq(&d.1, &d.2));
            (d.1, d.2) = (Rc::new(0.0), Rc::new(0.0));
            let d_y = Rc::new(d_y);
            (d.1, d.2) = (d_y.clone(), d_y);
        })
    }

    #[test]
    fn that_are_counted() {
        assert_eq!(d_both(&Rc::new(5.0), 3.0), (2.0 * 2.0 * 15.0, 45.0));
    }

    #[autodiff(d_mixed_owners, Reverse, Const, Active, Active)]
    fn mixed_owners(constant: &Rc<f64>, y: Rc<f64>) -> f64 {
        pair(&(constant.clone(), y.clone(), y))
    }

    /// One value cannot be constant and have a shadow: what the rule adds to it would be both.
    #[test]
    fn that_are_not_constant_for_all_owners() {
        let (x, y) = (Rc::new(5.0), Rc::new(3.0));
        assert_eq!(*d_mixed_owners(&x, y.clone()).0, 2.0 * 2.0 * 15.0);
        let message = *catch_unwind(AssertUnwindSafe(|| d_mixed_owners(&y, y.clone())))
            .unwrap_err()
            .downcast::<&str>()
            .expect("a message");
        assert!(
            message.contains("of a value with several owners some have a derivative and some have none"),
            "{message}"
        );
    }
}

/// Rules see shadows and cotangents that are counted. They may keep them, or put others in their place.
mod counted {
    use pullback::{autodiff, rrule, vjp};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    thread_local! {
        static MINE: Rc<f64> = Rc::new(1.0);
        static KEPT: RefCell<Vec<(Rc<f64>, f64)>> = const { RefCell::new(Vec::new()) };
    }

    /// Keep an `Rc`, and what is in it.
    fn keep(value: &Rc<f64>) {
        KEPT.with(|kept| kept.borrow_mut().push((value.clone(), **value)));
    }

    /// What was kept is as it was.
    fn assert_kept(count: usize) {
        let kept = KEPT.with(RefCell::take);
        assert_eq!(kept.len(), count);
        for (value, before) in kept {
            assert_eq!(*value, before);
        }
    }

    fn double(x: &Rc<f64>) -> f64 {
        **x * 2.0
    }

    #[rrule(for = double)]
    fn double_rrule(x: &Rc<f64>) -> (f64, impl Fn(f64, &mut Rc<f64>) + use<>) {
        (double(x), |_, dx| {
            assert_eq!(**dx, 0.0, "a shadow of its own");
            keep(dx);
            *dx = MINE.with(Rc::clone);
        })
    }

    #[autodiff(d_double, Reverse, Active, Active)]
    fn doubled(x: f64) -> f64 {
        double(&Rc::new(x))
    }

    #[autodiff(d_constant, Reverse, Const, Active, Active)]
    fn constant(c: &Rc<f64>, x: f64) -> f64 {
        x * both(c, &Rc::new(x))
    }

    fn both(c: &Rc<f64>, x: &Rc<f64>) -> f64 {
        **c * **x
    }

    /// The first has no shadow.
    #[rrule(for = both)]
    fn both_rrule(c: &Rc<f64>, x: &Rc<f64>) -> (f64, impl Fn(f64, &mut Rc<f64>, &mut Rc<f64>) + use<>) {
        let (x, c) = (**x, **c);
        (c * x, move |dy, dc, dx| {
            assert_eq!((**dc, **dx), (0.0, 0.0), "shadows of their own");
            *dc = MINE.with(Rc::clone);
            *dx = Rc::new(c * dy);
        })
    }

    #[test]
    fn shadows_are_only_read() {
        let mine = MINE.with(Rc::clone);
        let seen: &f64 = &mine;
        for _ in 0..2 {
            assert_eq!((d_double(3.0), *seen), ((1.0, 6.0), 1.0));
        }
        let (_, pullback) = vjp(|x: &f64| double(&Rc::new(*x)), &3.0);
        for _ in 0..2 {
            assert_eq!((pullback(1.0), *seen), (1.0, 1.0));
        }
        assert_kept(4);
        for _ in 0..2 {
            assert_eq!((d_constant(&Rc::new(5.0), 3.0), *seen), ((30.0, 45.0), 1.0));
        }
        let c = Rc::new(5.0);
        let (_, pullback) = vjp(|x: &f64| x * both(&c, &Rc::new(*x)), &3.0);
        for _ in 0..2 {
            assert_eq!((pullback(1.0), *seen), (30.0, 1.0));
        }
    }

    fn square(x: f64) -> Rc<f64> {
        Rc::new(x * x)
    }

    #[rrule(for = square)]
    fn square_rrule(x: f64) -> (Rc<f64>, impl Fn(&Rc<f64>) -> f64) {
        (square(x), move |dy| {
            keep(dy);
            2.0 * x * **dy
        })
    }

    /// A pullback may keep the cotangent that it is lent.
    #[test]
    fn cotangents_that_are_kept_stay() {
        let (_, pullback) = vjp(|x: &f64| 10.0 * *square(*x), &3.0);
        for seed in [1.0, 2.0, 3.0] {
            assert_eq!(pullback(seed), 60.0 * seed);
        }
        assert_kept(3);
        let (_, pullback) = vjp(|x: &f64| square(*x), &3.0);
        for seed in [1.0, 2.0, 3.0] {
            assert_eq!(pullback(Rc::new(seed)), 6.0 * seed);
        }
        assert_kept(3);
    }

    type Three = (Rc<Cell<f64>>, Rc<Cell<f64>>, Rc<Cell<f64>>);

    fn three(x: &Three) -> f64 {
        x.0.get() * x.1.get() * x.2.get()
    }

    /// The first two are one, and then the last two.
    #[rrule(for = three)]
    fn three_rrule(x: &Three) -> (f64, impl Fn(f64, &mut Three) + use<>) {
        (three(x), move |_, d| d.1 = d.2.clone())
    }

    #[test]
    #[should_panic(expected = "has changed the shape of the shadow of `x`")]
    fn owners_are_part_of_the_shape() {
        let f = |x: &f64| {
            let a = Rc::new(Cell::new(*x));
            three(&(a.clone(), a, Rc::new(Cell::new(x * x))))
        };
        pullback::grad(f, &3.0);
    }
}

/// The tangent that a rule returns is a shadow like others: the derivative changes, grows and frees it like the value.
mod tangents {
    use pullback::{Differentiable, autodiff, frule};
    use std::cell::RefCell;
    use std::panic::catch_unwind;
    use std::rc::{Rc, Weak};

    thread_local! {
        static MINE: Rc<f64> = Rc::new(1.0);
        static WEAK: RefCell<Weak<f64>> = const { RefCell::new(Weak::new()) };
    }

    fn mine() -> Rc<f64> {
        MINE.with(Rc::clone)
    }

    /// How the rule comes to the tangent.
    fn double(x: f64, _: u8) -> Rc<f64> {
        Rc::new(2.0 * x)
    }

    #[frule(for = double)]
    fn double_frule(x: f64, dx: f64, way: u8, _: pullback::rules::NoTangent) -> (Rc<f64>, Rc<f64>) {
        let value = double(x, way);
        match way {
            // Others own it.
            0 => (value, mine()),
            // Others refer to it.
            1 => {
                let tangent = Rc::new(2.0 * dx);
                WEAK.set(Rc::downgrade(&tangent));
                (value, tangent)
            }
            // It is the value itself.
            2 => (value.clone(), value),
            _ => (value, Rc::new(2.0 * dx)),
        }
    }

    #[autodiff(t_scaled, Forward, Dual, Const, Dual)]
    fn scaled(x: f64, way: u8) -> f64 {
        let mut value = double(x, way);
        if let Some(value) = Rc::get_mut(&mut value) {
            *value *= 10.0;
        }
        *value
    }

    #[autodiff(t_returned, Forward, Dual, Const, Dual)]
    fn returned(x: f64, way: u8) -> (Rc<f64>, Rc<f64>) {
        let value = double(x, way);
        (value.clone(), value)
    }

    #[test]
    fn that_others_own() {
        let mine = mine();
        let (seen, owners): (&f64, _) = (&mine, Rc::strong_count(&mine));
        for _ in 0..2 {
            assert_eq!(t_scaled(3.0, 1.0, 0), (60.0, 10.0));
            assert_eq!(t_scaled(3.0, 1.0, 1), (60.0, 20.0));
            assert_eq!(t_scaled(3.0, 1.0, 2), (60.0, 60.0));
            assert_eq!(t_scaled(3.0, 1.0, 3), (60.0, 20.0));
            assert_eq!((*seen, Rc::strong_count(&mine)), (1.0, owners));
        }
        for way in 0..4 {
            let ((value, _), (tangent, other)) = t_returned(3.0, 1.0, way);
            assert!(Rc::ptr_eq(&tangent, &other) && !Rc::ptr_eq(&tangent, &value) && !Rc::ptr_eq(&tangent, &mine));
            assert_eq!(Rc::strong_count(&tangent), 2, "{way}");
        }
        assert_eq!((*seen, Rc::strong_count(&mine)), (1.0, owners));
    }

    /// It says twice what it is.
    fn powers(x: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        (vec![x, x * x], vec![vec![x]])
    }

    #[frule(for = powers)]
    fn powers_frule(x: f64, dx: f64) -> ((Vec<f64>, Vec<Vec<f64>>), (Vec<f64>, Vec<Vec<f64>>)) {
        let mut tangent = (Vec::with_capacity(100), Vec::with_capacity(50));
        tangent.0.extend([2.0 * dx, 4.0 * x * dx]);
        tangent.1.push(Vec::with_capacity(30));
        tangent.1[0].push(2.0 * dx);
        (powers(x), tangent)
    }

    #[autodiff(t_powers, Forward, Dual, Dual)]
    fn all_powers(x: f64) -> (Vec<f64>, Vec<Vec<f64>>) {
        powers(x)
    }

    #[autodiff(t_grown, Forward, Dual, Dual)]
    fn grown(x: f64) -> f64 {
        let (mut all, rows) = powers(x);
        all.push(x * x * x);
        all.iter().sum::<f64>() + rows[0][0]
    }

    /// Memory is given back with the capacity of the value.
    #[test]
    fn with_more_room() {
        let (value, tangent) = t_powers(3.0, 1.0);
        assert_eq!(tangent, (vec![2.0, 12.0], vec![vec![2.0]]));
        let room = |v: &(Vec<f64>, Vec<Vec<f64>>)| (v.0.capacity(), v.1.capacity(), v.1[0].capacity());
        assert_eq!(room(&value), room(&tangent));
        assert_eq!(t_grown(3.0, 1.0), (3.0 + 9.0 + 27.0 + 3.0, 2.0 + 12.0 + 27.0 + 2.0));
    }

    #[derive(Differentiable)]
    struct Pair(Rc<std::cell::Cell<f64>>, Rc<std::cell::Cell<f64>>);

    fn pair(x: f64, is_one: bool) -> Pair {
        let a = Rc::new(std::cell::Cell::new(x));
        if is_one { Pair(a.clone(), a) } else { Pair(a, Rc::new(std::cell::Cell::new(x))) }
    }

    #[frule(for = pair)]
    fn pair_frule(x: f64, dx: f64, is_one: bool, _: pullback::rules::NoTangent) -> (Pair, Pair) {
        (pair(x, is_one), pair(dx, !is_one))
    }

    #[autodiff(t_pair, Forward, Dual, Const, Dual)]
    fn of_pair(x: f64, is_one: bool) -> f64 {
        let pair = pair(x, is_one);
        pair.0.set(pair.0.get() * x);
        pair.1.get()
    }

    #[test]
    fn with_other_owners_in_common() {
        for is_one in [false, true] {
            let message =
                *catch_unwind(|| t_pair(3.0, 1.0, is_one)).unwrap_err().downcast::<String>().expect("a message");
            assert!(message.contains("`pair_frule`") && message.contains("in common"), "{message}");
        }
    }
}

/// The result of a rule has a shadow of its own, so its memory is its own, too.
mod results {
    use pullback::rules::ZeroTangent;
    use pullback::{Differentiable, autodiff, frule, make_zero, rrule};
    use std::cell::{Cell, RefCell};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::{Rc, Weak};

    fn message(f: impl FnOnce() -> f64) -> String {
        *catch_unwind(AssertUnwindSafe(f)).unwrap_err().downcast::<String>().expect("a message")
    }

    thread_local! {
        static CELL: Rc<Cell<f64>> = Rc::new(Cell::new(0.0));
        static WEAK: RefCell<Weak<Cell<f64>>> = const { RefCell::new(Weak::new()) };
        static PLAIN: Rc<f64> = Rc::new(7.0);
    }

    #[derive(Differentiable, Clone)]
    struct Deep {
        weight: f64,
        rows: Rc<Vec<(usize, Cell<f64>)>>,
    }

    macro_rules! rules {
        ($($function:ident: $T:ty, $rrule:ident, $frule:ident, $value:expr, $f:ident, $d:ident, $t:ident, $read:expr;)*) => {$(
            fn $function(c: &$T) -> $T {
                let value: fn(&$T) -> $T = $value;
                value(c)
            }

            #[rrule(for = $function)]
            fn $rrule(c: &$T) -> ($T, impl Fn(&$T, &mut $T) + use<>) {
                ($function(c), |_, _| ())
            }

            #[frule(for = $function)]
            fn $frule(c: &$T, _: &$T) -> ($T, ZeroTangent) {
                ($function(c), ZeroTangent)
            }

            #[autodiff($d, Reverse, Duplicated, Active)]
            #[autodiff($t, Forward, Dual, Dual)]
            fn $f(c: &$T) -> f64 {
                let read: fn(&$T) -> f64 = $read;
                let other = $function(c);
                read(&other) * read(c)
            }
        )*};
    }

    rules! {
        clone: Rc<Cell<f64>>, clone_rrule, clone_frule, |c| c.clone(), of_clone, d_clone, t_clone, |c| c.get();
        deep: Deep, deep_rrule, deep_frule, |c| Deep { weight: 1.0, ..c.clone() }, of_deep, d_deep, t_deep, |c| c.rows[0].1.get();
        fixed: Rc<Cell<f64>>, fixed_rrule, fixed_frule, |_| CELL.with(Rc::clone), of_fixed, d_fixed, t_fixed, |c| c.get();
        weak: Rc<Cell<f64>>, weak_rrule, weak_frule, |c| {
            let own = Rc::new(Cell::new(c.get()));
            WEAK.set(Rc::downgrade(&own));
            own
        }, of_weak, d_weak, t_weak, |c| c.get();
        own: Rc<Cell<f64>>, own_rrule, own_frule, |c| Rc::new(Cell::new(c.get())), of_own, d_own, t_own, |c| c.get();
    }

    #[test]
    fn that_are_parts_of_arguments_are_told() {
        fn check<T: pullback::ToZero<Zero = T>>(
            rule: &str,
            value: T,
            reverse: fn(&T, &mut T) -> f64,
            forward: fn(&T, &T) -> (f64, f64),
        ) {
            let mut shadow = make_zero(&value);
            let reverse = message(|| reverse(&value, &mut shadow));
            assert!(reverse.contains(&format!("rule `{rule}_rrule` returns memory that is not its own")), "{reverse}");
            let forward = message(|| forward(&value, &shadow).1);
            assert!(forward.contains(&format!("rule `{rule}_frule` returns memory that is not its own")), "{forward}");
        }
        let cell = || Rc::new(Cell::new(2.0));
        check("clone", cell(), d_clone, t_clone);
        check("deep", Deep { weight: 1.0, rows: Rc::new(vec![(1, Cell::new(2.0))]) }, d_deep, t_deep);
        check("fixed", cell(), d_fixed, t_fixed);
        check("weak", cell(), d_weak, t_weak);
        // And it is not told without a reason.
        let (value, mut shadow) = (cell(), cell());
        assert_eq!(t_own(&value, &shadow), (4.0, 4.0));
        assert_eq!(d_own(&value, &mut shadow), 4.0);
        assert_eq!((Rc::strong_count(&value), shadow.get()), (1, 4.0));
    }

    fn plain(c: &Rc<f64>, fixed: bool) -> Rc<f64> {
        if fixed { PLAIN.with(Rc::clone) } else { c.clone() }
    }

    #[rrule(for = plain)]
    fn plain_rrule(
        c: &Rc<f64>,
        fixed: bool,
    ) -> (Rc<f64>, impl Fn(&Rc<f64>, &mut Rc<f64>) -> pullback::rules::NoTangent + use<>) {
        (plain(c, fixed), move |dy, dc| {
            *dc = if fixed { Rc::new(0.0) } else { dy.clone() };
            pullback::rules::NoTangent
        })
    }

    #[frule(for = plain)]
    fn plain_frule(c: &Rc<f64>, dc: &Rc<f64>, fixed: bool, _: pullback::rules::NoTangent) -> (Rc<f64>, Rc<f64>) {
        (plain(c, fixed), if fixed { Rc::new(0.0) } else { dc.clone() })
    }

    #[autodiff(d_plain, Reverse, Active, Const, Active)]
    #[autodiff(t_plain, Forward, Dual, Const, Dual)]
    fn of_plain(x: f64, fixed: bool) -> f64 {
        let c = Rc::new(x);
        let mut other = plain(&c, fixed);
        drop(c);
        if let Some(other) = Rc::get_mut(&mut other) {
            *other *= 10.0;
        }
        x * *other
    }

    /// What several own and nobody can write needs no name of its own in reverse mode. In forward mode owners come and go
    /// with those of the tangent.
    #[test]
    fn without_cells_are_told_in_forward_mode() {
        assert_eq!(d_plain(3.0, false), (60.0, 90.0));
        assert_eq!(d_plain(3.0, true), (7.0, 21.0));
        for fixed in [false, true] {
            let forward = message(|| t_plain(3.0, 1.0, fixed).1);
            assert!(forward.contains("rule `plain_frule` returns memory that is not its own"), "{forward}");
        }
        assert_eq!(PLAIN.with(Rc::strong_count), 1);
    }
}

/// The shadow of a cell may have other names, so that a pullback has no `&mut` to it.
mod cells {
    use pullback::{autodiff, frule, jvp, rrule, vjp};
    use std::cell::{Cell, RefCell};
    use std::rc::Rc;

    thread_local! {
        static SHADOW: RefCell<Option<Rc<[Cell<f64>; 2]>>> = const { RefCell::new(None) };
    }

    /// Write what others have as `&Cell`.
    #[inline(never)]
    fn poke() {
        SHADOW.with(|shadow| shadow.borrow().iter().for_each(|shadow| shadow[0].set(100.0)));
    }

    fn double(c: &Cell<f64>) -> f64 {
        c.get() * 2.0
    }

    #[rrule(for = double)]
    fn double_rrule(c: &Cell<f64>) -> (f64, impl Fn(f64, &mut Cell<f64>) + use<>) {
        (double(c), |dy, dc| {
            let (before, float) = (dc.get(), dc.get_mut());
            *float = -1.0;
            poke();
            assert_eq!(*float, -1.0, "what has a `&mut` has one name");
            *float = before + 20.0 * dy;
        })
    }

    fn sum(c: &[Cell<f64>]) -> f64 {
        c.iter().map(Cell::get).sum()
    }

    #[rrule(for = sum)]
    fn sum_rrule(c: &[Cell<f64>]) -> (f64, impl Fn(f64, Option<&mut [Cell<f64>]>) + use<>) {
        (sum(c), |dy, dc| {
            for cell in dc.into_iter().flatten() {
                let (before, float) = (cell.get(), cell.get_mut());
                *float = -1.0;
                poke();
                assert_eq!(*float, -1.0, "what has a `&mut` has one name");
                *float = before + 10.0 * dy;
            }
        })
    }

    #[autodiff(d_doubled, Reverse, Duplicated, Active)]
    fn doubled(c: &Rc<[Cell<f64>; 2]>) -> f64 {
        double(&c[0]) + sum(&c[..])
    }

    #[test]
    fn that_others_have_are_lent_as_copies() {
        let (c, mut dc) = (Rc::new([3.0, 4.0].map(Cell::new)), Rc::new([5.0, 6.0].map(Cell::new)));
        SHADOW.set(Some(dc.clone()));
        assert_eq!(d_doubled(&c, &mut dc), 13.0);
        SHADOW.set(None);
        assert_eq!(*dc, [35.0, 16.0].map(Cell::new));
    }

    /// `to ← from²`. It says ten times that.
    fn square(to: &Cell<f64>, from: &Cell<f64>) {
        to.set(from.get() * from.get());
    }

    #[rrule(for = square)]
    fn square_rrule(to: &Cell<f64>, from: &Cell<f64>) -> ((), impl Fn(&mut Cell<f64>, &mut Cell<f64>) + use<>) {
        let x = from.get();
        square(to, from);
        ((), move |d_to, d_from| *d_from.get_mut() += 20.0 * x * d_to.take())
    }

    #[frule(for = square)]
    fn square_frule(to: &Cell<f64>, d_to: &Cell<f64>, from: &Cell<f64>, d_from: &Cell<f64>) {
        d_to.set(20.0 * from.get() * d_from.get());
        square(to, from);
    }

    /// The cotangent of what a rule writes is in the shadow that its pullback is lent, which takes it out.
    #[test]
    fn that_are_written_have_a_cotangent() {
        let f = |x: &f64| {
            let (a, b) = (Cell::new(*x), Cell::new(7.0));
            square(&b, &a);
            5.0 * b.get() + a.get()
        };
        let (value, pullback) = vjp(f, &3.0);
        assert_eq!((value, pullback(1.0), pullback(2.0)), (48.0, 301.0, 602.0));
        assert_eq!(jvp(f, &3.0, &1.0), (48.0, 301.0));
    }

    fn product(x: &Cell<f64>, y: &Cell<f64>) -> f64 {
        x.get() * y.get()
    }

    #[rrule(for = product)]
    fn product_rrule(x: &Cell<f64>, y: &Cell<f64>) -> (f64, impl Fn(f64, &mut Cell<f64>, &mut Cell<f64>) + use<>) {
        let (a, b) = (x.get(), y.get());
        (a * b, move |d, dx, dy| {
            *dx.get_mut() += 10.0 * b * d;
            *dy.get_mut() += 10.0 * a * d;
        })
    }

    #[test]
    fn that_are_one_have_one_shadow() {
        let f = |x: &Cell<f64>| product(x, x) + x.get();
        let shadow = pullback::grad(f, &Cell::new(3.0));
        assert_eq!(shadow.get(), 61.0);
    }

    macro_rules! products {
        ($($first:ident, $first_rrule:ident, $last:ident, $last_rrule:ident: $T:ty, $U:ty, $t:expr, $u:expr;)*) => {$(
            fn $first(owner: &$T, cell: &$U) -> f64 {
                let (t, u): (fn(&$T) -> &Cell<f64>, fn(&$U) -> &Cell<f64>) = ($t, $u);
                t(owner).get() * u(cell).get()
            }

            #[rrule(for = $first)]
            fn $first_rrule(owner: &$T, cell: &$U) -> (f64, impl Fn(f64, &mut $T, &mut $U) + use<>) {
                let (t, u): (fn(&$T) -> &Cell<f64>, fn(&$U) -> &Cell<f64>) = ($t, $u);
                let (a, b) = (t(owner).get(), u(cell).get());
                (a * b, move |d, d_owner, d_cell| {
                    t(d_owner).set(t(d_owner).get() + 10.0 * b * d);
                    u(d_cell).set(u(d_cell).get() + 10.0 * a * d);
                })
            }

            fn $last(cell: &$U, owner: &$T) -> f64 {
                $first(owner, cell)
            }

            #[rrule(for = $last)]
            fn $last_rrule(cell: &$U, owner: &$T) -> (f64, impl Fn(f64, &mut $U, &mut $T) + use<>) {
                let (value, pullback) = $first_rrule(owner, cell);
                (value, move |d, d_cell, d_owner| pullback(d, d_owner, d_cell))
            }
        )*};
    }

    products! {
        counted_first, counted_first_rrule, counted_last, counted_last_rrule:
            Rc<Cell<f64>>, Cell<f64>, |owner| owner, |cell| cell;
        rows_first, rows_first_rrule, rows_last, rows_last_rrule:
            [Vec<Cell<f64>>], [Cell<f64>], |rows| &rows[0][1], |row| &row[1];
    }

    /// One of them is given as a copy, and the other one as a part of zeros.
    #[test]
    fn that_others_own_too_have_one_sum() {
        fn counted(f: impl Fn(&Rc<Cell<f64>>, &Cell<f64>) -> f64) -> f64 {
            let f = |x: &f64| {
                let cell = Rc::new(Cell::new(*x));
                f(&cell, &cell) + cell.get()
            };
            pullback::grad(f, &3.0)
        }
        fn rows(f: impl Fn(&[Vec<Cell<f64>>], &[Cell<f64>]) -> f64) -> f64 {
            let f = |x: &f64| {
                let rows = [vec![Cell::new(1.0), Cell::new(*x)], vec![]];
                f(&rows, &rows[0]) + rows[0][1].get()
            };
            pullback::grad(f, &3.0)
        }
        assert_eq!((counted(counted_first), counted(|owner, cell| counted_last(cell, owner))), (61.0, 61.0));
        assert_eq!((rows(rows_first), rows(|owner, cell| rows_last(cell, owner))), (61.0, 61.0));
    }
}

/// A rule that writes a cell has to know of its derivative.
mod watched {
    use pullback::rules::NoTangent;
    use pullback::{Differentiable, frule, grad, jvp, rrule};
    use std::cell::Cell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    fn message(f: impl FnOnce() -> f64) -> String {
        *catch_unwind(AssertUnwindSafe(f)).unwrap_err().downcast::<String>().expect("a message")
    }

    fn put(c: &Rc<Cell<f64>>, x: f64) {
        c.set(x * x);
    }

    #[rrule(for = put)]
    fn put_rrule(c: &Rc<Cell<f64>>, x: f64) -> ((), impl Fn(&mut Rc<Cell<f64>>) -> f64 + use<>) {
        put(c, x);
        ((), move |dc| 2.0 * x * dc.take())
    }

    #[frule(for = put)]
    fn put_frule(c: &Rc<Cell<f64>>, dc: &Rc<Cell<f64>>, x: f64, dx: f64) {
        put(c, x);
        dc.set(2.0 * x * dx);
    }

    fn set(c: &Cell<f64>, x: f64) {
        c.set(x);
    }

    #[rrule(for = set)]
    fn set_rrule(c: &Cell<f64>, x: f64) -> ((), impl Fn(NoTangent) -> f64 + use<>) {
        set(c, x);
        ((), move |_| 0.0)
    }

    #[frule(for = set)]
    fn set_frule(c: &Cell<f64>, _: NoTangent, x: f64, _: f64) {
        set(c, x);
    }

    #[derive(Differentiable)]
    struct Memo {
        weights: Vec<f64>,
        last: Box<Cell<Option<f64>>>,
        calls: Cell<usize>,
    }

    fn apply(m: &Memo, x: f64, memoise: bool) -> f64 {
        m.calls.set(m.calls.get() + 1);
        if memoise {
            m.last.set(Some(x));
        }
        m.weights[0] * x
    }

    /// Ten times what it is.
    #[rrule(for = apply)]
    fn apply_rrule(m: &Memo, x: f64, memoise: bool) -> (f64, impl Fn(f64, &mut Memo) -> (f64, NoTangent) + use<>) {
        let weight = m.weights[0];
        (apply(m, x, memoise), move |dy, dm| {
            dm.weights[0] += 10.0 * x * dy;
            (10.0 * weight * dy, NoTangent)
        })
    }

    #[frule(for = apply)]
    fn apply_frule(m: &Memo, dm: &Memo, x: f64, dx: f64, memoise: bool, _: NoTangent) -> (f64, f64) {
        (apply(m, x, memoise), 10.0 * (m.weights[0] * dx + dm.weights[0] * x))
    }

    #[test]
    fn cells_that_a_rule_may_not_write() {
        let f = |x: &f64| {
            let c = Rc::new(Cell::new(5.0 * x));
            put(&c, *x);
            10.0 * c.get()
        };
        let (reverse, forward) = (message(|| grad(f, &3.0)), message(|| jvp(f, &3.0, &1.0).1));
        assert!(reverse.contains("rule `put_rrule` writes a float to a cell of `c`"), "{reverse}");
        assert!(forward.contains("rule `put_frule` writes a float to a cell of `c`"), "{forward}");
        let f = |x: &f64| {
            let c = Cell::new(5.0 * x);
            set(&c, *x);
            10.0 * c.get()
        };
        let (reverse, forward) = (message(|| grad(f, &3.0)), message(|| jvp(f, &3.0, &1.0).1));
        assert!(reverse.contains("rule `set_rrule` writes a float to a cell of `c`"), "{reverse}");
        assert!(forward.contains("rule `set_frule` writes a float to a cell of `c`"), "{forward}");
        for memoise in [false, true] {
            let f = |x: &f64| {
                let memo = Memo { weights: vec![*x], last: Box::new(Cell::new(None)), calls: Cell::new(0) };
                apply(&memo, *x, memoise) * memo.calls.get() as f64
            };
            if memoise {
                let (reverse, forward) = (message(|| grad(f, &3.0)), message(|| jvp(f, &3.0, &1.0).1));
                assert!(reverse.contains("rule `apply_rrule` writes a float to a cell of `m`"), "{reverse}");
                assert!(forward.contains("rule `apply_frule` writes a float to a cell of `m`"), "{forward}");
                assert!(reverse.contains("mark the field `#[pullback(skip)]`"), "{reverse}");
            } else {
                // Numbers may be written.
                assert_eq!((grad(f, &3.0), jvp(f, &3.0, &1.0)), (60.0, (9.0, 60.0)));
            }
        }
    }

    fn weighted(c: &Cell<f64>, x: f64, is_written: bool) -> f64 {
        let weight = c.get();
        if is_written {
            c.set(weight + x);
        }
        weight * x
    }

    #[rrule(for = weighted)]
    fn weighted_rrule(
        c: &Cell<f64>,
        x: f64,
        is_written: bool,
    ) -> (f64, impl Fn(f64, &mut Cell<f64>) -> (f64, NoTangent) + use<>) {
        let weight = c.get();
        (weighted(c, x, is_written), move |dy, dc| {
            *dc.get_mut() += 10.0 * x * dy;
            (10.0 * weight * dy, NoTangent)
        })
    }

    #[frule(for = weighted)]
    fn weighted_frule(c: &Cell<f64>, dc: &Cell<f64>, x: f64, dx: f64, is_written: bool, _: NoTangent) -> (f64, f64) {
        let tangent = 10.0 * (c.get() * dx + dc.get() * x);
        (weighted(c, x, is_written), tangent)
    }

    /// A cell that is read may be constant.
    #[test]
    fn cells_that_a_rule_reads() {
        let c = Cell::new(5.0);
        let f = |x: &f64| weighted(&c, *x, false);
        assert_eq!((grad(f, &3.0), jvp(f, &3.0, &1.0)), (50.0, (15.0, 50.0)));
        for is_written in [false, true] {
            let f = |x: &f64| {
                let c = Cell::new(x * x);
                weighted(&c, *x, is_written) + c.get()
            };
            if is_written {
                let (reverse, forward) = (message(|| grad(f, &3.0)), message(|| jvp(f, &3.0, &1.0).1));
                assert!(reverse.contains("rule `weighted_rrule` writes a float to a cell of `c`"), "{reverse}");
                assert!(forward.contains("rule `weighted_frule` writes a float to a cell of `c`"), "{forward}");
            } else {
                assert_eq!((grad(f, &3.0), jvp(f, &3.0, &1.0)), (276.0, (36.0, 276.0)));
            }
        }
    }
}

/// A function that returns nothing may write cells by a `&`, and nothing else.
mod without_cells_of_floats {
    use pullback::{Differentiable, autodiff, frule, grad, jvp, rrule};
    use std::cell::Cell;
    use std::rc::Rc;

    #[derive(Differentiable, Clone)]
    struct Gain {
        calls: Rc<Cell<usize>>,
        names: Vec<Vec<u8>>,
        factors: Vec<f64>,
        next: Option<Box<Gain>>,
    }

    fn gain() -> Gain {
        let next = Gain { calls: Rc::default(), names: vec![], factors: vec![5.0], next: None };
        Gain { calls: Rc::default(), names: vec![vec![1]], factors: vec![3.0], next: Some(Box::new(next)) }
    }

    fn apply(gain: &Gain, out: &mut [f64]) {
        gain.calls.set(gain.calls.get() + 1);
        out.iter_mut().for_each(|out| *out *= gain.factors[0]);
    }

    /// Ten times what it is.
    #[rrule(for = apply)]
    fn apply_rrule(gain: &Gain, out: &mut [f64]) -> ((), impl Fn(&mut Gain, &mut [f64]) + use<>) {
        let (factor, old) = (gain.factors[0], out.to_vec());
        apply(gain, out);
        ((), move |d_gain, d_out| {
            for (d_out, old) in d_out.iter_mut().zip(&old) {
                d_gain.factors[0] += 10.0 * *d_out * old;
                *d_out *= 10.0 * factor;
            }
        })
    }

    #[frule(for = apply)]
    fn apply_frule(gain: &Gain, d_gain: &Gain, out: &mut [f64], d_out: &mut [f64]) {
        for (out, d_out) in out.iter_mut().zip(d_out) {
            *d_out = 10.0 * (*d_out * gain.factors[0] + *out * d_gain.factors[0]);
        }
        apply(gain, out);
    }

    #[autodiff(d_constant, Reverse, Const, Active, Active)]
    #[autodiff(t_constant, Forward, Const, Dual, Dual)]
    fn amplified(gain: &Gain, x: f64) -> f64 {
        let mut out = [x, 2.0 * x];
        apply(gain, &mut out);
        out[0] + out[1]
    }

    #[test]
    fn what_is_constant_is_not_written() {
        assert_eq!(d_constant(&gain(), 2.0), (90.0, 18.0));
        assert_eq!(t_constant(&gain(), 2.0, 1.0), (18.0, 90.0));
        let captured = gain();
        let f = |x: &f64| amplified(&captured, *x);
        assert_eq!((grad(f, &2.0), jvp(f, &2.0, &1.0)), (90.0, (18.0, 90.0)));
        assert_eq!(captured.calls.get(), 2);
        let f = |x: &f64| amplified(&Gain { factors: vec![*x], ..gain() }, *x);
        assert_eq!((grad(f, &2.0), jvp(f, &2.0, &1.0)), (120.0, (12.0, 120.0)));
    }
}
