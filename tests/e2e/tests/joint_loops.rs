//! Sums over data, and outputs that are filled: loops whose iterations are reversed as soon as they are through, and
//! loops that only look like them.

use pullback::{autodiff, grad, hvp, jvp, value_and_grad};
use pullback_e2e::{assert_all_close, assert_close, finite_differences};
use std::hint::black_box;

/// The gradient is that of differences and of forward mode, it is added to what is there, and the value is the
/// function's. Lengths are not known when the program is compiled, so that there are loops.
#[track_caller]
fn check(f: impl Fn(&[f64]) -> f64 + Copy) {
    for n in [0, 1, 2, 3, 8, 33] {
        let x: Vec<f64> = (0..n).map(|k| (0.9 * f64::from(k) + 0.4).sin()).collect();
        let (value, gradient) = value_and_grad(f, black_box(&x[..]));
        assert_eq!(value.to_bits(), f(black_box(&x)).to_bits(), "the value of {n} numbers");
        assert_all_close(&gradient, &finite_differences(f, &x), 1e-6);
        let direction: Vec<f64> = (0..n).map(|k| (1.7 * f64::from(k)).cos()).collect();
        let slope = gradient.iter().zip(&direction).map(|(g, d)| g * d).sum::<f64>();
        assert_close(jvp(f, black_box(&x[..]), &direction[..]).1, slope, 1e-11);
        let product = hvp(f, black_box(&x[..]), &direction[..]);
        let step = 1e-5;
        let at = |by: f64| grad(f, &x.iter().zip(&direction).map(|(x, d)| x + by * d).collect::<Vec<f64>>()[..]);
        let differences: Vec<f64> = at(step).iter().zip(at(-step)).map(|(a, b)| (a - b) / (2.0 * step)).collect();
        assert_all_close(&product, &differences, 1e-6);
    }
}

#[test]
fn sums() {
    check(|x| x.iter().map(|v| v * v).sum());
    check(|x| x.iter().map(|v| v.exp().sin()).sum::<f64>() / 3.0);
    check(|x| x.iter().zip(x.iter().rev()).map(|(a, b)| a * b.cos()).sum());
    check(|x| 0.5 - 2.0 * x.iter().map(|v| v * v * v).sum::<f64>());
    check(|x| x.iter().map(|v| v * v).sum::<f64>() / x.len().max(1) as f64);
}

#[test]
fn several_sums() {
    check(|x| x.iter().map(|v| v.sin()).sum::<f64>() - 3.0 * x.iter().map(|v| v.exp()).sum::<f64>());
    check(|x| {
        let (mut a, mut b) = (1.0, 0.0);
        for v in x {
            a += v.sin();
            b -= v * v * v;
        }
        2.0 * a + b
    });
    check(|x| {
        let mut sum = 0.0;
        for v in x {
            sum += v.tanh();
        }
        for v in x {
            sum -= v * v;
        }
        sum
    });
    // One of them is known early, the other is not.
    check(|x| {
        let (mut a, mut b) = (1.0, 0.0);
        for v in x {
            a += v.sin();
            b += v.exp();
        }
        a + b * b
    });
    check(|x| x.iter().map(|v| v.sin()).sum::<f64>() * x.iter().map(|v| v.exp()).sum::<f64>());
}

#[test]
fn neighbours() {
    check(|x| x.windows(2).map(|w| 100.0 * (w[1] - w[0] * w[0]).powi(2) + (1.0 - w[0]).powi(2)).sum());
    check(|x| x.windows(3).map(|w| (w[0] - 2.0 * w[1] + w[2]).exp()).sum());
    check(|x| x.chunks_exact(2).map(|w| w[0] * w[1].sin()).sum());
}

#[test]
fn branches_and_loops_inside() {
    check(|x| x.iter().map(|v| if *v > 0.2 { v.ln() } else { v * v }).sum());
    check(|x| {
        let mut sum = 0.0;
        for v in x {
            if *v > 0.0 {
                sum += v.sqrt();
            }
        }
        sum
    });
    check(|x| {
        let newton = |a: f64| {
            let mut y = a;
            loop {
                let step = (y * y * y + y - a) / (3.0 * y * y + 1.0);
                y -= step;
                if step.abs() < 1e-13 {
                    return y;
                }
            }
        };
        x.iter().map(|v| newton(*v)).sum()
    });
    check(|x| {
        let powers = |t: f64| {
            let (mut residual, mut power) = (0.5, 1.0);
            for v in x {
                residual -= v * power;
                power *= t;
            }
            residual * residual
        };
        (0..9).map(|i| powers(f64::from(i) / 9.0)).sum()
    });
    check(|x| x.iter().map(|a| x.iter().map(|b| (a - b).cos()).sum::<f64>()).sum());
}

