//! Memory of C's heap, made and given back by the functions that are differentiated.

use pullback::{autodiff, grad, hessian, jvp, vjp};
use pullback_e2e::assert_all_close;
use std::ffi::{c_int, c_void};
use std::hint::black_box;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;

mod c {
    use std::ffi::{c_int, c_void};

    unsafe extern "C" {
        pub fn malloc(size: usize) -> *mut c_void;
        pub fn calloc(count: usize, size: usize) -> *mut c_void;
        pub fn realloc(place: *mut c_void, size: usize) -> *mut c_void;
        pub fn reallocarray(place: *mut c_void, count: usize, size: usize) -> *mut c_void;
        pub fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
        pub fn posix_memalign(place: *mut *mut c_void, align: usize, size: usize) -> c_int;
        pub fn free(place: *mut c_void);
    }
}

/// A vector as C programs write it.
struct Grown {
    start: *mut f64,
    len: usize,
    room: usize,
}

impl Grown {
    fn new() -> Self {
        Grown { start: null_mut(), len: 0, room: 0 }
    }

    fn push(&mut self, value: f64) {
        if self.len == self.room {
            self.room = if self.room == 0 { 1 } else { 2 * self.room };
            // SAFETY: the memory is C's, and there is so much of it.
            self.start = unsafe { c::realloc(self.start.cast(), 8 * self.room) }.cast();
            assert!(!self.start.is_null());
        }
        // SAFETY: there is room.
        unsafe { self.start.add(self.len).write(value) };
        self.len += 1;
    }

