//! `Vec`, `Box`, `Option`, `Result`, tuples and structs inside a differentiated function.

pullback_e2e::differentiated! {
    fn push(x) {
        let mut y = Vec::new();
        for (i, v) in x.iter().enumerate() {
            y.push(v * v);
            if i > 0 {
                let last = y[i - 1];
                y.push(last * v);
            }
        }
        y.iter().sum()
    } at [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    fn push_far_beyond_the_first_capacity(x) {
        let mut y = Vec::new();
        let mut v = x[0];
        for _ in 0..200 {
            v = (v * x[1]).sin() + 0.1;
            y.push(v);
        }
        y.iter().sum()
    } at [0.5, 1.2];

    fn collect(x) {
        let squares: Vec<f64> = x.iter().map(|v| v * v).collect();
        let pairs: Vec<(f64, usize)> = squares.iter().copied().zip(0..).collect();
        pairs.iter().map(|(v, i)| v * *i as f64).sum()
    } at [1.0, 2.0, 3.0];

    fn nested(x) {
        let rows: Vec<Vec<f64>> = (0..3).map(|i| x.iter().map(|v| v * (i + 1) as f64).collect()).collect();
        rows.iter().map(|row| row.iter().product::<f64>()).sum()
    } at [1.0, 2.0];

    fn pop_insert_remove(x) {
        let mut y = x.to_vec();
        let last = y.pop().unwrap();
        y.insert(1, last * 2.0);
        let first = y.remove(0);
        y.truncate(2);
        y.extend_from_slice(&[first, first]);
        y.iter().product()
    } at [1.0, 2.0, 3.0, 4.0];

    fn boxes(x) {
        let mut b = Box::new(x[0]);
        *b *= x[1];
        let c = Box::new([*b, x[0]]);
        c[0] * c[1]
    } at [2.0, 3.0];

    fn options(x) {
        fn safe_ln(v: f64) -> Option<f64> {
            if v > 0.0 { Some(v.ln()) } else { None }
        }
        safe_ln(x[0]).map_or(0.0, |v| v * x[1]) + safe_ln(x[1]).unwrap_or(x[0])
    } at [2.0, 3.0], [2.0, -3.0], [-2.0, 3.0];

    fn question_mark(x) {
        fn inner(x: &[f64]) -> Option<f64> {
            let first = x.first()?;
            let third = x.get(2)?;
            Some(first * third)
        }
        inner(x).unwrap_or_else(|| x[0] * 10.0)
    } at [2.0, 3.0, 5.0], [2.0, 3.0];

    fn results(x) {
        fn root(v: f64) -> Result<f64, String> {
            if v < 0.0 { Err(format!("{v} is negative")) } else { Ok(v.sqrt()) }
        }
        fn both(x: &[f64]) -> Result<f64, String> {
            Ok(root(x[0])? * root(x[1])?)
        }
        both(x).unwrap_or_else(|message| message.len() as f64 * x[0])
    } at [2.0, 3.0], [2.0, -3.0];

    fn tuples_and_structs(x) {
        struct State {
            position: (f64, f64),
            velocity: (f64, f64),
        }
        let mut s = State { position: (x[0], x[1]), velocity: (1.0, x[2]) };
        for _ in 0..10 {
            let r = s.position.0.hypot(s.position.1);
            s.velocity.0 -= 0.1 * s.position.0 / r.powi(3);
            s.velocity.1 -= 0.1 * s.position.1 / r.powi(3);
            s.position.0 += 0.1 * s.velocity.0;
            s.position.1 += 0.1 * s.velocity.1;
        }
        s.position.0 * s.position.1
    } at [1.0, 0.5, 0.3];
}

mod as_arguments {
    use pullback::{autodiff, make_zero};

    #[autodiff(d_nested, Reverse, Duplicated, Active)]
    #[autodiff(t_nested, Forward, Dual, Dual)]
    #[allow(clippy::ptr_arg)]
    fn nested(rows: &Vec<Vec<f64>>) -> f64 {
        rows.iter().map(|row| row.iter().product::<f64>()).sum()
    }

    #[test]
    fn vec_of_vecs() {
        let rows = vec![vec![1.0, 2.0, 3.0], vec![], vec![5.0]];
        let mut d_rows = make_zero(&rows);
        assert_eq!(d_nested(&rows, &mut d_rows), 12.0);
        assert_eq!(d_rows, [vec![6.0, 3.0, 2.0], vec![], vec![1.0]]);
        let mut tangent = make_zero(&rows);
        tangent[0][1] = 1.0;
        assert_eq!(t_nested(&rows, &tangent), (12.0, 3.0));
    }

    #[autodiff(d_maybe, Reverse, Duplicated, Active, Active)]
    fn maybe(scale: &Option<f64>, x: f64) -> f64 {
        match scale {
            Some(scale) => scale * x,
            None => x * x,
        }
    }

    #[test]
    fn option() {
        let mut shadow = Some(0.0);
        assert_eq!(d_maybe(&Some(3.0), &mut shadow, 5.0), (3.0, 15.0));
        assert_eq!(shadow, Some(5.0));
        assert_eq!(d_maybe(&None, &mut None, 5.0), (10.0, 25.0));
    }

    #[autodiff(t_squares, Forward, Dual, Dual)]
    fn squares(x: &[f64]) -> Vec<f64> {
        x.iter().map(|v| v * v).collect()
    }

    #[test]
    fn a_vec_as_the_result_has_a_vec_as_its_tangent() {
        assert_eq!(t_squares(&[1.0, 2.0], &[1.0, 10.0]), (vec![1.0, 4.0], vec![2.0, 40.0]));
    }

    #[autodiff(d_consumed, Reverse, Active, Active)]
    #[autodiff(t_consumed, Forward, Dual, Dual)]
    fn consumed(mut v: Vec<f64>) -> f64 {
        v.push(v[0] * v[1]);
        v.into_iter().map(|v| v * v).sum()
    }

    #[test]
    fn a_vec_by_value() {
        assert_eq!(d_consumed(vec![2.0, 3.0]), (vec![40.0, 30.0], 49.0));
        assert_eq!(t_consumed(vec![2.0, 3.0], vec![1.0, 0.0]), (49.0, 40.0));
    }
}
