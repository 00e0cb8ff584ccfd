//! Types of the standard library around one value, and heaps.

use pullback::{Differentiable, autodiff, grad, jvp, make_zero};
use std::cell::Cell;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::num::Wrapping;
use std::pin::Pin;
use std::rc::Rc;

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

/// What is pushed into a heap comes in another order: elements correspond by where they lie.
#[test]
fn a_shadow_of_a_heap_corresponds_by_places() {
    let heap: BinaryHeap<Cost> = [2.0, 5.0, 3.0].into_iter().map(Cost).collect();
    let gradient = grad(|heap: &BinaryHeap<Cost>| heap.iter().map(|cost| cost.0.powi(3)).sum::<f64>(), &heap);
    let pairs: Vec<(f64, f64)> = heap.iter().zip(&gradient).map(|(cost, by)| (cost.0, by.0)).collect();
    assert!(pairs.iter().all(|(cost, by)| *by == 3.0 * cost * cost), "{pairs:?}");
    let mut direction = make_zero(&heap).into_vec();
    direction[heap.iter().position(|cost| cost.0 == 3.0).unwrap()] = Cost(-1.0);
    // It is a heap, so that nothing of it changes its place.
    let tangent =
        jvp(|heap: &BinaryHeap<Cost>| heap.iter().map(|cost| cost.0 * cost.0).sum::<f64>(), &heap, &direction.into());
    assert_eq!(tangent, (38.0, -6.0));
}

#[autodiff(d_cells, Reverse, Duplicated, Active)]
fn cells(of: &Rc<(Reverse<Cell<f64>>, Wrapping<Cell<f64>>, Pin<Box<Cell<f64>>>)>) -> f64 {
    of.0.0.set(of.0.0.get() * of.1.0.get());
    of.0.0.get() * of.2.get()
}