    fn all(&mut self) -> &mut [f64] {
        // SAFETY: so many were written.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl Drop for Grown {
    fn drop(&mut self) {
        // SAFETY: nobody else frees it.
        unsafe { c::free(self.start.cast()) }
    }
}

/// A list whose cells are allocated one by one.
#[repr(C)]
struct Cell {
    value: f64,
    next: *mut Cell,
}

pullback_e2e::differentiated! {
    fn malloc_and_free(x) {
        // SAFETY: the memory is there, and is written before it is read.
        unsafe {
            let y: *mut f64 = c::malloc(8 * x.len()).cast();
            for i in 0..x.len() {
                *y.add(i) = x[i] * x[i];
            }
            let sum = (0..x.len()).map(|i| *y.add(i) * x[i]).sum::<f64>();
            c::free(y.cast());
            sum
        }
    } at [0.7, 1.3, -0.4];

    fn one_float(x) {
        // SAFETY: as above.
        unsafe {
            let y: *mut f64 = c::malloc(8).cast();
            *y = x[0] * x[1];
            let value = *y * *y;
            c::free(y.cast());
            value
        }
    } at [0.7, 1.3];

    fn by_the_crate_libc(x) {
        // SAFETY: as above.
        unsafe {
            let y: *mut f64 = libc::malloc(8 * x.len()).cast();
            y.copy_from_nonoverlapping(x.as_ptr(), x.len());
            *y *= *y.add(1);
            let z: *mut f64 = libc::realloc(y.cast(), 16 * x.len()).cast();
            *z.add(x.len()) = *z * *z.add(1);
            let value = *z.add(x.len()) * *z;
            libc::free(z.cast());
            value
        }
    } at [0.7, 1.3];

    fn calloc_is_zero(x) {
        // SAFETY: as above; what is not written is zero.
        unsafe {
            let y: *mut f64 = c::calloc(x.len() + 1, 8).cast();
            for (i, x) in x.iter().enumerate() {
                *y.add(i % 2) += x * x;
            }
            let value = *y * *y.add(1) + *y.add(x.len()) * x[0];
            c::free(y.cast());
            value
        }
    } at [0.7, 1.3, -0.4];

    fn reused_memory_is_zeroed(x) {
        let mut sum = 0.0;
        for x in x {
            // SAFETY: as above.
            unsafe {
                let y: *mut f64 = c::malloc(64).cast();
                *y.add(3) = x * x;
                *y.add(5) = 2.0;
                sum += *y.add(3) * *y.add(5);
                c::free(y.cast());
            }
        }
        sum
    } at [0.7, 1.3, -0.4];

    fn vectors_that_grow(x) {
        let mut all = Grown::new();
        for i in 0..40 {
            all.push(x[i % x.len()] * i as f64);
            let last = all.all()[i / 2];
            all.all()[i] *= last + 1.0;
        }
        all.all().iter().map(|x| (x * 1e-3).sin()).sum::<f64>()
    } at [0.7, 1.3, -0.4];

    fn vectors_that_shrink(x) {
        let mut all = Grown::new();
        x.iter().for_each(|x| all.push(x * x));
        // SAFETY: as above.
        unsafe {
            all.start = c::reallocarray(all.start.cast(), 2, 8).cast();
            (all.len, all.room) = (2, 2);
        }
        all.push(3.0);
        all.all().iter().product::<f64>()
    } at [0.7, 1.3, -0.4];

    fn lists(x) {
        let mut first: *mut Cell = null_mut();
        // SAFETY: as above.
        unsafe {
            for x in x {
                let cell: *mut Cell = c::malloc(size_of::<Cell>()).cast();
                cell.write(Cell { value: x * x, next: first });
                first = cell;
            }
            let mut product = 1.0;
            while !first.is_null() {
                let next = (*first).next;
                product *= (*first).value + product;
                c::free(first.cast());
                first = next;
            }
            product
        }
    } at [0.7, 1.3, -0.4];

    fn alignments(x) {
        let mut wide: *mut c_void = null_mut();
        // SAFETY: as above.
        unsafe {
            assert_eq!(c::posix_memalign(&mut wide, 64, 64), 0);
            let (wide, page): (*mut f64, *mut f64) = (wide.cast(), c::aligned_alloc(4096, 4096).cast());
            assert!(wide.addr() % 64 == 0 && page.addr() % 4096 == 0);
            *wide.add(7) = x[0] * x[1];
            *page.add(511) = *wide.add(7) * x[0];
            let value = *page.add(511) + *wide.add(7);
            c::free(wide.cast());
            c::free(page.cast());
            value
        }
    } at [0.7, 1.3];

    fn where_there_is_no_memory(x) {
        let mut refused: *mut c_void = null_mut();
        // SAFETY: nothing is got.
        unsafe {
            // (That memory could be had may be taken for granted where nothing is done with it.)
            assert!(black_box(c::malloc(usize::MAX / 2)).is_null());
            assert!(black_box(c::calloc(usize::MAX, 8)).is_null());
            assert_eq!(c::posix_memalign(&mut refused, 24, 8), 22);
            assert_eq!(c::posix_memalign(&mut refused, 16, usize::MAX / 2), 12);
            assert!(refused.is_null());
            c::free(refused);
            // What is not moved stays.
            let y: *mut f64 = c::malloc(8).cast();
            *y = x[0] * x[0];
            let z: *mut f64 = c::realloc(y.cast(), usize::MAX / 2).cast();
            assert!(z.is_null());
            let place: *mut f64 = black_box(c::malloc(usize::MAX / 2 + x.len())).cast();
            if !place.is_null() {
                *place = x[0];
            }
            let value = *y * x[1] + if place.is_null() { x[1] } else { *place };
            c::free(place.cast());
            c::free(y.cast());
            value
        }
    } at [0.7, 1.3];

    fn vectors_that_could_not_be_had(x) {
        let mut all: Vec<f64> = Vec::new();
        let mut value = x[0] * x[0];
        for bytes in [1_usize << 60, 4 << 3] {
            if all.try_reserve_exact(bytes / 8 + x.len()).is_err() {
                value *= x[1];
            } else {
                all.extend(x.iter().map(|x| x * value));
            }
        }
        all.iter().sum::<f64>() + value
    } at [0.7, 1.3];

    fn the_systems_allocator(x) {
        use std::alloc::{GlobalAlloc, Layout, System};
        let layout = Layout::array::<f64>(x.len()).unwrap();
        // SAFETY: as above.
        unsafe {
            let y: *mut f64 = System.alloc(layout).cast();
            for i in 0..x.len() {
                *y.add(i) = x[i] * x[0];
            }
            let y: *mut f64 = System.realloc(y.cast(), layout, 16 * x.len()).cast();
            let value = *y.add(1) * *y;
            System.dealloc(y.cast(), Layout::array::<f64>(2 * x.len()).unwrap());
            value
        }
    } at [0.7, 1.3];

    fn numbers_beside(x) {
        // SAFETY: as above.
        unsafe {
            let order: *mut c_int = c::malloc(4 * x.len()).cast();
            for i in 0..x.len() {
                *order.add(i) = ((i + 1) % x.len()) as c_int;
            }
            let sum = (0..x.len()).map(|i| x[*order.add(i) as usize] * x[i]).sum::<f64>();
            c::free(order.cast());
            sum
        }
    } at [0.7, 1.3, -0.4];
}

#[test]
fn second_derivatives() {
    let f = |x: &[f64]| {
        let mut all = Grown::new();
        x.iter().for_each(|x| all.push(x * x * x));
        all.all().iter().product::<f64>()
    };
    let expected = [[6.0 * 0.5 * 8.0, 9.0 * 0.25 * 4.0], [9.0 * 0.25 * 4.0, 6.0 * 0.125 * 2.0]];
    for (row, expected) in hessian(f, &[0.5, 2.0][..]).iter().zip(expected) {
        assert_all_close(row, &expected, 1e-14);
    }
}

#[test]
fn floats_of_32_bits() {
    let f = |x: &[f32; 2]| {
        // SAFETY: as above.
        unsafe {
            let y: *mut f32 = c::calloc(2, 4).cast();
            *y.add(1) = x[0] * x[1];
            let z: *mut f32 = c::realloc(y.cast(), 64).cast();
            let value = *z.add(1) * x[0] + *z;
            c::free(z.cast());
            value
        }
    };
    assert_eq!(grad(f, &[3.0, 5.0]), [30.0, 9.0]);
    assert_eq!(jvp(f, &[3.0, 5.0], &[1.0, 10.0]), (45.0, 120.0));
}

#[test]
fn pullbacks_that_are_called_again() {
    let f = |x: &[f64; 2]| {
        let mut all = Grown::new();
        x.iter().for_each(|x| all.push(x * x));
        [all.all()[0] * x[1], all.all()[1]]
    };
    let (y, pullback) = vjp(f, &[2.0, 3.0]);
    assert_eq!(y, [12.0, 9.0]);
    assert_eq!((pullback([1.0, 0.0]), pullback([0.0, 1.0])), ([12.0, 4.0], [0.0, 6.0]));
}

/// A place that is grown by the function belongs to its caller.
#[autodiff(d_append, Reverse, Duplicated, Const, Duplicated, Active)]
#[autodiff(t_append, Forward, Dual, Const, Dual, Dual)]
unsafe fn append(place: *mut *mut f64, len: usize, x: &[f64]) -> f64 {
    // SAFETY: the caller has so many there.
    unsafe {
        *place = c::realloc((*place).cast(), 8 * (len + x.len())).cast();
        for (i, x) in x.iter().enumerate() {
            *(*place).add(len + i) = x * **place;
        }
        (0..len + x.len()).map(|i| *(*place).add(i) * *(*place).add(i)).sum()
    }
}

#[test]
fn memory_of_the_caller_moves() {
    // The function: a² + (x a)² + (y a)².
    let (a, x, y) = (3.0_f64, 2.0_f64, 0.5_f64);
    let expected = 2.0 * a * (1.0 + x * x + y * y);
    // SAFETY: memory of C's heap, which is freed once.
    unsafe {
        let new = |value: f64| {
            let place: *mut f64 = c::malloc(8).cast();
            place.write(value);
            place
        };
        let (mut place, mut tangent) = (new(a), new(1.0));
        let (value, derivative) = t_append(&mut place, &mut tangent, 1, &[x, y], &[0.0, 0.0]);
        assert_eq!((value, derivative), (a * a * (1.0 + x * x + y * y), expected));
        assert_eq!([*tangent.add(1), *tangent.add(2)], [x, y]);
        c::free(place.cast());
        c::free(tangent.cast());
    }
}

#[test]
fn what_is_held_is_given_back_after_a_panic() {
    let f = |x: &[f64; 2]| {
        let mut all = Grown::new();
        x.iter().for_each(|x| all.push(x * x));
        assert!(x[0] < 5.0, "too much");
        all.all()[0] * all.all()[1]
    };
    assert_eq!(grad(f, &[2.0, 3.0]), [36.0, 24.0]);
    let panics = |run: &dyn Fn()| assert!(catch_unwind(AssertUnwindSafe(run)).is_err());
    panics(&|| assert_eq!(grad(f, &[6.0, 3.0]), [0.0; 2]));
    panics(&|| assert_eq!(jvp(f, &[6.0, 3.0], &[1.0, 1.0]).0, 0.0));
}
