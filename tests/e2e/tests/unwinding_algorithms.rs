//! What a panic leaves behind that comes out of a closure in the midst of one of std's algorithms: nothing, of the
//! primal's memory and of its shadows, whatever the algorithm held in its hands.

use pullback::autodiff;
use pullback_e2e::unwinding::{panic_of, possible_panic_of};
use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

/// Functions `fn name(x, call) { … }` that call `call` in between. Each is differentiated in both modes, for a few and
/// for many elements; the derivatives agree, and each leaves nothing behind when `call` panics, the first time, the
/// second, ….
macro_rules! interrupted {
    ($(fn $name:ident($x:ident, $call:ident) $body:block)*) => {$(
        mod $name {
            use super::*;

            #[autodiff(reverse, Reverse, Duplicated, Const, Active)]
            #[autodiff(forward, Forward, Dual, Const, Dual)]
            fn function($x: &[f64], fail_at: usize) -> f64 {
                let mut calls = 0;
                #[allow(unused_mut, reason = "not every function changes what it captures")]
                let mut $call = || {
                    calls += 1;
                    assert!(calls != fail_at, "call {calls}");
                };
                $body
            }

            #[test]
            fn leaves_nothing() {
                for count in [5, 70] {
                    at_every_call(function, reverse, forward, count);
                }
            }
        }
    )*};
}

/// Checks a function of `count` numbers at every call it makes.
#[track_caller]
fn at_every_call(
    function: fn(&[f64], usize) -> f64,
    reverse: fn(&[f64], &mut [f64], usize) -> f64,
    forward: fn(&[f64], &[f64], usize) -> (f64, f64),
    count: usize,
) {
    let x: Vec<f64> = (0..count).map(|i| (i * 37 % 71) as f64 * 0.25 - 3.125).collect();
    let mut dx = vec![0.0; count];
    assert_eq!(reverse(&x, &mut dx, usize::MAX), function(&x, usize::MAX));
    let along: Vec<f64> = (0..count).map(|i| (i % 3) as f64 - 1.0).collect();
    let (value, derivative) = forward(&x, &along, usize::MAX);
    assert_eq!(value, function(&x, usize::MAX));
    pullback_e2e::assert_close(derivative, dx.iter().zip(&along).map(|(d, a)| d * a).sum(), 1e-12);

    let mut calls = 0;
    while let Some(message) = possible_panic_of(|| function(&x, calls + 1)) {
        calls += 1;
        assert_eq!(message, format!("call {calls}"));
        assert_eq!(panic_of(|| reverse(&x, &mut dx, calls)), message);
        assert_eq!(panic_of(|| forward(&x, &along, calls)), message);
    }
    assert!(calls > 2, "it calls {calls} times");
}

/// Something that owns memory in two ways, beside a number.
struct Item {
    name: String,
    weight: Box<f64>,
    rank: usize,
}

fn items(x: &[f64]) -> Vec<Item> {
    let item = |(i, v): (usize, &f64)| Item { name: format!("{}", i % 7), weight: Box::new(v * v), rank: i };
    x.iter().enumerate().map(item).collect()
}

fn boxes(x: &[f64]) -> Vec<Box<f64>> {
    x.iter().map(|v| Box::new(v * v)).collect()
}

/// A number that depends on every element and its place.
fn weighted<'a>(numbers: impl Iterator<Item = &'a f64>) -> f64 {
    numbers.enumerate().map(|(i, v)| v * (i + 1) as f64).sum()
}

