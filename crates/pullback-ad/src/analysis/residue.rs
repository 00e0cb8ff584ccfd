//! Sets of byte offsets of the form `k mod m`: what is known of an offset or an index without running the program.

/// The integers `k + n·m` between `lo` and `hi`; just `k` when `m` is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Residue {
    /// One member modulo `m`, not negative and less than `m`; the member itself when `m` is zero.
    pub k: i64,
    /// The distance between members.
    pub m: u64,
    /// No member is less; `i64::MIN` if there is no bound.
    pub lo: i64,
    /// No member is greater; `i64::MAX` if there is no bound.
    pub hi: i64,
}

impl Residue {
    /// Every integer.
    pub const ANY: Residue = Residue { k: 0, m: 1, lo: i64::MIN, hi: i64::MAX };
    /// Zero.
    pub const ZERO: Residue = Residue { k: 0, m: 0, lo: 0, hi: 0 };

    /// Just `k`.
    pub fn exact(k: i64) -> Residue {
        Residue { k, m: 0, lo: k, hi: k }
    }

    /// `k + n·m`.
    pub fn strided(k: i64, m: u64) -> Residue {
        Residue::between(k, m, i64::MIN, i64::MAX)
    }

    /// `k + n·m` between `lo` and `hi`.
    pub fn between(k: i64, m: u64, lo: i64, hi: i64) -> Residue {
        match i64::try_from(m) {
            Ok(0) => Residue::exact(k),
            Ok(step) => {
                // Bounds are members themselves.
                let k = k.rem_euclid(step);
                let up = |n: i64| n.checked_add((k - n.rem_euclid(step)).rem_euclid(step)).unwrap_or(n);
                let down = |n: i64| n.checked_sub((n.rem_euclid(step) - k).rem_euclid(step)).unwrap_or(n);
                let lo = if lo == i64::MIN { lo } else { up(lo) };
                let hi = if hi == i64::MAX { hi } else { down(hi) };
                Residue { k, m, lo, hi }
            }
            Err(_) => Residue { k: 0, m: 1, lo, hi },
        }
    }

    /// The members between `lo` and `hi`; all of them if there are none.
    pub fn within(self, lo: i64, hi: i64) -> Residue {
        let (lo, hi) = (self.lo.max(lo), self.hi.min(hi));
        if self.m == 0 || lo > hi {
            return self;
        }
        let first = self.first_from(lo).unwrap_or(lo);
        if self.first_from(lo).is_some()
            && first.checked_add_unsigned(self.m).is_none_or(|next| next > hi)
            && first <= hi
        {
            return Residue::exact(first);
        }
        Residue::between(self.k, self.m, lo, hi)
    }

    /// The members between `lo` and `hi`, if there are any.
    pub fn clipped(self, lo: i64, hi: i64) -> Option<Residue> {
        let (lo, hi) = (self.lo.max(lo), self.hi.min(hi));
        let first = if self.m == 0 { self.k } else { self.first_from(lo).unwrap_or(lo) };
        (lo <= first && first <= hi).then(|| self.within(lo, hi))
    }

    /// The least number of the right remainder that is not less than `from`.
    fn first_from(self, from: i64) -> Option<i64> {
        if from == i64::MIN {
            return None;
        }
        let step = i64::try_from(self.m).ok()?;
        from.checked_add((self.k - from.rem_euclid(step)).rem_euclid(step))
    }

    /// The only member, if there is only one.
    pub fn single(self) -> Option<i64> {
        (self.lo == self.hi).then_some(self.lo)
    }

    /// The members, if there are no more than `most`.
    pub fn members(self, most: usize) -> Option<Vec<i64>> {
        if self.m == 0 {
            return Some(vec![self.k]);
        }
        let mut members = Vec::new();
        let mut next = self.first_from(self.lo)?;
        while next <= self.hi {
            if members.len() == most {
                return None;
            }
            members.push(next);
            next = next.checked_add_unsigned(self.m)?;
        }
        Some(members)
    }

    /// A set of this kind that holds both. A bound that has to move moves to infinity, so that joining ends.
    pub fn join(self, other: Residue) -> Residue {
        let apart = self.k.abs_diff(other.k);
        let (mut lo, mut hi) = (self.lo.min(other.lo), self.hi.max(other.hi));
        if self.m != 0 {
            lo = if lo < self.lo { i64::MIN } else { lo };
            hi = if hi > self.hi { i64::MAX } else { hi };
        }
        Residue::between(self.k, gcd(gcd(self.m, other.m), apart), lo, hi)
    }

