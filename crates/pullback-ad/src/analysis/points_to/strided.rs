//! Sets of byte offsets of the form `k mod m`: what is known of an offset or an index without running the program.

/// The integers `k + n·m` between `lo` and `hi`; just `k` when `m` is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Strided {
    /// One member modulo `m`, not negative and less than `m`; the member itself when `m` is zero.
    pub k: i64,
    /// The distance between members.
    pub m: u64,
    /// No member is less; `i64::MIN` if there is no bound.
    pub lo: i64,
    /// No member is greater; `i64::MAX` if there is no bound.
    pub hi: i64,
}

impl Strided {
    /// Every integer.
    pub const ANY: Strided = Strided { k: 0, m: 1, lo: i64::MIN, hi: i64::MAX };
    /// Zero.
    pub const ZERO: Strided = Strided { k: 0, m: 0, lo: 0, hi: 0 };

    /// Just `k`.
    pub fn exact(k: i64) -> Strided {
        Strided { k, m: 0, lo: k, hi: k }
    }

    /// `k + n·m`.
    pub fn unbounded(k: i64, m: u64) -> Strided {
        Strided::between(k, m, i64::MIN, i64::MAX)
    }

    /// `k + n·m` between `lo` and `hi`.
    pub fn between(k: i64, m: u64, lo: i64, hi: i64) -> Strided {
        match i64::try_from(m) {
            Ok(0) => Strided::exact(k),
            Ok(step) => {
                // Bounds are members themselves.
                let k = k.rem_euclid(step);
                let up = |n: i64| n.checked_add((k - n.rem_euclid(step)).rem_euclid(step)).unwrap_or(n);
                let down = |n: i64| n.checked_sub((n.rem_euclid(step) - k).rem_euclid(step)).unwrap_or(n);
                let lo = if lo == i64::MIN { lo } else { up(lo) };
                let hi = if hi == i64::MAX { hi } else { down(hi) };
                Strided { k, m, lo, hi }
            }
            Err(_) => Strided { k: 0, m: 1, lo, hi },
        }
    }

    /// The members between `lo` and `hi`; all of them if there are none.
    pub fn within(self, lo: i64, hi: i64) -> Strided {
        let (lo, hi) = (self.lo.max(lo), self.hi.min(hi));
        if self.m == 0 || lo > hi {
            return self;
        }
        let first = self.first_from(lo).unwrap_or(lo);
        if self.first_from(lo).is_some()
            && first.checked_add_unsigned(self.m).is_none_or(|next| next > hi)
            && first <= hi
        {
            return Strided::exact(first);
        }
        Strided::between(self.k, self.m, lo, hi)
    }

    /// The members between `lo` and `hi`, if there are any.
    pub fn clipped(self, lo: i64, hi: i64) -> Option<Strided> {
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
    pub fn join(self, other: Strided) -> Strided {
        let apart = self.k.abs_diff(other.k);
        let (mut lo, mut hi) = (self.lo.min(other.lo), self.hi.max(other.hi));
        if self.m != 0 {
            lo = if lo < self.lo { i64::MIN } else { lo };
            hi = if hi > self.hi { i64::MAX } else { hi };
        }
        Strided::between(self.k, gcd(gcd(self.m, other.m), apart), lo, hi)
    }

    /// Sums of members.
    pub fn plus(self, other: Strided) -> Strided {
        let (lo, hi) = (add(self.lo, other.lo, i64::MIN), add(self.hi, other.hi, i64::MAX));
        match self.k.checked_add(other.k) {
            Some(k) => Strided::between(k, gcd(self.m, other.m), lo, hi),
            None => Strided::ANY,
        }
    }

    /// Differences of members.
    pub fn minus(self, other: Strided) -> Strided {
        let negated = |bound: i64| match bound {
            i64::MIN => i64::MAX,
            i64::MAX => i64::MIN,
            _ => -bound,
        };
        let lo = add(self.lo, negated(other.hi), i64::MIN);
        let hi = add(self.hi, negated(other.lo), i64::MAX);
        match self.k.checked_sub(other.k) {
            Some(k) => Strided::between(k, gcd(self.m, other.m), lo, hi),
            None => Strided::ANY,
        }
    }

    /// Products of members.
    pub fn times(self, other: Strided) -> Strided {
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
            Some(Strided::between(k, gcd(cross, self.m.checked_mul(other.m)?), lo, hi))
        };
        product().unwrap_or(Strided::ANY)
    }

    /// Quotients of members by a positive number that divides them, or rounded down.
    pub fn over(self, divisor: i64) -> Strided {
        let bound = |n: i64| if n == i64::MIN || n == i64::MAX { n } else { n.div_euclid(divisor) };
        let whole = self.m.is_multiple_of(divisor.unsigned_abs()) && self.k % divisor == 0;
        match (self.m, whole) {
            (0, _) => Strided::exact(self.k.div_euclid(divisor)),
            (m, true) => Strided::between(self.k / divisor, m / divisor.unsigned_abs(), bound(self.lo), bound(self.hi)),
            (_, false) => Strided::between(0, 1, bound(self.lo), bound(self.hi)),
        }
    }

