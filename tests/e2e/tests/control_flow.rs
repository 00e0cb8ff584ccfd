//! Branches and loops of every kind, with trip counts that depend on data.

pullback_e2e::differentiated! {
    fn branches(x) {
        if x[0] > 1.0 { x[0] * x[1] } else if x[1] < 0.0 { x[1].powi(3) } else { x[0] - 2.0 * x[1] }
    } at [2.0, 3.0], [0.5, -1.5], [0.5, 1.5];

    fn matches(x) {
        match x[0] as i32 {
            0 => x[1],
            1 | 2 => x[1] * x[0],
            n if n < 0 => x[1].exp() * x[0],
            _ => x[0] / x[1],
        }
    } at [0.5, 1.5], [1.5, 1.5], [-1.5, 0.5], [7.5, 2.0];

    fn counted_loop(x) {
        let mut product = 1.0;
        for i in 0..x.len() {
            product *= x[i] + i as f64;
        }
        product
    } at [1.0, 2.0, 3.0], [0.5];

    // The closure's last result alone would count, and it is not used: where the branch is taken, the optimiser finds
    // operands of divisions to be constants.
    fn unused_results(x) {
        let h = x.len() / 2;
        match h % 4 {
            0 => {
                let mut acc = 0.13875f64.mul_add(x[h % x.len()], x[6 % x.len()]);
                let mut g = |_q: f64, _w: f64| {
                    let l = x.last().copied().unwrap_or(0.10455);
                    let t = (l * x.last().copied().unwrap_or(0.10455) + 1.0).recip();
                    acc = t.tanh();
                };
                g(x.get(h).copied().unwrap_or(1.32308) % 1.7, (x[h % x.len()].abs() + 1.0).ln());
                for i in 0..3 {
                    g(x[h % x.len()] * -0.26512 + x[h % x.len()], i as f64 * 0.3);
                }
                let _v = acc.sin();
            }
            _ => {}
        }
        let s = x[h % x.len()].sin();
        let last = x.last().copied();
        let v = vec![s % 1.7, s / (x[h % x.len()] * x[h % x.len()] + 1.0), last.unwrap_or(1.17769).tanh().exp()];
        v[h % v.len()] + last.unwrap_or(0.13521) * 0.50734 + s
    } at [0.3, 0.7, 1.1], [0.3], [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8];

    fn while_loop(x) {
        let mut y = x[0];
        while y < 100.0 {
            y = y * x[1] + 1.0;
        }
        y
    } at [1.0, 2.0], [3.0, 1.5], [200.0, 2.0];

    fn loop_with_break(x) {
        let mut y = x[0];
        let mut steps = 0;
        loop {
            y = (y + x[0] / y) / 2.0;
            steps += 1;
            if steps > 3 && (y * y - x[0]).abs() < 1e-6 {
                break y;
            }
        }
    } at [2.0], [10.0];

    fn early_return(x) {
        let mut sum = 0.0;
        for (i, value) in x.iter().enumerate() {
            sum += value * value;
            if sum > 5.0 {
                return sum * (i + 1) as f64;
            }
        }
        sum.sqrt()
    } at [1.0, 1.0, 1.0], [1.0, 2.5, 3.0];

    fn continue_and_labels(x) {
        let mut sum = 0.0;
        'outer: for i in 0..x.len() {
            for j in 0..x.len() {
                if (i + j) % 3 == 0 {
                    continue;
                }
                if j > i + 2 {
                    continue 'outer;
                }
                sum += x[i] * x[j] * x[j];
                if sum > 200.0 {
                    break 'outer;
                }
            }
        }
        sum
    } at [1.0, 2.0, 3.0, 4.0, 5.0], [0.1, 0.2, 0.3, 0.4, 0.5];

    fn nested_loops(x) {
        let n = x.len();
        let mut sum = 0.0;
        for i in 0..n {
            let mut inner = 1.0;
            for j in 0..=i {
                inner *= (x[i] * x[j]).sin() + 2.0;
            }
            sum += inner;
        }
        sum
    } at [0.3, 0.7, 1.1, -0.4];

    fn trip_count_from_data(x) {
        let mut y = x[1];
        for _ in 0..(x[0] as usize) {
            y = y.sin() + x[1];
        }
        y
    } at [0.5, 0.3], [3.5, 0.3], [17.5, 0.3];

    fn branch_in_a_loop(x) {
        let mut positive = 1.0;
        let mut negative = 0.0;
        for v in x {
            if *v > 0.0 { positive *= v } else { negative += v * v }
        }
        positive - negative
    } at [1.0, -2.0, 3.0, -4.0, 5.0], [-1.0], [2.0, 3.0];

    fn value_carried_across_iterations(x) {
        let (mut a, mut b) = (x[0], x[1]);
        for _ in 0..12 {
            (a, b) = (b, 0.5 * a + b.sin());
        }
        a * b
    } at [0.4, 0.9];

    fn collatz(x) {
        let mut n = 7u64;
        let mut y = x[0];
        while n != 1 {
            if n % 2 == 0 {
                n /= 2;
                y *= 0.9;
            } else {
                n = 3 * n + 1;
                y = y * y + 0.1;
            }
        }
        y
    } at [0.6];
}
