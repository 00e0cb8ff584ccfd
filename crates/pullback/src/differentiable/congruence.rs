//! Whether shared memory has the same names in the shadows as in the primals.
//!
//! Two references to one cell, or two clones of an `Rc`, are two names of one value. The engine follows each name with
//! a shadow of its own: what is written by one name and read by the other has a derivative only if both names lead to
//! one shadow, too. So the check of shadows notes each piece of memory that may have several names, with its shadow;
//! when all arguments are checked, the notes are compared, before anything is written:
//!
//! - the same primal memory has the same shadow, and the same shadow stands for the same primal memory;
//! - a shadow is not itself primal memory;
//! - what a `Const` argument reaches has no shadow by another argument.
//!
//! In forward mode the owners of `Rc`s are noted, too. A derivative that may drop owners without a shadow takes apart
//! no `Rc` that has such owners: the shadow's own further owners would not be gone.
//!
//! What is behind raw pointers has names that cannot be followed, and sizes that cannot be compared. Only a derivative
//! that is `unsafe` to call takes shadows with raw pointers: its caller answers for them.

use super::hashing::{Map, Set};
use std::cell::Cell;
use std::mem::ManuallyDrop;

/// What is noted. Nothing is, and nothing is done, for arguments without cells and counts: each derivative makes one of
/// these, so that it is one word.
#[derive(Default)]
pub struct Congruence {
    noted: ManuallyDrop<Cell<Option<Box<Noted>>>>,
    /// Whether the caller answers for what is behind raw pointers.
    answered: bool,
}

#[derive(Default)]
struct Noted {
    pieces: Vec<Piece>,
    owners: Vec<Owner>,
    met: Set<Met>,
    /// A cell with pointers that others may have.
    lent: Option<String>,
}

/// A counted value that a walk has been to.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Met {
    pub value: usize,
    pub shadow: usize,
    /// The number of the batch direction.
    pub direction: usize,
    /// What the walk knows of the way there: what is found behind it depends on that.
    pub way: [bool; 4],
}

/// An `Rc` that has a shadow, in forward mode. One is noted as often as the walk meets it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Owner {
    /// Where the value lies that it owns.
    pub value: usize,
    /// Where it lies itself.
    pub place: usize,
    /// Whether the derivative may end it, or find out that it is the only one.
    pub can_end: bool,
    pub argument: &'static str,
    /// How many owners and weak references the value has.
    pub counts: [usize; 2],
    /// The shared value that it is part of.
    pub within: Option<usize>,
}

/// Memory that may have several names.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub argument: &'static str,
    /// The number of the batch direction that the shadow is for.
    pub direction: usize,
    pub primal: usize,
    /// `None`: it is constant.
    pub shadow: Option<usize>,
    pub bytes: usize,
    /// Whether its owners are counted.
    pub is_counted: bool,
}

impl Piece {
    /// From the primal to the shadow.
    fn distance(&self) -> Option<usize> {
        self.shadow.map(|shadow| shadow.wrapping_sub(self.primal))
    }
}

/// Addresses, how many bytes there are, and the piece they belong to.
type Span<'a> = (usize, usize, &'a Piece);

impl Congruence {
    /// Of a derivative whose caller answers for what is behind raw pointers.
    ///
    /// # Safety
    /// The shadows have as much behind raw pointers as their primals, and that may be written.
    #[inline]
    pub unsafe fn answered() -> Self {
        Congruence { noted: ManuallyDrop::default(), answered: true }
    }

    /// Whether the caller answers for what is behind raw pointers.
    pub(super) const fn is_answered(&self) -> bool {
        self.answered
    }

    /// Note memory that may have several names.
    pub(super) fn note(&self, piece: Piece) {
        if piece.bytes > 0 {
            let mut noted = self.noted.take().unwrap_or_default();
            noted.pieces.push(piece);
            self.noted.set(Some(noted));
        }
    }

    /// Note an `Rc`.
    pub(super) fn note_owner(&self, owner: Owner) {
        let mut noted = self.noted.take().unwrap_or_default();
        noted.owners.push(owner);
        self.noted.set(Some(noted));
    }

    /// Note a cell with pointers that others may have, called like this.
    pub(super) fn note_lent(&self, name: impl FnOnce() -> String) {
        let mut noted = self.noted.take().unwrap_or_default();
        noted.lent.get_or_insert_with(name);
        self.noted.set(Some(noted));
    }

