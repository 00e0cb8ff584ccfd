//! Floats, and what holds values in place: arrays, tuples, ranges, cells, `Option`, `Result`.

use super::reach::{Depth, InCell, Nothing};
use super::{
    ActiveResult, Differentiable, MakeZero, Mismatch, Part, Path, SharedWritable, Sharing, VisitConstants, VisitFloats,
    Writable, corresponding, layout_fn,
};
use crate::abi::{Field, Layout};
use std::cell::Cell;
use std::mem::{offset_of, size_of};
use std::ops::Range;

macro_rules! floats {
    ($($T:ident)*) => {$(
        // SAFETY: S36, one float.
        unsafe impl Differentiable for $T {
            type Within<D: Depth> = Nothing;

            const LAYOUT: Layout = Layout::new::<$T>(stringify!($T), &[Field::$T(0)]);
            const CHECKED: bool = false;
            const PLAIN: bool = true;
            const VARIANTS: bool = false;
            const CELLS: bool = false;
            const CONSTANTS: bool = false;
            const INERT: bool = false;

            fn check_shadow(&self, _: &Self, _: &Path<'_>) -> Result<(), Mismatch> {
                Ok(())
            }

            #[inline(always)]
            unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
                // SAFETY: S36, asked of the caller.
                unsafe { visit.run(self, shadow, 1) }
            }

            #[inline(always)]
            unsafe fn floats_in_row<V: VisitFloats>(row: &[Self], shadow: *mut Self, visit: &mut V) {
                // SAFETY: S36, asked of the caller.
                unsafe { visit.run(row.as_ptr(), shadow, row.len()) }
            }
        }

        // SAFETY: S37, a float.
        unsafe impl MakeZero for $T {
            fn zero_like(&self, _: &mut Sharing) -> Self {
                0.0
            }
        }

        impl ActiveResult for $T {
            const ONE: Self = 1.0;
        }

        // SAFETY: S38, a float is written through `&mut`.
        unsafe impl Writable for $T {}
    )*};
}
floats!(f32 f64);

// SAFETY: S36, the elements lie one after the other, and their number is part of the type.
unsafe impl<T: Differentiable, const N: usize> Differentiable for [T; N] {
    type Within<D: Depth> = T::Within<D>;

    const LAYOUT: Layout = Layout::new::<Self>("array", const { &[Field::nested(0, N, layout_fn::<T>())] });
    const CHECKED: bool = T::CHECKED;
    const PLAIN: bool = T::PLAIN;
    const VARIANTS: bool = T::VARIANTS;
    const CELLS: bool = T::CELLS;
    const CONSTANTS: bool = T::CONSTANTS;
    const INERT: bool = T::INERT;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        self[..].check_shadow(&shadow[..], path)
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe { T::floats_in_row(self, shadow.cast(), visit) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        if T::CONSTANTS {
            for (index, value) in self.iter().enumerate() {
                // SAFETY: S36, asked of the caller.
                unsafe { value.constants(shadow.cast::<T>().add(index), visit) }
            }
        }
    }
}

// SAFETY: S37, as many such values.
unsafe impl<T: MakeZero, const N: usize> MakeZero for [T; N] {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        std::array::from_fn(|index| self[index].zero_like(sharing))
    }
}

// SAFETY: S38, as the elements.
unsafe impl<T: Writable, const N: usize> Writable for [T; N] {}
// SAFETY: S38, as the elements.
unsafe impl<T: SharedWritable, const N: usize> SharedWritable for [T; N] {}

// SAFETY: S36, the layout is that of an element, as the trait says; lengths are compared.
unsafe impl<T: Differentiable> Differentiable for [T] {
    type Within<D: Depth> = T::Within<D>;

    const LAYOUT: Layout = T::LAYOUT;
    const CHECKED: bool = true;
    const PLAIN: bool = T::PLAIN;
    const VARIANTS: bool = T::VARIANTS;
    const CELLS: bool = T::CELLS;
    const CONSTANTS: bool = T::CONSTANTS;
    const INERT: bool = T::INERT;

    const AT_A_GLANCE: bool = !T::CHECKED && !T::CELLS;