    /// Sums of members.
    pub fn plus(self, other: Residue) -> Residue {
        let (lo, hi) = (add(self.lo, other.lo, i64::MIN), add(self.hi, other.hi, i64::MAX));
        match self.k.checked_add(other.k) {
            Some(k) => Residue::between(k, gcd(self.m, other.m), lo, hi),
            None => Residue::ANY,
        }
    }

    /// Differences of members.
    pub fn minus(self, other: Residue) -> Residue {
        let negated = |bound: i64| {
            if bound == i64::MIN {
                i64::MAX
            } else if bound == i64::MAX {
                i64::MIN
            } else {
                -bound
            }
        };
        let lo = add(self.lo, negated(other.hi), i64::MIN);
        let hi = add(self.hi, negated(other.lo), i64::MAX);
        match self.k.checked_sub(other.k) {
            Some(k) => Residue::between(k, gcd(self.m, other.m), lo, hi),
            None => Residue::ANY,
        }
    }

    /// Products of members.
    pub fn times(self, other: Residue) -> Residue {
        let bounds = || {
            if [self.lo, other.lo].contains(&i64::MIN) || [self.hi, other.hi].contains(&i64::MAX) {
                // A bound of zero from below survives, which is all that indices have.
                return (self.lo >= 0 && other.lo >= 0).then_some((0, i64::MAX));
            }
            let products = [
                self.lo.checked_mul(other.lo)?,
                self.lo.checked_mul(other.hi)?,
                self.hi.checked_mul(other.lo)?,
                self.hi.checked_mul(other.hi)?,
            ];
            Some((*products.iter().min()?, *products.iter().max()?))
        };
        let product = || {
            let k = self.k.checked_mul(other.k)?;
            let cross = gcd(self.m.checked_mul(other.k.unsigned_abs())?, other.m.checked_mul(self.k.unsigned_abs())?);
            let (lo, hi) = bounds().unwrap_or((i64::MIN, i64::MAX));
            Some(Residue::between(k, gcd(cross, self.m.checked_mul(other.m)?), lo, hi))
        };
        product().unwrap_or(Residue::ANY)
    }

    /// Quotients of members by a positive number that divides them, or rounded down.
    pub fn over(self, divisor: i64) -> Residue {
        let bound = |n: i64| if n == i64::MIN || n == i64::MAX { n } else { n.div_euclid(divisor) };
        let whole = self.m.is_multiple_of(divisor.unsigned_abs()) && self.k % divisor == 0;
        match (self.m, whole) {
            (0, _) => Residue::exact(self.k.div_euclid(divisor)),
            (m, true) => Residue::between(self.k / divisor, m / divisor.unsigned_abs(), bound(self.lo), bound(self.hi)),
            (_, false) => Residue::between(0, 1, bound(self.lo), bound(self.hi)),
        }
    }

    /// The members that are multiples of `align`, a power of two; all of them if there are none.
    pub fn aligned(self, align: u64) -> Residue {
        if self.m == 0 || align <= 1 || align > 4096 {
            return self;
        }
        let period = self.m / gcd(self.m, align) * align;
        let members = (0..period / self.m).map(|n| self.k + (n * self.m) as i64);
        let found = members.into_iter().find(|k| k % align as i64 == 0);
        found.map_or(self, |k| Residue::between(k, period, self.lo, self.hi))
    }

    /// Whether every member of `other` is a member.
    pub fn contains(self, other: Residue) -> bool {
        let same = Residue::strided(self.k, gcd(gcd(self.m, other.m), self.k.abs_diff(other.k))).m == self.m;
        same && self.lo <= other.lo && other.hi <= self.hi
    }

    /// These offsets, one by one where they are few and the sum with `base` would forget which they are: a few elements of an array
    /// in each of many structures.
    pub fn apart_in(self, base: Residue) -> Vec<Residue> {
        const MOST: i64 = 32;
        let forgets = self.m > 0 && base.m > self.m;
        let span = self.hi.checked_sub(self.lo).filter(|_| self.lo != i64::MIN && self.hi != i64::MAX);
        match span {
            Some(span) if forgets && span / self.m as i64 <= MOST => {
                let first = self.lo + (self.k - self.lo).rem_euclid(self.m as i64);
                (first..=self.hi).step_by(self.m as usize).map(Residue::exact).collect()
            }
            _ => vec![self],
        }
    }