    /// Whether there is a cell with pointers that others may have: they must not change these while a derivative runs.
    #[inline]
    pub fn is_lent(&mut self) -> bool {
        self.noted.get_mut().as_ref().is_some_and(|noted| noted.lent.is_some())
    }

    /// Panic: others may change pointers in a cell that they have.
    #[track_caller]
    #[cold]
    #[inline(never)]
    pub fn refuse_lent_bookkeeping(&mut self) -> ! {
        let name = self.noted.get_mut().as_ref().and_then(|noted| noted.lent.as_deref()).unwrap_or_default();
        panic!(
            "`{name}` cannot be differentiated: it is behind a reference, or in an `Rc`, and holds pointers, which others \
             could change while the function runs: it calls a rule or a function without derivative, prints, or \
             writes to what it captures, to a `static`, or to a `Const` argument\n\
             help: let the function take it by value or by `&mut`, or borrow the content and pass that; or do without \
             such a call"
        )
    }

    /// Whether no walk has been to a counted value in this way.
    pub(super) fn meet(&self, met: Met) -> bool {
        let mut noted = self.noted.take().unwrap_or_default();
        let new = noted.met.insert(met);
        self.noted.set(Some(noted));
        new
    }

    /// Whether nothing was noted.
    #[inline]
    pub fn is_empty(&mut self) -> bool {
        self.noted.get_mut().is_none()
    }

    /// Panic if names and shadows do not correspond.
    #[track_caller]
    #[inline]
    pub fn assert_congruent(&mut self) {
        if !self.is_empty() {
            self.compare_bookkeeping();
        }
    }

    /// The comparison, in a function that a derivative of a derivative calls as it is.
    #[track_caller]
    #[inline(never)]
    fn compare_bookkeeping(&mut self) {
        if let Some(message) = self.noted.get_mut().as_ref().and_then(|noted| mismatch(&noted.pieces)) {
            panic!("{message}");
        }
    }

    /// Whether names and shadows correspond, and all owners of what was noted were noted, with no weak references. Of
    /// an `Arc` nobody knows.
    pub(crate) fn is_closed(&mut self) -> bool {
        let Some(noted) = self.noted.get_mut().as_mut() else { return true };
        let known: Set<usize> = noted.owners.iter().map(|owner| owner.value).collect();
        mismatch(&noted.pieces).is_none()
            && hidden_owner(&mut noted.owners).is_none()
            && noted.pieces.iter().all(|piece| !piece.is_counted || known.contains(&piece.primal))
    }

    /// Panic if a value that the derivative may take apart has owners without a shadow.
    #[track_caller]
    #[inline]
    pub fn assert_owned(&mut self) {
        if !self.is_empty() {
            self.compare_owners_bookkeeping();
        }
    }

    /// The comparison, in a function that a derivative of a derivative calls as it is.
    #[track_caller]
    #[inline(never)]
    fn compare_owners_bookkeeping(&mut self) {
        if let Some(message) = self.noted.get_mut().as_mut().and_then(|noted| hidden_owner(&mut noted.owners)) {
            panic!("{message}");
        }
    }
}

impl std::fmt::Debug for Congruence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Congruence").finish_non_exhaustive()
    }
}

impl Drop for Congruence {
    /// If nothing was noted, it is as if this were not there.
    #[inline]
    fn drop(&mut self) {
        if !self.is_empty() {
            self.finish_bookkeeping();
        }
    }
}

impl Congruence {
    /// All that is done when this is dropped, in one function that a derivative of a derivative calls as it is.
    #[inline(never)]
    fn finish_bookkeeping(&mut self) {
        // SAFETY: S5, this is dropped once.
        unsafe { ManuallyDrop::drop(&mut self.noted) };
    }
}

/// What others have to do with a counted value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Standing {
    /// Others own it, too, or it is lent: the derivative never has it to itself.
    Others,
    /// The arguments own it, but there are weak references.
    Weak,
}

