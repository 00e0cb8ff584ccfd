//! Rules for the crate `micromath`, whose approximations work on the bits of floats. With the feature `micromath`. They
//! give way to rules of your own.
//!
//! A rule is for the method of `F32Ext` on `f32`, and gives the derivative of the function that is approximated, by the
//! approximation where that is of use. The others (`sin`, `cos`, `tan`, `atan`, `atan2`, `powi`, `abs`, …) are made of
//! operations on floats: what is differentiated there is the approximation itself.

use crate::{non_differentiable_fn, scalar_rule};
use std::f32::consts::{LN_2, LN_10};

// Roots and powers.
scalar_rule!(default <f32 as micromath::F32Ext>::sqrt(x: f32) => r; d/dx = 0.5 / r);
scalar_rule!(default <f32 as micromath::F32Ext>::invsqrt(x: f32) => r; d/dx = -0.5 * r / x);
scalar_rule!(default <f32 as micromath::F32Ext>::inv(x: f32) => r; d/dx = -r * r);
scalar_rule!(default <f32 as micromath::F32Ext>::recip(x: f32) => r; d/dx = -r * r);
scalar_rule!(default <f32 as micromath::F32Ext>::hypot(x: f32, y: f32) => r; d/dx = x / r, d/dy = y / r);
scalar_rule!(default <f32 as micromath::F32Ext>::powf(x: f32, y: f32) => r;
    d/dx = if y == 0.0 { 0.0 } else { y * x.powf(y - 1.0) },
    d/dy = if x == 0.0 && y >= 0.0 { 0.0 } else { r * x.ln() });

// Exponentials and logarithms.
scalar_rule!(default <f32 as micromath::F32Ext>::exp(x: f32) => r; d/dx = r);
scalar_rule!(default <f32 as micromath::F32Ext>::ln(x: f32) => r; d/dx = 1.0 / x);
scalar_rule!(default <f32 as micromath::F32Ext>::log2(x: f32) => r; d/dx = 1.0 / (x * LN_2));
scalar_rule!(default <f32 as micromath::F32Ext>::log10(x: f32) => r; d/dx = 1.0 / (x * LN_10));
scalar_rule!(default <f32 as micromath::F32Ext>::log(x: f32, base: f32) => r;
    d/dx = 1.0 / (x * base.ln()), d/dbase = -r / (base * base.ln()));

// Inverse trigonometric functions, which are made of a root.
scalar_rule!(default <f32 as micromath::F32Ext>::asin(x: f32) => r; d/dx = 1.0 / ((1.0 - x) * (1.0 + x)).sqrt());
scalar_rule!(default <f32 as micromath::F32Ext>::acos(x: f32) => r; d/dx = -1.0 / ((1.0 - x) * (1.0 + x)).sqrt());

// What is left of a whole number, and steps.
scalar_rule!(default <f32 as micromath::F32Ext>::fract(x: f32) => r; d/dx = 1.0);
scalar_rule!(default <f32 as micromath::F32Ext>::rem_euclid(x: f32, y: f32) => r; d/dx = 1.0, d/dy = -((x - r) / y).round());
non_differentiable_fn!(
    <f32 as micromath::F32Ext>::ceil,
    <f32 as micromath::F32Ext>::div_euclid,
    <f32 as micromath::F32Ext>::floor,
    <f32 as micromath::F32Ext>::round,
    <f32 as micromath::F32Ext>::trunc
);
