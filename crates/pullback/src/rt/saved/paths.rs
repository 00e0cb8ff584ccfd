//! Where floats lie in shadows of what was lent, by the way that leads to them.
//!
//! A *block* is memory that was lent, which stays where it is, or memory that it owns. The path of the latter is the
//! path of the block with the pointer to it, and where in that the pointer lies. So a block has the same path before
//! and after a function if it is owned by the same place, wherever it is. What had several owners is known by its
//! address, as long as one of them has it.

use super::{Kind, Pointer, Run, Saved};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Sub;

/// The number of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Path(usize);

/// The paths that were met.
pub(super) struct Paths {
    /// Memory that was lent.
    roots: BTreeMap<usize, Path>,
    /// By the path of a block, and where in it there is a pointer.
    known: HashMap<(Path, usize), Path>,
    /// Memory that had several owners before.
    counted: HashMap<usize, Path>,
    next: usize,
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
    /// Of what was lent, at these addresses.
    pub(super) fn new(roots: impl Iterator<Item = usize>) -> Self {
        let mut paths = Paths { roots: BTreeMap::new(), known: HashMap::new(), counted: HashMap::new(), next: 0 };
        for root in roots {
            let path = paths.fresh();
            paths.roots.insert(root, path);
        }
        paths
    }

    fn fresh(&mut self) -> Path {
        self.next += 1;
        Path(self.next)
    }

    /// The floats of shadows before the function, with their paths.
    pub(super) fn before<'a>(&mut self, saved: &'a Saved) -> Vec<Located<'a>> {
        self.of(saved, |paths, pointer, owned| match pointer.kind {
            Kind::Counted => *paths.counted.entry(pointer.to.addr()).or_insert(owned),
            _ => owned,
        })
    }

    /// The floats of shadows after the function, with their paths.
    pub(super) fn after<'a>(&mut self, saved: &'a Saved) -> Vec<Located<'a>> {
        let still = saved.pointers.iter().filter_map(|pointer| self.counted.get(&pointer.to.addr()));
        let still: HashSet<Path> = still.copied().collect();
        self.of(saved, |paths, pointer, owned| match paths.counted.get(&pointer.to.addr()) {
            Some(path) => *path,
            None if still.contains(&owned) => paths.fresh(),
            None => owned,
        })
    }

    /// The floats of shadows, with their paths, as `name` says of what a pointer leads to that is known by this path,
    /// if by its owner.
    fn of<'a>(&mut self, saved: &'a Saved, name: impl Fn(&mut Self, &Pointer, Path) -> Path) -> Vec<Located<'a>> {
        let mut blocks = self.roots.clone();
        for pointer in saved.pointers.iter().filter(|pointer| pointer.in_lent) {
            // Who has taken what was in a vector has left the shadow's pointer as it was.
            if matches!(pointer.kind, Kind::Reference | Kind::Empty) || pointer.to.addr() <= LOWEST {
                continue;
            }
            let Some(place) = block_of(&blocks, pointer.place.addr()) else { continue };
            let owned = match self.known.get(&place) {
                Some(path) => *path,
                None => {
                    let path = self.fresh();
                    self.known.insert(place, path);
                    path
                }
            };
            let path = name(self, pointer, owned);
            blocks.entry(pointer.to.addr()).or_insert(path);
        }
        let located = |run: &'a Run| {
            let (path, start) = block_of(&blocks, run.place.addr())?;
            Some(Located { path, start, run })
        };
        saved.floats.iter().filter(|run| run.in_lent).filter_map(located).collect()
    }
}

/// Nothing lies below this address.
const LOWEST: usize = 4096;

/// The block in which an address is: the one that begins last before it, for blocks do not overlap.
fn block_of(blocks: &BTreeMap<usize, Path>, address: usize) -> Option<(Path, usize)> {
    let (start, path) = blocks.range(..=address).next_back()?;
    Some((*path, address - start))
}

/// The cotangents that are not zero and do not lie where their values do. Of what was moved into the function there are
/// none.
pub(super) fn moves(before: &[Located], after: &[Located]) -> Vec<Move> {
    let mut by_path: HashMap<Path, Vec<&Located>> = HashMap::new();
    for located in after {
        by_path.entry(located.path).or_default().push(located);
    }
    let mut moves = Vec::new();
    for old in before {
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
    fn size(self) -> usize {
        match self {
            Value::Single(_) => size_of::<f32>(),
            Value::Double(_) => size_of::<f64>(),
        }
    }

    /// # Safety
    /// The place may be read.
    unsafe fn lies_at(self, place: *const u8) -> bool {
        // SAFETY: S23, asked of the caller.
        unsafe {
            match self {
                Value::Single(value) => place.cast::<f32>().read().to_bits() == value.to_bits(),
                Value::Double(value) => place.cast::<f64>().read().to_bits() == value.to_bits(),
            }
        }
    }

    fn is_zero(self) -> bool {
        match self {
            Value::Single(value) => value == 0.0,
            Value::Double(value) => value == 0.0,
        }
    }
}

/// What is left of a sum when a part of it is taken away: of infinity less infinity, nothing.
fn rest<F: Copy + Into<f64> + From<f32> + Sub<Output = F>>(sum: F, part: F) -> F {
    let rest = sum - part;
    if rest.into().is_nan() { F::from(0.0) } else { rest }
}

impl Move {
    /// Whether the function has written something else over the float, which the reverse sweep takes away again. Then
    /// the cotangent is no float now, and stays where it was. Panics if that is not where its value is.
    ///
    /// # Safety
    /// The place may be read.
    pub(super) unsafe fn is_restored(&self, pointers: &BTreeSet<usize>) -> bool {
        let (start, size) = (self.from.addr(), self.value.size());
        let mut near = pointers.range(start.saturating_sub(size_of::<*const ()>() - 1)..start + size);
        let is_pointer = near.next().is_some();
        assert!(
            !is_pointer || self.to.is_none(),
            "a cotangent is given of a float that the function exchanges for something else, and there is a pointer in \
             its place\n\
             help: give zero, and add what is left in the argument to the result of the function"
        );
        // SAFETY: S23, asked of the caller.
        is_pointer || self.to.is_none() && !unsafe { self.value.lies_at(self.from) }
    }

    /// Take the cotangent from where it was; what has been added to it since stays.
    ///
    /// # Safety
    /// The place may be read and written.
    pub(super) unsafe fn take(&self) {
        // SAFETY: S23, asked of the caller.
        unsafe {
            match self.value {
                Value::Single(value) => *self.from.cast::<f32>() = rest(*self.from.cast::<f32>(), value),
                Value::Double(value) => *self.from.cast::<f64>() = rest(*self.from.cast::<f64>(), value),
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
        self.to.is_none().then_some(Run { place: self.from, size, in_lent: true, in_moved_cell: false, bytes })
    }
}
