//! Formatting and printing inside a differentiated function: it happens, and carries no derivative.

use pullback::autodiff;
use std::fmt::Write;

#[autodiff(d_logged, Reverse, Active, Const, Active)]
#[autodiff(t_logged, Forward, Dual, Const, Dual)]
fn logged(x: f64, log: &mut String) -> f64 {
    let y = x * x;
    writeln!(log, "x = {x}, y = {y:.3}").unwrap();
    y + x
}

#[test]
fn into_a_string() {
    let mut log = String::new();
    assert_eq!(d_logged(3.0, &mut log), (7.0, 12.0));
    assert_eq!(t_logged(2.0, 1.0, &mut log), (6.0, 5.0));
    assert_eq!(log, "x = 3, y = 9.000\nx = 2, y = 4.000\n");
}

pullback_e2e::differentiated! {
    fn printing(x) {
        let mut sum = 0.0;
        for (i, v) in x.iter().enumerate() {
            sum += v * v;
            println!("after {i}: {sum:?}");
            eprintln!("{:>8.2e} of {x:?}", sum);
        }
        sum
    } at [1.0, 2.0];

    fn length_of_text(x) {
        let text = format!("{:.0}", x[0]);
        x[0] * text.len() as f64
    } at [1234.2], [5.1];

    fn debug_assertions(x) {
        debug_assert!(x[0].is_finite(), "{} is not finite", x[0]);
        assert_ne!(x[0], 0.0, "x is {:?}", x);
        1.0 / x[0]
    } at [2.0];
}
