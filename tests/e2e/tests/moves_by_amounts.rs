//! Elements that are moved by amounts which are known only when the program runs: from a number, from a constant float,
//! from a float that is differentiated, from an element itself. The regions overlap, and elements of four bytes travel
//! two at a time. Each function copies every element it leaves from one that it was given, so its derivatives are
//! exact.

use pullback::autodiff;

/// Where each element came from, if it was one of `1, 2, 3, …`.
fn sources(moved: &[f64]) -> Vec<usize> {
    moved.iter().map(|value| *value as usize - 1).collect()
}

/// Different for each element, and sums of them too.
fn cotangent(i: usize) -> f64 {
    f64::from(1 << (2 * i))
}

/// The derivatives of a function that moves elements from `from`: cotangents go back, tangents go along.
fn assert_moved(from: &[usize], cotangents: &[f64], tangents: &[f64], case: &str) {
    let mut expected = vec![0.0; from.len()];
    from.iter().enumerate().for_each(|(i, source)| expected[*source] += cotangent(i));
    assert_eq!(cotangents, expected, "cotangents of {case}");
    let expected: Vec<f64> = from.iter().map(|source| cotangent(*source)).collect();
    assert_eq!(tangents, expected, "tangents of {case}");
}

/// Ways to move, for elements of one type in arrays of some lengths.
macro_rules! moves {
    ($($module:ident: [$T:ident; $N:literal];)*) => { $(mod $module {
        use super::*;
        type Elements = [$T; $N];

        /// The derivatives of one way to move, with each amount.
        macro_rules! way {
            (
        $name:ident, $reverse:ident, $forward:ident, $K:ty, $active:ident, $dual:ident,
        ($p:ident, $k:ident) $body:block
    ) => {
                #[autodiff($reverse, Reverse, Duplicated, $active)]
                #[autodiff($forward, Forward, Dual, $dual)]
                fn $name($p: &mut Elements, $k: $K) $body
            };
        }

        way!(left_by_a_number, r1, t1, usize, Const, Const, (p, k) { p.rotate_left(k % $N) });
        way!(left_by_a_float, r2, t2, $T, Const, Const, (p, k) { p.rotate_left(k as usize % $N) });
        way!(right_by_a_float, r3, t3, f64, Const, Const, (p, k) { p.rotate_right(k as usize % $N) });
        way!(left_by_an_active_float, r4, t4, $T, Active, Dual, (p, k) { p.rotate_left(k as usize % $N) });
        way!(within_by_a_float, r5, t5, f64, Const, Const, (p, k) {
            let k = k as usize % $N;
            p.copy_within(..$N - k, k);
        });
        way!(within_by_a_number, r6, t6, usize, Const, Const, (p, k) { p.copy_within(k % $N.., 0) });
        way!(within_by_an_active_float, r7, t7, $T, Active, Dual, (p, k) {
            let k = k as usize % ($N - 1);
            p.copy_within(k..k + 2, 1);
        });
        way!(swapped_with_a_slice, r8, t8, $T, Const, Const, (p, k) {
            let k = k as usize % ($N / 2 + 1);
            let (a, b) = p.split_at_mut($N / 2);
            a[..k].swap_with_slice(&mut b[..k]);
        });
        way!(swapped_by_a_float, r9, t9, $T, Const, Const, (p, k) {
            let k = k as usize % $N;
            p.swap(k, ($N - 1 + k) % $N);
            p.swap(0, k);
        });
        way!(split_and_swapped, r10, t10, $T, Active, Dual, (p, k) {
            let (a, b) = p.split_at_mut(1 + k as usize % ($N - 1));
            std::mem::swap(&mut a[0], &mut b[0]);
        });
        way!(in_a_vec, r11, t11, $T, Const, Const, (p, k) {
            let k = k as usize % ($N - 1);
            let mut v = p.to_vec();
            let taken = v.remove(k);
            v.insert(($N - 1 - k) / 2, taken);
            let first = v[0];
            v.insert(k, first);
            v.drain(k + 1..k + 2);
            p.copy_from_slice(&v[..$N]);
        });
        way!(reversed_in_part, r12, t12, f64, Const, Const, (p, k) { p[k as usize % $N..].reverse() });

        #[autodiff(r13, Reverse, Duplicated)]
        #[autodiff(t13, Forward, Dual)]
        fn left_by_an_element(p: &mut Elements) {
            let k = p[$N - 1] as usize % $N;
            p.rotate_left(k);
        }

        fn elements(of: impl Fn(usize) -> f64) -> Elements {
            std::array::from_fn(|i| of(i) as $T)
        }

        fn check(
    case: &str,
    run: impl Fn(&mut Elements),
    reverse: impl Fn(&mut Elements, &mut Elements),
    forward: impl Fn(&mut Elements, &mut Elements),
) {
            let given = || elements(|i| (i + 1) as f64);
            let seeds = || elements(cotangent);
            let wide = |elements: Elements| elements.map(f64::from);
            let mut moved = given();
            run(&mut moved);
            let (mut p, mut cotangents) = (given(), seeds());
            reverse(&mut p, &mut cotangents);
            assert_eq!(p, moved, "{case} in reverse mode");
            let (mut p, mut tangents) = (given(), seeds());
            forward(&mut p, &mut tangents);
            assert_eq!(p, moved, "{case} in forward mode");
            assert_moved(&sources(&wide(moved)), &wide(cotangents), &wide(tangents), case);
        }

        #[test]
        fn cotangents_go_back_where_elements_came_from() {
            macro_rules! constant {
                ($case:literal, $k:expr, $f:ident, $r:ident, $t:ident) => {
                    check($case, |p| $f(p, $k), |p, d| $r(p, d, $k), |p, d| $t(p, d, $k))
                };
            }
            macro_rules! active {
                ($case:literal, $k:expr, $f:ident, $r:ident, $t:ident) => {
                    check(
                        $case,
                        |p| $f(p, $k),
                        |p, d| assert_eq!($r(p, d, $k), 0.0, "a whole number has no derivative"),
                        |p, d| $t(p, d, $k, 1.0),
                    )
                };
            }
            for k in 0..2 * $N {
                constant!("a rotation to the left by a number", k, left_by_a_number, r1, t1);
                constant!("a rotation to the left by a float", k as $T, left_by_a_float, r2, t2);
                constant!("a rotation to the right by a float", k as f64, right_by_a_float, r3, t3);
                active!("a rotation by an active float", k as $T + 0.5, left_by_an_active_float, r4, t4);
                constant!("a copy within by a float", k as f64, within_by_a_float, r5, t5);
                constant!("a copy within by a number", k, within_by_a_number, r6, t6);
                active!("a copy within by an active float", k as $T, within_by_an_active_float, r7, t7);
                constant!("halves that are swapped", k as $T, swapped_with_a_slice, r8, t8);
                constant!("elements that are swapped", k as $T, swapped_by_a_float, r9, t9);
                active!("parts of a slice", k as $T, split_and_swapped, r10, t10);
                constant!("insertion and removal", k as $T, in_a_vec, r11, t11);
                constant!("a part that is reversed", k as f64, reversed_in_part, r12, t12);
            }
            check("a rotation by an element", left_by_an_element, r13, t13);
        }
    })* };
}

