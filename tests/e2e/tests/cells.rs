//! Cells that are reached by two ways: whatever the program writes by one of them, the reverse sweep sees what the
//! forward sweep saw.

#![forbid(unsafe_code)]

use pullback::{autodiff, grad, rrule, value_and_grad, vjp};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const X: [f64; 4] = [1.0, 2.0, 3.0, 4.0];

/// Indices that are overwritten, by another name, after they were used.
#[test]
fn indices_behind_two_clones_of_an_rc() {
    let r = Rc::new(RefCell::new(vec![0usize, 1, 2, 3]));
    let q = r.clone();
    let f = move |x: &[f64]| {
        let mut s = 0.0;
        for &k in r.borrow().iter() {
            s += x[k] * x[k];
        }
        q.borrow_mut().fill(1 << 40);
        s
    };
    assert_eq!(grad(f, &X[..]), [2.0, 4.0, 6.0, 8.0]);
}

#[test]
fn indices_behind_two_references() {
    let cells = [0usize, 1, 2, 3].map(Cell::new);
    let (a, b) = (&cells, &cells);
    let f = move |x: &[f64]| {
        let mut s = 0.0;
        for k in a {
            s += x[k.get()].powi(3);
        }
        for k in b {
            k.set(usize::MAX);
        }
        s
    };
    assert_eq!(grad(f, &X[..]), [3.0, 12.0, 27.0, 48.0]);
}

/// The vector is replaced: its memory is another one, and what was read is gone.
#[test]
fn a_vector_that_is_replaced() {
    let r = Rc::new(RefCell::new(vec![3usize, 0]));
    let q = r.clone();
    let f = move |x: &[f64]| {
        let mut s = 0.0;
        for i in 0..2 {
            s += x[r.borrow()[i]] * x[i];
        }
        *q.borrow_mut() = vec![usize::MAX; 2];
        s
    };
    assert_eq!(grad(f, &X[..]), [6.0, 1.0, 0.0, 1.0]);
}

/// Two names of slices of cells.
type Two<'a> = (&'a [Cell<f64>], &'a [Cell<f64>]);

#[autodiff(d_copy, Reverse, Duplicated, Active)]
fn copy((a, b): Two<'_>) -> f64 {
    for (a, b) in a.iter().zip(b) {
        a.set(b.get() * b.get());
    }
    b.iter().map(Cell::get).sum()
}

/// One slice of cells for both names, and one shadow for both.
#[test]
fn one_slice_of_cells_with_two_names() {
    let cells = X.map(Cell::new);
    let shadow = [0.0; 4].map(Cell::new);
    assert_eq!(d_copy((&cells, &cells), &mut (&shadow, &shadow)), 30.0);
    assert_eq!(shadow.each_ref().map(Cell::get), [2.0, 4.0, 6.0, 8.0]);
}

/// Neighbours of a slice of cells: what one iteration writes, another has read.
#[autodiff(d_shift, Reverse, Duplicated, Const, Active)]
fn shift((a, b): Two<'_>, by: &[Cell<usize>]) -> f64 {
    let mut s = 0.0;
    for i in 0..a.len() {
        let k = by[i].get();
        s += a[k].get() * b[i].get();
        by[(i + 1) % by.len()].set(i);
        a[i].set(s);
    }
    s
}

#[test]
fn cells_that_are_written_in_the_loop_that_reads_them() {
    let run = |x: [f64; 3]| {
        let (cells, by) = (x.map(Cell::new), [2usize, 0, 1].map(Cell::new));
        shift((&cells, &cells), &by)
    };
    let (cells, by) = ([1.5, 2.5, 0.5].map(Cell::new), [2usize, 0, 1].map(Cell::new));
    let shadow = [0.0; 3].map(Cell::new);
    let value = d_shift((&cells, &cells), &mut (&shadow, &shadow), &by);
    assert_eq!(value, run([1.5, 2.5, 0.5]));
    for (i, d) in shadow.iter().enumerate() {
        let h = 1e-6;
        let (mut up, mut down) = ([1.5, 2.5, 0.5], [1.5, 2.5, 0.5]);
        up[i] += h;
        down[i] -= h;
        let difference = (run(up) - run(down)) / (2.0 * h);
        assert!((d.get() - difference).abs() < 1e-6, "{i}: {} and {difference}", d.get());
    }
}