impl Congruence {
    /// The counted values of shadows, by their addresses, that are not the arguments' alone.
    pub(super) fn standings(&self) -> Map<usize, Standing> {
        let Some(mut noted) = self.noted.take() else { return Map::default() };
        noted.owners.sort_unstable();
        let values = || noted.owners.chunk_by(|a, b| a.value == b.value);
        let mut standings: Map<usize, Standing> = Map::default();
        for owners in values() {
            let known = owners.chunk_by(|a, b| a.place == b.place).count();
            let Owner { value, counts: [strong, weak], .. } = owners[0];
            if strong != known || !owners.iter().all(|owner| owner.can_end) {
                standings.insert(value, Standing::Others);
            } else if weak > 0 {
                standings.insert(value, Standing::Weak);
            }
        }
        // What is part of something that others have, they have, too.
        loop {
            let before = standings.len();
            for owners in values() {
                let of =
                    |standing| owners.iter().any(|o| o.within.is_some_and(|w| standings.get(&w) == Some(&standing)));
                let found = [Standing::Others, Standing::Weak].into_iter().find(|standing| of(*standing));
                if let Some(standing) = found {
                    standings.entry(owners[0].value).or_insert(standing);
                }
            }
            if standings.len() == before {
                break;
            }
        }
        let noted_owners: Set<usize> = noted.owners.iter().map(|owner| owner.value).collect();
        let standing = |piece: &Piece| match standings.get(&piece.primal) {
            Some(standing) => Some((piece.shadow?, *standing)),
            // Of an `Arc` no owners are noted.
            None if !noted_owners.contains(&piece.primal) => Some((piece.shadow?, Standing::Others)),
            None => None,
        };
        let standings = noted.pieces.iter().filter(|piece| piece.is_counted).filter_map(standing).collect();
        self.noted.set(Some(noted));
        standings
    }
}

/// Whether a value that can be ended has an owner, or a weak reference, that was not noted.
fn hidden_owner(owners: &mut [Owner]) -> Option<String> {
    owners.sort_unstable();
    owners.chunk_by(|a, b| a.value == b.value).find_map(|owners| {
        let known = owners.chunk_by(|a, b| a.place == b.place).count();
        let Owner { argument, counts: [strong, weak], .. } = owners.iter().find(|owner| owner.can_end)?;
        (*strong != known || *weak != 0).then(|| {
            format!(
                "argument `{argument}` leads to an `Rc` with {strong} owners and {weak} weak references, of which \
                 {known} have a shadow, and the function may drop the others\n\
                 help: let the function borrow the `Rc`, or let nothing else own it when it is differentiated in \
                 forward mode"
            )
        })
    })
}

/// What does not correspond.
fn mismatch(pieces: &[Piece]) -> Option<String> {
    let mut primals: Vec<Span> = pieces.iter().map(|piece| (piece.primal, piece.bytes, piece)).collect();
    let mut shadows: Vec<Span> = pieces.iter().filter_map(|piece| Some((piece.shadow?, piece.bytes, piece))).collect();
    primals.sort_by_key(|span| span.0);
    shadows.sort_by_key(|span| span.0);
    let same = |a: &Piece, b: &Piece| a.direction != b.direction || a.distance() == b.distance();
    if let Some((a, b)) =
        overlapping(&primals, &primals, |a, b| !same(a, b) || a.shadow.is_none() != b.shadow.is_none())
    {
        let (a, b) = in_order(a, b);
        return Some(format!(
            "arguments `{a}` and `{b}` share memory that may be written, but their shadows do not: one is `Const`, or \
             the shadows are different ones\nhelp: what is one value in the arguments is one value in their shadows"
        ));
    }
    let differ = |a: &Piece, b: &Piece| a.direction != b.direction || a.distance() != b.distance();
    if let Some((a, b)) = overlapping(&shadows, &shadows, differ) {
        let (a, b) = in_order(a, b);
        return Some(format!(
            "the shadows of `{a}` and `{b}` share memory, but the arguments do not\n\
             help: what are two values in the arguments are two values in their shadows"
        ));
    }
    overlapping(&shadows, &primals, |_, _| true).map(|(a, b)| {
        let (a, b) = (a.argument, b.argument);
        format!("the shadow of `{a}` is memory of argument `{b}` itself\nhelp: `pullback::make_zero` makes a shadow")
    })
}

/// The arguments of two pieces, in the order in which they were noted.
fn in_order<'a>(a: &'a Piece, b: &'a Piece) -> (&'static str, &'static str) {
    let (first, second) = if std::ptr::from_ref(a) <= std::ptr::from_ref(b) { (a, b) } else { (b, a) };
    (first.argument, second.argument)
}

