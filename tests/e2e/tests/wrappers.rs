//! Types of the standard library around one value, and heaps.

use pullback::{Differentiable, autodiff, grad, jvp, make_zero};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::num::Wrapping;
use std::pin::Pin;

#[derive(Differentiable, Clone, Debug, PartialEq)]
struct Model {
    a: f64,
    b: Vec<f64>,
}

impl Model {
    #[autodiff(d_value, Reverse, Duplicated, Active, Active)]
    #[autodiff(f_value, Forward, Dual, Dual, Dual)]
    fn value(self: Pin<&Self>, x: f64) -> f64 {
        self.a * x + self.b.iter().map(|b| b * x * x).sum::<f64>()
    }
}

#[test]
fn a_pinned_receiver() {
    let (model, mut shadow) = (Model { a: 2.0, b: vec![3.0, 4.0] }, Model { a: 0.0, b: vec![0.0; 2] });
    assert_eq!(Pin::new(&model).d_value(&mut Pin::new(&mut shadow), 5.0), (72.0, 185.0));
    assert_eq!(shadow, Model { a: 5.0, b: vec![25.0, 25.0] });
    let direction = Model { a: 1.0, b: vec![0.0, 1.0] };
    assert_eq!(Pin::new(&model).f_value(Pin::new(&direction), 5.0, 0.0), (185.0, 30.0));
    let pinned = Box::pin(model.clone());
    assert_eq!(*grad(|model: &Pin<Box<Model>>| model.as_ref().value(5.0), &pinned), shadow);
}

#[autodiff(d_moved, Reverse, Duplicated, Duplicated)]
fn moved(mut to: Pin<&mut Model>, by: Pin<&Model>) {
    let by = by.a * by.b[0];
    to.a *= by;
    to.b[1] += by * to.a;
}

#[test]
fn what_is_written_through_a_pin() {
    let (mut to, by) = (Model { a: 2.0, b: vec![1.0, 3.0] }, Model { a: 5.0, b: vec![4.0] });
    let (mut d_to, mut d_by) = (Model { a: 1.0, b: vec![0.0, 10.0] }, make_zero(&by));
    d_moved(Pin::new(&mut to), &mut Pin::new(&mut d_to), Pin::new(&by), &mut Pin::new(&mut d_by));
    assert_eq!(to, Model { a: 40.0, b: vec![1.0, 803.0] });
    // a' = a·k and b[1]' = b[1] + k·a', with k = 20: by k, 2 + 10·(40 + 20·2).
    assert_eq!((d_to, d_by), (Model { a: 4020.0, b: vec![0.0, 10.0] }, Model { a: 802.0 * 4.0, b: vec![802.0 * 5.0] }));
}

/// By the bits, as `f64` has no order.
#[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
struct Cost(f64);

impl Eq for Cost {}
impl PartialOrd for Cost {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Cost {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

type Queue = BinaryHeap<(Reverse<Cost>, Wrapping<u8>)>;

fn queue() -> Queue {
    [3.0, 1.0, 2.0, 5.0, 4.0].into_iter().enumerate().map(|(i, c)| (Reverse(Cost(c)), Wrapping(i as u8))).collect()
}

#[test]
fn a_heap_that_is_read() {
    let gradient = grad(
        |queue: &Queue| {
            let first = queue.peek().unwrap().0.0.0;
            queue.iter().map(|(Reverse(Cost(cost)), weight)| cost * cost * first * f64::from(weight.0)).sum::<f64>()
        },
        &queue(),
    );
    let by_number = |number: u8| gradient.iter().find(|(_, weight)| weight.0 == number).unwrap().0.0.0;
    // The least is 1, of number 1: Σ wᵢcᵢ² = 1 + 8 + 75 + 64, and 2wᵢcᵢ of its own.
    assert_eq!([0, 1, 2, 3, 4].map(by_number), [0.0, 148.0 + 2.0, 8.0, 30.0, 32.0]);
}

/// Smoothing of the least by the next, again and again, as Dijkstra's algorithm takes and puts.
#[autodiff(d_merged, Reverse, Duplicated, Active)]
#[autodiff(f_merged, Forward, Dual, Dual)]
fn merged(costs: &[f64]) -> f64 {
    let mut heap: BinaryHeap<Reverse<Cost>> = costs.iter().map(|cost| Reverse(Cost(cost * cost))).collect();
    while heap.len() > 1 {
        let (Some(Reverse(a)), Some(Reverse(b))) = (heap.pop(), heap.pop()) else { break };
        heap.push(Reverse(Cost(a.0 + 0.5 * b.0)));
    }
    heap.pop().map_or(0.0, |last| last.0.0)
}

#[test]
fn a_heap_that_is_built_inside() {
    for costs in [&[0.5, -2.0, 1.5, 0.75, 3.0][..], &[1.0, 2.0], &[4.0]] {
        pullback_e2e::check(merged, d_merged, f_merged, costs);
    }
}

#[autodiff(f_popped, Forward, Dual, Dual)]
#[autodiff(d_popped, Reverse, Duplicated, Active)]
fn popped(heap: &mut BinaryHeap<Cost>) -> f64 {
    let greatest = heap.pop().unwrap().0;
    greatest * heap.pop().unwrap().0 * greatest
}

#[test]
fn a_heap_that_changes() {
    let heap = || -> BinaryHeap<Cost> { [2.0, 5.0, 3.0].into_iter().map(Cost).collect() };
    let (mut primal, mut shadow) = (heap(), make_zero(&heap()));
    assert_eq!(d_popped(&mut primal, &mut shadow), 75.0);
    assert_eq!(primal.into_vec(), [Cost(2.0)]);
    let (value, tangent) = jvp(|heap: &BinaryHeap<Cost>| popped(&mut heap.clone()), &heap(), &heap());
    assert_eq!((value, tangent), (75.0, 225.0));
}
