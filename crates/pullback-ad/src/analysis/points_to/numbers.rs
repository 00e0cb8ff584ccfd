//! What is known of the result of integer arithmetic, from what is known of the operands.

use crate::analysis::points_to::offsets::Offsets;
use crate::analysis::points_to::strided::{Strided, gcd};
use pullback_ir::{BinOp, Flags};

/// The results of a binary operation on integers of so many bits.
///
/// What is known of an integer is a set that its value is in, read with sign, whatever the program takes it for. So a
/// result that goes beyond the numbers of its type comes back from their other end ([`wrapped`]), unless its flags say
/// that it does not; and operations without sign make large numbers of negative ones.
pub fn binary(op: BinOp, flags: Flags, bits: u16, x: &Offsets, y: &Offsets) -> Offsets {
    let in_range = [Flags::NSW, Flags::ADDRESS].into_iter().any(|flag| flags.contains(flag));
    let wrapped = |all: Offsets| if in_range { all } else { all.map(|interval| wrapped(interval, bits)) };
    match (op, y.exact()) {
        (BinOp::Add, _) => wrapped(x.plus(y)),
        (BinOp::Sub, _) => wrapped(x.combine(y, Strided::minus)),
        (BinOp::Mul, _) => wrapped(x.combine(y, Strided::times)),
        (BinOp::Or, _) if flags.contains(Flags::DISJOINT) => wrapped(x.plus(y)),
        (BinOp::Shl, Some(by @ 0..62)) => wrapped(x.map(|x| x.times(Strided::exact(1 << by)))),
        (BinOp::And, Some(mask)) => multiple_of_mask(mask).into(),
        (BinOp::URem, Some(by @ 1..)) => Offsets::any().within(0, by - 1),
        (BinOp::LShr, Some(by @ 1..62)) => x.map(|x| unsigned_quotient(x, bits, 1 << by)),
        (BinOp::AShr, Some(by @ 1..62)) => x.map(|x| x.over(1 << by)),
        (BinOp::UDiv, Some(1)) => x.clone(),
        (BinOp::UDiv, Some(by @ 2..)) => x.map(|x| unsigned_quotient(x, bits, by)),
        (BinOp::SDiv, Some(by @ 1..)) if flags.contains(Flags::EXACT) => x.map(|x| x.over(by)),
        _ => Offsets::any(),
    }
}

/// The numbers of a type of so many bits, with sign, as far as they can be told.
pub fn range(bits: u16) -> (i64, i64) {
    match bits {
        1..=63 => (-1 << (bits - 1), (1 << (bits - 1)) - 1),
        _ => (i64::MIN, i64::MAX),
    }
}

/// How many numbers of so many bits there are; of more than 62 bits, a divisor of that.
fn numbers_of(bits: u16) -> u64 {
    1 << bits.min(62)
}

/// What is known of a number of so many bits that may have gone beyond what they hold, and come back from the other
/// end: only what holds modulo a power of two, unless its bounds say that it did not.
pub fn wrapped(interval: Strided, bits: u16) -> Strided {
    let (min, max) = range(bits);
    let is_bounded = interval.lo != i64::MIN && interval.hi != i64::MAX;
    if is_bounded && min <= interval.lo && interval.hi <= max {
        return interval;
    }
    match (interval.m, bits) {
        (0, 64..) => interval,
        (0, _) => {
            let unused = 64 - u32::from(bits);
            Strided::exact(interval.k << unused >> unused)
        }
        (m, _) => Strided::between(interval.k, gcd(m, numbers_of(bits)), min, max),
    }
}

/// Quotients, rounded down, of numbers of so many bits that are read without sign, by a number greater than 1.
fn unsigned_quotient(x: Strided, bits: u16, by: i64) -> Strided {
    if x.lo >= 0 {
        return x.over(by);
    }
    let largest = match bits {
        1..=64 => i64::try_from((u64::MAX >> (64 - bits)) / by.unsigned_abs()).unwrap_or(i64::MAX),
        _ => i64::MAX,
    };
    // A negative number stands for one that is greater by the number of numbers.
    let (stride, divisor) = (gcd(x.m, numbers_of(bits)), by.unsigned_abs());
    let is_whole = stride.is_multiple_of(divisor) && x.k % by == 0;
    Strided::between(x.k / by, if is_whole { stride / divisor } else { 1 }, 0, largest)
}