    /// The members that are multiples of `align`, a power of two; all of them if there are none.
    pub fn aligned(self, align: u64) -> Strided {
        if self.m == 0 || align <= 1 || align > 4096 {
            return self;
        }
        let period = self.m / gcd(self.m, align) * align;
        let members = (0..period / self.m).map(|n| self.k + (n * self.m) as i64);
        let found = members.into_iter().find(|k| k % align as i64 == 0);
        found.map_or(self, |k| Strided::between(k, period, self.lo, self.hi))
    }

    /// Whether every member of `other` is a member.
    pub fn contains(self, other: Strided) -> bool {
        let same = Strided::unbounded(self.k, gcd(gcd(self.m, other.m), self.k.abs_diff(other.k))).m == self.m;
        same && self.lo <= other.lo && other.hi <= self.hi
    }

    /// These offsets, one by one where they are few and the sum with `base` would forget which they are: a few elements
    /// of an array in each of many structures.
    pub fn apart_in(self, base: Strided) -> Vec<Strided> {
        const MOST: i64 = 32;
        let forgets = self.m > 0 && base.m > self.m;
        let span = self.hi.checked_sub(self.lo).filter(|_| self.lo != i64::MIN && self.hi != i64::MAX);
        match span {
            Some(span) if forgets && span / self.m as i64 <= MOST => {
                let first = self.lo + (self.k - self.lo).rem_euclid(self.m as i64);
                (first..=self.hi).step_by(self.m as usize).map(Strided::exact).collect()
            }
            _ => vec![self],
        }
    }

    /// Whether `width` bytes at a member may share a byte with `other_width` bytes at a member of `other`.
    pub fn overlaps(self, width: u64, other: Strided, other_width: u64) -> bool {
        if width == 0 || other_width == 0 {
            return false;
        }
        let last = |r: Strided, width: u64| i128::from(r.hi) + i128::from(width) - 1;
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
        let first = Strided::exact(0);
        assert_eq!(first.join(Strided::exact(24)), Strided::between(0, 24, 0, 24));
        assert_eq!(first.join(Strided::exact(24)).join(Strided::exact(48)), Strided::between(0, 24, 0, i64::MAX));
        assert_eq!(Strided::unbounded(8, 24).join(Strided::exact(16)), Strided::unbounded(0, 8));
        assert_eq!(Strided::exact(8).join(Strided::exact(8)), Strided::exact(8));
    }

    #[test]
    fn arithmetic_covers_every_pair_of_members() {
        let members = |r: Strided| (0..4).map(move |n| r.k + n * r.m as i64);
        let some =
            [Strided::exact(3), Strided::exact(-8), Strided::unbounded(8, 24), Strided::unbounded(0, 8), Strided::ANY];
        for a in some {
            for b in some {
                for x in members(a) {
                    for y in members(b) {
                        assert!(a.plus(b).contains(Strided::exact(x + y)));
                        assert!(a.minus(b).contains(Strided::exact(x - y)));
                        assert!(a.times(b).contains(Strided::exact(x * y)));
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
        assert_eq!(Strided::ANY.aligned(8), Strided::unbounded(0, 8));
        assert_eq!(Strided::unbounded(4, 12).aligned(8), Strided::unbounded(16, 24));
        assert_eq!(Strided::unbounded(1, 8).aligned(8), Strided::unbounded(1, 8));
        assert_eq!(Strided::exact(3).aligned(8), Strided::exact(3));
    }

    #[test]
    fn an_array_ends_where_the_next_field_starts() {
        let array = Strided::unbounded(0, 8).within(0, 23);
        assert!(!array.overlaps(8, Strided::exact(24), 8));
        assert!(array.overlaps(8, Strided::exact(16), 8));
        assert_eq!(array.members(6), Some(vec![0, 8, 16]));
        assert_eq!(Strided::unbounded(0, 8).within(5, 12), Strided::exact(8));
        assert_eq!(Strided::ANY.within(0, 2).times(Strided::exact(8)), Strided::between(0, 8, 0, 16));
    }

    #[test]
    fn what_is_clipped_away_is_told_from_what_is_left() {
        assert_eq!(Strided::unbounded(8, 16).clipped(0, 8), Some(Strided::exact(8)));
        assert_eq!(Strided::unbounded(8, 16).clipped(0, 7), None);
        assert_eq!(Strided::unbounded(0, 8).clipped(-4, 17), Some(Strided::between(0, 8, 0, 16)));
        assert_eq!(Strided::exact(8).clipped(0, 8), Some(Strided::exact(8)));
        assert_eq!(Strided::exact(8).clipped(9, 16), None);
        assert_eq!(Strided::between(0, 8, 0, 16).clipped(20, 40), None);
        assert_eq!(Strided::ANY.clipped(i64::MIN, i64::MAX), Some(Strided::ANY));
    }

    #[test]
    fn separate_fields_do_not_overlap() {
        assert!(!Strided::unbounded(0, 24).overlaps(8, Strided::unbounded(8, 24), 8));
        assert!(Strided::unbounded(0, 24).overlaps(16, Strided::unbounded(8, 24), 8));
        assert!(!Strided::exact(0).overlaps(4, Strided::exact(4), 4));
        assert!(Strided::exact(0).overlaps(8, Strided::exact(4), 4));
    }
}
