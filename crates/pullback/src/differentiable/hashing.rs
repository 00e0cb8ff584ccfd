//! Maps whose keys are addresses and small numbers.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

/// A map by keys that are not chosen by whoever gives the program its data.
pub(crate) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Fold>>;
/// A set of such keys.
pub(crate) type Set<K> = HashSet<K, BuildHasherDefault<Fold>>;

/// Multiplies the words of a key. Both halves of the product are used, so that the low bits of a hash depend on all
/// bits of an address.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Fold(u64);

impl Hasher for Fold {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let mixed = self.0.rotate_left(23) ^ word ^ 0x9E37_79B9_7F4A_7C15;
        let product = u128::from(mixed) * 0xD6E8_FEB8_6659_FD93;
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    #[inline]
    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}