/// The results of an intrinsic function that returns an integer of so many bits.
pub fn intrinsic(name: &str, bits: u16, args: &[Offsets]) -> Offsets {
    let operation = name.strip_prefix("llvm.").and_then(|name| name.rsplit_once('.')).map_or("", |(name, _)| name);
    match (operation, args) {
        // The lesser of a number and a small one, both without sign, is not greater than the small one.
        ("umin", [x, limit] | [limit, x]) if limit.exact().is_some_and(|n| n >= 0) => {
            let limit = limit.exact().expect("just looked");
            x.within(0, limit).join(&Strided::exact(limit).into()).within(0, limit)
        }
        ("umax" | "umin" | "smax" | "smin", [x, y]) => x.join(y),
        ("usub.sat", [x, y]) => {
            let difference = x.combine(y, Strided::minus).map(|interval| wrapped(interval, bits));
            let is_positive = |of: &Offsets| of.iter().all(|interval| interval.lo >= 0);
            let both = is_positive(x) && is_positive(y);
            let left = if both { difference.within(0, i64::MAX) } else { difference };
            left.join(&Offsets::zero())
        }
        _ => Offsets::any(),
    }
}

/// The same number, which had so many bits and was read without sign, in more.
pub fn zero_extended(interval: Strided, bits: u16) -> Strided {
    if interval.lo >= 0 {
        return interval;
    }
    let largest = if bits < 63 { numbers_of(bits) as i64 - 1 } else { i64::MAX };
    Strided::between(interval.k, gcd(interval.m, numbers_of(bits)), 0, largest)
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
        let product = |flags, y: &Offsets| binary(BinOp::Mul, flags, 64, &any, y);
        assert_eq!(product(Flags::NONE, &three), Offsets::any());
        assert_eq!(product(Flags::NONE, &twelve), Strided::unbounded(0, 4).into());
        assert_eq!(product(Flags::NSW, &twelve), Strided::unbounded(0, 12).into());
        let small: Offsets = Strided::between(0, 1, 0, 100).into();
        assert_eq!(binary(BinOp::Mul, Flags::NONE, 64, &small, &twelve), Strided::between(0, 12, 0, 1200).into());
        let sum = binary(BinOp::Add, Flags::NONE, 64, &Strided::unbounded(0, 24).into(), &Strided::exact(8).into());
        assert_eq!(sum, Strided::unbounded(0, 8).into());
    }

    #[test]
    fn remainders_and_masks_are_bounded() {
        assert_eq!(binary(BinOp::URem, Flags::NONE, 64, &Offsets::any(), &some(&[3])), some(&[0, 1, 2]));
        assert_eq!(
            binary(BinOp::And, Flags::NONE, 64, &Offsets::any(), &some(&[24])),
            Strided::between(0, 8, 0, 24).into()
        );
        assert_eq!(binary(BinOp::Sub, Flags::NONE, 64, &some(&[1, 2]), &some(&[1])), some(&[0, 1]));
    }

    #[test]
    fn the_lesser_of_two_is_bounded_by_either() {
        assert_eq!(intrinsic("llvm.umin.i64", 64, &[Offsets::any(), some(&[2])]), some(&[0, 1, 2]));
        assert_eq!(intrinsic("llvm.umin.i64", 64, &[some(&[1]), some(&[2])]), some(&[1, 2]));
        assert_eq!(intrinsic("llvm.umax.i64", 64, &[some(&[0, 8]), some(&[4])]), some(&[0, 4, 8]));
        assert_eq!(intrinsic("llvm.usub.sat.i64", 64, &[some(&[1, 4]), some(&[2])]), some(&[0, 2]));
        assert_eq!(intrinsic("llvm.ctpop.i64", 64, &[some(&[1])]), Offsets::any());
    }

    /// Every number of so many bits, read with sign, that is in the set.
    fn members(set: &Offsets, bits: u16) -> Vec<i64> {
        let (min, max) = range(bits);
        (min..=max).filter(|n| set.iter().any(|interval| interval.contains(Strided::exact(*n)))).collect()
    }

    fn pairs(a: &Offsets, b: &Offsets, bits: u16) -> impl Iterator<Item = (i64, i64)> {
        let others = members(b, bits);
        members(a, bits).into_iter().flat_map(move |x| others.clone().into_iter().map(move |y| (x, y)))
    }

    /// Sets of numbers of so many bits, of all kinds.
    fn sets(bits: u16) -> Vec<Offsets> {
        let (min, max) = range(bits);
        let mut all = vec![Offsets::any(), some(&[min, max]), some(&[-1, 0, 1])];
        all.extend([min, -3, -1, 0, 1, 2, 5, max].map(|k| Strided::exact(k).into()));
        for (k, m) in [(0, 2), (1, 3), (2, 4), (0, 6)] {
            let bounds = [(i64::MIN, i64::MAX), (0, i64::MAX), (i64::MIN, 2), (-5, 6), (min, max), (0, max)];
            all.extend(bounds.map(|(lo, hi)| Strided::between(k, m, lo, hi).into()));
        }
        all
    }

    /// The number that the lowest bits are, with sign.
    fn signed(n: i128, bits: u16) -> i64 {
        let unused = 128 - u32::from(bits);
        (n << unused >> unused) as i64
    }

    #[test]
    fn arithmetic_covers_every_pair_of_numbers() {
        for bits in [1, 4, 5] {
            let unsigned = |n: i64| i128::from(n) & ((1 << bits) - 1);
            let compute = |op: BinOp, x: i64, y: i64| {
                let (wide_x, wide_y) = (i128::from(x), i128::from(y));
                Some(match op {
                    BinOp::Add => wide_x + wide_y,
                    BinOp::Sub => wide_x - wide_y,
                    BinOp::Mul => wide_x * wide_y,
                    BinOp::And => wide_x & wide_y,
                    BinOp::Or => wide_x | wide_y,
                    BinOp::Shl if unsigned(y) < i128::from(bits) => wide_x << unsigned(y),
                    BinOp::LShr if unsigned(y) < i128::from(bits) => unsigned(x) >> unsigned(y),
                    BinOp::AShr if unsigned(y) < i128::from(bits) => wide_x >> unsigned(y),
                    BinOp::UDiv if y != 0 => unsigned(x) / unsigned(y),
                    BinOp::URem if y != 0 => unsigned(x) % unsigned(y),
                    BinOp::SDiv if y != 0 => wide_x / wide_y,
                    _ => return None,
                })
            };
            let ops = [
                (BinOp::Add, Flags::NONE),
                (BinOp::Add, Flags::NSW),
                (BinOp::Add, Flags::NUW),
                (BinOp::Sub, Flags::NONE),
                (BinOp::Sub, Flags::NUW),
                (BinOp::Mul, Flags::NONE),
                (BinOp::Mul, Flags::NSW),
                (BinOp::Mul, Flags::NUW),
                (BinOp::And, Flags::NONE),
                (BinOp::Or, Flags::DISJOINT),
                (BinOp::Shl, Flags::NONE),
                (BinOp::LShr, Flags::NONE),
                (BinOp::AShr, Flags::NONE),
                (BinOp::UDiv, Flags::NONE),
                (BinOp::URem, Flags::NONE),
                (BinOp::SDiv, Flags::EXACT),
            ];
            for (a, b) in sets(bits).iter().flat_map(|a| sets(bits).into_iter().map(move |b| (a.clone(), b))) {
                for (op, flags) in ops {
                    let known = members(&binary(op, flags, bits, &a, &b), bits);
                    for (x, y) in pairs(&a, &b, bits) {
                        let Some(result) = compute(op, x, y) else { continue };
                        let broken = flags == Flags::NSW && i128::from(signed(result, bits)) != result
                            || flags == Flags::DISJOINT && x & y != 0
                            || flags == Flags::EXACT && i128::from(x) != result * i128::from(y);
                        let result = signed(result, bits);
                        assert!(
                            broken || known.contains(&result),
                            "{op:?} {flags:?} i{bits} {a:?} {b:?}: {x} {y} {result}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn conversions_and_intrinsics_cover_every_number() {
        for (bits, other) in [(1, 5), (4, 5), (5, 4)] {
            let unsigned = |n: i64| n & ((1 << bits) - 1);
            for a in sets(bits) {
                for x in members(&a, bits) {
                    let truncated = a.map(|interval| wrapped(interval, other));
                    assert!(members(&truncated, other).contains(&signed(x.into(), other)), "{a:?} {x}");
                    let extended = a.map(|interval| zero_extended(interval, bits));
                    assert!(members(&extended, 8).contains(&unsigned(x)), "{a:?} {x}");
                }
                for b in sets(bits) {
                    for (x, y) in pairs(&a, &b, bits) {
                        let by_size = |least: bool| if (unsigned(x) < unsigned(y)) == least { x } else { y };
                        let results = [
                            ("umin", by_size(true)),
                            ("umax", by_size(false)),
                            ("smin", x.min(y)),
                            ("smax", x.max(y)),
                            ("usub.sat", signed((unsigned(x) - unsigned(y)).max(0).into(), bits)),
                        ];
                        for (name, result) in results {
                            let known = intrinsic(&format!("llvm.{name}.i{bits}"), bits, &[a.clone(), b.clone()]);
                            assert!(members(&known, bits).contains(&result), "{name} {a:?} {b:?}: {x} {y} {result}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn hashes_may_be_any_index() {
        // `(k & 3) * 0x9E37_79B9 >> 28`, of 32 bits.
        let factor = Strided::exact(i64::from(0x9E37_79B9_u32 as i32)).into();
        let product = binary(BinOp::Mul, Flags::NONE, 32, &Strided::between(0, 1, 0, 3).into(), &factor);
        let index = binary(BinOp::LShr, Flags::NONE, 32, &product, &Strided::exact(28).into());
        assert_eq!(index, Strided::between(0, 1, 0, 15).into());
        // `200u8 >> 3`.
        let level = Strided::exact(i64::from(200u8 as i8)).into();
        let eighth = binary(BinOp::LShr, Flags::NONE, 8, &level, &Strided::exact(3).into());
        assert!(eighth.iter().any(|interval| interval.contains(Strided::exact(25))));
    }
}
