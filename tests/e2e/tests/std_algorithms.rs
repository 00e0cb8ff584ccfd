//! The algorithms of slices, vectors and iterators that an ordinary program reaches for, each on data that depends on
//! the inputs. Those of few elements and those of many are different code in std.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, LinkedList, VecDeque};

/// A float with an order, as people write it to use `sort` and `BinaryHeap`.
#[derive(Clone, Copy, PartialEq)]
struct Ordered(f64);

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// A number that depends on every element and its place.
fn weighted<'a>(numbers: impl IntoIterator<Item = &'a f64>) -> f64 {
    numbers.into_iter().enumerate().map(|(i, v)| v * (i + 1) as f64).sum()
}

/// So many numbers in no order, each a multiple of one of the inputs.
fn many(x: &[f64], count: usize) -> impl Iterator<Item = f64> {
    (0..count).map(|i| x[i % x.len()] * (1.0 + (i * 37 % 61) as f64))
}

pullback_e2e::differentiated! {
    fn sort(x) {
        let mut v: Vec<Ordered> = x.iter().map(|v| Ordered(v * v)).collect();
        v.sort();
        let mut w: Vec<Ordered> = many(x, 60).map(Ordered).collect();
        w.sort_unstable();
        weighted(v.iter().chain(&w).map(|v| &v.0))
    } at [3.795, 1.325, 2.38, 0.531, -0.815];

    fn sort_by_total_cmp(x) {
        let mut v: Vec<f64> = many(x, 60).collect();
        v.sort_by(f64::total_cmp);
        let mut w: Vec<f64> = many(x, 50).collect();
        w.sort_unstable_by(|a, b| b.total_cmp(a));
        weighted(v.iter().chain(&w))
    } at [3.795, 1.325, 2.38, 0.531, -0.815];

    fn sort_by_key(x) {
        let mut v: Vec<(f64, u32)> = x.iter().enumerate().map(|(i, v)| (v * v, (i as u32 * 7) % 5)).collect();
        v.sort_by_key(|t| t.1);
        let forwards = weighted(v.iter().map(|t| &t.0));
        v.sort_by_key(|t| Reverse(t.1));
        forwards * weighted(v.iter().map(|t| &t.0))
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn sort_by_cached_key(x) {
        let mut v: Vec<f64> = x.iter().map(|v| v * v).collect();
        v.sort_by_cached_key(|v| (v * 1000.0) as i64);
        let by_number = weighted(&v);
        v.sort_by_cached_key(|v| format!("{v:.3}"));
        by_number * weighted(&v)
    } at [3.0, 1.1, 2.0, 0.5, -0.7];

    fn sort_many_tuples(x) {
        let mut v: Vec<(usize, f64, bool)> =
            many(x, 70).enumerate().map(|(i, v)| (i * 17 % 71, v, i % 3 == 0)).collect();
        v.sort_unstable_by_key(|t| t.0);
        let by_number: f64 = v.iter().enumerate().map(|(i, t)| if t.2 { t.1 * i as f64 } else { t.1 }).sum();
        v.sort_by_key(|t| (t.2, Reverse(t.0)));
        by_number * 0.01 + v.iter().enumerate().map(|(i, t)| t.1 * (i + t.0) as f64).sum::<f64>()
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn sort_unlike_fields(x) {
        let mut v: Vec<(u8, f32, f64, [f64; 2], char)> =
            many(x, 50).enumerate().map(|(i, v)| (i as u8, v as f32, v * v, [v, x[i % 3]], 'a')).collect();
        v.sort_unstable_by(|a, b| b.0.cmp(&a.0));
        v.sort_by(|a, b| (a.0 % 7).cmp(&(b.0 % 7)));
        v.iter().enumerate().map(|(i, t)| (t.2 + t.3[0] * t.3[1]) * (i + t.0 as usize) as f64).sum()
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn sort_what_owns(x) {
        struct Item {
            name: String,
            history: Vec<f64>,
            best: Option<f64>,
        }
        let item = |(i, v): (usize, f64)| Item {
            name: format!("{}", i * 7 % 10),
            history: vec![v; i % 3 + 1],
            best: (i % 4 > 0).then_some(v * v),
        };
        let mut items: Vec<Item> = many(x, 25).enumerate().map(item).collect();
        items.sort_by(|a, b| a.name.cmp(&b.name).then(b.history.len().cmp(&a.history.len())));
        items.sort_unstable_by_key(|item| item.history.len());
        let value = |item: &Item| item.best.unwrap_or(1.0) * item.history.iter().sum::<f64>();
        items.iter().enumerate().map(|(i, item)| value(item) * (i + item.name.len()) as f64).sum()
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn sort_references_and_indices(x) {
        let squares: Vec<f64> = x.iter().map(|v| v * v).collect();
        let mut references: Vec<&f64> = squares.iter().collect();
        references.sort_by(|a, b| a.total_cmp(b));
        let mut order: Vec<usize> = (0..x.len()).collect();
        order.sort_by(|a, b| squares[*b].total_cmp(&squares[*a]));
        weighted(references.iter().copied()) * weighted(order.iter().map(|i| &squares[*i]))
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn sort_options_and_arrays(x) {
        let mut options: Vec<Option<f64>> = x.iter().map(|v| (*v > 0.0).then_some(v * v)).collect();
        options.sort_by(|a, b| b.partial_cmp(a).unwrap_or(Ordering::Equal));
        let mut rows = [[x[0], x[1]], [x[2], x[3]], [x[4], x[0] * x[1]]];
        rows.sort_by(|a, b| a[0].total_cmp(&b[0]));
        rows[1].sort_by(f64::total_cmp);
        options.iter().flatten().enumerate().map(|(i, v)| v * i as f64).sum::<f64>() * weighted(rows.as_flattened())
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn median(x) {
        let mut v: Vec<f64> = x.iter().map(|v| v * v).collect();
        let middle = v.len() / 2;
        let (_, median, _) = v.select_nth_unstable_by(middle, f64::total_cmp);
        *median * *median
    } at [3.0, 1.0, 2.0, 0.5, -0.7], [1.0], [2.0, 3.0];

    fn select_among_many(x) {
        let mut v: Vec<f64> = many(x, 101).collect();
        let (low, median, high) = v.select_nth_unstable_by(50, |a, b| a.partial_cmp(b).expect("numbers"));
        *median * *median + low.iter().sum::<f64>() * high.iter().sum::<f64>()
    } at [3.795, 1.325, 2.38, 0.531, -0.815];

    fn select_by_key_and_order(x) {
        let mut v: Vec<(u32, f64)> = x.iter().enumerate().map(|(i, v)| ((i as u32 * 7) % 5, v * v)).collect();
        let (low, (key, value), high) = v.select_nth_unstable_by_key(2, |t| t.0);
        let by_key = *value * *key as f64 + low[0].1 * low[1].1 * high[0].1 * high[1].1;
        let mut v: Vec<Ordered> = many(x, 40).map(Ordered).collect();
        by_key + v.select_nth_unstable(7).1.0
    } at [3.795, 1.325, 2.38, 0.531, -0.815];

    fn search(x) {
        let (knots, at) = (&x[..4], x[4]);
        let (Ok(i) | Err(i)) = knots.binary_search_by(|v| v.total_cmp(&at));
        let values: Vec<(f64, f64)> = knots.iter().map(|v| (*v, v.sin())).collect();
        let j = values.partition_point(|p| p.0 < at);
        let (Ok(k) | Err(k)) = values.binary_search_by_key(&((at * 100.0) as i64), |p| (p.0 * 100.0) as i64);
        let (a, b) = (values[i - 1], values[j]);
        a.1 + (at - a.0) / (b.0 - a.0) * (b.1 - a.1) * values[k].1
    } at [0.5, 1.0, 2.0, 3.5, 1.7];

    fn insert_in_order(x) {
        let mut v: Vec<f64> = Vec::new();
        for a in x {
            let i = v.partition_point(|b| b < a);
            v.insert(i, a * a * 0.5 + a);
        }
        weighted(&v)
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn rotate_many(x) {
        let mut v: Vec<f64> = many(x, 70).collect();
        v.rotate_left((x[2] * 11.7) as usize);
        v[3..].rotate_right(20);
        let mut rows: Vec<[f64; 3]> = (0..9).map(|i| [x[i % 5], i as f64, x[0]]).collect();
        rows.rotate_left(4);
        rows[2..].rotate_right(1);
        let mut tuples: Vec<(u8, f64, u32)> = x.iter().enumerate().map(|(i, v)| (i as u8, v * v, 3)).collect();
        tuples.reverse();
        tuples.rotate_left(2);
        let tuples: f64 = tuples.iter().enumerate().map(|(i, t)| t.1 * (i * t.0 as usize * t.2 as usize) as f64).sum();
        weighted(&v) + weighted(rows.as_flattened()) + tuples
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn remove_repetitions(x) {
        let mut v: Vec<(f64, f64)> = x.iter().map(|v| (v * 2.0, 1.0)).collect();
        v.dedup_by(|a, b| {
            let same = (a.0 - b.0).abs() < 0.1;
            if same {
                *b = (a.0 + b.0, a.1 + b.1);
            }
            same
        });
        let means: Vec<f64> = v.iter().map(|(sum, count)| sum / count).collect();
        let mut whole = x.to_vec();
        whole.dedup_by_key(|v| *v as i64);
        weighted(&means) * weighted(&whole)
    } at [3.1, 3.12, 2.1, 0.6, 0.61];

    fn keep_some(x) {
        let mut v: Vec<f64> = x.iter().map(|v| v * 2.0).collect();
        v.retain_mut(|v| {
            *v *= *v;
            *v < 30.0
        });
        let (low, high): (Vec<f64>, Vec<f64>) = v.iter().partition(|v| **v < 3.0);
        weighted(&v) + weighted(&low) * weighted(&high)
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn take_out_and_put_in(x) {
        let mut v: Vec<f64> = x.iter().map(|v| v * v).collect();
        let taken: f64 = v.drain(1..3).sum();
        let out: Vec<f64> = v.splice(1..2, [x[0] * x[1], x[2], x[3] * x[4]]).collect();
        v.splice(..1, x.iter().filter(|v| **v > 0.7).map(|v| v.exp()));
        let mut tail = v.split_off(3);
        tail.append(&mut v);
        tail.extend_from_within(1..4);
        tail.extend(&x[..2]);
        let last = tail.swap_remove(1) * tail.remove(2);
        tail.insert(1, last);
        tail.truncate(9);
        weighted(&tail) * taken + weighted(&out)
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn parts(x) {
        let pairs = x.chunks_exact(2);
        let rest = pairs.remainder()[0];
        let (twos, _) = x.as_chunks::<2>();
        let runs = x.chunk_by(|a, b| a > b).map(|run| run.iter().product::<f64>());
        pairs.map(|p| p[0] * p[1]).sum::<f64>() * rest
            + twos.iter().map(|[a, b]| a / (b + 4.0)).product::<f64>()
            + runs.sum::<f64>()
            + x.rchunks(2).map(|c| c[0]).product::<f64>()
            + x.split(|v| *v < 0.0).map(|part| part.iter().map(|v| v * v).sum::<f64>()).product::<f64>()
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn parts_that_change(x) {
        let mut v = x.to_vec();
        for (i, c) in v.chunks_exact_mut(2).enumerate() {
            let product = c[0] * c[1];
            c[0] = product + i as f64;
            c[1] *= product;
        }
        for c in v.rchunks_mut(3) {
            c[0] *= c[c.len() - 1];
        }
        v.copy_within(1..3, 2);
        let (left, right) = v.split_at_mut(2);
        left.swap_with_slice(&mut right[1..]);
        right[0] *= left[1];
        let mut filled = [0.0; 6];
        filled[1..3].fill(x[0] * x[1]);
        let mut power = 1.0;
        filled[3..].fill_with(|| {
            power *= x[2];
            power
        });
        weighted(&v) + weighted(&filled) * if v.is_sorted() { 2.0 } else { 3.0 }
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn queue(x) {
        let mut queue = VecDeque::with_capacity(3);
        let (mut sum, mut out) = (0.0, 1.0);
        for v in x {
            if queue.len() == 3 {
                sum -= queue.pop_front().unwrap_or(0.0);
            }
            queue.push_back(*v);
            sum += v;
            out += sum * sum;
        }
        queue.rotate_left(1);
        queue.push_front(x[0] * x[1]);
        queue.extend(x.iter().map(|v| v * v));
        out += queue[1] * queue[5];
        queue.make_contiguous().sort_by(f64::total_cmp);
        queue.swap(1, 3);
        queue.insert(2, x[1].exp());
        out + weighted(&queue) + weighted(queue.range(2..5))
    } at [3.0, 1.2, 2.0, 0.5, -0.7];

    fn heap(x) {
        let mut heap: BinaryHeap<Ordered> = x.iter().map(|v| Ordered(v * v)).collect();
        if let Some(Ordered(largest)) = heap.pop() {
            heap.push(Ordered(largest * 0.1));
        }
        let (mut sum, mut factor) = (0.0, 1.0);
        while let Some(Ordered(v)) = heap.pop() {
            sum += factor * v;
            factor += 1.0;
        }
        sum
    } at [3.0, 1.2, 2.0, 0.5, -0.7];

    fn heap_of_pairs(x) {
        let mut heap: BinaryHeap<Reverse<(Ordered, usize)>> =
            x.iter().enumerate().map(|(i, v)| Reverse((Ordered(*v), i))).collect();
        let mut cost = 0.0;
        while let (Some(Reverse((a, i))), Some(Reverse((b, j)))) = (heap.pop(), heap.pop()) {
            let sum = a.0 + b.0;
            cost += sum * (i + j + 1) as f64;
            if heap.is_empty() {
                break;
            }
            heap.push(Reverse((Ordered(sum), i + j)));
        }
        cost * cost
    } at [3.1, 1.0, 2.3, 0.57, 1.6];

    fn heap_that_is_looked_into(x) {
        let mut heap = BinaryHeap::from(x.iter().map(|v| Reverse(Ordered(v * v))).collect::<Vec<_>>());
        if let Some(mut least) = heap.peek_mut() {
            least.0.0 *= 30.0;
        }
        heap.append(&mut many(x, 40).map(|v| Reverse(Ordered(v))).collect());
        weighted(heap.into_sorted_vec().iter().map(|v| &v.0.0))
    } at [3.795, 1.325, 2.38, 0.531, -0.815];

    fn linked(x) {
        let mut list: LinkedList<f64> = x.iter().map(|v| v * v).collect();
        list.push_front(x[0] * x[1]);
        let mut tail = list.split_off(2);
        tail.append(&mut list);
        if let Some(v) = tail.front_mut() {
            *v *= x[2];
        }
        weighted(&tail) * tail.pop_back().unwrap_or(1.0)
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn iterators(x) {
        let every_other: f64 = x.iter().rev().step_by(2).product();
        let running: Vec<f64> = x
            .iter()
            .scan(1.0, |state, v| {
                *state *= v;
                Some(*state)
            })
            .take_while(|v| *v > 0.0)
            .collect();
        let pairs: f64 = x.iter().flat_map(|a| x.iter().skip(1).map(move |b| a * b * b)).sum();
        let most = x.iter().zip(x.iter().skip(1)).map(|(a, b)| a - b).max_by(f64::total_cmp).unwrap_or(0.0);
        let least = x.iter().copied().min_by(|a, b| (a * a).total_cmp(&(b * b))).unwrap_or(0.0);
        let (a, b): (Vec<f64>, Vec<f64>) = x.windows(2).map(|w| (w[0] * w[1], w[1] - w[0])).unzip();
        let powers: f64 = std::iter::successors(Some(x[1]), |v| (*v < 20.0).then_some(v * 1.5 + 0.1)).sum();
        let mut left = 3;
        let halves: f64 = std::iter::from_fn(|| {
            left -= 1;
            (left > 0).then(|| x[left] / 2.0)
        })
        .sum();
        every_other + weighted(&running) + pairs + most * least + weighted(&a) * weighted(&b) + powers * halves
    } at [3.0, 1.0, 2.0, 0.5, -0.7];

    fn joined(x) {
        let rows: Vec<Vec<f64>> = x.iter().enumerate().map(|(i, v)| vec![v * v; i % 3]).collect();
        let joined = rows.join(&x[0]);
        let squares = [x[0], x[1], x[2]].map(|v| v * v);
        let boxed = squares.map(Box::new).map(|v| *v * x[3]);
        weighted(&rows.concat()) + weighted(&joined) + weighted(&[squares, boxed].concat()) + weighted(&x.repeat(2))
    } at [3.0, 1.0, 2.0, 0.5, -0.7];
}
