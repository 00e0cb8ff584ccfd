//! Iterators, adapters and closures.

pullback_e2e::differentiated! {
    fn map_sum(x) {
        x.iter().map(|v| v * v).sum()
    } at [1.0, -2.0, 3.0], [0.5];

    fn zip_fold(x) {
        x.iter().zip(&x[1..]).fold(1.0, |acc, (a, b)| acc + a * b * acc)
    } at [0.5, 0.25, 1.5];

    fn filter(x) {
        x.iter().filter(|v| **v > 0.0).map(|v| v.ln()).sum()
    } at [1.0, -2.0, 3.0];

    fn product_and_rev(x) {
        x.iter().rev().enumerate().map(|(i, v)| v + i as f64).product()
    } at [1.0, 2.0, 3.0];

    fn chunks(x) {
        x.chunks(2).map(|pair| pair.iter().product::<f64>()).sum()
    } at [1.0, 2.0, 3.0, 4.0, 5.0];

    fn windows(x) {
        x.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).powi(2)).sum()
    } at [1.0, 2.0, 4.0, 8.0, 16.0];

    fn step_by_skip_take(x) {
        x.iter().skip(1).step_by(2).take(2).map(|v| v.exp()).sum()
    } at [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];

    fn chain_and_flat_map(x) {
        x.iter().chain(&x[..1]).flat_map(|v| [*v, v * v]).sum()
    } at [1.0, 2.0, 3.0];

    fn take_while_and_scan(x) {
        x.iter()
            .scan(1.0, |state, v| {
                *state *= v;
                Some(*state)
            })
            .take_while(|p| *p < 20.0)
            .sum()
    } at [1.5, 2.0, 3.0, 4.0, 5.0];

    fn maximum(x) {
        x.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    } at [1.0, 5.0, 3.0];

    fn max_by(x) {
        x.iter().max_by(|a, b| a.total_cmp(b)).map_or(0.0, |v| v * v)
    } at [1.0, 5.0, 3.0];

    fn captured_by_a_closure(x) {
        let scale = x[0];
        let shift = |v: f64| scale * v + x[1];
        shift(shift(x[2]))
    } at [2.0, 3.0, 5.0];

    fn closure_that_mutates(x) {
        let mut sum = 0.0;
        x.iter().for_each(|v| sum += v * v * v);
        sum
    } at [1.0, 2.0];

    fn boxed_by_generics(x) {
        fn twice(f: impl Fn(f64) -> f64, v: f64) -> f64 {
            f(f(v))
        }
        twice(|v| v * x[0], x[1])
    } at [2.0, 3.0];

    fn any_and_position(x) {
        let at = x.iter().position(|v| *v > 2.0).unwrap_or(0);
        if x.iter().any(|v| *v < 0.0) { x[at] } else { x[at] * x[0] }
    } at [1.0, 3.0, 2.0], [1.0, -3.0, 2.5];
}
