//! A few strided intervals together: the byte offsets at which a pointer may be.
//!
//! A pointer to one of two fields is at 8 or at 16, not at any multiple of 8; so up to `MOST` strided intervals are
//! kept apart before they are joined into one.

use crate::analysis::points_to::strided::{Strided, gcd};
use std::collections::BTreeSet;

/// The union of some strided intervals, none of which is part of another.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Offsets(Vec<Strided>);

/// How much an analysis that does not settle may still tell apart.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Coarseness {
    /// Everything.
    #[default]
    Fine,
    /// Strides, but no bounds.
    Unbounded,
    /// Nothing.
    Nothing,
    /// Nothing is told apart, nor what has settled.
    Everything,
}

/// How many strided intervals are kept apart.
const MOST: usize = 6;

/// The same or more, in few strided intervals: two fields of every element of an array stay two fields of every
/// element, where the elements are as far apart as two of these offsets.
fn collapsed(mut all: Vec<Strided>) -> Vec<Strided> {
    // The strided ones first: their bounds go to infinity if they have to move, so that this ends.
    all.sort_by_key(|r| r.m == 0);
    let join = |all: &[Strided]| {
        let joined = all.iter().copied().reduce(Strided::join).expect("more than none");
        all.iter().filter(|r| r.m != 0).fold(joined, |all, r| r.join(all))
    };
    let one = join(&all);
    let strides = all.iter().fold(0, |m, r| gcd(m, r.m));
    let apart = all.iter().flat_map(|a| all.iter().map(|b| gcd(strides, a.k.abs_diff(b.k))));
    // Fewer of all numbers are in the union of the classes than in one interval.
    let fields = |m: u64| all.iter().map(|r| r.k.rem_euclid(m as i64)).collect::<BTreeSet<i64>>();
    let strides = apart.filter(|m| (1..=i64::MAX as u64).contains(m)).collect::<BTreeSet<u64>>();
    let classes = strides.into_iter().map(|m| (m, fields(m)));
    let better = classes.filter(|(m, fields)| fields.len() <= MOST / 2 && fields.len() as u64 * one.m < *m);
    match better.max_by_key(|(m, fields)| m / fields.len() as u64) {
        Some((m, fields)) => {
            let of_field = |field: i64| all.iter().copied().filter(move |r| r.k.rem_euclid(m as i64) == field);
            fields.into_iter().map(|field| join(&of_field(field).collect::<Vec<_>>())).collect()
        }
        None => vec![one],
    }
}

impl From<Strided> for Offsets {
    fn from(interval: Strided) -> Self {
        Offsets(vec![interval])
    }
}

impl Offsets {
    /// Just zero.
    pub fn zero() -> Offsets {
        Strided::ZERO.into()
    }

    /// Every offset.
    pub fn any() -> Offsets {
        Strided::ANY.into()
    }