    #[inline(always)]
    fn fits_at_a_glance(&self, shadow: &Self) -> bool {
        self.len() == shadow.len()
    }

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        path.same_length(self.len(), shadow.len())?;
        path.in_row(self, shadow, |path| {
            if T::CHECKED {
                for (index, (primal, shadow)) in self.iter().zip(shadow).enumerate() {
                    primal.check_shadow(shadow, &path.index(index))?;
                }
            }
            Ok(())
        })
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe { T::floats_in_row(self, shadow.cast(), visit) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        if T::CONSTANTS {
            for (index, value) in self.iter().enumerate() {
                // SAFETY: S36, asked of the caller.
                unsafe { value.constants(shadow.cast::<T>().add(index), visit) }
            }
        }
    }
}

// SAFETY: S38, as the elements.
unsafe impl<T: Writable> Writable for [T] {}
// SAFETY: S38, as the elements.
unsafe impl<T: SharedWritable> SharedWritable for [T] {}

/// What several types hold and refer to, two by two.
macro_rules! within {
    () => {
        Nothing
    };
    ($first:ident $($T:ident)*) => {
        ($first::Within<Depths>, within!($($T)*))
    };
}

macro_rules! tuples {
    ($($first:ident $first_index:tt $(, $T:ident $index:tt)*;)*) => {$(
        // SAFETY: S36, the fields lie at their offsets.
        unsafe impl<$first: Differentiable $(, $T: Differentiable)*> Differentiable for ($first, $($T,)*) {
            type Within<Depths: Depth> = within!($first $($T)*);

            const LAYOUT: Layout = Layout::new::<Self>("tuple", const { &[
                Field::nested(offset_of!(Self, $first_index), 1, layout_fn::<$first>()),
                $(Field::nested(offset_of!(Self, $index), 1, layout_fn::<$T>()),)*
            ] });
            const CHECKED: bool = $first::CHECKED $(|| $T::CHECKED)*;
            const PLAIN: bool = $first::PLAIN $(&& $T::PLAIN)*;
            const VARIANTS: bool = $first::VARIANTS $(|| $T::VARIANTS)*;
            const CELLS: bool = $first::CELLS $(|| $T::CELLS)*;
            const CONSTANTS: bool = $first::CONSTANTS $(|| $T::CONSTANTS)*;
            const INERT: bool = $first::INERT $(&& $T::INERT)*;

            fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
                self.$first_index.check_shadow(&shadow.$first_index, &path.field(stringify!($first_index)))?;
                $(self.$index.check_shadow(&shadow.$index, &path.field(stringify!($index)))?;)*
                Ok(())
            }

            #[inline]
            unsafe fn floats<Visitor: VisitFloats>(&self, shadow: *mut Self, visit: &mut Visitor) {
                // SAFETY: S36, asked of the caller.
                unsafe {
                    self.$first_index.floats(corresponding(self, &self.$first_index, shadow), visit);
                    $(self.$index.floats(corresponding(self, &self.$index, shadow), visit);)*
                }
            }

            #[inline]
            unsafe fn constants<Visitor: VisitConstants>(&self, shadow: *mut Self, visit: &mut Visitor) {
                // SAFETY: S36, asked of the caller.
                unsafe {
                    self.$first_index.constants(corresponding(self, &self.$first_index, shadow), visit);
                    $(self.$index.constants(corresponding(self, &self.$index, shadow), visit);)*
                }
            }
        }

        // SAFETY: S37, such values.
        unsafe impl<$first: MakeZero $(, $T: MakeZero)*> MakeZero for ($first, $($T,)*) {
            fn zero_like(&self, sharing: &mut Sharing) -> Self {
                (self.$first_index.zero_like(sharing), $(self.$index.zero_like(sharing),)*)
            }
        }

        // SAFETY: S38, as the fields.
        unsafe impl<$first: Writable $(, $T: Writable)*> Writable for ($first, $($T,)*) {}
        // SAFETY: S38, as the fields.
        unsafe impl<$first: SharedWritable $(, $T: SharedWritable)*> SharedWritable for ($first, $($T,)*) {}
    )*};
}
tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10;
    A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11;
}