interrupted! {
    fn sort_boxes(x, call) {
        let mut all = boxes(x);
        all.sort_by(|a, b| {
            call();
            b.partial_cmp(a).expect("numbers")
        });
        weighted(all.iter().map(|v| &**v))
    }

    fn sort_boxes_unstably(x, call) {
        let mut all = boxes(x);
        all.sort_unstable_by(|a, b| {
            call();
            b.total_cmp(a)
        });
        weighted(all.iter().map(|v| &**v))
    }

    fn sort_vecs(x, call) {
        let mut all: Vec<Vec<f64>> = x.iter().enumerate().map(|(i, v)| vec![*v; i % 3 + 1]).collect();
        all.sort_by(|a, b| {
            call();
            a[0].total_cmp(&b[0])
        });
        weighted(all.iter().flatten())
    }

    fn sort_items(x, call) {
        let mut all = items(x);
        all.sort_by(|a, b| {
            call();
            a.name.cmp(&b.name).then(b.rank.cmp(&a.rank))
        });
        weighted(all.iter().map(|v| &*v.weight))
    }

    fn sort_items_unstably(x, call) {
        let mut all = items(x);
        all.sort_unstable_by_key(|item| {
            call();
            item.rank * 11 % 5
        });
        all.iter().map(|item| *item.weight * item.rank as f64).sum()
    }

    fn sort_by_keys_that_own(x, call) {
        let mut all = boxes(x);
        all.sort_by_cached_key(|v| {
            call();
            format!("{v:09.3}")
        });
        weighted(all.iter().map(|v| &**v))
    }

    fn select(x, call) {
        let mut all = boxes(x);
        let middle = all.len() / 2;
        let (_, median, _) = all.select_nth_unstable_by(middle, |a, b| {
            call();
            a.total_cmp(b)
        });
        **median * **median
    }

    fn retain(x, call) {
        let mut all = items(x);
        all.retain(|item| {
            call();
            *item.weight > 1.0
        });
        weighted(all.iter().map(|v| &*v.weight))
    }

    fn remove_repetitions(x, call) {
        let mut all = items(x);
        all.dedup_by(|a, b| {
            call();
            *b.weight += *a.weight;
            a.rank % 2 == 1
        });
        weighted(all.iter().map(|v| &*v.weight))
    }

    fn drain(x, call) {
        let mut all = boxes(x);
        let mut sum = 0.0;
        all.drain(1..).for_each(|v| {
            call();
            sum += *v;
        });
        sum * *all[0]
    }

    fn map_in_place(x, call) {
        let add = |mut v: Box<f64>| {
            call();
            *v += 1.0;
            v
        };
        let all: Vec<Box<f64>> = boxes(x).into_iter().map(add).collect();
        weighted(all.iter().map(|v| &**v))
    }

    fn splice(x, call) {
        let mut all = boxes(x);
        let more = x.iter().filter(|v| **v != 1.0).map(|v| {
            call();
            Box::new(v.exp())
        });
        let out: Vec<Box<f64>> = all.splice(1..3, more).collect();
        weighted(out.iter().chain(&all).map(|v| &**v))
    }

    fn extend(x, call) {
        let mut all = boxes(x);
        all.extend(x.iter().map(|v| {
            call();
            Box::new(v.sin())
        }));
        weighted(all.iter().map(|v| &**v))
    }

    fn resize(x, call) {
        let mut all = boxes(x);
        all.resize_with(x.len() * 2, || {
            call();
            Box::new(x[0] * x[1])
        });
        weighted(all.iter().map(|v| &**v))
    }

    fn queue(x, call) {
        let mut all: VecDeque<Box<f64>> = VecDeque::new();
        for (i, v) in x.iter().enumerate() {
            if i % 2 == 0 { all.push_back(Box::new(v * v)) } else { all.push_front(Box::new(*v)) }
        }
        all.retain(|v| {
            call();
            **v < 5.0
        });
        weighted(all.iter().map(|v| &**v))
    }

    fn array(x, call) {
        let squares: [Box<f64>; 4] = std::array::from_fn(|i| {
            call();
            Box::new(x[i] * x[i])
        });
        let roots = squares.map(|v| {
            call();
            Box::new(v.sqrt() + *v)
        });
        weighted(roots.iter().map(|v| &**v))
    }
}

/// A box that cannot be compared if it holds `WORST`.
struct Ranked(Box<f64>);

const WORST: f64 = 4.0;

impl PartialEq for Ranked {
    fn eq(&self, other: &Ranked) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Ranked {}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Ranked) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ranked {
    fn cmp(&self, other: &Ranked) -> Ordering {
        assert!(*self.0 != WORST && *other.0 != WORST, "the worst");
        self.0.total_cmp(&other.0)
    }
}

#[autodiff(d_queued, Reverse, Duplicated, Active)]
#[autodiff(t_queued, Forward, Dual, Dual)]
fn queued(x: &[f64]) -> f64 {
    let mut heap = BinaryHeap::new();
    for v in x {
        heap.push(Ranked(Box::new(*v)));
    }
    heap.extend(x.iter().rev().map(|v| Ranked(Box::new(v * v))));
    let mut sum = 0.0;
    while let Some(Ranked(v)) = heap.pop() {
        sum = sum * 0.5 + *v;
    }
    sum
}

/// Numbers of which the `worst`th is such that the heap fails when it is pushed, or its square is.
fn numbers(worst: usize, value: f64) -> [f64; 9] {
    let mut x = [0.3, 1.7, 0.9, 2.4, 1.1, 0.2, 3.1, 2.9, 0.6];
    x[worst] = value;
    x
}

#[test]
fn a_heap() {
    let x = numbers(0, 0.35);
    let mut dx = [0.0; 9];
    let value = d_queued(&x, &mut dx);
    let (same, derivative) = t_queued(&x, &[1.0; 9]);
    assert_eq!(same, value);
    pullback_e2e::assert_close(derivative, dx.iter().sum(), 1e-12);
    for worst in 1..8 {
        for value in [4.0, 2.0] {
            let x = numbers(worst, value);
            assert_eq!(panic_of(|| d_queued(&x, &mut [0.0; 9])), "the worst");
            assert_eq!(panic_of(|| t_queued(&x, &[1.0; 9])), "the worst");
        }
    }
}
