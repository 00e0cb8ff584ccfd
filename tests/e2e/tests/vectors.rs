//! Vector instructions: those of `core::arch` that compute, compare and choose floats, and crates that use them.

use glam::{Mat4, Quat, Vec3, Vec3A, Vec4};
use pullback::grad;
use pullback_e2e::assert_all_close;

/// By a function in single precision, and one in double precision that computes the same.
#[track_caller]
fn check(x: &[f32], single: impl Fn(&[f32]) -> f32, double: impl Fn(&[f64]) -> f64) {
    let wide: Vec<f64> = x.iter().map(|x| f64::from(*x)).collect();
    let gradient: Vec<f64> = grad(single, x).into_iter().map(f64::from).collect();
    assert_all_close(&gradient, &grad(double, &wide[..]), 1e-5);
}

const POINT: [f32; 4] = [0.75, -1.25, 2.5, 0.4];

#[test]
fn the_less_and_the_greater() {
    let double =
        |x: &[f64]| (0..4).map(|i| x[i].min(x[(i + 1) % 4] * 0.5) * x[i].max(-x[(i + 1) % 4]) * x[i].abs()).sum();
    let single = |x: &[f32]| {
        let (a, b) = (Vec4::from_slice(x), Vec4::new(x[1], x[2], x[3], x[0]));
        (a.min(b * 0.5) * a.max(-b)).dot(a.abs())
    };
    check(&POINT, single, double);
    let length = |x: &[f64]| x.iter().map(|x| x.clamp(-0.5, 0.6).powi(2)).sum::<f64>().sqrt();
    check(&POINT, |x| Vec4::from_slice(x).clamp(Vec4::splat(-0.5), Vec4::splat(0.6)).length(), length);
}

#[test]
fn what_is_chosen_by_a_comparison() {
    let single = |x: &[f32]| {
        let a = Vec4::from_slice(x);
        Vec4::select(a.cmplt(Vec4::splat(0.5)), a * a * a, a).element_sum()
    };
    check(&POINT, single, |x| x.iter().map(|x| if *x < 0.5 { x * x * x } else { *x }).sum());
    let counted = |x: &[f32]| {
        let a = Vec4::from_slice(x);
        f32::from(a.cmpgt(Vec4::ZERO).bitmask() as u8) * a.dot(a)
    };
    check(&POINT, counted, |x| 13.0 * x.iter().map(|x| x * x).sum::<f64>());
}

#[test]
fn what_is_rounded() {
    let single = |x: &[f32]| {
        let a = Vec4::from_slice(x);
        (a - a.floor()).dot(a) + a.ceil().dot(a) + a.signum().dot(a * a) + a.round().element_sum()
    };
    let double = |x: &[f64]| x.iter().map(|x| (x - x.floor()) * x + x.ceil() * x + x.signum() * x * x).sum();
    check(&POINT, single, double);
}

#[test]
fn rotations_and_matrices() {
    let single = |x: &[f32]| (Quat::from_xyzw(x[0], x[1], x[2], x[3]).normalize() * Vec3::new(1.0, 2.0, 3.0)).x;
    let double = |x: &[f64]| {
        let q = glam::DQuat::from_xyzw(x[0], x[1], x[2], x[3]).normalize();
        (q * glam::DVec3::new(1.0, 2.0, 3.0)).x
    };
    check(&POINT, single, double);
    let matrix = [2.0, 0.5, 0.25, -0.5, 1.0, 3.0, -0.25, 0.75, 0.5, -1.0, 4.0, 0.25, 0.125, 0.5, 1.0, 5.0];
    let of = |x: &[f32]| Mat4::from_cols_slice(x);
    check(
        &matrix,
        |x| of(x).inverse().transpose().mul_vec4(Vec4::new(1.0, -1.0, 0.5, 2.0)).length() + of(x).determinant(),
        |x| {
            let m = glam::DMat4::from_cols_slice(x);
            m.inverse().transpose().mul_vec4(glam::DVec4::new(1.0, -1.0, 0.5, 2.0)).length() + m.determinant()
        },
    );
    let cross = |x: &[f32]| Vec3A::new(x[0], x[1], x[2]).cross(Vec3A::new(1.0, 2.0, 3.0)).normalize_or_zero().y;
    let wide =
        |x: &[f64]| glam::DVec3::new(x[0], x[1], x[2]).cross(glam::DVec3::new(1.0, 2.0, 3.0)).normalize_or_zero().y;
    check(&POINT, cross, wide);
}

#[cfg(target_arch = "x86_64")]
mod by_instruction {
    use std::arch::x86_64::*;

    fn pair(x: &[f64]) -> __m128d {
        // SAFETY: each processor of this architecture has SSE2, here and below.
        unsafe { _mm_set_pd(x[1], x[0]) }
    }

    fn sum(v: __m128d) -> f64 {
        // SAFETY: as above.
        unsafe { _mm_cvtsd_f64(v) + _mm_cvtsd_f64(_mm_unpackhi_pd(v, v)) }
    }

