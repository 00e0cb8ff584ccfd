//! Instructions that the engine does not look into. Where they leave alone what carries a derivative, they are no
//! obstacle.

use pullback::{grad, hvp};
use std::arch::asm;
use std::hint::black_box;
use std::ptr::read_volatile;

/// A number, by an instruction that only the assembler knows.
fn incremented(number: u64) -> u64 {
    let mut result = number;
    // SAFETY: it adds to a register.
    unsafe { asm!("add {0}, 1", inout(reg) result) };
    result
}

/// A root, by the instruction for it, as the crate `libm` computes it.
fn root(number: f64) -> f64 {
    let mut result = number;
    // SAFETY: it computes in a register.
    unsafe { asm!("sqrtsd {0}, {0}", inout(xmm_reg) result, options(nostack, nomem, pure)) };
    result
}

/// The same of 32 bits.
fn narrow_root(number: f32) -> f32 {
    let mut result = number;
    // SAFETY: as above.
    unsafe { asm!("sqrtss {0}, {0}", inout(xmm_reg) result, options(nostack, nomem, pure)) };
    result
}

pullback_e2e::differentiated! {
    fn values_in_black_boxes(x) {
        let product = black_box(x[0] * x[1]);
        let root = black_box(Some(product * product)).map_or(0.0, f64::sqrt);
        black_box((product, 3)).0 * product.sin() + root
    } at [0.7, 1.3], [-0.7, 1.3];

    fn references_in_black_boxes(x) {
        let mut sum = 0.0;
        for i in 0..black_box(x.len()) {
            sum += black_box(x)[i].powi(2) * black_box(x[i]);
        }
        sum
    } at [0.7, 1.3, -0.4];

    fn memory_in_black_boxes(x) {
        let mut kept = vec![0.0; x.len()];
        for (kept, x) in kept.iter_mut().zip(x) {
            *black_box(&mut *kept) = x * x;
        }
        let kept = black_box(kept);
        black_box(&kept).iter().product::<f64>() * kept[0]
    } at [0.7, 1.3, 0.4];

    fn volatile_reads_of_constants(x) {
        let (count, factor) = (3, 2.5);
        // SAFETY: references.
        let (count, factor) = unsafe { (read_volatile(&count), read_volatile(&factor)) };
        (0..count).map(|i| factor * x[i % x.len()] * x[i % x.len()]).sum::<f64>()
    } at [0.7, 1.3];

    fn assembly_on_numbers(x) {
        x.iter().map(|x| x * x * incremented(black_box(2)) as f64).sum::<f64>()
    } at [0.7, 1.3];

    fn roots_by_assembly(x) {
        x.iter().map(|x| if *x > 0.5 { root(x * x + 1.0) * x } else { *x }).sum::<f64>()
    } at [0.7, 1.3, -0.4];

    fn comparisons_of_bytes(x) {
        let names = [*b"north", *b"south"];
        let order = [[1_u64, 2, 3], [1, 2, 4]];
        let mut sum = 0.0;
        for (i, x) in x.iter().enumerate() {
            if names[i % 2] == black_box(*b"south") { sum += x * x } else { sum -= x }
            if order[i % 2][..] > black_box([1, 2, 3])[..] { sum *= x }
        }
        sum
    } at [0.7, 1.3, 0.4];
}

#[test]
fn second_derivatives_go_through_black_boxes() {
    let cubes = |x: &[f64]| black_box(x).iter().map(|x| black_box(x * x) * x).sum::<f64>();
    assert_eq!(hvp(cubes, &[0.5, 2.0][..], &[1.0, 0.0][..]), [3.0, 0.0]);
}

#[test]
fn floats_of_both_widths_go_through_black_boxes() {
    let product = |x: &[f32; 2]| f64::from(black_box(x[0]) * 2.0) * f64::from(black_box([x[1], 2.0])[black_box(0)]);
    assert_eq!(grad(product, &[0.5, 1.25]), [2.5, 1.0]);
}

#[test]
fn roots_are_those_of_std() {
    use pullback::derivative;
    for x in [0.0, 0.25, 4.0] {
        assert_eq!(derivative(root, x), derivative(f64::sqrt, x));
        assert_eq!(derivative(narrow_root, x as f32), derivative(f32::sqrt, x as f32));
    }
}