// SAFETY: S36, the fields lie at their offsets.
unsafe impl<T: Differentiable> Differentiable for Range<T> {
    type Within<D: Depth> = T::Within<D>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "Range",
        const {
            &[
                Field::nested(offset_of!(Self, start), 1, layout_fn::<T>()),
                Field::nested(offset_of!(Self, end), 1, layout_fn::<T>()),
            ]
        },
    );
    const CHECKED: bool = T::CHECKED;
    const PLAIN: bool = T::PLAIN;
    const VARIANTS: bool = T::VARIANTS;
    const CELLS: bool = T::CELLS;
    const CONSTANTS: bool = T::CONSTANTS;
    const INERT: bool = T::INERT;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        self.start.check_shadow(&shadow.start, &path.field("start"))?;
        self.end.check_shadow(&shadow.end, &path.field("end"))
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            self.start.floats(corresponding(self, &self.start, shadow), visit);
            self.end.floats(corresponding(self, &self.end, shadow), visit);
        }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller.
        unsafe {
            self.start.constants(corresponding(self, &self.start, shadow), visit);
            self.end.constants(corresponding(self, &self.end, shadow), visit);
        }
    }
}

// SAFETY: S37, two such values.
unsafe impl<T: MakeZero> MakeZero for Range<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        self.start.zero_like(sharing)..self.end.zero_like(sharing)
    }
}

// SAFETY: S38, as the fields.
unsafe impl<T: Writable> Writable for Range<T> {}

// SAFETY: S36, a cell is its content. There is nothing to check in a type that is `Copy` and owns what it reaches.
unsafe impl<T: MakeZero + Copy> Differentiable for Cell<T> {
    type Within<D: Depth> = InCell<T>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "Cell",
        const {
            if T::CONSTANTS {
                // Nobody looks into a cell of a tangent.
                &[
                    Field::cell(0, size_of::<Self>()),
                    Field::nested(0, 1, layout_fn::<T>()),
                    Field::unknown(0, 0).with_clone(false),
                ]
            } else {
                &[Field::cell(0, size_of::<Self>()), Field::nested(0, 1, layout_fn::<T>())]
            }
        },
    );
    const CHECKED: bool = T::CHECKED || T::CONSTANTS;
    const PLAIN: bool = T::PLAIN;
    const VARIANTS: bool = T::VARIANTS;
    const CELLS: bool = true;
    const CONSTANTS: bool = T::CONSTANTS;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        // SAFETY: S8, the check writes nothing, and nobody else can while it runs: a cell is not shared between
        // threads.
        let (primal, shadow) = unsafe { (&*self.as_ptr(), &*shadow.as_ptr()) };
        if T::CONSTANTS {
            path.cell_of_constants::<T>()?;
        }
        path.note_cell(primal, shadow);
        primal.check_shadow(shadow, &path.cell(T::VARIANTS)?)
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        // SAFETY: S36, asked of the caller; a visit writes nothing of `self`.
        unsafe { (*self.as_ptr()).floats(shadow.cast(), visit) }
    }
}

// SAFETY: S37, such a value in a cell of its own.
unsafe impl<T: MakeZero + Copy> MakeZero for Cell<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        Cell::new(self.get().zero_like(sharing))
    }
}

// SAFETY: S38, as the content.
unsafe impl<T: MakeZero + Copy + Writable> Writable for Cell<T> {}
// SAFETY: S38, a cell is written through `&`.
unsafe impl<T: MakeZero + Copy + Writable> SharedWritable for Cell<T> {}