/// What every iteration uses, in memory and in a register.
#[test]
fn what_is_the_same_each_time() {
    check(|x| {
        let scale = x.iter().fold(1.0, |a, v| a * (1.0 + 0.1 * v));
        x.iter().map(|v| (scale * v).sin()).sum()
    });
    check(|x| {
        let weights: Vec<f64> = x.iter().map(|v| v.exp()).collect();
        weights.iter().zip(x).map(|(w, v)| w * v * v).sum()
    });
}

/// What the loop reads is overwritten afterwards.
#[test]
fn memory_that_is_used_again() {
    check(|x| {
        let mut y = x.to_vec();
        let sum: f64 = y.iter().map(|v| v * v).sum();
        y.iter_mut().for_each(|v| *v = v.sin() + sum);
        y.iter().sum()
    });
    check(|x| {
        let mut y = x.to_vec();
        let mut sum = 0.0;
        for v in &mut y {
            *v = v.exp();
            sum += *v * *v;
        }
        sum + y.iter().sum::<f64>()
    });
}

#[autodiff(d_fill, Reverse, Duplicated, Duplicated, Const)]
#[autodiff(d_fill_two, Reverse(2), Duplicated, Duplicated, Const)]
fn fill(x: &[f64], out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = x.exp().sin();
    }
}

#[autodiff(d_scatter, Reverse, Duplicated, Const, Duplicated, Const)]
fn scatter(x: &[f64], to: &[u8], out: &mut [f64; 256]) {
    for (x, to) in x.iter().zip(to) {
        out[usize::from(*to)] = x * x;
    }
}

#[autodiff(d_pairs, Reverse, Duplicated, Duplicated, Const)]
fn pairs(x: &[f64], out: &mut [[f64; 2]]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = [x * x, x.sin()];
    }
}

#[autodiff(d_product, Reverse, Const, Duplicated, Duplicated, Duplicated, Const)]
fn product(n: usize, a: &[f64], x: &[f64], out: &mut [f64]) {
    for (out, row) in out.iter_mut().zip(a.chunks_exact(n)) {
        *out = row.iter().zip(x).map(|(a, x)| a * x).sum();
    }
}

#[test]
fn outputs() {
    let x: Vec<f64> = (0..9).map(|k| (0.9 * f64::from(k) + 0.4).sin()).collect();
    let seed: Vec<f64> = (0..9).map(|k| (1.3 * f64::from(k)).cos()).collect();
    let slope = |x: &f64| x.exp() * x.exp().cos();

    let (mut dx, mut out, mut dout) = (vec![1.0; 9], vec![0.0; 9], seed.clone());
    d_fill(black_box(&x), &mut dx, &mut out, &mut dout);
    let expected: Vec<f64> = x.iter().zip(&seed).map(|(x, s)| 1.0 + s * slope(x)).collect();
    assert_all_close(&dx, &expected, 1e-14);
    assert_eq!(dout, [0.0; 9]);

    let (mut first, mut second) = (vec![0.0; 9], vec![0.0; 9]);
    let (mut a, mut b) = (seed.clone(), vec![2.0; 9]);
    d_fill_two(black_box(&x), [&mut first, &mut second], &mut out, [&mut a, &mut b]);
    assert_all_close(&first, &x.iter().zip(&seed).map(|(x, s)| s * slope(x)).collect::<Vec<_>>(), 1e-14);
    assert_all_close(&second, &x.iter().map(|x| 2.0 * slope(x)).collect::<Vec<_>>(), 1e-14);

    let (mut dx, mut out, mut dout) = (vec![0.0; 9], vec![[0.0; 2]; 9], vec![[1.0, 10.0]; 9]);
    d_pairs(black_box(&x), &mut dx, &mut out, &mut dout);
    assert_all_close(&dx, &x.iter().map(|x| 2.0 * x + 10.0 * x.cos()).collect::<Vec<_>>(), 1e-14);

    let (mut da, mut dv, mut out) = (vec![0.0; 9], vec![0.0; 3], vec![0.0; 3]);
    d_product(3, black_box(&x), &mut da, black_box(&[1.0, 2.0, 3.0]), &mut dv, &mut out, &mut [1.0, 10.0, 100.0]);
    assert_all_close(&da, &[1.0, 2.0, 3.0, 10.0, 20.0, 30.0, 100.0, 200.0, 300.0], 1e-15);
    let column = |j: usize| x[j] + 10.0 * x[3 + j] + 100.0 * x[6 + j];
    assert_all_close(&dv, &[column(0), column(1), column(2)], 1e-14);
}

