//! Vectors, matrices, quaternions and transformations. Some of `f32` are one register of the processor's.
//!
//! `Vec3A`, and what is made of it, takes no part. It is a register with a fourth lane, which `glam` writes and computes
//! with like the others, and which is not part of the value: a cotangent there would be of nothing.

use crate::abi::{Field, Layout};
use crate::differentiable::made_of::made_of;
use crate::differentiable::reach::{Depth, Nothing};
use crate::differentiable::{Differentiable, MakeZero, Mismatch, Path, Sharing, VisitFloats, Writable, layout_fn};
use glam::{
    Affine2, DAffine2, DAffine3, DMat2, DMat3, DMat4, DQuat, DVec2, DVec3, DVec4, Mat2, Mat3, Mat4, Quat, Vec2, Vec3,
    Vec4,
};
use std::mem::{offset_of, size_of};

/// Types that are so many floats in a row, and nothing else.
macro_rules! floats_in_a_row {
    ($($T:ident: $count:literal $F:ident, zero $zero:expr;)*) => {$(
        // SAFETY: S36, so many floats, and nothing else.
        unsafe impl Differentiable for $T {
            type Within<D: Depth> = Nothing;

            const LAYOUT: Layout = Layout::new::<Self>(
                stringify!($T),
                const {
                    assert!(size_of::<Self>() == $count * size_of::<$F>());
                    &[Field::nested(0, $count, layout_fn::<$F>())]
                },
            );
            const CHECKED: bool = false;
            const PLAIN: bool = true;
            const VARIANTS: bool = false;
            const CELLS: bool = false;
            const CONSTANTS: bool = false;
            const INERT: bool = false;

            fn check_shadow(&self, _: &Self, _: &Path<'_>) -> Result<(), Mismatch> {
                Ok(())
            }

            #[inline]
            unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
                // SAFETY: S36, asked of the caller.
                unsafe { visit.run((&raw const *self).cast::<$F>(), shadow.cast(), $count) }
            }
        }

        // SAFETY: S37, floats.
        unsafe impl MakeZero for $T {
            fn zero_like(&self, _: &mut Sharing) -> Self {
                $zero
            }
        }

        // SAFETY: S38, floats are written through `&mut`.
        unsafe impl Writable for $T {}
    )*};
}

floats_in_a_row! {
    Vec2: 2 f32, zero Vec2::ZERO;
    Vec3: 3 f32, zero Vec3::ZERO;
    Vec4: 4 f32, zero Vec4::ZERO;
    Quat: 4 f32, zero Quat::from_array([0.0; 4]);
    Mat2: 4 f32, zero Mat2::ZERO;
    Mat3: 9 f32, zero Mat3::ZERO;
    Mat4: 16 f32, zero Mat4::ZERO;
    DVec2: 2 f64, zero DVec2::ZERO;
    DVec3: 3 f64, zero DVec3::ZERO;
    DVec4: 4 f64, zero DVec4::ZERO;
    DQuat: 4 f64, zero DQuat::from_array([0.0; 4]);
    DMat2: 4 f64, zero DMat2::ZERO;
    DMat3: 9 f64, zero DMat3::ZERO;
    DMat4: 16 f64, zero DMat4::ZERO;
}

made_of! {
    [] Affine2, "Affine2" {
        "matrix2": Mat2, at offset_of!(Self, matrix2), |affine| &affine.matrix2;
        "translation": Vec2, at offset_of!(Self, translation), |affine| &affine.translation;
    } by |matrix2, translation| Affine2 { matrix2, translation };

    [] DAffine2, "DAffine2" {
        "matrix2": DMat2, at offset_of!(Self, matrix2), |affine| &affine.matrix2;
        "translation": DVec2, at offset_of!(Self, translation), |affine| &affine.translation;
    } by |matrix2, translation| DAffine2 { matrix2, translation };

    [] DAffine3, "DAffine3" {
        "matrix3": DMat3, at offset_of!(Self, matrix3), |affine| &affine.matrix3;
        "translation": DVec3, at offset_of!(Self, translation), |affine| &affine.translation;
    } by |matrix3, translation| DAffine3 { matrix3, translation };
}
