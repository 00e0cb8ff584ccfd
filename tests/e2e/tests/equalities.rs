//! What is compared stays what it is: where a float is known to be equal to a constant, it is not that constant.

use pullback::{grad, jvp};

type X = [f64; 2];

/// Both modes have this gradient at (2, 3).
macro_rules! at_2_and_3 {
    ($($name:ident: $function:expr => $gradient:expr;)*) => { $(
        #[test]
        fn $name() {
            fn function(x: &X) -> f64 {
                let function: fn(&X) -> f64 = $function;
                function(x)
            }
            let (x, gradient): (X, X) = ([2.0, 3.0], $gradient);
            assert_eq!(grad(function, &x), gradient, "reverse");
            let forward = [[1.0, 0.0], [0.0, 1.0]].map(|direction| jvp(function, &x, &direction).1);
            assert_eq!(forward, gradient, "forward");
        }
    )* };
}

at_2_and_3! {
    an_assertion: |x| { assert_eq!(x[0], 2.0); x[0] * x[0] * x[1] } => [12.0, 4.0];
    an_assertion_with_variables: |x| {
        let two = [2.0, 5.0];
        assert_eq!(x[0], two[(x[1] as usize) - 3]);
        x[0] * x[0] * x[1]
    } => [12.0, 4.0];
    a_branch: |x| if x[0] == 2.0 { x[0] * x[0] * x[1] } else { x[1] } => [12.0, 4.0];
    the_other_branch: |x| if x[0] != 2.0 { x[1] } else { x[0] * x[0] * x[1] } => [12.0, 4.0];
    a_selection: |x| (if x[0] == 2.0 { x[0] } else { 5.0 }) * x[1] => [3.0, 2.0];
    a_pattern: |x| match x[0] { 2.0 => x[0] * x[0], _ => x[1] } => [4.0, 0.0];
    a_sum: |x| { let s = x[0] + x[1]; if s != 5.0 { return s } s * s * s } => [75.0, 75.0];
    what_was_computed_before: |x| {
        let a = x[0] * x[1];
        let r = a * a;
        if a == 6.0 { return r + a }
        r
    } => [39.0, 26.0];
    two_bounds: |x| (if x[0] >= 2.0 && x[0] <= 2.0 { x[0] } else { 5.0 }) * x[1] => [3.0, 2.0];
    two_bounds_the_other_way: |x| (if x[0] < 2.0 || x[0] > 2.0 { 5.0 } else { x[0] }) * x[1] => [3.0, 2.0];
    an_option: |x| { let o = Some(x[0]); if o == Some(2.0) { o.unwrap() * x[1] } else { 0.0 } } => [3.0, 2.0];
    an_array: |x| if *x == [2.0, 3.0] { x[0] * x[1] } else { 0.0 } => [3.0, 2.0];
    a_magnitude: |x| if x[0].abs() == 2.0 { x[0].abs() * x[1] } else { 0.0 } => [3.0, 2.0];
    zero: |x| if x[0] - 2.0 == 0.0 { (x[0] - 2.0) * x[1] } else { 0.0 } => [3.0, 0.0];
    another_variable: |x| if x[0] + 1.0 == x[1] { (x[0] + 1.0) * x[1] } else { 0.0 } => [3.0, 3.0];
    in_single_precision: |x| {
        let s = x[0] as f32;
        if s == 2.0 { f64::from(s * s) * x[1] } else { 0.0 }
    } => [12.0, 4.0];
    a_total_order: |x| if x[0].total_cmp(&2.0).is_eq() { x[0] * x[1] } else { 0.0 } => [3.0, 2.0];
    bits: |x| if x[0].to_bits() == 2f64.to_bits() { f64::from_bits(x[0].to_bits()) * x[1] } else { 0.0 } => [3.0, 2.0];
    bits_in_a_pattern: |x| match x[0].to_bits() { 0x4000_0000_0000_0000 => x[0] * x[1], _ => 0.0 } => [3.0, 2.0];
    a_whole_number: |x| if x[0] as i64 == 2 { x[0] * x[1] } else { 0.0 } => [3.0, 2.0];
    a_remainder: |x| if x[0] % 3.0 == 2.0 { (x[0] % 3.0) * x[1] } else { 0.0 } => [3.0, 2.0];
    until_it_is_met: |x| { let mut y = x[0]; while y != 8.0 { y *= 2.0 } y * x[1] } => [12.0, 8.0];
    in_a_loop: |x| (0..4).map(|i| {
        let y = x[0] * f64::from(i);
        if y == 4.0 { y * y } else { y }
    }).sum::<f64>() * x[1] => [60.0, 24.0];
}

#[derive(Clone, Copy, PartialEq)]
struct Point {
    x: f64,
    y: f64,
}

#[test]
fn a_struct() {
    let function = |p: &X| {
        let p = Point { x: p[0], y: p[1] };
        if p == (Point { x: 2.0, y: 3.0 }) { p.x * p.y * p.y } else { 0.0 }
    };
    assert_eq!(grad(function, &[2.0, 3.0]), [9.0, 12.0]);
}