thread_local! {
    static INDEX: Rc<Cell<usize>> = Rc::new(Cell::new(1));
}

fn square(x: f64) -> f64 {
    x * x
}

/// A rule that writes a cell that the function knows, too.
#[rrule(for = square)]
fn square_rrule(x: f64) -> (f64, impl FnOnce(f64) -> f64) {
    INDEX.with(|index| index.set(usize::MAX));
    (x * x, move |dy| {
        INDEX.with(|index| index.set(usize::MAX));
        2.0 * x * dy
    })
}

#[test]
fn a_rule_that_writes_a_cell() {
    let index = INDEX.with(Rc::clone);
    index.set(1);
    let f = move |x: &[f64]| {
        let a = x[index.get()];
        square(a * x[0])
    };
    // ∂/∂x₀ = 2·x₁²·x₀, ∂/∂x₁ = 2·x₀²·x₁
    assert_eq!(grad(f, &[3.0, 2.0][..]), [24.0, 36.0]);
}

/// Between the sweeps of a pullback anybody may write.
#[test]
fn cells_that_change_before_the_pullback_is_called() {
    let index = Rc::new(Cell::new(2usize));
    let ours = index.clone();
    let (y, pullback) = vjp(move |x: &[f64]| x[index.get()] * x[0], &X[..]);
    ours.set(1 << 50);
    assert_eq!((y, pullback(1.0)), (3.0, vec![3.0, 0.0, 1.0, 0.0]));
}

/// A function that is called, and not inlined: its reverse is a function of its own.
#[test]
fn a_recursive_function_that_reads_cells() {
    fn sum(x: &[f64], index: &[Cell<usize>], by: &Rc<Cell<usize>>, depth: usize) -> f64 {
        if depth == 0 {
            return 0.0;
        }
        let k = index[by.get()].get();
        let here = x[k] * x[k] * depth as f64;
        by.set((by.get() + 1) % index.len());
        here + sum(x, index, by, depth - 1)
    }
    let index = [3usize, 1, 0].map(Cell::new);
    let by = Rc::new(Cell::new(0));
    let same = by.clone();
    let f = |x: &[f64]| {
        by.set(0);
        let s = sum(x, &index, &by, 3);
        same.set(usize::MAX);
        index.iter().for_each(|i| i.set(usize::MAX));
        s
    };
    let (value, gradient) = value_and_grad(f, &X[..]);
    assert_eq!((value, gradient), (16.0 * 3.0 + 4.0 * 2.0 + 1.0, vec![2.0, 8.0, 0.0, 24.0]));
}

/// A function that takes no part gives memory back at once; nobody reads it again.
#[test]
fn memory_that_is_given_back_by_a_function_that_takes_no_part() {
    fn consume(v: Vec<usize>, n: usize) -> usize {
        if n == 0 { v.len() } else { consume(v, n - 1) }
    }
    fn sum(x: &[f64], v: &[usize], i: usize) -> f64 {
        if i == v.len() { 0.0 } else { x[v[i]] * x[v[i]] + sum(x, v, i + 1) }
    }
    #[autodiff(df, Reverse, Duplicated, Const, Active)]
    fn f(x: &[f64], v: Vec<usize>) -> f64 {
        let s = sum(x, &v, 0);
        let n = v.len();
        s * consume(v, n) as f64
    }
    let mut dx = [0.0; 4];
    assert_eq!(df(&X, &mut dx, vec![1, 3, 1]), 3.0 * (4.0 + 16.0 + 4.0));
    assert_eq!(dx, [0.0, 24.0, 0.0, 24.0]);
}
