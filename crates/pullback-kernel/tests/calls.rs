//! Calls by hand: descriptions as glue writes them, and arrays that lie in all the ways there are.

use proptest::prelude::*;
use pullback_kernel::abi::{Batch, Entry, Field, List, Parameter, Parts, Passing, Text, Type};
use pullback_kernel::dtype::{DType, Stored};
use pullback_kernel::element::Param;
use pullback_kernel::error::{Error, ShapeError};
use pullback_kernel::operand::{Operand, Place};
use pullback_kernel::run::{Options, run};
use pullback_kernel::shape::Shape;

#[derive(Clone, Copy, PartialEq, Debug)]
struct Ray {
    at: [f32; 3],
    weight: f64,
}

fn scaled(ray: Ray, by: f32) -> Ray {
    assert!(by >= 0.0, "the ray is turned round");
    Ray { at: ray.at.map(|x| x * by), weight: ray.weight + f64::from(by) }
}

/// The loop over a tile, as glue writes it.
unsafe extern "C" fn scaled_entry(batch: &mut Batch) {
    // SAFETY: three operands, see `PARAMETERS`.
    let (ray, by, result) = unsafe {
        let operands = batch.operands;
        (*operands, *operands.add(1), *operands.add(2))
    };
    let (ray, by, result) = (ray.cast::<Ray>(), by.cast::<f32>(), result.cast::<Ray>());
    // SAFETY: as many elements.
    batch.each(|i| unsafe { result.add(i).write(scaled(*ray.add(i), *by.add(i))) });
}

const fn number(name: &'static str, dtype: DType) -> Type {
    Type { name: Text::of(name), size: dtype.size(), align: dtype.size(), parts: Parts::Number(dtype) }
}

static F32: Type = number("f32", DType::F32);
static F64: Type = number("f64", DType::F64);
static POINT: Type = Type { name: Text::of("[f32; 3]"), size: 12, align: 4, parts: Parts::Array(3, &F32) };
static RAY: Type = Type {
    name: Text::of("Ray"),
    size: size_of::<Ray>(),
    align: align_of::<Ray>(),
    parts: Parts::Fields(List::new(&[
        Field { name: Text::of("at"), offset: std::mem::offset_of!(Ray, at), of: &POINT },
        Field { name: Text::of("weight"), offset: std::mem::offset_of!(Ray, weight), of: &F64 },
    ])),
};
static PARAMETERS: [Parameter; 3] = [
    Parameter { name: Text::of("ray"), passing: Passing::In, of: &RAY },
    Parameter { name: Text::of("by"), passing: Passing::In, of: &F32 },
    Parameter { name: Text::of("return"), passing: Passing::Out, of: &RAY },
];
const ENTRY: Entry = scaled_entry;

/// How an array of numbers is made: in memory of its own, with room around, in any direction, of any dtype.
#[derive(Clone, Debug)]
struct Arrangement {
    dtype: DType,
    swapped: bool,
    /// By axis: whether it runs backwards, and how many bytes lie between what is inside of it.
    axes: Vec<(bool, usize)>,
    /// Which axis of the call is the outermost here.
    turned: usize,
}

/// Numbers in memory.
struct Array {
    memory: Vec<u8>,
    first: usize,
    strides: Vec<isize>,
    stored: Stored,
}

impl Array {
    /// Numbers of this shape, of which there is one for each axis that `is_batched`.
    fn new(shape: &[usize], is_batched: &[bool], arrangement: &Arrangement) -> Self {
        let size = arrangement.dtype.size();
        let (mut reach, mut first) = (size, 0_isize);
        let mut strides = vec![0; shape.len()];
        for step in 0..shape.len() {
            let axis = (step + arrangement.turned) % shape.len();
            if !is_batched[axis] {
                continue;
            }
            let (is_backwards, gap) = arrangement.axes[axis];
            let stride = (reach + gap) as isize;
            strides[axis] = if is_backwards { -stride } else { stride };
            let way = stride * (shape[axis] as isize - 1).max(0);
            first += if is_backwards { way } else { 0 };
            reach += way as usize;
        }
        let stored = Stored { dtype: arrangement.dtype, swapped: arrangement.swapped };
        // It begins at an odd byte, unless that is aligned by chance.
        Array { memory: vec![0; reach + 1], first: first as usize + 1, strides, stored }
    }

