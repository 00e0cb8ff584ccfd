//! Operations on the bits of floats that have a derivative: what they do to the sign and the exponent, and comparisons.

pullback_e2e::differentiated! {
    fn abs_by_mask(x) {
        x.iter().map(|x| f64::from_bits(x.to_bits() & !(1 << 63)) * x).sum()
    } at POINT;

    fn neg_by_xor(x) {
        x.iter().map(|x| f64::from_bits(x.to_bits() ^ (1 << 63)) * x).sum()
    } at POINT;

    fn copysign_by_bits(x) {
        x.iter().map(|v| f64::from_bits((v.to_bits() & (u64::MAX >> 1)) | (x[0].to_bits() & (1 << 63))) * v).sum()
    } at POINT;

    fn sign_of(x) {
        x.iter().map(|v| if v.to_bits() >> 63 == 1 { -v * v } else { v * v * v }).sum()
    } at POINT;

    fn exponent_out(x) {
        x.iter().map(|v| { let e = ((v.to_bits() >> 52) & 0x7ff) as i64 - 1023; v * e as f64 }).sum()
    } at POINT;

    fn scaled_by_exponent(x) {
        x.iter().map(|v| { let e = ((v.to_bits() >> 52) & 0x7ff) as i64 - 1023; v * f64::from_bits(((1023 - e) as u64) << 52) }).sum()
    } at POINT;

    fn exponent_in(x) {
        x.iter().map(|v| f64::from_bits(v.to_bits() + (3 << 52)) * v).sum()
    } at POINT;

    fn mantissa_only(x) {
        x.iter().map(|v| f64::from_bits((v.to_bits() & !(0x7ff << 52)) | (1023 << 52)) * v).sum()
    } at POINT;

    fn be_bytes(x) {
        x.iter().map(|v| f64::from_be_bytes(v.to_be_bytes()).powi(2)).sum()
    } at POINT;

    fn is_nan_by_bits(x) {
        x.iter().map(|v| if (v.to_bits() & 0x7ff0000000000000) == 0x7ff0000000000000 { 0.0 } else { v * v }).sum()
    } at POINT;

    fn classify(x) {
        x.iter().map(|v| if v.is_normal() && v.is_finite() && !v.is_sign_negative() { v * v } else { -v }).sum()
    } at POINT;

    fn total_cmp_sort(x) {
        { let mut s = x.to_vec(); s.sort_by(f64::total_cmp); s.iter().enumerate().map(|(i, v)| (i as f64 + 1.0) * v * v).sum() }
    } at POINT;

    fn total_cmp_sort_unstable(x) {
        { let mut s = x.to_vec(); s.sort_unstable_by(|a, b| b.total_cmp(a)); s.iter().enumerate().map(|(i, v)| (i as f64 + 1.0) * v * v).sum() }
    } at POINT;

    fn max_by_total(x) {
        x.iter().copied().max_by(f64::total_cmp).unwrap().powi(2)
    } at POINT;

    fn of_zeros(x) {
        f64::from_bits(x[0].to_bits() & !SIGN) + f64::from_bits(x[1].to_bits() ^ SIGN) * x[2]
    } at [2.0, 0.0, 3.0];

    fn rounded_by_additions(x) {
        const LARGE: f64 = 6755399441055744.0;
        let down = |x: f64| { let whole = (x + LARGE) - LARGE; if whole > x { whole - 1.0 } else { whole } };
        let signed = |x: f64| { let large = 4503599627370496.0_f64.copysign(x); x + large - large };
        x.iter().map(|x| (x - down(*x)) * x + signed(x * 3.0) * x + (x - LARGE + LARGE)).sum()
    } at POINT;

    fn in_a_loop(x) {
        let mut product = 1.0_f64;
        for x in x {
            // Into 1 to 2, as a logarithm does.
            let bits = product.to_bits();
            let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
            product = f64::from_bits(bits.wrapping_sub((exponent as u64) << 52)) * x * x + exponent as f64;
        }
        product
    } at POINT;

    fn logarithm(x) {
        x.iter()
            .map(|x| {
                let bits = x.abs().to_bits();
                let exponent = (bits >> 52) as f64 - 1023.0;
                let mantissa = f64::from_bits(bits & ((1 << 52) - 1) | 1.0_f64.to_bits());
                exponent * std::f64::consts::LN_2 + (1..60).map(|k| {
                    let t = (mantissa - 1.0) / (mantissa + 1.0);
                    2.0 * t.powi(2 * k - 1) / f64::from(2 * k - 1)
                }).sum::<f64>()
            })
            .sum()
    } at POINT;
}

const SIGN: u64 = 1 << 63;
const POINT: [f64; 4] = [0.73, -1.31, 2.17, 0.41];

