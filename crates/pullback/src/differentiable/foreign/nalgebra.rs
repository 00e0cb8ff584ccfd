//! Matrices, vectors and what is made of them. Views are not here: a function takes a reference to the matrix.

use crate::abi::{Field, Layout};
use crate::differentiable::made_of::made_of;
use crate::differentiable::owning::elements_address;
use crate::differentiable::reach::{Behind, Depth};
use crate::differentiable::{
    Arrangement, Differentiable, MakeZero, Mismatch, Path, Sharing, VisitConstants, VisitFloats, Writable, layout_fn,
};
use nalgebra::allocator::Allocator;
use nalgebra::{
    ArrayStorage, DefaultAllocator, Dim, DimName, DualQuaternion, Isometry, Matrix, OPoint, OVector, Quaternion,
    RawStorage, Rotation, SMatrix, SVector, Scalar, Scale, Translation, Unit, VecStorage, Vector4,
};
use std::mem::{offset_of, size_of};

made_of! {
    [T, R, C, S] Matrix<T, R, C, S>, "Matrix" { "": S, at offset_of!(Self, data), |matrix| &matrix.data; }
        // SAFETY: S37, storage with the dimensions of what it is the zero of.
        by |data| unsafe { Matrix::from_data_statically_unchecked(data) };

    [T, const R: usize, const C: usize] ArrayStorage<T, R, C>, "ArrayStorage"
        { "": [[T; R]; C], at offset_of!(Self, 0), |storage| &storage.0; }
        by |elements| ArrayStorage(elements);

    [T] Quaternion<T>, "Quaternion" { "coords": Vector4<T>, at offset_of!(Self, coords), |q| &q.coords; }
        by |coords| Quaternion { coords };

    [T] DualQuaternion<T>, "DualQuaternion" {
        "real": Quaternion<T>, at offset_of!(Self, real), |q| &q.real;
        "dual": Quaternion<T>, at offset_of!(Self, dual), |q| &q.dual;
    } by |real, dual| DualQuaternion { real, dual };

    [T: Scalar, D: DimName] OPoint<T, D>, "Point"
        { "coords": OVector<T, D>, at offset_of!(Self, coords), |point| &point.coords; }
        by |coords| OPoint { coords }, where [DefaultAllocator: Allocator<D>];

    [T, const D: usize] Translation<T, D>, "Translation"
        { "vector": SVector<T, D>, at offset_of!(Self, vector), |translation| &translation.vector; }
        by |vector| Translation { vector };

    [T, const D: usize] Scale<T, D>, "Scale"
        { "vector": SVector<T, D>, at offset_of!(Self, vector), |scale| &scale.vector; }
        by |vector| Scale { vector };

    [T, R, const D: usize] Isometry<T, R, D>, "Isometry" {
        "rotation": R, at offset_of!(Self, rotation), |isometry| &isometry.rotation;
        "translation": Translation<T, D>, at offset_of!(Self, translation), |isometry| &isometry.translation;
    } by |rotation, translation| Isometry { rotation, translation };

    // These are `repr(transparent)` and `repr(C)` with one field.
    [T] Unit<T>, "Unit" { "": T, at only_part::<Self, T>(), |unit| unit.as_ref(); }
        by |value| Unit::new_unchecked(value);

    [T: Scalar, const D: usize] Rotation<T, D>, "Rotation"
        { "": SMatrix<T, D, D>, at only_part::<Self, SMatrix<T, D, D>>(), |rotation| rotation.matrix(); }
        by |matrix| Rotation::from_matrix_unchecked(matrix);
}

/// Where the part lies that is all of a value.
const fn only_part<T, P>() -> usize {
    assert!(size_of::<T>() == size_of::<P>(), "this version of nalgebra has other fields there");
    0
}

/// Where the vector lies: the storage is `repr(C)`, a vector and then its dimensions.
const fn vector_and_dimensions<T, R: Dim, C: Dim>() -> usize {
    let others = size_of::<VecStorage<T, R, C>>() - size_of::<Vec<T>>();
    assert!(others == size_of::<R>() + size_of::<C>(), "this version of nalgebra has other fields there");
    0
}

// SAFETY: S36, a vector, and dimensions after it. Both are compared.
unsafe impl<T: Differentiable, R: Dim, C: Dim> Differentiable for VecStorage<T, R, C>
where
    Self: RawStorage<T, R, C>,
{
    type Within<D: Depth> = Behind<T, D>;

    const LAYOUT: Layout = Layout::new::<Self>(
        "VecStorage",
        const {
            &[
                Field::nested(vector_and_dimensions::<T, R, C>(), 1, layout_fn::<Vec<T>>()),
                Field::inactive(size_of::<Vec<T>>(), size_of::<Self>() - size_of::<Vec<T>>()),
            ]
        },
    );
    const CHECKED: bool = true;
    const PLAIN: bool = false;
    const VARIANTS: bool = false;
    const CELLS: bool = false;
    const CONSTANTS: bool = <Vec<T>>::CONSTANTS;
    const INERT: bool = false;

    fn check_shadow(&self, shadow: &Self, path: &Path<'_>) -> Result<(), Mismatch> {
        let ((rows, columns), (shadow_rows, shadow_columns)) = (self.shape(), shadow.shape());
        path.field("nrows()").same_number(rows.value(), shadow_rows.value())?;
        path.field("ncols()").same_number(columns.value(), shadow_columns.value())?;
        self.as_vec().check_shadow(shadow.as_vec(), path)
    }

    unsafe fn floats<V: VisitFloats>(&self, shadow: *mut Self, visit: &mut V) {
        let (rows, columns) = self.shape();
        visit.arranged(|| Arrangement::in_order(&[rows.value(), columns.value()]));
        // SAFETY: S36, asked of the caller; the vector lies at the beginning.
        unsafe { self.as_vec().floats(shadow.cast(), visit) }
    }

    unsafe fn constants<V: VisitConstants>(&self, shadow: *mut Self, visit: &mut V) {
        let vector = shadow.cast::<Vec<T>>();
        // SAFETY: S36, asked of the caller; the vector lies at the beginning.
        unsafe {
            // Without elements it would not fit the dimensions beside it, which are believed.
            assert!(
                self.as_vec().is_empty() || !elements_address(vector.cast_const()).is_null(),
                "a matrix that a function without derivative has made is part of a result or an argument, and has no \
                 tangent\nhelp: copy its elements to a matrix of your own"
            );
            self.as_vec().constants(vector, visit)
        }
    }
}

// SAFETY: S37, a vector of its own.
unsafe impl<T: MakeZero, R: Dim, C: Dim> MakeZero for VecStorage<T, R, C>
where
    Self: RawStorage<T, R, C>,
{
    fn zero_like(&self, sharing: &mut Sharing) -> Self {
        let (rows, columns) = self.shape();
        VecStorage::new(rows, columns, self.as_vec().zero_like(sharing))
    }
}

// SAFETY: S38, as the elements.
unsafe impl<T: Writable, R: Dim, C: Dim> Writable for VecStorage<T, R, C> where Self: RawStorage<T, R, C> {}