    fn at(&mut self, index: &[usize]) -> &mut [u8] {
        let offset: isize = index.iter().zip(&self.strides).map(|(i, stride)| *i as isize * stride).sum();
        &mut self.memory[self.first.strict_add_signed(offset)..][..self.stored.dtype.size()]
    }

    fn set(&mut self, index: &[usize], value: f64) {
        let swapped = self.stored.swapped;
        let place = self.at(index);
        match place.len() {
            4 => place.copy_from_slice(&(value as f32).to_ne_bytes()),
            _ => place.copy_from_slice(&value.to_ne_bytes()),
        }
        if swapped {
            place.reverse();
        }
    }

    fn get(&mut self, index: &[usize]) -> f64 {
        let swapped = self.stored.swapped;
        let mut bytes = self.at(index).to_vec();
        if swapped {
            bytes.reverse();
        }
        match bytes.len() {
            4 => f64::from(f32::from_ne_bytes(bytes[..].try_into().unwrap())),
            _ => f64::from_ne_bytes(bytes[..].try_into().unwrap()),
        }
    }

    /// As a leaf whose own axes are the last `inner` ones.
    fn place(&mut self, inner: usize) -> Place {
        let (of_call, own) = self.strides.split_at(self.strides.len() - inner);
        Place {
            first: self.memory.as_mut_ptr().wrapping_add(self.first),
            stored: self.stored,
            strides: of_call.into(),
            inner: own.into(),
        }
    }
}

fn arrangements() -> impl Strategy<Value = Arrangement> {
    let dtype = prop::sample::select(vec![DType::F32, DType::F64]);
    let axes = prop::collection::vec((any::<bool>(), prop::sample::select(vec![0, 0, 4, 5])), 4);
    (dtype, prop::bool::weighted(0.3), axes, 0..4_usize).prop_map(|(dtype, swapped, axes, turned)| Arrangement {
        dtype,
        swapped,
        axes,
        turned,
    })
}

/// All indices of a shape, in order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let all = vec![vec![]];
    shape.iter().fold(all, |all, length| {
        all.iter().flat_map(|index| (0..*length).map(|i| [&index[..], &[i]].concat())).collect()
    })
}

proptest! {
    /// Whatever way arguments and results lie, each element is what the function makes of its own.
    #[test]
    fn each_element_is_computed(
        shape in prop::collection::vec(0_usize..5, 0..3),
        batched in prop::collection::vec(any::<bool>(), 6),
        ways in prop::collection::vec(arrangements(), 5),
        tile in prop::sample::select(vec![None, Some(1), Some(3)]),
    ) {
        let rank = shape.len();
        let with = |inner: &[usize]| [&shape[..], inner].concat();
        let of = |from: usize, inner: usize| {
            (0..rank).map(|axis| batched[from + axis]).chain(vec![true; inner]).collect::<Vec<bool>>()
        };
        let all = |inner: usize| vec![true; rank + inner];
        let mut at = Array::new(&with(&[3]), &of(0, 1), &ways[0]);
        let mut weight = Array::new(&shape, &of(2, 0), &ways[1]);
        let mut by = Array::new(&shape, &of(4, 0), &ways[2]);
        let mut at_of_result = Array::new(&with(&[3]), &all(1), &ways[3]);
        let mut weight_of_result = Array::new(&shape, &all(0), &ways[4]);
        for (number, index) in indices(&shape).iter().enumerate() {
            let number = number as f64;
            weight.set(index, number + 0.5);
            by.set(index, number * 0.25);
            for k in 0..3 {
                at.set(&[&index[..], &[k]].concat(), number - k as f64);
            }
        }
        let shape_of_call = Shape::from(&shape[..]);
        let mut places = [
            vec![at.place(1), weight.place(0)],
            vec![by.place(0)],
            vec![at_of_result.place(1), weight_of_result.place(0)],
        ].into_iter();
        let parameters: Vec<Param> = PARAMETERS.iter().map(Param::from).collect();
        let mut operands: Vec<Operand<'_>> = parameters.iter().map(|parameter| {
            // SAFETY: arrays of this shape.
            unsafe { Operand::new(parameter, places.next().unwrap(), &shape_of_call).unwrap() }
        }).collect();
        // SAFETY: the entry's own parameters.
        unsafe { run(ENTRY, &mut operands, &shape_of_call, Options { tile, threads: None }).unwrap() };
        for index in indices(&shape) {
            let inner = |k| [&index[..], &[k]].concat();
            let ray = Ray {
                at: [0, 1, 2].map(|k| at.get(&inner(k)) as f32),
                weight: weight.get(&index),
            };
            let result = scaled(ray, by.get(&index) as f32);
            for k in 0..3 {
                prop_assert_eq!(at_of_result.get(&inner(k)), f64::from(result.at[k]));
            }
            let expected = if ways[4].dtype == DType::F32 { f64::from(result.weight as f32) } else { result.weight };
            prop_assert_eq!(weight_of_result.get(&index), expected);
        }
    }
}