/// The last value that is written to a place is the one that counts.
#[test]
fn places_that_are_written_again() {
    let x = [1.0, 2.0, 3.0, 4.0];
    let (mut dx, mut out, mut dout) = ([0.0; 4], [0.0; 256], [1.0; 256]);
    d_scatter(black_box(&x), &mut dx, black_box(&[7, 9, 7, 8]), &mut out, &mut dout);
    assert_eq!(dx, [0.0, 4.0, 6.0, 8.0]);
}

#[autodiff(d_checked, Reverse, Duplicated, Const, Active)]
fn checked(x: &[f64], indices: &[usize]) -> f64 {
    indices.iter().map(|i| x[*i] * x[*i]).sum()
}

/// A panic leaves no half of a gradient.
#[test]
fn a_panic_in_the_loop() {
    let mut dx = [0.5; 3];
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        d_checked(black_box(&[1.0, 2.0, 3.0]), &mut dx, black_box(&[0, 1, 3]))
    }));
    assert!(result.is_err());
    assert_eq!(dx, [0.5; 3]);
    d_checked(black_box(&[1.0, 2.0, 3.0]), &mut dx, black_box(&[0, 1, 1]));
    assert_eq!(dx, [2.5, 8.5, 0.5]);
}

#[autodiff(d_indexed, Reverse, Duplicated, Duplicated, Active)]
#[allow(clippy::needless_range_loop, reason = "as it may be written")]
fn indexed(x: &[f64], y: &[f64]) -> f64 {
    let mut sum = 0.0;
    for i in 0..x.len() {
        sum += x[i] * y[i].exp();
    }
    sum
}

#[autodiff(d_fill_indexed, Reverse, Duplicated, Duplicated, Const)]
#[allow(clippy::needless_range_loop, reason = "as it may be written")]
fn fill_indexed(x: &[f64], out: &mut [f64]) {
    for i in 1..x.len() {
        out[i] = x[i] * x[i - 1];
    }
}

/// Whether an index gets out of bounds is known before the loop.
#[test]
fn indices_that_are_checked() {
    let (x, y) = ([1.0, 2.0, 3.0], [0.0, 1.0, 2.0, 3.0]);
    let (mut dx, mut dy) = ([0.5; 3], [0.5; 4]);
    d_indexed(black_box(&x), &mut dx, black_box(&y), &mut dy);
    assert_all_close(&dx, &[1.5, 0.5 + 1f64.exp(), 0.5 + 2f64.exp()], 1e-14);
    assert_all_close(&dy, &[1.5, 0.5 + 2.0 * 1f64.exp(), 0.5 + 3.0 * 2f64.exp(), 0.5], 1e-14);
    let (mut dx, mut dy) = ([0.5; 3], [0.5; 2]);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        d_indexed(black_box(&x), &mut dx, black_box(&y[..2]), &mut dy)
    }));
    assert!(result.is_err());
    assert_eq!((dx, dy), ([0.5; 3], [0.5; 2]));

    let (mut dx, mut out, mut dout) = ([0.0; 3], [0.0; 3], [1.0; 3]);
    d_fill_indexed(black_box(&x), &mut dx, &mut out, &mut dout);
    assert_eq!((dx, out, dout), ([2.0, 4.0, 2.0], [0.0, 2.0, 6.0], [1.0, 0.0, 0.0]));
    let (mut dx, mut out, mut dout) = ([0.0; 3], [0.0; 2], [1.0; 2]);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        d_fill_indexed(black_box(&x), &mut dx, &mut out, &mut dout);
    }));
    assert!(result.is_err());
    assert_eq!((dx, out, dout), ([0.0; 3], [0.0, 2.0], [1.0; 2]));
}