/// The shadow of cells may have several owners, whatever is around them.
#[test]
fn cells_in_wrappers() {
    let of = |[a, b, c]: [f64; 3]| Rc::new((Reverse(Cell::new(a)), Wrapping(Cell::new(b)), Box::pin(Cell::new(c))));
    let mut shadow = of([0.0; 3]);
    assert_eq!(d_cells(&of([2.0, 3.0, 5.0]), &mut shadow), 30.0);
    assert_eq!([shadow.0.0.get(), shadow.1.0.get(), shadow.2.get()], [15.0, 10.0, 6.0]);
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

mod pinned {
    use super::*;
    use std::marker::PhantomPinned;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// A library: it is sound, since a `Node` that is registered is pinned.
    mod node {
        use std::cell::{Cell, RefCell};
        use std::marker::PhantomPinned;
        use std::pin::Pin;

        thread_local!(static LIST: RefCell<Vec<*const Node>> = const { RefCell::new(Vec::new()) });

        #[derive(Debug)]
        pub struct Node {
            value: Box<u64>,
            registered: Cell<bool>,
            _pin: PhantomPinned,
        }

        impl Node {
            pub fn new(value: u64) -> Self {
                Node { value: Box::new(value), registered: Cell::new(false), _pin: PhantomPinned }
            }

            pub fn register(self: Pin<&Self>) {
                if !self.registered.replace(true) {
                    LIST.with_borrow_mut(|list| list.push(&raw const *self));
                }
            }
        }

        impl Clone for Node {
            fn clone(&self) -> Self {
                Node::new(*self.value)
            }
        }

        impl Drop for Node {
            fn drop(&mut self) {
                if self.registered.get() {
                    LIST.with_borrow_mut(|list| list.retain(|node| *node != &raw const *self));
                }
            }
        }

        /// The values of those that are registered.
        pub fn all() -> Vec<u64> {
            LIST.with_borrow(|list| list.iter().map(|node| unsafe { *(**node).value }).collect())
        }
    }

    #[derive(Differentiable)]
    struct Linked {
        x: f64,
        #[pullback(skip)]
        node: node::Node,
    }

    impl Linked {
        fn new(x: f64, value: u64) -> Self {
            Linked { x, node: node::Node::new(value) }
        }

        /// As `pin_project` writes it.
        fn node(self: Pin<&Self>) -> Pin<&node::Node> {
            unsafe { self.map_unchecked(|linked| &linked.node) }
        }
    }

    #[autodiff(f_square, Forward, Dual, Dual)]
    #[autodiff(d_square, Reverse, Duplicated, Active)]
    fn square(of: Pin<&mut Linked>) -> f64 {
        of.x * of.x
    }

    #[autodiff(f_owned, Forward, Dual, Dual)]
    #[autodiff(d_owned, Reverse, Duplicated, Active)]
    fn owned(of: &mut [Pin<Box<Linked>>]) -> f64 {
        of.iter().map(|of| of.x * of.x).sum()
    }

    #[autodiff(f_shared, Forward, Dual, Dual)]
    #[autodiff(d_shared, Reverse, Duplicated, Active)]
    fn shared(of: Pin<&Linked>) -> f64 {
        of.x * of.x
    }

    /// That a derivative refuses what is pinned, and leaves all as it was.
    fn refuses<R>(derivative: impl FnOnce() -> R) {
        assert_eq!(node::all(), [2]);
        let said = catch_unwind(AssertUnwindSafe(|| drop(derivative()))).unwrap_err();
        let said = said.downcast_ref::<String>().unwrap();
        assert!(said.contains("is pinned, and leads to a `Linked`"), "{said}");
        assert_eq!(node::all(), [2]);
    }

    #[test]
    fn stays_where_it_is() {
        let (mut primal, mut shadow) = (Box::pin(Linked::new(3.0, 1)), Box::pin(Linked::new(1.0, 2)));
        shadow.as_ref().node().register();
        refuses(|| f_square(primal.as_mut(), shadow.as_mut()));
        refuses(|| d_square(primal.as_mut(), &mut shadow.as_mut()));
        let (mut primals, mut shadows) = ([primal], [shadow]);
        refuses(|| f_owned(&mut primals, &mut shadows));
        refuses(|| d_owned(&mut primals, &mut shadows));
        let ([primal], [mut shadow]) = (primals, shadows);
        // Nothing is done to it behind a shared reference.
        assert_eq!(f_shared(primal.as_ref(), shadow.as_ref()), (9.0, 6.0));
        assert_eq!(d_shared(primal.as_ref(), &mut shadow.as_mut()), 9.0);
        assert_eq!((shadow.x, node::all()), (7.0, vec![2]));
        drop(shadow);
        assert_eq!(node::all(), []);
    }

    /// Skipped fields that may be moved, and a marker, which has no bytes.
    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct Named {
        x: f64,
        #[pullback(skip)]
        name: Vec<String>,
        #[pullback(skip)]
        _pin: PhantomPinned,
    }

    #[autodiff(f_named, Forward, Dual, Dual)]
    fn named(mut of: Pin<&mut Named>) -> f64 {
        // SAFETY: nothing is moved.
        let of = unsafe { of.as_mut().get_unchecked_mut() };
        of.name.push("new".into());
        of.x *= of.x;
        of.x
    }

    #[test]
    fn is_taken_out_if_it_may_be_moved() {
        let new = |x| Box::pin(Named { x, name: vec!["old".into()], _pin: PhantomPinned });
        let (mut primal, mut tangent) = (new(3.0), new(1.0));
        assert_eq!(f_named(primal.as_mut(), tangent.as_mut()), (9.0, 6.0));
        assert_eq!((tangent.x, &tangent.name), (6.0, &primal.name));
    }

    #[autodiff(d_counted, Reverse, Duplicated, Active)]
    #[autodiff(f_counted, Forward, Dual, Dual)]
    fn counted(of: &[Pin<Rc<Cell<f64>>>]) -> f64 {
        of[1].set(of[0].get() * of[1].get());
        of[0].get() * of[1].get()
    }

    #[test]
    fn by_an_rc() {
        let new = |x| {
            let of = Rc::pin(Cell::new(x));
            [of.clone(), of]
        };
        let (primal, mut shadow) = (new(3.0), new(0.0));
        assert_eq!(d_counted(&primal, &mut shadow), 81.0);
        // All are one cell: x becomes x², and the value is x⁴.
        assert_eq!((primal[0].get(), shadow[0].get()), (9.0, 4.0 * 27.0));
        let (primal, tangent) = (new(3.0), new(1.0));
        assert_eq!(f_counted(&primal, &tangent), (81.0, 108.0));
    }
}
