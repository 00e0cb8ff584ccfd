//! Gradients as one would write them without Pullback, for functions of [`functions`](crate::functions): what there is
//! to be had.

use crate::functions::{MLP, layer};

/// Of `dot`.
pub fn dot(x: &[f64], dx: &mut [f64], y: &[f64], dy: &mut [f64]) -> f64 {
    let value = x.iter().zip(y).map(|(x, y)| x * y).sum();
    for (((x, dx), y), dy) in x.iter().zip(dx).zip(y).zip(dy) {
        *dx += y;
        *dy += x;
    }
    value
}

/// Of `rosenbrock`.
pub fn rosenbrock(x: &[f64], dx: &mut [f64]) -> f64 {
    let mut value = 0.0;
    for i in 1..x.len().min(dx.len()) {
        let (far, near) = (x[i] - x[i - 1] * x[i - 1], 1.0 - x[i - 1]);
        value += 100.0 * far * far + near * near;
        dx[i] += 200.0 * far;
        dx[i - 1] -= 400.0 * far * x[i - 1] + 2.0 * near;
    }
    value
}

/// Of `normalise`.
pub fn normalise(x: &[f64], dx: &mut [f64], out: &mut [f64], dout: &mut [f64]) {
    let norm = x.iter().map(|x| x * x).sum::<f64>().sqrt();
    let mut dnorm = 0.0;
    for (((x, dx), out), dout) in x.iter().zip(&mut *dx).zip(out).zip(dout) {
        *out = x / norm;
        let share = *dout / norm;
        *dout = 0.0;
        *dx += share;
        dnorm -= share * *out;
    }
    let share = dnorm / norm;
    for (dx, x) in dx.iter_mut().zip(x) {
        *dx += share * x;
    }
}

/// Of `mlp`.
pub fn mlp(weights: &[f64], dweights: &mut [f64], image: &[f64], label: usize) -> f64 {
    let [inputs, hidden, classes] = MLP;
    let (w1, rest) = weights.split_at(inputs * hidden);
    let (b1, rest) = rest.split_at(hidden);
    let (w2, b2) = rest.split_at(hidden * classes);
    let units: Vec<f64> = layer(w1, b1, image).into_iter().map(f64::tanh).collect();
    let scores = layer(w2, b2, &units);
    let sum = scores.iter().map(|s| s.exp()).sum::<f64>();

    let (dw1, rest) = dweights.split_at_mut(inputs * hidden);
    let (db1, rest) = rest.split_at_mut(hidden);
    let (dw2, db2) = rest.split_at_mut(hidden * classes);
    let mut dunits = vec![0.0; hidden];
    for (class, score) in scores.iter().enumerate() {
        let share = score.exp() / sum - f64::from(class == label);
        db2[class] += share;
        let rows = w2[class * hidden..][..hidden].iter().zip(&mut dw2[class * hidden..][..hidden]);
        for (((w, dw), unit), dunit) in rows.zip(&units).zip(&mut dunits) {
            *dw += share * unit;
            *dunit += share * w;
        }
    }
    for ((dw, db), (unit, dunit)) in dw1.chunks_exact_mut(inputs).zip(db1).zip(units.iter().zip(&dunits)) {
        let share = dunit * (1.0 - unit * unit);
        *db += share;
        for (dw, x) in dw.iter_mut().zip(image) {
            *dw += share * x;
        }
    }
    sum.ln() - scores[label]
}