/// A function of one number.
fn parameters_of_one() -> [Param; 2] {
    [("x", Passing::In), ("y", Passing::Out)].map(|(name, passing)| Param { name, passing, element: (&F32).into() })
}

unsafe extern "C" fn next(batch: &mut Batch) {
    // SAFETY: two operands.
    let (x, y) = unsafe { ((*batch.operands).cast::<f32>(), (*batch.operands.add(1)).cast::<f32>()) };
    // SAFETY: as many elements.
    batch.each(|i| unsafe {
        let value = *x.add(i) + 1.0;
        assert!(value != 0.0, "x is minus one");
        y.add(i).write(value);
    });
}

/// `y = next(x)` for elements of one array, from these places on.
fn next_within(memory: &mut [f32], from: usize, to: usize, strides: (isize, isize), count: usize) -> Result<(), Error> {
    let shape = Shape::from([count]);
    let first = memory.as_mut_ptr();
    let place = |at: usize, stride: isize| Place {
        first: first.wrapping_add(at).cast(),
        stored: DType::F32.into(),
        strides: [stride * 4][..].into(),
        inner: [][..].into(),
    };
    let mut places = [place(from, strides.0), place(to, strides.1)].into_iter();
    let mut operands = Vec::new();
    let parameters = parameters_of_one();
    for parameter in &parameters {
        // SAFETY: the tests stay in the array.
        operands.push(unsafe { Operand::new(parameter, [places.next().unwrap()], &shape)? });
    }
    // SAFETY: the entry's own parameters.
    unsafe { run(next, &mut operands, &shape, Options::default()) }
}

#[test]
fn what_is_written_may_lie_where_it_is_read() {
    let numbers = |n: usize| (0..n).map(|i| i as f32).collect::<Vec<_>>();
    // In place; one further, so that each would read what the one before has written; and backwards.
    for (from, to, strides) in [(0, 0, (1, 1)), (0, 1, (1, 1)), (1, 0, (1, 1)), (0, 99_999, (1, -1))] {
        let mut memory = numbers(100_001);
        next_within(&mut memory, from, to, strides, 100_000).unwrap();
        for i in 0..100_000 {
            let at = if strides.1 < 0 { to - i } else { to + i };
            assert_eq!(memory[at], (from + i) as f32 + 1.0);
        }
    }
}

#[test]
fn elements_that_lie_over_each_other_are_not_written() {
    let mut memory = [5.0; 8];
    let error = next_within(&mut memory, 0, 4, (1, 0), 4).unwrap_err();
    assert_eq!(error, ShapeError::Overlapping { parameter: "y".to_owned() }.into());
    assert_eq!(memory, [5.0; 8]);
}

/// Of several elements that panic it is the first, whatever thread comes to it first; and the process goes on.
#[test]
fn the_first_element_that_panics_is_told() {
    let mut memory = vec![1.0; 400_000];
    for at in [70_001, 150_000, 199_999] {
        memory[at] = -1.0;
    }
    for _ in 0..5 {
        let error = next_within(&mut memory, 0, 200_000, (1, 1), 200_000).unwrap_err();
        assert_eq!(error, Error::Panic { element: 70_001, message: "x is minus one".to_owned() });
    }
}