/// Two pieces with overlapping addresses, one of each list, for which `wrong` holds. The lists are sorted.
fn overlapping<'a>(
    a: &[Span<'a>],
    b: &[Span<'a>],
    wrong: impl Fn(&Piece, &Piece) -> bool,
) -> Option<(&'a Piece, &'a Piece)> {
    // Those of either list that may reach what comes next.
    let (mut open_a, mut open_b): (Vec<&Span>, Vec<&Span>) = (Vec::new(), Vec::new());
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let from_a = match (a.peek(), b.peek()) {
            (None, None) => return None,
            (Some(x), Some(y)) => x.0 <= y.0,
            (next, _) => next.is_some(),
        };
        let (next, open, others) =
            if from_a { (a.next()?, &mut open_a, &mut open_b) } else { (b.next()?, &mut open_b, &mut open_a) };
        others.retain(|other| other.0 + other.1 > next.0);
        if let Some(found) = others.iter().find(|other| wrong(other.2, next.2)) {
            return Some((found.2, next.2));
        }
        // One that is as the last, and ends no later, adds nothing.
        let is_new = open.last().is_none_or(|last| {
            last.0 + last.1 < next.0 + next.1
                || last.2.distance() != next.2.distance()
                || last.2.direction != next.2.direction
        });
        if is_new {
            open.push(next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(argument: &'static str, primal: usize, shadow: impl Into<Option<usize>>, bytes: usize) -> Piece {
        Piece { argument, direction: 0, primal, shadow: shadow.into(), bytes, is_counted: false }
    }

    #[test]
    fn one_value_has_one_shadow() {
        assert_eq!(mismatch(&[piece("a", 100, 500, 32), piece("b", 100, 500, 32)]), None);
        assert_eq!(mismatch(&[piece("a", 100, 500, 32), piece("b", 116, 516, 8), piece("c", 200, 600, 8)]), None);
        assert!(mismatch(&[piece("a", 100, 500, 32), piece("b", 100, 600, 32)]).unwrap().contains("`a` and `b` share"));
        assert!(mismatch(&[piece("a", 100, 500, 32), piece("b", 116, 500, 8)]).is_some());
        assert!(mismatch(&[piece("a", 100, 500, 32), piece("b", 300, 516, 8)]).unwrap().contains("the shadows of"));
    }

    #[test]
    fn a_shadow_is_not_a_primal() {
        assert!(mismatch(&[piece("a", 100, 100, 32)]).unwrap().contains("the shadow of `a` is memory of argument `a`"));
        assert!(mismatch(&[piece("a", 100, 308, 32), piece("b", 300, 700, 32)]).is_some());
        assert_eq!(mismatch(&[piece("a", 100, 132, 32)]), None);
    }

    #[test]
    fn constants_share_nothing_with_others() {
        assert!(mismatch(&[piece("a", 100, 500, 32), piece("b", 116, None, 8)]).is_some());
        assert!(mismatch(&[piece("a", 100, 500, 32), piece("b", 516, None, 8)]).is_some());
        assert_eq!(mismatch(&[piece("a", 100, None, 32), piece("b", 116, None, 8)]), None);
    }

    #[test]
    fn each_direction_has_shadows_of_its_own() {
        let second = Piece { direction: 1, ..piece("a", 100, 700, 32) };
        assert_eq!(mismatch(&[piece("a", 100, 500, 32), second]), None);
        let second = Piece { direction: 1, ..piece("a", 100, 500, 32) };
        assert!(mismatch(&[piece("a", 100, 500, 32), second]).is_some());
    }

    #[test]
    fn owners_are_known_by_their_places() {
        let owner = |value, place, strong| {
            let can_end = place < 100;
            Owner { value, place, can_end, argument: "a", counts: [strong, 0], within: None }
        };
        assert_eq!(hidden_owner(&mut [owner(500, 10, 1)]), None);
        assert_eq!(hidden_owner(&mut [owner(500, 10, 2), owner(600, 30, 1), owner(500, 20, 2)]), None);
        // One that is met twice, as by two directions, is one.
        assert!(
            hidden_owner(&mut [owner(500, 10, 2), owner(500, 10, 2)]).unwrap().contains("of which 1 have a shadow")
        );
        // Behind a reference it stays.
        assert_eq!(hidden_owner(&mut [owner(500, 110, 2)]), None);
        assert!(hidden_owner(&mut [owner(500, 110, 3), owner(500, 10, 3)]).is_some());
        assert!(hidden_owner(&mut [Owner { counts: [1, 1], ..owner(500, 10, 1) }]).is_some());
    }

    #[test]
    fn many_names_are_compared_in_little_time() {
        let start = std::time::Instant::now();
        // Miri is a thousand times slower.
        let names = if cfg!(miri) { 200 } else { 200_000 };
        let many: Vec<Piece> =
            (0..names).map(|i| piece("a", 1000 + i % 1000 * 8, (1 << 40) + i % 1000 * 8, 8)).collect();
        assert_eq!(mismatch(&many), None);
        assert!(start.elapsed().as_secs() < 5);
    }
}