    /// Whether `width` bytes at a member may share a byte with `other_width` bytes at a member of `other`.
    pub fn overlaps(self, width: u64, other: Residue, other_width: u64) -> bool {
        if width == 0 || other_width == 0 {
            return false;
        }
        let last = |r: Residue, width: u64| i128::from(r.hi) + i128::from(width) - 1;
        if last(self, width) < i128::from(other.lo) || last(other, other_width) < i128::from(self.lo) {
            return false;
        }
        let step = gcd(self.m, other.m);
        let apart = i128::from(other.k) - i128::from(self.k);
        let (low, high) = (-(i128::from(other_width) - 1), i128::from(width) - 1);
        if step == 0 {
            return (low..=high).contains(&apart);
        }
        // Is there a number congruent to `apart` modulo `step` between `low` and `high`?
        low + (apart - low).rem_euclid(i128::from(step)) <= high
    }
}

/// The sum of two bounds; `infinite` stays what it is.
fn add(a: i64, b: i64, infinite: i64) -> i64 {
    if a == infinite || b == infinite { infinite } else { a.checked_add(b).unwrap_or(infinite) }
}

/// Greatest common divisor; zero is neutral.
pub fn gcd(mut a: u64, mut b: u64) -> u64 {
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_of_iterations_is_the_stride() {
        let first = Residue::exact(0);
        assert_eq!(first.join(Residue::exact(24)), Residue::between(0, 24, 0, 24));
        assert_eq!(first.join(Residue::exact(24)).join(Residue::exact(48)), Residue::between(0, 24, 0, i64::MAX));
        assert_eq!(Residue::strided(8, 24).join(Residue::exact(16)), Residue::strided(0, 8));
        assert_eq!(Residue::exact(8).join(Residue::exact(8)), Residue::exact(8));
    }

    #[test]
    fn arithmetic_covers_every_pair_of_members() {
        let members = |r: Residue| (0..4).map(move |n| r.k + n * r.m as i64);
        let some =
            [Residue::exact(3), Residue::exact(-8), Residue::strided(8, 24), Residue::strided(0, 8), Residue::ANY];
        for a in some {
            for b in some {
                for x in members(a) {
                    for y in members(b) {
                        assert!(a.plus(b).contains(Residue::exact(x + y)));
                        assert!(a.minus(b).contains(Residue::exact(x - y)));
                        assert!(a.times(b).contains(Residue::exact(x * y)));
                        for (wx, wy) in [(8, 8), (4, 8), (1, 4)] {
                            let meet = x < y + wy && y < x + wx;
                            assert!(!meet || a.overlaps(wx as u64, b, wy as u64), "{a:?} {b:?} {x} {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn alignment_narrows() {
        assert_eq!(Residue::ANY.aligned(8), Residue::strided(0, 8));
        assert_eq!(Residue::strided(4, 12).aligned(8), Residue::strided(16, 24));
        assert_eq!(Residue::strided(1, 8).aligned(8), Residue::strided(1, 8));
        assert_eq!(Residue::exact(3).aligned(8), Residue::exact(3));
    }

    #[test]
    fn an_array_ends_where_the_next_field_starts() {
        let array = Residue::strided(0, 8).within(0, 23);
        assert!(!array.overlaps(8, Residue::exact(24), 8));
        assert!(array.overlaps(8, Residue::exact(16), 8));
        assert_eq!(array.members(6), Some(vec![0, 8, 16]));
        assert_eq!(Residue::strided(0, 8).within(5, 12), Residue::exact(8));
        assert_eq!(Residue::ANY.within(0, 2).times(Residue::exact(8)), Residue::between(0, 8, 0, 16));
    }

    #[test]
    fn what_is_clipped_away_is_told_from_what_is_left() {
        assert_eq!(Residue::strided(8, 16).clipped(0, 8), Some(Residue::exact(8)));
        assert_eq!(Residue::strided(8, 16).clipped(0, 7), None);
        assert_eq!(Residue::strided(0, 8).clipped(-4, 17), Some(Residue::between(0, 8, 0, 16)));
        assert_eq!(Residue::exact(8).clipped(0, 8), Some(Residue::exact(8)));
        assert_eq!(Residue::exact(8).clipped(9, 16), None);
        assert_eq!(Residue::between(0, 8, 0, 16).clipped(20, 40), None);
        assert_eq!(Residue::ANY.clipped(i64::MIN, i64::MAX), Some(Residue::ANY));
    }

    #[test]
    fn separate_fields_do_not_overlap() {
        assert!(!Residue::strided(0, 24).overlaps(8, Residue::strided(8, 24), 8));
        assert!(Residue::strided(0, 24).overlaps(16, Residue::strided(8, 24), 8));
        assert!(!Residue::exact(0).overlaps(4, Residue::exact(4), 4));
        assert!(Residue::exact(0).overlaps(8, Residue::exact(4), 4));
    }
}