#[test]
fn threads_do_not_show() {
    let count = 300_000;
    let results = [Some(1), Some(2), None].map(|threads| {
        let mut memory: Vec<f32> = (0..count).map(|i| (i as f32).sin() * 0.5).chain(vec![0.0; count]).collect();
        let shape = Shape::from([count]);
        let first = memory.as_mut_ptr();
        let place = |at: usize| Place {
            first: first.wrapping_add(at).cast(),
            stored: DType::F32.into(),
            strides: [4][..].into(),
            inner: [][..].into(),
        };
        let mut places = [place(0), place(count)].into_iter();
        let parameters = parameters_of_one();
        let mut operands = parameters.each_ref().map(|parameter| {
            // SAFETY: two halves of the array.
            unsafe { Operand::new(parameter, [places.next().unwrap()], &shape).unwrap() }
        });
        // SAFETY: the entry's own parameters.
        unsafe { run(next, &mut operands, &shape, Options { threads, tile: None }).unwrap() };
        memory
    });
    assert!(results[1..].iter().all(|result| *result == results[0]));
}

/// The gradient of `a · x + b`, times a cotangent: as glue writes it, adding.
unsafe extern "C" fn line_backward(batch: &mut Batch) {
    // SAFETY: operands in this order.
    let [a, x, dy, da, dx, db] = unsafe { [0, 1, 2, 3, 4, 5].map(|k| (*batch.operands.add(k)).cast::<f32>()) };
    // SAFETY: as many elements.
    batch.each(|i| unsafe {
        *da.add(i) += *x.add(i) * *dy.add(i);
        *dx.add(i) += *a.add(i) * *dy.add(i);
        *db.add(i) += *dy.add(i);
    });
}

/// Gradients by `a` of shape `(columns,)`, `x` of shape `(rows, columns)`, and a single `b`.
fn line_gradients(rows: usize, columns: usize, options: Options) -> (Vec<f32>, Vec<f32>, f32) {
    let shape = Shape::from([rows, columns]);
    let number = |i: usize, by: f32| (i as f32 * by).sin() + 0.25;
    let mut a: Vec<f32> = (0..columns).map(|i| number(i, 0.3)).collect();
    let mut x: Vec<f32> = (0..rows * columns).map(|i| number(i, 0.7)).collect();
    let mut dy: Vec<f32> = (0..rows * columns).map(|i| number(i, 0.9)).collect();
    // What is there is added to.
    let (mut da, mut dx, mut db) = (vec![1.0_f32; columns], vec![2.0_f32; rows * columns], 3.0_f32);
    let of_row = [4 * columns as isize, 4];
    let place = |first: *mut f32, strides: [isize; 2]| {
        [Place { first: first.cast(), stored: DType::F32.into(), strides: strides[..].into(), inner: [][..].into() }]
    };
    let [read, _] = parameters_of_one();
    // SAFETY: arrays of these shapes.
    let mut operands = unsafe {
        [
            Operand::new(&read, place(a.as_mut_ptr(), [0, 4]), &shape).unwrap(),
            Operand::new(&read, place(x.as_mut_ptr(), of_row), &shape).unwrap(),
            Operand::new(&read, place(dy.as_mut_ptr(), of_row), &shape).unwrap(),
            Operand::gradient(&read, place(da.as_mut_ptr(), [0, 4]), &shape).unwrap(),
            Operand::gradient(&read, place(dx.as_mut_ptr(), of_row), &shape).unwrap(),
            Operand::gradient(&read, place(&raw mut db, [0, 0]), &shape).unwrap(),
        ]
    };
    // SAFETY: the entry's own operands.
    unsafe { run(line_backward, &mut operands, &shape, options).unwrap() };
    (da, dx, db)
}

#[test]
fn gradients_by_what_is_repeated_are_sums() {
    let (rows, columns) = (700, 300);
    let (da, dx, db) = line_gradients(rows, columns, Options::default());
    let number = |i: usize, by: f32| f64::from((i as f32 * by).sin() + 0.25);
    let mut expected = (vec![1.0; columns], 3.0);
    for (i, dx) in dx.iter().enumerate() {
        expected.0[i % columns] += f64::from((number(i, 0.7) as f32) * (number(i, 0.9) as f32));
        expected.1 += number(i, 0.9);
        let by_x = 2.0 + number(i % columns, 0.3) as f32 * number(i, 0.9) as f32;
        assert_eq!(*dx, by_x);
    }
    for (found, expected) in da.iter().zip(&expected.0) {
        assert_eq!(*found, *expected as f32);
    }
    assert_eq!(db, expected.1 as f32);
}

#[test]
fn sums_are_the_same_for_any_number_of_threads() {
    let with = |threads| line_gradients(2_000, 157, Options { threads: Some(threads), tile: None });
    let one = with(1);
    for threads in [2, 3, 8] {
        assert!(with(threads) == one);
    }
}