/// In single precision, where the sum is in double precision too.
#[test]
fn single_precision() {
    let f = |x: &[f32]| x.iter().map(|v| v * v).sum::<f32>();
    assert_eq!(grad(f, black_box(&[1.0_f32, 2.0, -3.0][..])), [2.0, 4.0, -6.0]);
    let f = |x: &[f32]| x.iter().map(|v| f64::from(*v) * f64::from(*v)).sum::<f64>();
    assert_eq!(grad(f, black_box(&[1.0_f32, 2.0, -3.0][..])), [2.0, 4.0, -6.0]);
}

/// A buffer that is made in front of the loop: each iteration fills it, changes it in place, and reads it.
#[test]
fn buffers_that_each_iteration_fills() {
    let weights = black_box(vec![0.5, -0.25, 1.5, 0.75]);
    let weights = &weights[..];
    let lse = |x: &[f64]| {
        let most = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + x.iter().map(|x| (x - most).exp()).sum::<f64>().ln()
    };
    check(|x| {
        let mut buffer = vec![0.0; weights.len()];
        let mut sum = 0.0;
        for v in x {
            for (b, w) in buffer.iter_mut().zip(weights) {
                *b = w * v;
            }
            for i in 1..buffer.len() {
                buffer[i] += buffer[i - 1] * v.sin();
            }
            sum += lse(&buffer);
        }
        0.5 * sum
    });
    // Two of them, one inside of the other's loop.
    check(|x| {
        let (mut outer, mut inner) = (vec![0.0; weights.len()], vec![0.0; weights.len()]);
        let mut sum = 0.0;
        for v in x {
            for (o, w) in outer.iter_mut().zip(weights) {
                inner.fill(*w);
                inner.iter_mut().zip(x).for_each(|(i, x)| *i += x * v);
                *o = inner.iter().map(|i| i * i).sum();
            }
            sum += lse(&outer);
        }
        sum
    });
    // An array.
    check(|x| {
        let (mut array, mut sum) = ([0.0; 40], 0.0);
        for v in x {
            for (i, a) in array.iter_mut().enumerate() {
                *a = v * i as f64;
            }
            sum += lse(black_box(&array[..]));
        }
        sum
    });
}

/// Of these something stays for the next iteration.
#[test]
fn buffers_of_which_something_stays() {
    let weights = black_box(vec![0.5, -0.25, 1.5, 0.75]);
    let weights = &weights[..];
    check(|x| {
        let mut buffer = vec![1.0; weights.len()];
        let mut sum = 0.0;
        for (n, v) in x.iter().enumerate() {
            for (b, w) in buffer.iter_mut().zip(&weights[n % 4..]) {
                *b *= w * v;
            }
            sum += buffer.iter().map(|b| b.sin() * b).sum::<f64>();
        }
        sum
    });
    check(|x| {
        let mut buffer = vec![1.0; weights.len() + 1];
        let mut sum = 0.0;
        for v in x {
            for (b, w) in buffer.iter_mut().zip(weights) {
                *b = w * v;
            }
            buffer[weights.len()] += v.exp();
            sum += buffer.iter().map(|b| b * b).sum::<f64>();
        }
        sum
    });
    check(|x| {
        let mut buffer = vec![1.0; weights.len()];
        let mut sum = 0.0;
        for v in x {
            sum += buffer[0] * v;
            for (b, w) in buffer.iter_mut().zip(weights) {
                *b = w * v;
            }
        }
        sum + buffer.iter().sum::<f64>()
    });
}

#[autodiff(d_rows, Reverse, Duplicated, Const, Active)]
fn rows(x: &[f64], starts: &[usize]) -> f64 {
    let mut buffer = vec![0.0; 3];
    let mut sum = 0.0;
    for start in starts {
        for (b, x) in buffer.iter_mut().zip(&x[*start..][..3]) {
            *b = x * x;
        }
        sum += buffer.iter().map(|b| b * b).sum::<f64>();
    }
    sum
}

/// A panic takes back what was added in the iterations before.
#[test]
fn a_panic_in_a_loop_with_a_buffer() {
    let x = black_box([1.0, 2.0, 3.0, 4.0]);
    let mut dx = [0.5; 4];
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| d_rows(&x, &mut dx, black_box(&[0, 1, 2]))));
    assert!(result.is_err());
    assert_eq!(dx, [0.5; 4]);
    assert_eq!(d_rows(&x, &mut dx, black_box(&[0, 1])), 98.0 + 353.0);
    assert_eq!(dx, [4.5, 64.5, 216.5, 256.5]);
}