    pullback_e2e::differentiated! {
        fn the_less_and_the_greater(x) {
            // SAFETY: as above.
            unsafe {
                let (a, b) = (pair(x), pair(&x[2..]));
                sum(_mm_mul_pd(_mm_min_pd(a, b), _mm_max_pd(_mm_mul_pd(a, a), b)))
            }
        } at [0.75, -1.25, 0.5, -1.5];

        fn in_the_first_lane(x) {
            // SAFETY: as above.
            unsafe {
                let (a, b) = (pair(x), pair(&x[2..]));
                sum(_mm_mul_pd(_mm_min_sd(a, b), _mm_max_sd(_mm_sqrt_pd(_mm_mul_pd(a, a)), b)))
            }
        } at [0.75, -1.25, 0.5, -1.5];

        fn masks(x) {
            // SAFETY: as above.
            unsafe {
                let (a, b) = (pair(x), pair(&x[2..]));
                let less = _mm_cmplt_pd(a, b);
                let chosen = _mm_or_pd(_mm_and_pd(less, _mm_mul_pd(a, a)), _mm_andnot_pd(less, _mm_mul_pd(b, a)));
                let sign = _mm_set1_pd(-0.0);
                let magnitude = _mm_andnot_pd(sign, a);
                sum(_mm_mul_pd(chosen, _mm_xor_pd(magnitude, _mm_and_pd(b, sign))))
            }
        } at [0.75, -1.25, 0.5, -1.5], [0.25, -2.25, 0.5, -1.5];

        fn signs(x) {
            // SAFETY: as above.
            unsafe {
                let (a, mut sum) = (pair(x), 0.0);
                for bit in 0..2 {
                    if _mm_movemask_pd(a) >> bit & 1 == 1 { sum += x[bit] * x[2] } else { sum += x[bit] * x[bit] }
                }
                sum
            }
        } at [0.75, -1.25, 0.5];

        fn comparisons(x) {
            // SAFETY: as above.
            unsafe {
                let (a, b) = (pair(x), pair(&x[2..]));
                let masks = [
                    _mm_cmpeq_pd(a, b), _mm_cmple_pd(a, b), _mm_cmpgt_pd(a, b), _mm_cmpneq_pd(a, b),
                    _mm_cmpord_pd(a, b), _mm_cmpunord_pd(a, b), _mm_cmpnlt_pd(a, b), _mm_cmpngt_pd(a, b),
                ];
                let weigh = |(i, mask): (usize, &__m128d)| {
                    sum(_mm_and_pd(*mask, _mm_mul_pd(_mm_mul_pd(a, b), _mm_set1_pd(i as f64 + 1.5))))
                };
                masks.iter().enumerate().map(weigh).sum()
            }
        } at [0.75, -1.25, 0.5, -1.5], [0.25, -2.25, 0.5, -1.5];
    }
}

/// Instructions that not every processor has.
#[cfg(target_arch = "x86_64")]
mod by_instruction_of_some {
    use pullback::autodiff;
    use pullback_e2e::check;
    use std::arch::x86_64::*;

    #[target_feature(enable = "avx")]
    fn sum(v: __m256d) -> f64 {
        let pair = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd::<1>(v));
        _mm_cvtsd_f64(_mm_add_sd(pair, _mm_unpackhi_pd(pair, pair)))
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    #[target_feature(enable = "avx")]
    fn function(x: &[f64]) -> f64 {
        let a = _mm256_set_pd(x[3], x[2], x[1], x[0]);
        let b = _mm256_set_pd(x[0], x[3] * 0.5, x[1] * x[1], -x[0]);
        let (less, greater) = (_mm256_min_pd(a, b), _mm256_max_pd(a, b));
        let at_most = _mm256_cmp_pd::<_CMP_LE_OQ>(a, b);
        let chosen = _mm256_blendv_pd(_mm256_mul_pd(a, b), less, at_most);
        let other = _mm256_and_pd(_mm256_cmp_pd::<_CMP_NLT_UQ>(a, b), greater);
        let whole =
            _mm256_add_pd(_mm256_floor_pd(a), _mm256_round_pd::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(b));
        let signs = f64::from(_mm256_movemask_pd(a));
        sum(_mm256_mul_pd(_mm256_add_pd(chosen, other), _mm256_sub_pd(a, whole))) * signs
    }

    #[test]
    fn four_at_once() {
        if !is_x86_feature_detected!("avx") {
            eprintln!("this processor has no AVX");
            return;
        }
        for point in [[0.75, -1.25, 2.5, 0.4], [-0.6, 0.3, -2.2, 1.7]] {
            // SAFETY: the processor has it.
            unsafe { check(|x| function(x), |x, dx| reverse(x, dx), |x, dx| forward(x, dx), &point) };
        }
    }
}

/// The optimiser does not divide, or take roots, ahead of the branch that guards it: the derivative there is no number.
#[test]
fn what_a_branch_guards_stays_behind_it() {
    let flags = std::hint::black_box(vec![false; 5]);
    let quotient = |x: &[f32]| {
        let (a, b) = (Vec4::from_slice(&x[..4]), Vec4::from_slice(&x[4..]));
        let mut sum = Vec4::ZERO;
        for flag in &flags {
            if *flag {
                sum += a * b / b;
            }
        }
        sum.element_sum()
    };
    assert_eq!(grad(quotient, &[0.0; 8][..]), [0.0; 8]);
    let root = |x: &[f32]| {
        let a = Vec4::from_slice(x);
        flags.iter().map(|flag| if *flag { a.length() } else { 1.0 }).sum::<f32>()
    };
    assert_eq!(grad(root, &[0.0; 4][..]), [0.0; 4]);
}
