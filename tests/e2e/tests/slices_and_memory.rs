//! Memory that moves: swap, copies, sorting, clones.

pullback_e2e::differentiated! {
    fn swap(x) {
        let mut y = [x[0], x[1], x[2]];
        y.swap(0, 2);
        y[0] * 2.0 + y[1] * 3.0 + y[2] * y[2]
    } at [1.0, 2.0, 3.0];

    fn swap_in_a_vec_by_data(x) {
        let mut y = x.to_vec();
        for i in 1..y.len() {
            if y[i - 1] > y[i] {
                y.swap(i - 1, i);
            }
        }
        y.iter().enumerate().map(|(i, v)| v * (i * i) as f64).sum()
    } at [3.0, 1.0, 2.0, 0.5];

    fn mem_swap_and_replace(x) {
        let (mut a, mut b) = (x[0], x[1] * x[1]);
        std::mem::swap(&mut a, &mut b);
        let old = std::mem::replace(&mut a, 7.0 * b);
        old * a + b
    } at [1.5, 2.5];

    fn copy_from_slice(x) {
        let mut y = [0.0; 4];
        y[1..3].copy_from_slice(&x[..2]);
        y[3] = y[1] * y[2];
        y.iter().map(|v| v.sin()).sum()
    } at [0.3, 0.4, 0.5];

    fn copy_within(x) {
        let mut y = [x[0], x[1], x[2], x[0] * x[1]];
        y.copy_within(0..3, 1);
        y[0] + 2.0 * y[1] + 3.0 * y[2] + 5.0 * y[3] * y[3]
    } at [1.0, 2.0, 3.0];

    fn fill_and_overwrite(x) {
        let mut y = x[..1].repeat(3);
        y[1] = x[1];
        y[1] *= y[0];
        let product = y[1] * y[2];
        y.fill(product);
        y.iter().sum()
    } at [2.0, 3.0];

    fn sort_by(x) {
        let mut y = x.to_vec();
        y.sort_by(|a, b| a.total_cmp(b));
        y.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0], [5.0, 4.0, 3.0, 2.0, 1.0];

    fn sort_unstable_many(x) {
        let mut y: Vec<f64> = (0..40).map(|i| (x[i % x.len()] * (i as f64 + 1.0)).sin()).collect();
        y.sort_unstable_by(|a, b| b.partial_cmp(a).unwrap());
        y.iter().zip(1..).map(|(v, i)| v / i as f64).sum()
    } at [0.7, 1.3, 2.1];

    fn reverse_and_rotate(x) {
        let mut y = x.to_vec();
        y.reverse();
        y.rotate_left(1);
        y[0] * y[1] + y[2]
    } at [1.0, 2.0, 3.0];

    fn clone_then_change(x) {
        let a = x.to_vec();
        let mut b = a.clone();
        b[0] *= a[1];
        a[0] * b[0] + b[1]
    } at [2.0, 3.0];

    fn split_at_mut(x) {
        let mut y = x.to_vec();
        let (left, right) = y.split_at_mut(2);
        left[0] += right[0] * left[1];
        right[1] = left[0] * 2.0;
        y.iter().product()
    } at [1.0, 2.0, 3.0, 4.0];

    fn two_dimensions(x) {
        let mut m = [[0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..3 {
                m[i][j] = x[i] * x[j] + if i == j { 1.0 } else { 0.0 };
            }
        }
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1]) - m[0][1] * m[2][0]
    } at [0.5, 1.5, 2.5];

    fn struct_copies(x) {
        #[derive(Clone, Copy)]
        struct P {
            a: f64,
            n: u32,
            b: f64,
        }
        let mut ps = [P { a: x[0], n: 1, b: x[1] }; 5];
        for i in 1..5 {
            ps[i] = ps[i - 1];
            ps[i].a *= ps[i].b;
            ps[i].n += 1;
        }
        ps.iter().map(|p| p.a * p.n as f64).sum()
    } at [1.5, 0.5];
}

mod an_array_beside_a_vector {
    use pullback::{Differentiable, autodiff, make_zero};

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Model {
        bias: f64,
        taps: [f64; 3],
        order: usize,
        weights: Vec<f64>,
    }

    /// A few floats of a structure are copied to memory that is then moved about: which of them they are is not
    /// forgotten.
    #[autodiff(reverse, Reverse, Active, Duplicated, Active)]
    fn function(x: f64, model: &Model) -> f64 {
        let mut taps = model.taps.to_vec();
        taps.insert(0, x * model.bias);
        taps.insert(2, model.weights[model.order]);
        taps.iter().zip(1..).map(|(tap, k)| tap * f64::from(k)).sum()
    }

    #[test]
    fn is_right() {
        let model = Model { bias: 2.0, taps: [3.0, 5.0, 7.0], order: 1, weights: vec![11.0, 13.0] };
        let mut shadow = make_zero(&model);
        // x·bias + 2·taps₀ + 3·weights₁ + 4·taps₁ + 5·taps₂
        assert_eq!(reverse(0.5, &model, &mut shadow), (2.0, 1.0 + 6.0 + 39.0 + 20.0 + 35.0));
        assert_eq!(shadow, Model { bias: 0.5, taps: [2.0, 4.0, 5.0], order: 1, weights: vec![0.0, 3.0] });
    }
}
