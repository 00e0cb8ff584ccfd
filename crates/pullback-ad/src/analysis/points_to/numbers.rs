//! What is known of the result of integer arithmetic, from what is known of the operands.

use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::{Strided, gcd};
use pullback_ir::{BinOp, Flags};

/// The results of a binary operation.
pub fn binary(op: BinOp, flags: Flags, x: &Offsets, y: &Offsets) -> Offsets {
    let no_wrap = [Flags::NUW, Flags::NSW, Flags::ADDRESS].into_iter().any(|flag| flags.contains(flag));
    let wrapped = |all: Offsets| if no_wrap { all } else { all.map(wrapped) };
    match (op, y.exact()) {
        (BinOp::Add, _) => wrapped(x.plus(y)),
        (BinOp::Sub, _) => wrapped(x.combine(y, Strided::minus)),
        (BinOp::Mul, _) => wrapped(x.combine(y, Strided::times)),
        (BinOp::Or, _) if flags.contains(Flags::DISJOINT) => x.plus(y),
        (BinOp::Shl, Some(by @ 0..62)) => wrapped(x.map(|x| x.times(Strided::exact(1 << by)))),
        (BinOp::And, Some(mask)) => multiple_of_mask(mask).into(),
        (BinOp::URem, Some(by @ 1..)) => Offsets::any().within(0, by - 1),
        // A distance within an object is not negative where it is shifted or divided without sign.
        (BinOp::LShr, Some(by @ 1..62)) => x.within(0, i64::MAX).map(|x| x.over(1 << by)),
        (BinOp::AShr, Some(by @ 1..62)) => x.map(|x| x.over(1 << by)),
        (BinOp::UDiv, Some(by @ 1..)) => x.within(0, i64::MAX).map(|x| x.over(by)),
        (BinOp::SDiv, Some(by @ 1..)) if flags.contains(Flags::EXACT) => x.map(|x| x.over(by)),
        _ => Offsets::any(),
    }
}

/// What is known of a number that may have gone beyond what its bits hold, and come back from the other end: only what
/// holds modulo a power of two, unless its bounds say that it did not.
fn wrapped(interval: Strided) -> Strided {
    let is_bounded = interval.lo != i64::MIN && interval.hi != i64::MAX;
    if interval.m == 0 || is_bounded {
        return interval;
    }
    Strided::unbounded(interval.k, interval.m & interval.m.wrapping_neg())
}

/// The results of an intrinsic function.
pub fn intrinsic(name: &str, args: &[Offsets]) -> Offsets {
    let operation = name.strip_prefix("llvm.").and_then(|name| name.rsplit_once('.')).map_or("", |(name, _)| name);
    match (operation, args) {
        // The lesser of a number and a small one, both without sign, is not greater than the small one.
        ("umin", [x, limit] | [limit, x]) if limit.exact().is_some_and(|n| n >= 0) => {
            let limit = limit.exact().expect("just looked");
            x.within(0, limit).join(&Strided::exact(limit).into()).within(0, limit)
        }
        ("umax" | "umin" | "smax" | "smin", [x, y]) => x.join(y),
        ("usub.sat", [x, y]) => x.combine(y, Strided::minus).within(0, i64::MAX).join(&Offsets::zero()),
        _ => Offsets::any(),
    }
}

/// What is known of a number after it passed through `bits` bits: only what holds modulo a power of two, unless it is
/// small and not negative.
pub fn rewidth(interval: Strided, bits: u16) -> Strided {
    let limit = 1u64 << bits.min(62);
    if interval.lo >= 0 && interval.hi < limit as i64 / 2 {
        return interval;
    }
    Strided::unbounded(interval.k, gcd(interval.m, limit))
}

/// `x & mask`: a multiple of the mask's lowest set bit.
fn multiple_of_mask(mask: i64) -> Strided {
    match mask {
        0 => Strided::ZERO,
        1.. => Strided::between(0, 1 << mask.trailing_zeros(), 0, mask),
        _ => Strided::unbounded(0, 1 << mask.trailing_zeros().min(62)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some(members: &[i64]) -> Offsets {
        let mut all = members.iter().map(|k| Offsets::from(Strided::exact(*k)));
        let first = all.next().expect("at least one");
        all.fold(first, |joined, one| joined.join(&one))
    }

    #[test]
    fn numbers_that_wrap_are_multiples_of_powers_of_two_only() {
        let (any, three, twelve) = (Offsets::any(), Strided::exact(3).into(), Strided::exact(12).into());
        let product = |flags, y: &Offsets| binary(BinOp::Mul, flags, &any, y);
        assert_eq!(product(Flags::NONE, &three), Offsets::any());
        assert_eq!(product(Flags::NONE, &twelve), Strided::unbounded(0, 4).into());
        assert_eq!(product(Flags::NUW, &twelve), Strided::unbounded(0, 12).into());
        let small: Offsets = Strided::between(0, 1, 0, 100).into();
        assert_eq!(binary(BinOp::Mul, Flags::NONE, &small, &twelve), Strided::between(0, 12, 0, 1200).into());
        let sum = binary(BinOp::Add, Flags::NONE, &Strided::unbounded(0, 24).into(), &Strided::exact(8).into());
        assert_eq!(sum, Strided::unbounded(0, 8).into());
    }

    #[test]
    fn remainders_and_masks_are_bounded() {
        assert_eq!(binary(BinOp::URem, Flags::NONE, &Offsets::any(), &some(&[3])), some(&[0, 1, 2]));
        assert_eq!(
            binary(BinOp::And, Flags::NONE, &Offsets::any(), &some(&[24])),
            Strided::between(0, 8, 0, 24).into()
        );
        assert_eq!(binary(BinOp::Sub, Flags::NONE, &some(&[1, 2]), &some(&[1])), some(&[0, 1]));
    }

    #[test]
    fn the_lesser_of_two_is_bounded_by_either() {
        assert_eq!(intrinsic("llvm.umin.i64", &[Offsets::any(), some(&[2])]), some(&[0, 1, 2]));
        assert_eq!(intrinsic("llvm.umin.i64", &[some(&[1]), some(&[2])]), some(&[1, 2]));
        assert_eq!(intrinsic("llvm.umax.i64", &[some(&[0, 8]), some(&[4])]), some(&[0, 4, 8]));
        assert_eq!(intrinsic("llvm.usub.sat.i64", &[some(&[1, 4]), some(&[2])]), some(&[0, 2]));
        assert_eq!(intrinsic("llvm.ctpop.i64", &[some(&[1])]), Offsets::any());
    }
}
