//! Where floats lie in shadows, by the way that leads to them.
//!
//! A *block* is memory that a pointer leads to, or the place of a shadow itself. Its path is the path of the block with that pointer, and where
//! in it the pointer lies. So a block has the same path before and after a function if it is reached in the same way, wherever it is.

use super::{Pointer, Run, Saved};
use std::collections::{BTreeMap, HashMap};

/// The number of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Path(usize);

/// The paths that were met.
pub(super) struct Paths {
    /// The places of shadows.
    roots: BTreeMap<usize, Path>,
    /// By the path of a block, and where in it there is a pointer.
    known: HashMap<(Path, usize), Path>,
}

/// Floats in a row, and the block they are in.
pub(super) struct Located<'a> {
    path: Path,
    /// Where in the block they begin.
    start: usize,
    run: &'a Run,
}

/// A cotangent, and where it goes from and to; to nowhere, if its value is gone.
pub(super) struct Move {
    from: *mut u8,
    to: Option<*mut u8>,
    value: Value,
}

#[derive(Clone, Copy)]
enum Value {
    Single(f32),
    Double(f64),
}

impl Paths {
    /// Of shadows at these addresses.
    pub(super) fn new(roots: impl Iterator<Item = usize>) -> Self {
        let roots = roots.enumerate().map(|(number, root)| (root, Path(number))).collect();
        Paths { roots, known: HashMap::new() }
    }

    /// The floats of shadows, with their paths; what is reached otherwise is left out.
    pub(super) fn of<'a>(&mut self, saved: &'a Saved) -> Vec<Located<'a>> {
        let mut blocks: BTreeMap<usize, (Path, bool)> =
            self.roots.iter().map(|(root, path)| (*root, (*path, false))).collect();
        for &Pointer { place, to, in_lent, to_nothing } in &saved.pointers {
            let Some((block, at)) = block_of(&blocks, place.addr()) else { continue };
            let new = Path(self.roots.len() + self.known.len());
            let path = *self.known.entry((block, at)).or_insert(new);
            // Who has taken what was in a vector has left the shadow's pointer as it was.
            if to_nothing || to.addr() <= LOWEST {
                continue;
            }
            // What was moved into the function may have got into what was lent, and is known by that then.
            let known = blocks.entry(to.addr()).or_insert((path, in_lent));
            if in_lent && !known.1 {
                *known = (path, true);
            }
        }
        let located = |run: &'a Run| {
            let (path, start) = block_of(&blocks, run.place.addr())?;
            Some(Located { path, start, run })
        };
        saved.floats.iter().filter_map(located).collect()
    }
}

/// Nothing lies below this address.
const LOWEST: usize = 4096;

/// The block in which an address is: the one that begins last before it, for blocks do not overlap.
fn block_of(blocks: &BTreeMap<usize, (Path, bool)>, address: usize) -> Option<(Path, usize)> {
    let (start, (path, _)) = blocks.range(..=address).next_back()?;
    Some((*path, address - start))
}

/// The cotangents that are not zero and do not lie where their values do. Of what was moved into the function there are none.
pub(super) fn moves(before: &[Located], after: &[Located]) -> Vec<Move> {
    let mut by_path: HashMap<Path, Vec<&Located>> = HashMap::new();
    for located in after {
        by_path.entry(located.path).or_default().push(located);
    }
    let mut moves = Vec::new();
    for old in before.iter().filter(|old| old.run.in_lent) {
        let now = by_path.get(&old.path).map_or(&[][..], |now| now);
        for from in (0..old.run.bytes.len()).step_by(old.run.size) {
            let value = old.run.value(from);
            if value.is_zero() {
                continue;
            }
            let at = old.start + from;
            let holds = |new: &&&Located| {
                new.run.size == old.run.size && (new.start..new.start + new.run.bytes.len()).contains(&at)
            };
            let place = old.run.place.wrapping_add(from);
            let to = now.iter().find(holds).map(|new| new.run.place.wrapping_add(at - new.start));
            if to != Some(place) {
                moves.push(Move { from: place, to, value });
            }
        }
    }
    moves
}

impl Run {
    /// The float that begins at a byte.
    fn value(&self, at: usize) -> Value {
        let bytes = &self.bytes[at..at + self.size];
        match self.size {
            4 => Value::Single(f32::from_ne_bytes(bytes.try_into().expect("it has four bytes"))),
            _ => Value::Double(f64::from_ne_bytes(bytes.try_into().expect("it has eight bytes"))),
        }
    }
}

impl Value {
    fn is_zero(self) -> bool {
        match self {
            Value::Single(value) => value == 0.0,
            Value::Double(value) => value == 0.0,
        }
    }
}

impl Move {
    /// Take the cotangent from where it was; what has been added to it since stays.
    ///
    /// # Safety
    /// The place may be read and written.
    pub(super) unsafe fn take(&self) {
        // SAFETY: S23, asked of the caller.
        unsafe {
            match self.value {
                Value::Single(value) => *self.from.cast::<f32>() -= value,
                Value::Double(value) => *self.from.cast::<f64>() -= value,
            }
        }
    }

    /// Add it where it belongs, if there is such a place.
    ///
    /// # Safety
    /// The place may be read and written.
    pub(super) unsafe fn put(&self) {
        let Some(to) = self.to else { return };
        // SAFETY: S23, asked of the caller.
        unsafe {
            match self.value {
                Value::Single(value) => *to.cast::<f32>() += value,
                Value::Double(value) => *to.cast::<f64>() += value,
            }
        }
    }

    /// The cotangent of what is gone: it stays where it was, but nothing comes of it.
    pub(super) fn kept(&self) -> Option<Run> {
        let (size, bytes): (_, Box<[u8]>) = match self.value {
            Value::Single(value) => (4, Box::new(value.to_ne_bytes())),
            Value::Double(value) => (8, Box::new(value.to_ne_bytes())),
        };
        self.to.is_none().then_some(Run { place: self.from, size, in_lent: true, bytes })
    }
}
