//! What people try on the first day: structs beside numbers and strings, collections, iterators, enums, shared data.

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

pullback_e2e::differentiated! {
    fn labelled_structs(x) {
        #[derive(Clone, Debug, PartialEq)]
        struct Item {
            name: String,
            price: f64,
            qty: u32,
            tags: Vec<&'static str>,
            discount: Option<f64>,
        }
        let mut items = vec![
            Item { name: "apple".into(), price: x[0], qty: 3, tags: vec!["fruit"], discount: None },
            Item { name: String::from("bread"), price: x[1], qty: 1, tags: vec![], discount: Some(0.1 * x[2]) },
            Item {
                name: format!("cheese-{}", 5),
                price: x[2],
                qty: 2,
                tags: vec!["dairy", "old"],
                discount: Some(0.2),
            },
        ];
        items.sort_by(|a, b| b.name.cmp(&a.name));
        let mut more = items.clone();
        more.retain(|i| i.qty > 1);
        items.extend(more);
        if let Some(i) = items.iter_mut().find(|i| i.name == "apple") {
            i.price *= x[1];
            i.qty += 1;
        }
        items
            .iter()
            .map(|i| i.price * i.qty as f64 * (1.0 - i.discount.unwrap_or_default()) + i.tags.len() as f64 * i.price)
            .sum()
    } at [1.0, 2.0, 3.0];

    fn iter_zoo(x) {
        let a: f64 = x.windows(2).map(|w| w[0] * w[1]).sum();
        let b: f64 = x.chunks(2).map(|c| c.iter().product::<f64>()).sum();
        let c: Vec<f64> = x
            .iter()
            .scan(1.0, |s, v| {
                *s *= v;
                Some(*s)
            })
            .collect();
        let d: f64 = x.iter().take_while(|v| **v < 3.5).zip(x.iter().skip(1).step_by(2)).map(|(a, b)| a * b * b).sum();
        let e = x.iter().rev().fold(0.0, |acc, v| acc * 0.5 + v);
        let f: f64 = x.iter().flat_map(|v| [*v, v * v, v.sin()]).sum();
        let g =
            x.iter().skip_while(|v| **v < 2.0).map_while(|v| if *v < 5.0 { Some(v.ln()) } else { None }).sum::<f64>();
        let h = x.iter().enumerate().filter(|(i, _)| i % 2 == 0).map(|(i, v)| v * i as f64).sum::<f64>();
        let i = x.iter().copied().reduce(|a, b| a.max(b) + 0.1 * a).unwrap_or(0.0);
        let (l, r): (Vec<f64>, Vec<f64>) = x.iter().partition(|v| **v > 2.5);
        let (u, v): (Vec<f64>, Vec<usize>) = x.iter().enumerate().map(|(i, v)| (v * v, i)).unzip();
        let p = x.iter().position(|v| *v > 2.5).map_or(0.0, |i| x[i] * u[i]);
        let q = x.iter().peekable();
        let mut q = q;
        let mut acc = 0.0;
        while let Some(v) = q.next() {
            if let Some(n) = q.peek() {
                acc += v * **n;
            } else {
                acc += v;
            }
        }
        a + b
            + c.iter().sum::<f64>()
            + d
            + e
            + f
            + g
            + h
            + i
            + l.iter().sum::<f64>() * r.len() as f64
            + r.iter().product::<f64>()
            + p
            + acc
            + v[1] as f64
            + x.iter().cycle().take(7).sum::<f64>()
            + x.iter().chain(&c).max_by(|a, b| a.total_cmp(b)).unwrap()
            + x.last().unwrap() * x.first().unwrap()
    } at [1.0, 2.2, 3.0, 4.0, 5.2];

    fn dedup_drain(x) {
        trait ConcatSum {
            fn concat_sum(&self) -> f64;
        }
        impl ConcatSum for Vec<f64> {
            fn concat_sum(&self) -> f64 {
                [self.as_slice(), &self[1..]].concat().iter().sum()
            }
        }
        let mut v = x.to_vec();
        v.dedup_by(|a, b| (*a - *b).abs() < 1e-4);
        let d: Vec<f64> = v.drain(1..3).collect();
        v.insert(1, d[0] * d[1]);
        v.retain(|t| *t > 0.6);
        v.truncate(3);
        let s = v.split_off(1);
        v.extend_from_slice(&s);
        v.extend(d.iter().map(|t| t * 2.0));
        let r = v.remove(0);
        v.push(r * r);
        v.swap_remove(0)
            + v.iter().sum::<f64>()
            + v.pop().unwrap() * v.splice(0..1, [x[0], x[5]]).sum::<f64>()
            + v.len() as f64
            + v.concat_sum()
    } at [1.0, 1.0, 2.0, 3.0, 3.0, 0.5];

    fn split_chunks_mut(x) {
        let mut a = x.to_vec();
        {
            let (l, r) = a.split_at_mut(3);
            for (p, q) in l.iter_mut().zip(r.iter_mut()) {
                *p += *q * 0.5;
                *q *= *p;
            }
            std::mem::swap(&mut l[0], &mut r[2]);
        }
        for c in a.chunks_exact_mut(2) {
            let t = c[0];
            c[0] = c[1].sin();
            c[1] = t * c[0];
        }
        if let [f, .., l] = a.as_mut_slice() {
            *f += *l;
            *l *= 0.3;
        }
        if let Some((h, t)) = a.split_first_mut() {
            for v in t {
                *v += *h;
            }
        }
        a.rotate_left(2);
        a[1..5].reverse();
        a[2..].fill(x[0]);
        a.copy_within(0..2, 3);
        let mut b = [0.0; 6];
        b.copy_from_slice(&a);
        b.swap(0, 5);
        for (i, w) in b.rchunks(4).enumerate() {
            a[i] += w.iter().sum::<f64>();
        }
        a.iter().zip(b).map(|(p, q)| p * q).sum()
    } at [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    fn vecdeque_ma(x) {
        use std::collections::VecDeque;
        let mut win: VecDeque<f64> = VecDeque::with_capacity(3);
        let mut out = vec![];
        for v in x {
            if win.len() == 3 {
                win.pop_front();
            }
            win.push_back(*v);
            out.push(win.iter().sum::<f64>() / win.len() as f64 * win[0]);
        }
        win.push_front(out[2]);
        win.rotate_left(1);
        win[0] *= 2.0;
        if let Some(b) = win.back_mut() {
            *b += x[0];
        }
        out.iter().sum::<f64>()
            + win.iter().enumerate().map(|(i, v)| v * i as f64).sum::<f64>()
            + win.into_iter().rev().fold(0.0, |a, b| a * 0.1 + b)
    } at [1.0, 2.0, 4.0, 8.0, 16.0, 3.0];

    fn vecdeque_struct(x) {
        #[derive(Clone, Copy)]
        struct Job {
            id: u32,
            w: f64,
            d: u8,
        }
        let mut q: std::collections::VecDeque<Job> =
            x.iter().enumerate().map(|(i, v)| Job { id: i as u32, w: *v, d: 0 }).collect();
        let mut s = 0.0;
        while let Some(j) = q.pop_front() {
            s += j.w * (j.id + 1) as f64;
            if j.d < 2 && j.w > 1.5 {
                q.push_back(Job { w: j.w * 0.5, d: j.d + 1, ..j });
            }
        }
        s
    } at [1.0, 2.0, 4.0, 8.0];

    fn cow_slices(x) {
        use std::borrow::Cow;
        fn clamp(v: &[f64]) -> Cow<'_, [f64]> {
            if v.iter().any(|a| *a < 0.0) {
                Cow::Owned(v.iter().map(|a| a.max(0.0) + 0.1 * a).collect())
            } else {
                Cow::Borrowed(v)
            }
        }
        let a = clamp(x);
        let b = clamp(&x[2..]);
        let mut c = a.clone().into_owned();
        c[0] *= b[0];
        a.iter().zip(&c).map(|(p, q)| p * q).sum::<f64>() + b.len() as f64
    } at [1.0, -2.0, 3.0];

    fn ring_buffer_struct(x) {
        struct Ring<const N: usize> {
            buf: [f64; N],
            head: usize,
            len: usize,
            total: f64,
        }
        impl<const N: usize> Ring<N> {
            fn new() -> Self {
                Ring { buf: [0.0; N], head: 0, len: 0, total: 0.0 }
            }
            fn push(&mut self, v: f64) -> Option<f64> {
                let old = if self.len == N {
                    let o = self.buf[self.head];
                    self.total -= o;
                    Some(o)
                } else {
                    self.len += 1;
                    None
                };
                self.buf[self.head] = v;
                self.head = (self.head + 1) % N;
                self.total += v;
                old
            }
            fn mean(&self) -> f64 {
                self.total / self.len as f64
            }
            fn get(&self, back: usize) -> f64 {
                self.buf[(self.head + N - 1 - back) % N]
            }
        }
        let mut r: Ring<3> = Ring::new();
        let mut s = 0.0;
        for v in x {
            if let Some(o) = r.push(v * v) {
                s += o * 0.5;
            }
            s += r.mean() * r.get(0);
        }
        s + r.get(1)
    } at [1.0, 2.0, 3.0, 4.0, 5.0];

    fn bank_accounts(x) {
        #[derive(Debug, Clone, PartialEq)]
        enum Tx {
            Deposit,
            Withdraw,
            Interest,
        }
        #[derive(Debug, Clone)]
        struct Account {
            id: u32,
            owner: String,
            balance: f64,
            history: Vec<(u8, f64)>,
        }
        impl Account {
            fn apply(&mut self, t: &Tx, amount: f64) -> Result<f64, String> {
                match t {
                    Tx::Deposit => {
                        self.balance += amount;
                        self.history.push((0, amount));
                    }
                    Tx::Withdraw if amount > self.balance => return Err(format!("{} has too little", self.owner)),
                    Tx::Withdraw => {
                        self.balance -= amount;
                        self.history.push((1, amount));
                    }
                    Tx::Interest => {
                        let i = self.balance * amount;
                        self.balance += i;
                        self.history.push((2, i));
                    }
                }
                Ok(self.balance)
            }
        }
        fn run(x: &[f64]) -> Result<f64, String> {
            let mut a = Account { id: 7, owner: "Ada".into(), balance: x[0], history: Vec::new() };
            a.apply(&Tx::Deposit, x[1])?;
            a.apply(&Tx::Interest, x[2])?;
            a.apply(&Tx::Withdraw, x[0] * 0.5)?;
            if a.apply(&Tx::Withdraw, 1e6).is_err() {
                a.balance *= 1.1;
            }
            Ok(a.balance + a.history.iter().map(|(k, v)| *k as f64 * v).sum::<f64>() + a.id as f64)
        }
        run(x).unwrap_or(0.0)
    } at [10.0, 20.0, 0.05];

    fn decision_tree(x) {
        enum Tree {
            Leaf(f64),
            Split { feature: usize, at: f64, left: Box<Tree>, right: Box<Tree> },
        }
        impl Tree {
            fn soft(&self, x: &[f64]) -> f64 {
                match self {
                    Tree::Leaf(v) => *v,
                    Tree::Split { feature, at, left, right } => {
                        let p = 1.0 / (1.0 + (-(x[*feature] - at)).exp());
                        p * right.soft(x) + (1.0 - p) * left.soft(x)
                    }
                }
            }
        }
        let t = Tree::Split {
            feature: 0,
            at: 0.5,
            left: Box::new(Tree::Leaf(x[1])),
            right: Box::new(Tree::Split {
                feature: 2,
                at: x[0],
                left: Box::new(Tree::Leaf(2.0)),
                right: Box::new(Tree::Leaf(x[2] * x[1])),
            }),
        };
        t.soft(x)
    } at [1.0, 2.0, 3.0];

    fn bst_insert(x) {
        #[derive(Default)]
        struct Node {
            key: i32,
            val: f64,
            l: Option<Box<Node>>,
            r: Option<Box<Node>>,
        }
        fn insert(n: &mut Option<Box<Node>>, key: i32, val: f64) {
            match n {
                None => *n = Some(Box::new(Node { key, val, ..Default::default() })),
                Some(b) if key < b.key => insert(&mut b.l, key, val),
                Some(b) if key > b.key => insert(&mut b.r, key, val),
                Some(b) => b.val += val,
            }
        }
        fn sum(n: &Option<Box<Node>>, d: f64) -> f64 {
            n.as_ref().map_or(0.0, |b| sum(&b.l, d * 0.5) + b.val * d + sum(&b.r, d * 0.7))
        }
        let mut root = None;
        for (i, v) in x.iter().enumerate() {
            insert(&mut root, (i as i32 * 7) % 5, v * v);
        }
        insert(&mut root, 2, x[0]);
        sum(&root, 1.0)
    } at [3.0, 1.0, 2.0, 5.0];

    fn particles_soa_aos(x) {
        #[derive(Clone, Copy, Default)]
        struct Particle {
            pos: [f64; 2],
            vel: [f64; 2],
            mass: f64,
            id: u16,
            alive: bool,
        }
        struct World {
            ps: Vec<Particle>,
            g: f64,
            step: u32,
            bounds: Option<(f64, f64)>,
        }
        impl World {
            fn tick(&mut self, dt: f64) {
                let snapshot = self.ps.clone();
                for p in self.ps.iter_mut().filter(|p| p.alive) {
                    for q in snapshot.iter().filter(|q| q.id != p.id) {
                        let d = [q.pos[0] - p.pos[0], q.pos[1] - p.pos[1]];
                        let r2 = d[0] * d[0] + d[1] * d[1] + 0.1;
                        for k in 0..2 {
                            p.vel[k] += dt * self.g * q.mass * d[k] / (r2 * r2.sqrt());
                        }
                    }
                    for k in 0..2 {
                        p.pos[k] += dt * p.vel[k];
                    }
                    if let Some((lo, hi)) = self.bounds {
                        if p.pos[0] < lo || p.pos[0] > hi {
                            p.vel[0] = -p.vel[0];
                        }
                    }
                }
                self.step += 1;
            }
            fn energy(&self) -> f64 {
                self.ps.iter().map(|p| 0.5 * p.mass * p.vel.iter().map(|v| v * v).sum::<f64>()).sum()
            }
        }
        let ps = x
            .chunks(3)
            .enumerate()
            .map(|(i, c)| Particle { pos: [c[0], c[1]], mass: c[2], id: i as u16, alive: true, ..Default::default() })
            .collect();
        let mut w = World { ps, g: 1.0, step: 0, bounds: Some((-5.0, 5.0)) };
        while w.step < 5 {
            w.tick(0.1);
        }
        w.energy() + w.ps[0].pos[1]
    } at [0.1, 0.2, 1.0, 0.5, -0.3, 2.0];

    fn tokens_calculator(x) {
        #[derive(Clone, Debug)]
        enum Tok {
            Num(f64),
            Op(char),
            Var(usize),
        }
        let src = "0 3 * 1 0 + *";
        let toks: Vec<Tok> = src
            .split_whitespace()
            .map(|s| match s {
                "0" => Tok::Var(0),
                "1" => Tok::Var(1),
                "+" | "*" => Tok::Op(s.chars().next().unwrap()),
                n => Tok::Num(n.parse().unwrap()),
            })
            .collect();
        let mut st: Vec<f64> = vec![];
        for t in &toks {
            match t {
                Tok::Num(n) => st.push(*n),
                Tok::Var(i) => st.push(x[*i]),
                Tok::Op(c) => {
                    let (b, a) = (st.pop().unwrap(), st.pop().unwrap());
                    st.push(if *c == '+' { a + b } else { a * b });
                }
            }
        }
        st[0]
    } at [2.0, 3.0];

    fn text_table(x) {
        let csv = "a,1.0,2\nb,0.5,3\nc,2.5,1";
        let rows: Vec<(String, f64, u32)> = csv
            .lines()
            .filter_map(|l| {
                let mut f = l.split(',');
                Some((f.next()?.to_string(), f.next()?.parse().ok()?, f.next()?.parse().ok()?))
            })
            .collect();
        let mut scored: Vec<(f64, &str)> =
            rows.iter().map(|(n, w, k)| (w * x[0] + *k as f64 * x[1], n.as_str())).collect();
        scored.sort_by(|a, b| b.0.partial_cmp(&a.0).unwrap());
        scored.iter().enumerate().map(|(i, (s, n))| s * s / (i + n.len()) as f64).sum()
    } at [1.5, 2.5];

    fn sort_tuple_vec(x) {
        let mut v: Vec<(usize, f64, bool)> = x.iter().enumerate().map(|(i, a)| (i, a.sin(), i % 2 == 0)).collect();
        v.sort_by(|a, b| a.1.total_cmp(&b.1));
        v.sort_unstable_by_key(|t| t.2);
        v.reverse();
        v.iter().enumerate().map(|(r, (i, s, b))| s * (r * 3 + i) as f64 * if *b { 2.0 } else { 1.0 }).sum()
    } at [3.0, 1.0, 2.0, 0.5];

    fn trait_static_dispatch(x) {
        trait Shape {
            fn area(&self) -> f64;
            fn name(&self) -> &'static str {
                "shape"
            }
            fn scaled(self, k: f64) -> Self
            where
                Self: Sized;
        }
        #[derive(Clone)]
        struct Circle {
            r: f64,
        }
        #[derive(Clone)]
        struct Rect {
            w: f64,
            h: f64,
            id: u8,
        }
        impl Shape for Circle {
            fn area(&self) -> f64 {
                std::f64::consts::PI * self.r.powi(2)
            }
            fn scaled(self, k: f64) -> Self {
                Circle { r: self.r * k }
            }
        }
        impl Shape for Rect {
            fn area(&self) -> f64 {
                self.w * self.h
            }
            fn name(&self) -> &'static str {
                "rect"
            }
            fn scaled(self, k: f64) -> Self {
                Rect { w: self.w * k, h: self.h * k, ..self }
            }
        }
        fn total<S: Shape + Clone>(s: &[S], k: f64) -> f64 {
            s.iter().cloned().map(|s| s.scaled(k)).map(|s| s.area() * s.name().len() as f64).sum()
        }
        total(&[Circle { r: x[0] }, Circle { r: x[1] }], x[1]) + total(&[Rect { w: x[0], h: x[1], id: 3 }], x[0])
    } at [1.0, 2.0];

    fn enum_shapes(x) {
        #[derive(Clone, Copy)]
        enum Shape {
            Circle(f64),
            Rect { w: f64, h: f64 },
            Tri([f64; 3]),
            Empty,
        }
        impl Shape {
            fn area(&self) -> f64 {
                match *self {
                    Shape::Circle(r) => 3.14 * r * r,
                    Shape::Rect { w, h } => w * h,
                    Shape::Tri([a, b, c]) => {
                        let s = (a + b + c) / 2.0;
                        (s * (s - a) * (s - b) * (s - c)).sqrt()
                    }
                    Shape::Empty => 0.0,
                }
            }
        }
        let v = vec![
            Shape::Circle(x[0]),
            Shape::Rect { w: x[1], h: x[2] },
            Shape::Empty,
            Shape::Tri([x[0] + 2.0, x[1] + 1.0, x[2]]),
        ];
        let best = v.iter().copied().max_by(|a, b| a.area().total_cmp(&b.area())).unwrap_or(Shape::Empty);
        v.iter().map(Shape::area).sum::<f64>() + best.area() * x[0]
    } at [1.0, 2.0, 3.0];

    fn state_machine(x) {
        #[derive(Clone, Copy, PartialEq, Debug)]
        enum S {
            Idle,
            Up { since: usize, level: f64 },
            Down(f64),
        }
        let mut s = S::Idle;
        let mut out = 0.0;
        for (t, v) in x.iter().cycle().take(10).enumerate() {
            s = match s {
                S::Idle if *v > 1.0 => S::Up { since: t, level: *v },
                S::Idle => S::Idle,
                S::Up { since, level } if t - since > 2 => {
                    out += level;
                    S::Down(level * 0.5)
                }
                S::Up { since, level } => S::Up { since, level: level + v * 0.1 },
                S::Down(l) if l < 0.3 => S::Idle,
                S::Down(l) => {
                    out += l * v;
                    S::Down(l * 0.7)
                }
            };
        }
        out
    } at [0.5, 1.5, -1.0, 2.0];

    fn option_chain(x) {
        fn lookup(x: &[f64], i: usize) -> Option<f64> {
            x.get(i).copied().filter(|v| *v > 0.0)
        }
        let a = lookup(x, 0).and_then(|a| lookup(x, 1).map(|b| a * b)).or_else(|| lookup(x, 2)).unwrap_or(1.0);
        let b = lookup(x, 9).or(lookup(x, 1)).map_or(0.0, f64::sqrt);
        let c = lookup(x, 0).zip(lookup(x, 2)).map(|(p, q)| p / q).unwrap_or_default();
        let mut o = Some(x[2]);
        if let Some(v) = o.as_mut() {
            *v *= x[0];
        }
        let t = o.take().unwrap_or(0.0);
        let r = o.get_or_insert(x[1]);
        *r += 1.0;
        let Some(u) = o else { return a };
        let w = [Some(1.0), None, Some(x[0])].into_iter().flatten().sum::<f64>();
        a + b + c + t * u + w + o.replace(x[0]).unwrap() + o.xor(None).unwrap()
    } at [1.0, 4.0, 2.0];

    fn result_question(x) {
        #[derive(Debug)]
        enum E {
            Neg(f64),
            Empty,
            Other(String),
        }
        impl From<std::num::ParseIntError> for E {
            fn from(e: std::num::ParseIntError) -> E {
                E::Other(e.to_string())
            }
        }
        fn safe_sqrt(v: f64) -> Result<f64, E> {
            if v < 0.0 { Err(E::Neg(v)) } else { Ok(v.sqrt()) }
        }
        fn all(x: &[f64]) -> Result<f64, E> {
            if x.is_empty() {
                return Err(E::Empty);
            }
            let k: i32 = "3".parse()?;
            let v: Vec<f64> = x.iter().map(|v| safe_sqrt(*v)).collect::<Result<_, _>>()?;
            Ok(v.iter().sum::<f64>() * k as f64)
        }
        let a = match all(x) {
            Ok(v) => v,
            Err(E::Neg(v)) => v * 2.0,
            Err(_) => 0.0,
        };
        let b = match all(&[x[0], -x[1]]) {
            Ok(v) => v,
            Err(E::Neg(v)) => v * x[2],
            Err(_) => 0.0,
        };
        a + b
    } at [1.0, 4.0, 2.0];

    fn refcell_cell(x) {
        use std::cell::{Cell, RefCell};
        let total = Cell::new(0.0);
        let log = RefCell::new(Vec::new());
        let add = |v: f64| {
            total.set(total.get() + v * v);
            log.borrow_mut().push(v);
        };
        for v in x {
            add(*v);
            add(v.sin());
        }
        log.borrow_mut()[0] *= 2.0;
        let l = log.borrow();
        total.get() * l[1] + l.iter().sum::<f64>() + l.len() as f64
    } at [0.5, 1.5];

    fn hashmap_index(x) {
        use std::collections::HashMap;
        let names = ["a", "b", "c"];
        let idx: HashMap<&str, usize> = names.iter().enumerate().map(|(i, n)| (*n, i)).collect();
        let get = |n: &str| idx.get(n).map(|i| x[*i]).unwrap_or(0.0);
        get("a") * get("b") + get("c").sin() + get("zz")
    } at [0.5, 1.5, 2.0];

    fn rc_shared(x) {
        use std::rc::Rc;
        struct Node {
            v: f64,
            kids: Vec<Rc<Node>>,
        }
        fn sum(n: &Node) -> f64 {
            n.v + n.kids.iter().map(|k| 0.5 * sum(k)).sum::<f64>()
        }
        let leaf = Rc::new(Node { v: x[0] * x[1], kids: vec![] });
        let a = Rc::new(Node { v: x[1], kids: vec![leaf.clone(), leaf.clone()] });
        sum(&Node { v: x[0], kids: vec![a, leaf] })
    } at [0.5, 1.5];

    fn boxed_trait_objects(x) {
        trait T {
            fn f(&self, v: f64) -> f64;
        }
        struct A(f64);
        struct B {
            k: f64,
        }
        impl T for A {
            fn f(&self, v: f64) -> f64 {
                v * self.0
            }
        }
        impl T for B {
            fn f(&self, v: f64) -> f64 {
                v.sin() + self.k
            }
        }
        let v: Vec<Box<dyn T>> = vec![Box::new(A(x[0])), Box::new(B { k: x[1] })];
        v.iter().fold(x[0], |a, t| t.f(a))
    } at [0.5, 1.5];

    fn stack_in_an_array(x) {
        struct Stack {
            data: [f64; 8],
            len: usize,
        }
        impl Stack {
            fn push(&mut self, v: f64) -> Result<(), f64> {
                if self.len == 8 {
                    return Err(v);
                }
                self.data[self.len] = v;
                self.len += 1;
                Ok(())
            }
            fn pop(&mut self) -> Option<f64> {
                if self.len == 0 {
                    None
                } else {
                    self.len -= 1;
                    Some(self.data[self.len])
                }
            }
        }
        let mut s = Stack { data: [0.0; 8], len: 0 };
        for v in x {
            s.push(*v).unwrap();
            s.push(v * v).unwrap();
        }
        let mut t = 1.0;
        while let Some(v) = s.pop() {
            t = t * 0.5 + v * t;
        }
        t
    } at [0.3, 0.7, 1.1, 0.2];

    fn matrix_struct(x) {
        #[derive(Clone)]
        struct Mat {
            d: [[f64; 2]; 2],
            rows: usize,
            cols: usize,
            tag: u8,
        }
        impl Mat {
            fn mul(&self, o: &Mat) -> Mat {
                let mut r = Mat { d: [[0.0; 2]; 2], rows: self.rows, cols: o.cols, tag: 1 };
                for i in 0..self.rows {
                    for j in 0..o.cols {
                        for k in 0..self.cols {
                            r.d[i][j] += self.d[i][k] * o.d[k][j];
                        }
                    }
                }
                r
            }
        }
        let m = Mat { d: [[x[0], x[1]], [x[2], x[3]]], rows: 2, cols: 2, tag: 0 };
        let mut r = m.clone();
        for _ in 0..3 {
            r = r.mul(&m);
        }
        r.d[0][1] * r.d[1][0] + r.rows as f64 * r.d[0][0]
    } at [0.3, 0.7, 1.1, 0.2];

    fn heap_dijkstra(x) {
        #[derive(Clone, Copy, PartialEq)]
        struct It(f64, usize);
        impl Eq for It {}
        impl PartialOrd for It {
            fn partial_cmp(&self, o: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(o))
            }
        }
        impl Ord for It {
            fn cmp(&self, o: &Self) -> std::cmp::Ordering {
                o.0.total_cmp(&self.0)
            }
        }
        let e = [(0, 1, 0), (0, 2, 1), (1, 3, 2), (2, 3, 3), (1, 2, 4)];
        let mut d = [f64::INFINITY; 4];
        d[0] = 0.0;
        let mut h = std::collections::BinaryHeap::new();
        h.push(It(0.0, 0));
        while let Some(It(c, u)) = h.pop() {
            if c > d[u] {
                continue;
            }
            for (a, b, k) in e {
                if a == u {
                    let n = c + x[k] * x[k];
                    if n < d[b] {
                        d[b] = n;
                        h.push(It(n, b));
                    }
                }
            }
        }
        d[3] * d[2]
    } at [0.3, 0.7, 1.1, 0.2, 0.9];

    fn tuples_rotated(x) {
        let mut v: Vec<(f64, u32, f64)> = x.iter().map(|a| (*a, 3, a * a)).collect();
        v.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        v.rotate_left(1);
        v.reverse();
        v.iter().enumerate().map(|(i, a)| a.0 * a.2 * (a.1 as f64 + i as f64)).sum()
    } at [0.3, 0.7, 1.1, 0.2];

    fn nested_vecs_cloned(x) {
        let mut m: Vec<Vec<f64>> = vec![vec![0.0; 3]; 3];
        for i in 0..3 {
            for j in 0..=i {
                m[i][j] = x[i] * x[j + 1];
            }
        }
        let t = m.clone();
        m[0] = t[2].clone();
        m.push(vec![x[4]; 2]);
        m.iter().map(|r| r.iter().map(|v| v * v).sum::<f64>()).sum::<f64>() + t[1][1] * t[2][0]
    } at [3.0, 1.0, 2.0, 0.5, 4.0];

    fn list_walked_and_reversed(x) {
        struct N {
            v: f64,
            next: Option<Box<N>>,
        }
        let mut head: Option<Box<N>> = None;
        for v in x {
            head = Some(Box::new(N { v: v * v, next: head.take() }));
        }
        let mut cur = &mut head;
        let mut k = 1.0;
        while let Some(n) = cur {
            n.v *= k;
            k += x[0];
            cur = &mut n.next;
        }
        let mut rev = None;
        while let Some(mut n) = head {
            head = n.next.take();
            n.next = rev;
            rev = Some(n);
        }
        let mut s = 0.0;
        let mut c = rev.as_ref();
        while let Some(n) = c {
            s = s * 0.5 + n.v;
            c = n.next.as_ref();
        }
        s
    } at [3.0, 1.0, 2.0];
}