// SAFETY: S36, an option of the size of its content keeps `None` in a niche, so the content lies at 0; else what lies
// where depends on the variant. Variants are compared.
unsafe impl<T: Differentiable> Differentiable for Option<T> {
    type Within<D: Depth> = T::Within<D>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "Option",
        const {
            if size_of::<Self>() == size_of::<T>() {
                &[Field::nested(0, 1, layout_fn::<T>()).optional()]
            } else {
                &[Field::opaque(0, size_of::<Self>()), Field::payload(1, layout_fn::<T>())]
            }
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = true;
    const CELLS: bool = T::CELLS;
    const CONSTANTS: bool = T::CONSTANTS;
    const INERT: bool = T::INERT;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        match (self, shadow) {
            (Some(primal), Some(part)) => {
                path.variant(shadow, &[Part::of(part)]);
                let path = path.field("Some");
                let path = if size_of::<Self>() == size_of::<T>() { path } else { path.hidden() };
                primal.check_shadow(part, &path)
            }
            (None, None) => {
                path.variant(shadow, &[]);
                Ok(())
            }
            (Some(_), None) => Err(path.different_variants("Some", "None")),
            (None, Some(_)) => Err(path.different_variants("None", "Some")),
        }
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        visit.variant(usize::from(self.is_some()));
        if let Some(value) = self {
            // SAFETY: S36, asked of the caller.
            unsafe { value.floats(corresponding(self, value, shadow), visit) }
        }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        // The layout says where the content of an option with a niche is.
        let hidden = size_of::<Self>() != size_of::<T>();
        let Some(value) = self else {
            if !hidden {
                // SAFETY: S36, asked of the caller; there is nothing in it.
                unsafe { visit.nothing(self, shadow) }
            }
            return;
        };
        if hidden {
            visit.enter_variant(1);
        }
        // SAFETY: S36, asked of the caller.
        unsafe { value.constants(corresponding(self, value, shadow), visit) }
        if hidden {
            visit.leave();
        }
    }
}

// SAFETY: S37, the same variant, of such a value.
unsafe impl<T: MakeZero> MakeZero for Option<T> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        self.as_ref().map(|value| value.zero_like(sharing))
    }
}

// SAFETY: S38, as the content.
unsafe impl<T: Writable> Writable for Option<T> {}
// SAFETY: S38, as the content.
unsafe impl<T: SharedWritable> SharedWritable for Option<T> {}

// SAFETY: S36, what lies where depends on the variant. Variants are compared.
unsafe impl<T: Differentiable, E: Differentiable> Differentiable for Result<T, E> {
    type Within<D: Depth> = (T::Within<D>, E::Within<D>);

    const LAYOUT: Layout = Layout::new::<Self>(
        "Result",
        const {
            &[
                Field::opaque(0, size_of::<Self>()),
                Field::payload(0, layout_fn::<T>()),
                Field::payload(1, layout_fn::<E>()),
            ]
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = true;
    const CELLS: bool = T::CELLS || E::CELLS;
    const CONSTANTS: bool = T::CONSTANTS || E::CONSTANTS;
    const INERT: bool = T::INERT && E::INERT;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        match (self, shadow) {
            (Ok(primal), Ok(part)) => {
                path.variant(shadow, &[Part::of(part)]);
                primal.check_shadow(part, &path.field("Ok").hidden())
            }
            (Err(primal), Err(part)) => {
                path.variant(shadow, &[Part::of(part)]);
                primal.check_shadow(part, &path.field("Err").hidden())
            }
            (Ok(_), Err(_)) => Err(path.different_variants("Ok", "Err")),
            (Err(_), Ok(_)) => Err(path.different_variants("Err", "Ok")),
        }
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        visit.variant(usize::from(self.is_err()));
        // SAFETY: S36, asked of the caller.
        unsafe {
            match self {
                Ok(value) => value.floats(corresponding(self, value, shadow), visit),
                Err(error) => error.floats(corresponding(self, error, shadow), visit),
            }
        }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        visit.enter_variant(usize::from(self.is_err()));
        // SAFETY: S36, asked of the caller.
        unsafe {
            match self {
                Ok(value) => value.constants(corresponding(self, value, shadow), visit),
                Err(error) => error.constants(corresponding(self, error, shadow), visit),
            }
        }
        visit.leave();
    }
}

// SAFETY: S37, the same variant, of such a value.
unsafe impl<T: MakeZero, E: MakeZero> MakeZero for Result<T, E> {
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        match self {
            Ok(value) => Ok(value.zero_like(sharing)),
            Err(error) => Err(error.zero_like(sharing)),
        }
    }
}

// SAFETY: S38, as the content.
unsafe impl<T: Writable, E: Writable> Writable for Result<T, E> {}
// SAFETY: S38, as the content.
unsafe impl<T: SharedWritable, E: SharedWritable> SharedWritable for Result<T, E> {}
