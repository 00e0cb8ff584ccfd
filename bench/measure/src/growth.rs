//! How something grows.

/// The exponent `e` for which `y = c·xᵉ` fits best, by least squares of the logarithms: 1 is linear. Nothing, if all
/// `x` are the same or something is not positive.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs: Vec<(f64, f64)> = points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / logs.len() as f64;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    let variance: f64 = logs.iter().map(|(x, _)| (x - mx).powi(2)).sum();
    Some(covariance / variance).filter(|exponent| exponent.is_finite())
}

#[cfg(test)]
mod tests {
    use super::exponent;

    #[test]
    fn a_power_is_found() {
        let points = [1.0, 2.0, 10.0, 50.0].map(|x: f64| (x, 3.0 * x.powf(1.5)));
        assert!((exponent(&points).unwrap() - 1.5).abs() < 1e-12);
    }

    #[test]
    fn one_size_does_not_grow() {
        assert_eq!(exponent(&[(2.0, 5.0)]), None);
        assert_eq!(exponent(&[(1.0, 0.0), (2.0, 0.0)]), None);
    }
}