    /// The strided intervals.
    pub fn iter(&self) -> impl Iterator<Item = Strided> + '_ {
        self.0.iter().copied()
    }

    fn from_all(all: impl IntoIterator<Item = Strided>) -> Offsets {
        let mut kept: Vec<Strided> = Vec::new();
        for interval in all {
            if kept.iter().any(|k| k.contains(interval)) {
                continue;
            }
            kept.retain(|k| !interval.contains(*k));
            kept.push(interval);
        }
        if kept.len() > MOST {
            kept = collapsed(kept);
        }
        kept.sort_by_key(|r| (r.k, r.m));
        Offsets(kept)
    }

    /// The same or more, in a form that joins settle on soon: one interval without bounds, or everything.
    fn coarsened(self, how: Coarseness) -> Offsets {
        match how {
            Coarseness::Fine => self,
            Coarseness::Unbounded => {
                let joined = self.0.iter().copied().reduce(Strided::join).unwrap_or(Strided::ANY);
                if joined.m == 0 { self } else { Strided::unbounded(joined.k, joined.m).into() }
            }
            Coarseness::Nothing | Coarseness::Everything => Offsets::any(),
        }
    }

    /// Both; in a coarser form where that is more than this.
    pub fn grown(&self, other: &Offsets, how: Coarseness) -> Offsets {
        let joined = self.join(other);
        if joined == *self && how != Coarseness::Everything { joined } else { joined.coarsened(how) }
    }

    /// Both.
    pub fn join(&self, other: &Offsets) -> Offsets {
        Offsets::from_all(self.iter().chain(other.iter()))
    }

    /// A function of each interval.
    pub fn map(&self, f: impl Fn(Strided) -> Strided) -> Offsets {
        Offsets::from_all(self.iter().map(f))
    }

    /// A function of each pair of strided intervals.
    pub fn combine(&self, other: &Offsets, f: impl Fn(Strided, Strided) -> Strided) -> Offsets {
        Offsets::from_all(self.iter().flat_map(|a| other.iter().map(move |b| (a, b))).map(|(a, b)| f(a, b)))
    }

    /// Sums.
    pub fn plus(&self, other: &Offsets) -> Offsets {
        self.combine(other, Strided::plus)
    }

    /// The least and the greatest one, if there are such.
    pub fn ends(&self) -> Option<(i64, i64)> {
        let ends = |r: Strided| if r.m == 0 { (r.k, r.k) } else { (r.lo, r.hi) };
        let all = self.iter().map(ends).reduce(|(a, b), (lo, hi)| (a.min(lo), b.max(hi)))?;
        (all.0 != i64::MIN && all.1 != i64::MAX).then_some(all)
    }

    /// Those between `lo` and `hi`, all of them if there are none; a few are told apart.
    pub fn within(&self, lo: i64, hi: i64) -> Offsets {
        let inside: Vec<Strided> = self.iter().filter_map(|r| r.clipped(lo, hi)).collect();
        if inside.is_empty() {
            return self.clone();
        }
        Offsets::from_all(inside.into_iter().flat_map(|r| match r.members(MOST) {
            Some(members) if !members.is_empty() => members.into_iter().map(Strided::exact).collect(),
            _ => vec![r],
        }))
    }

    /// All but this one, as far as that can be said; all if there are no others.
    pub fn without(&self, number: i64) -> Offsets {
        let one_less = |r: Strided| match r {
            _ if r.m == 0 => (r.k != number).then_some(r),
            // It is at an end, or it is not known to be away.
            _ if r.lo == number => r.clipped(number.checked_add(1)?, i64::MAX),
            _ if r.hi == number => r.clipped(i64::MIN, number.checked_sub(1)?),
            _ => Some(r),
        };
        let others: Vec<Strided> = self.iter().filter_map(one_less).collect();
        if others.is_empty() { self.clone() } else { Offsets::from_all(others) }
    }

    /// Those that may be multiples of `align`.
    pub fn aligned(&self, align: u64) -> Offsets {
        self.map(|r| r.aligned(align))
    }

    /// Whether `width` bytes at one of these may share a byte with `other_width` bytes at one of `other`.
    pub fn overlaps(&self, width: u64, other: &Offsets, other_width: u64) -> bool {
        other.iter().any(|other| self.meet(width, other, other_width))
    }

    /// Whether `width` bytes at one of these may share a byte with `other_width` bytes at a member of `other`.
    pub fn meet(&self, width: u64, other: Strided, other_width: u64) -> bool {
        self.iter().any(|at| at.overlaps(width, other, other_width))
    }

    /// The one offset, if it is known.
    pub fn exact(&self) -> Option<i64> {
        match self.0[..] {
            [Strided { k, m: 0, .. }] => Some(k),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_fields_stay_apart_and_a_walk_becomes_a_stride() {
        let fields = Offsets::from(Strided::exact(8)).join(&Strided::exact(16).into());
        assert!(!fields.overlaps(8, &Offsets::zero(), 8));
        let mut walk = Offsets::zero();
        let step = Offsets::from(Strided::exact(8));
        for _ in 0..10 {
            walk = walk.join(&walk.plus(&step));
        }
        assert_eq!(walk, Strided::between(0, 8, 0, i64::MAX).into());
    }

    #[test]
    fn two_fields_of_every_element_stay_two_fields() {
        let mut fields = Offsets::from(Strided::exact(24)).join(&Strided::exact(32).into());
        for _ in 0..10 {
            fields = fields.join(&fields.plus(&Strided::exact(48).into()));
        }
        let every = |k: i64| Offsets::from(Strided::between(k, 48, k, i64::MAX));
        assert_eq!(fields, every(24).join(&every(32)));
        assert!(!fields.overlaps(8, &Strided::unbounded(8, 48).into(), 8));
    }

    #[test]
    fn numbers_are_told_from_their_neighbours() {
        let few = Offsets::any().within(0, 3);
        assert_eq!(few.without(3), Offsets::any().within(0, 2));
        assert_eq!(few.within(1, 9), Offsets::any().within(1, 3));
        assert_eq!(few.within(7, 9), few);
        assert_eq!(Offsets::from(Strided::exact(3)).without(3), Strided::exact(3).into());
        let many = Offsets::from(Strided::between(0, 8, 0, 80));
        assert_eq!(many.without(80), Strided::between(0, 8, 0, 72).into());
        assert_eq!(many.without(40), many);
    }
}