moves! {
    three_singles: [f32; 3];
    four_singles: [f32; 4];
    five_singles: [f32; 5];
    three_doubles: [f64; 3];
    four_doubles: [f64; 4];
}

#[autodiff(boxes_turned, Reverse, Duplicated, Const)]
#[autodiff(t_boxes_turned, Forward, Dual, Const)]
fn turn_boxes(p: &mut [Box<f64>; 3], k: f64) {
    p.rotate_left(k as usize % 3);
    *p[0] *= 2.0;
}

/// Shadows go along with their primals, and are where they were when a reverse derivative ends; each cotangent belongs
/// to the box that is in its place after the rotation.
#[test]
fn pointers_of_an_argument_are_moved_and_put_back() {
    let boxes = |values: [f64; 3]| values.map(Box::new);
    let given = [1.0, 10.0, 100.0];
    for k in 0..3 {
        let (mut p, mut cotangents) = (boxes([1.0, 2.0, 3.0]), boxes(given));
        let places: Vec<*const f64> = cotangents.iter().map(|place| &raw const **place).collect();
        boxes_turned(&mut p, &mut cotangents, k as f64);
        let mut gradient = [2.0 * given[0], given[1], given[2]];
        gradient.rotate_right(k);
        assert_eq!(cotangents, boxes(gradient));
        assert!(cotangents.iter().zip(places).all(|(place, before)| &raw const **place == before));
        let mut tangents = boxes(given);
        t_boxes_turned(&mut boxes([1.0, 2.0, 3.0]), &mut tangents, k as f64);
        let mut expected = given;
        expected.rotate_left(k);
        expected[0] *= 2.0;
        assert_eq!(tangents, boxes(expected));
    }
}