/// The derivative is that of the floats around, at zero, too.
mod at_zero {
    use super::SIGN;
    use pullback::{grad, hvp};

    const MANTISSA: u64 = (1 << 52) - 1;

    #[test]
    fn a_sign_that_is_known_at_run_time() {
        let flipped = |x: &[f64]| f64::from_bits(x[0].to_bits() ^ (x[1].to_bits() & SIGN)) * 3.0;
        assert_eq!(grad(flipped, &[0.0, -2.0][..]), [-3.0, 0.0]);
        assert_eq!(grad(flipped, &[-0.0, 2.0][..]), [3.0, 0.0]);
        assert_eq!(hvp(flipped, &[0.0, -2.0][..], &[1.0, 1.0][..]), [0.0, 0.0]);
    }

    #[test]
    fn a_mantissa_that_is_not_asked_for() {
        let mantissa = |x: &[f64]| {
            if x[0] == 0.0 { 0.0 } else { f64::from_bits(x[0].to_bits() & MANTISSA | 1.0_f64.to_bits()) }
        };
        assert_eq!(grad(mantissa, &[0.0][..]), [0.0]);
        assert_eq!(grad(mantissa, &[6.0][..]), [0.25]);
        assert_eq!(hvp(mantissa, &[6.0][..], &[1.0][..]), [0.0]);
    }

    /// Without an exponent what is left is a subnormal float, of which the mantissa is all there is.
    #[test]
    fn a_mantissa_alone() {
        let mantissa = |x: &[f64]| f64::from_bits(x[0].to_bits() & MANTISSA);
        assert_eq!(grad(mantissa, &[1.5][..]), [f64::MIN_POSITIVE]);
        assert_eq!(grad(mantissa, &[f64::MIN_POSITIVE * 1.5][..]), [1.0]);
    }
}

/// Bits that are loaded and stored as integers are a float's all the same.
mod through_memory {
    use super::SIGN;
    use pullback::{autodiff, value_and_grad};

    #[autodiff(d_magnitudes, Reverse, Duplicated, Duplicated)]
    fn magnitudes(from: &[f64], to: &mut [f64]) {
        let bits: Vec<u64> = from.iter().map(|x| x.to_bits()).collect();
        for (to, bits) in to.iter_mut().zip(bits) {
            *to = f64::from_bits(bits & !SIGN);
        }
    }

    #[test]
    fn signs_are_cleared() {
        let (from, mut to) = ([1.5, -2.5], [0.0; 2]);
        let (mut d_from, mut d_to) = ([0.0; 2], [3.0, 4.0]);
        d_magnitudes(&from, &mut d_from, &mut to, &mut d_to);
        assert_eq!((to, d_from), ([1.5, 2.5], [3.0, -4.0]));
    }

    #[test]
    fn in_single_precision() {
        let f = |x: &[f32]| -> f32 {
            x.iter().map(|x| f32::from_bits(x.to_bits() & !(1 << 31)) * f32::from_bits(x.to_bits() + (2 << 23))).sum()
        };
        assert_eq!(value_and_grad(f, &[1.5_f32, -2.5][..]), (9.0 - 25.0, vec![12.0, 20.0]));
    }
}

/// What is infinite, or no number, has a derivative by its sign as well, and none where the program takes another way.
mod at_the_ends {
    use pullback::grad;

    const SIGN: u64 = 1 << 63;

    #[test]
    fn a_sign_is_changed() {
        let signed = |x: &[f64]| f64::from_bits(x[0].to_bits() ^ (x[1].to_bits() & SIGN));
        let with = |x: [f64; 2]| grad(|x: &[f64]| 1.0 / signed(x) + signed(x), &x[..]);
        assert_eq!(with([f64::INFINITY, 1.0]), [1.0, 0.0]);
        assert_eq!(with([f64::INFINITY, -1.0]), [-1.0, 0.0]);
    }

    #[test]
    fn an_exponent_is_changed_behind_a_branch() {
        let halved = |x: &[f64]| if x[0] > f64::MAX / 2.0 { 7.0 } else { f64::from_bits(x[0].to_bits() + (1 << 52)) };
        assert_eq!(grad(halved, &[f64::MAX][..]), [0.0]);
        assert_eq!(grad(halved, &[3.0][..]), [2.0]);
        let finite = |x: &[f64]| {
            let flip = (x.len() as u64) << 63;
            x.iter().filter(|x| x.is_finite()).map(|x| f64::from_bits(x.to_bits() ^ flip)).sum::<f64>()
        };
        assert_eq!(grad(finite, &[2.0, f64::NAN, f64::INFINITY][..]), [-1.0, 0.0, 0.0]);
    }
}
