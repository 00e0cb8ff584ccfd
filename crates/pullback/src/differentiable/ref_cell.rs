//! `RefCell`: a cell that notes who has borrowed what it holds.
//!
//! What it holds may be a vector, and whoever has the cell may put another one there. If others have a cell with
//! pointers in it, by a reference or an owner of the same `Rc`, they must not run while a derivative does: the shadow's
//! pointers would stay. Of most derivatives the driver sees that no code of others runs; else there is a panic, before
//! anything is written ([`Congruence::is_lent`](super::Congruence::is_lent)).
//!
//! A derivative writes nothing of who has borrowed the content of a shadow: to others it is not borrowed. Before it
//! begins, nobody has borrowed that, and the primal's content at most to be read.

use super::path::Path;
use super::reach::{Depth, InCell};
use super::{
    Differentiable, MakeZero, Mismatch, SharedWritable, Sharing, VisitConstants, VisitFloats, Writable, layout_fn,
};
use crate::abi::{Field, Kind, Layout};
use std::cell::RefCell;
use std::mem::{align_of, size_of};

/// How many bytes say who has borrowed the content. They come first: the content comes last, since it may have no size
/// that is known.
const BORROWS: usize = size_of::<usize>();

/// Where the content lies.
const fn content_offset<T>() -> usize {
    let at = BORROWS.next_multiple_of(align_of::<T>());
    let align = if align_of::<T>() > BORROWS { align_of::<T>() } else { BORROWS };
    let size = (at + size_of::<T>()).next_multiple_of(align);
    assert!(size_of::<RefCell<T>>() == size, "this version of Rust has other fields in a `RefCell`");
    at
}

/// The content, which lies where the layout says.
fn content<T>(cell: &RefCell<T>) -> *mut T {
    let (content, at) = (cell.as_ptr(), const { content_offset::<T>() });
    assert!(
        content.addr() == (&raw const *cell).addr() + at,
        "this version of Rust has the fields of a `RefCell` in another order"
    );
    content
}

/// Whether a value of `layout` holds pointers itself, in some variant.
pub(crate) fn holds_pointers(layout: &Layout) -> bool {
    layout.fields.get().iter().any(|field| match (field.kind, field.layout) {
        (Kind::Pointer, _) => true,
        (Kind::Nested | Kind::Payload, Some(inner)) => holds_pointers(inner()),
        _ => false,
    })
}

// SAFETY: S36, who has borrowed it, and the content, where it is seen to be. The content is checked as one that may
// change its shape.
unsafe impl<T: MakeZero> Differentiable for RefCell<T> {
    type Within<D: Depth> = (InCell<T>, T::Within<D>);

    const LAYOUT: Layout = Layout::new::<Self>(
        "RefCell",
        const {
            &[
                Field::cell(0, size_of::<Self>()),
                Field::borrows(0, BORROWS),
                Field::nested(content_offset::<T>(), 1, layout_fn::<T>()),
            ]
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = T::VARIANTS;
    const CELLS: bool = true;
    const CONSTANTS: bool = true;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        let (primal, of_shadow) = (content(self), content(shadow));
        path.note_cell_at(primal.cast_const(), of_shadow.cast_const());
        if path.is_constant() && self.try_borrow().is_err() {
            // Nobody can look at it as long as that is so.
            return Ok(());
        }
        // One after the other: a value may be compared with itself.
        let is_borrowed = self.try_borrow().is_err();
        let is_shadow_borrowed = shadow.try_borrow_mut().is_err();
        path.unborrowed(is_borrowed, is_shadow_borrowed)?;
        if path.may_be_lent() {
            if holds_pointers(layout_fn::<T>()()) {
                path.lent();
            }
            path.cell_of_parts::<T>()?;
        }
        // SAFETY: S8, the check writes nothing, and nobody has borrowed the content mutably. A cell is not shared between
        // threads.
        unsafe { (*primal).check_shadow(&*of_shadow, &path.cell(T::VARIANTS)?) }
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        let at = const { content_offset::<T>() };
        // SAFETY: S36, asked of the caller; a visit writes nothing of `self`.
        unsafe { visit.in_cell(&*content(self), shadow.byte_add(at).cast::<T>()) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        let at = const { content_offset::<T>() };
        // SAFETY: S36, asked of the caller. Who has borrowed it is a number that comes first.
        unsafe {
            visit.part((&raw const *self).cast::<isize>(), shadow.cast::<isize>(), Some(|borrows| *borrows), false);
            (*content(self)).constants(shadow.byte_add(at).cast::<T>(), visit);
        }
    }
}

// SAFETY: S37, such a value in a cell of its own, which nobody has borrowed.
unsafe impl<T: MakeZero> MakeZero for RefCell<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        sharing.enter((&raw const *self).cast());
        let zero = match self.try_borrow() {
            Ok(content) => content.zero_like(sharing),
            Err(_) => panic!("no shadow can be made of a `RefCell` whose content is borrowed mutably"),
        };
        sharing.leave();
        RefCell::new(zero)
    }
}

