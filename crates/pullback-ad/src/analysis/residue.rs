//! Sets of byte offsets of the form `k mod m`: what is known of an offset or an index without running the program.

/// The integers `k + n·m` for all `n`; just `k` when `m` is zero.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Residue {
    /// One member; the least non-negative one when `m` is not zero.
    pub k: i64,
    /// The distance between members.
    pub m: u64,
}

impl Residue {
    /// Every integer.
    pub const ANY: Residue = Residue { k: 0, m: 1 };
    /// Zero.
    pub const ZERO: Residue = Residue { k: 0, m: 0 };

    /// Just `k`.
    pub fn exact(k: i64) -> Residue {
        Residue { k, m: 0 }
    }

    /// `k + n·m`.
    pub fn strided(k: i64, m: u64) -> Residue {
        match i64::try_from(m) {
            Ok(0) => Residue { k, m: 0 },
            Ok(step) => Residue { k: k.rem_euclid(step), m },
            Err(_) => Residue::ANY,
        }
    }

    /// The smallest such set that holds both.
    pub fn join(self, other: Residue) -> Residue {
        let apart = self.k.abs_diff(other.k);
        Residue::strided(self.k, gcd(gcd(self.m, other.m), apart))
    }

    /// Sums of members.
    pub fn plus(self, other: Residue) -> Residue {
        match self.k.checked_add(other.k) {
            Some(k) => Residue::strided(k, gcd(self.m, other.m)),
            None => Residue::ANY,
        }
    }

    /// Differences of members.
    pub fn minus(self, other: Residue) -> Residue {
        match self.k.checked_sub(other.k) {
            Some(k) => Residue::strided(k, gcd(self.m, other.m)),
            None => Residue::ANY,
        }
    }

    /// Products of members.
    pub fn times(self, other: Residue) -> Residue {
        let product = || {
            let k = self.k.checked_mul(other.k)?;
            let cross = gcd(self.m.checked_mul(other.k.unsigned_abs())?, other.m.checked_mul(self.k.unsigned_abs())?);
            Some(Residue::strided(k, gcd(cross, self.m.checked_mul(other.m)?)))
        };
        product().unwrap_or(Residue::ANY)
    }

    /// The members that are multiples of `align`, a power of two; all of them if there are none.
    pub fn aligned(self, align: u64) -> Residue {
        if self.m == 0 || align <= 1 || align > 4096 {
            return self;
        }
        let period = self.m / gcd(self.m, align) * align;
        let members = (0..period / self.m).map(|n| self.k + (n * self.m) as i64);
        members.into_iter().find(|k| k % align as i64 == 0).map_or(self, |k| Residue::strided(k, period))
    }

    /// Whether every member of `other` is a member.
    pub fn contains(self, other: Residue) -> bool {
        self.join(other) == self
    }

    /// Whether `width` bytes at a member may share a byte with `other_width` bytes at a member of `other`.
    pub fn overlaps(self, width: u64, other: Residue, other_width: u64) -> bool {
        if width == 0 || other_width == 0 {
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
        assert_eq!(first.join(Residue::exact(24)), Residue::strided(0, 24));
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
    fn separate_fields_do_not_overlap() {
        assert!(!Residue::strided(0, 24).overlaps(8, Residue::strided(8, 24), 8));
        assert!(Residue::strided(0, 24).overlaps(16, Residue::strided(8, 24), 8));
        assert!(!Residue::exact(0).overlaps(4, Residue::exact(4), 4));
        assert!(Residue::exact(0).overlaps(8, Residue::exact(4), 4));
    }
}