// SAFETY: S38, as the content.
unsafe impl<T: MakeZero + Writable> Writable for RefCell<T> {}
// SAFETY: S38, a cell is written through `&`.
unsafe impl<T: MakeZero + Writable> SharedWritable for RefCell<T> {}

#[cfg(test)]
mod tests {
    use crate::abi::Kind;
    use crate::{Differentiable, layout_of, make_zero};
    use std::cell::RefCell;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::rc::Rc;

    #[derive(Differentiable)]
    #[repr(align(32))]
    struct Aligned(f64);

    #[test]
    fn the_content_of_a_cell_lies_behind_who_has_borrowed_it() {
        fn lies_there<T: crate::MakeZero>(value: T) {
            let cell = RefCell::new(value);
            let borrows = || {
                // SAFETY: S2, a word that is initialised.
                unsafe { (&raw const cell).cast::<isize>().read() }
            };
            let nested = layout_of::<RefCell<T>>().fields.get().iter().find(|field| field.kind == Kind::Nested);
            assert_eq!(cell.as_ptr().addr(), (&raw const cell).addr() + nested.unwrap().offset);
            assert_eq!(borrows(), 0);
            let _first = cell.borrow();
            let one = borrows();
            let _second = cell.borrow();
            assert!(one != 0 && borrows() != one);
        }
        lies_there(2.5);
        lies_there(2.5_f32);
        lies_there(vec![2.5]);
        lies_there(());
        lies_there((7_u8, Aligned(1.0)));
    }

    #[test]
    fn a_cell_has_a_zero_that_nobody_has_borrowed() {
        let cells = [Rc::new(RefCell::new(vec![2.5, 3.5])), Rc::default()];
        let borrowed = cells[0].borrow();
        let zeros = make_zero(&vec![cells[0].clone(), cells[1].clone(), cells[0].clone()]);
        assert_eq!(*zeros[0].borrow_mut(), [0.0, 0.0]);
        assert!(Rc::ptr_eq(&zeros[0], &zeros[2]) && zeros[1].borrow().is_empty());
        drop(borrowed);
        let borrowed = cells[0].borrow_mut();
        assert!(catch_unwind(AssertUnwindSafe(|| make_zero(&cells))).is_err());
        drop(borrowed);
    }

    /// What owns itself has no end.
    #[test]
    fn what_owns_itself_has_no_zero() {
        #[derive(Differentiable)]
        struct Node {
            x: f64,
            next: Option<Rc<RefCell<Node>>>,
        }
        let node = Rc::new(RefCell::new(Node { x: 1.0, next: None }));
        node.borrow_mut().next = Some(node.clone());
        let said = catch_unwind(AssertUnwindSafe(|| make_zero(&node))).err().unwrap();
        assert!(said.downcast::<&str>().unwrap().contains("owns itself"));
        let next = node.borrow_mut().next.take();
        assert_eq!(next.unwrap().borrow().x, 1.0);
    }
}
