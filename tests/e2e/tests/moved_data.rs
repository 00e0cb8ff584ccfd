//! Slices, vectors, boxes, lists, trees, enums, structs: moved, swapped, sorted, overwritten.

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

pullback_e2e::differentiated! {
    fn swap(x) {
        let mut v = x.to_vec();
        v.swap(0, 2);
        v.swap(1, 2);
        v[0] * 2.0 + v[1] * v[1] + v[2] * v[2] * v[2]
    } at [1.0, 2.0, 3.0];

    fn swap_loop(x) {
        let mut v = x.to_vec();
        let n = v.len();
        for i in 0..n {
            for j in 0..n - 1 - i {
                if v[j] > v[j + 1] {
                    v.swap(j, j + 1);
                }
            }
        }
        v.iter().enumerate().map(|(i, a)| a.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0, 0.5];

    fn copy_from(x) {
        let mut a = [0.0; 6];
        a[..3].copy_from_slice(x);
        a[3..].clone_from_slice(x);
        a[1..4].fill(x[0] * x[1]);
        a.copy_within(0..3, 2);
        a.iter().enumerate().map(|(i, v)| v * v * i as f64).sum()
    } at [1.0, 2.0, 3.0];

    fn rev_rot(x) {
        let mut a = x.to_vec();
        a.reverse();
        a.rotate_left(2);
        a[..3].rotate_right(1);
        a.iter().enumerate().map(|(i, v)| v.powi(i as i32)).sum()
    } at [1.0, 2.0, 3.0, 4.0, 5.0];

    fn sort_partial(x) {
        let mut a = x.to_vec();
        a.sort_by(|a, b| a.partial_cmp(b).unwrap());
        a.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0, 0.5, -1.0];

    fn sort_total(x) {
        let mut a = x.to_vec();
        a.sort_by(|a, b| b.total_cmp(a));
        a.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0, 0.5, -1.0];

    fn sort_unstable(x) {
        let mut a = x.to_vec();
        a.sort_unstable_by(|a, b| b.total_cmp(a));
        a.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0, 0.5, -1.0];

    fn sort_long(x) {
        let mut a: Vec<f64> = (0..60).map(|i| (i as f64 * x[0]).sin() * x[1]).collect();
        a.sort_by(|a, b| a.partial_cmp(b).unwrap());
        a.iter().enumerate().map(|(i, v)| v * i as f64).sum()
    } at [3.0, 1.0];

    fn sort_unst_long(x) {
        let mut a: Vec<f64> = (0..60).map(|i| (i as f64 * x[0]).sin() * x[1]).collect();
        a.sort_unstable_by(|a, b| a.partial_cmp(b).unwrap());
        a.iter().enumerate().map(|(i, v)| v * i as f64).sum()
    } at [3.0, 1.0];

    fn sort_indices(x) {
        let mut idx: Vec<usize> = (0..x.len()).collect();
        idx.sort_by(|&a, &b| x[a].partial_cmp(&x[b]).unwrap());
        idx.iter().enumerate().map(|(k, &i)| x[i] * x[i] * k as f64).sum()
    } at [3.0, 1.0, 2.0, 5.0];

    fn split_mut(x) {
        let mut a = x.to_vec();
        let (l, r) = a.split_at_mut(2);
        l[0] *= r[1];
        r[0] += l[0] * l[1];
        std::mem::swap(&mut l[0], &mut r[1]);
        l.swap_with_slice(r);
        a[0] * a[1] + a[2] / a[3]
    } at [3.0, 1.0, 2.0, 5.0];

    fn copied_concat(x) {
        let a = [x, x].concat();
        let b: Vec<f64> = a.iter().copied().rev().collect();
        let c = [&a[..2], &b[..]].concat();
        c.iter().zip(&a).map(|(p, q)| p * q).sum::<f64>() + a.repeat(2)[7]
    } at [3.0, 1.0, 2.0];

    fn chunks_mut(x) {
        let mut a = x.to_vec();
        for (i, c) in a.chunks_mut(2).enumerate() {
            let s: f64 = c.iter().sum();
            for v in c.iter_mut() {
                *v = *v * s + i as f64;
            }
        }
        for c in a.chunks_exact_mut(2) {
            c[1] *= c[0];
        }
        a.iter().sum()
    } at [3.0, 1.0, 2.0, 4.0, 5.0];

    fn first_last(x) {
        let mut v = x.to_vec();
        if let Some(f) = v.first_mut() {
            *f *= *f;
        }
        if let Some((l, rest)) = v.split_last_mut() {
            *l += rest[0];
        }
        *v.first().unwrap() * v.last().unwrap() + x.get(1).copied().unwrap_or(3.0) * x.get(9).copied().unwrap_or(2.0)
    } at [3.0, 1.0, 2.0];

    fn arr2d(x) {
        let a = [[x[0], x[1]], [x[2], x[3]]];
        let mut b = [[0.0; 2]; 2];
        for i in 0..2 {
            for j in 0..2 {
                for k in 0..2 {
                    b[i][j] += a[i][k] * a[k][j];
                }
            }
        }
        b.swap(0, 1);
        let c = b;
        b[0] = c[1];
        b[0][0] * b[0][1] + b[1][0] * c[0][1]
    } at [3.0, 1.0, 2.0, 0.5];

    fn arr_copy_dyn(x) {
        let mut s = [[0.0f64; 3]; 4];
        for t in 1..4 {
            s[t] = s[t - 1];
            s[t][t % 3] += x[t] * x[0];
            let prev = s[t];
            s[t][0] += prev[1] * prev[2];
        }
        s[3].iter().product::<f64>() + s[2][0]
    } at [3.0, 1.0, 2.0, 0.5];

    fn vec_push(x) {
        let mut v = Vec::new();
        for a in x {
            v.push(a * a);
            v.push(a.sin());
        }
        v.push(x[0]);
        let mut w = Vec::with_capacity(3);
        w.extend(v.iter().map(|a| a + 1.0));
        w.extend_from_slice(x);
        w.iter().product()
    } at [3.0, 1.0, 2.0, 0.5];

    fn vec_insert(x) {
        let mut v = x.to_vec();
        v.insert(1, x[0] * x[3]);
        v.insert(0, 2.0);
        let r = v.remove(2);
        let p = v.pop().unwrap();
        let s = v.swap_remove(0);
        v.truncate(2);
        v[0] * v[1] + r * r + p * s
    } at [3.0, 1.0, 2.0, 0.5];

    fn vec_drain(x) {
        let mut v: Vec<f64> = x.iter().map(|a| a * a).collect();
        let d: Vec<f64> = v.drain(1..3).collect();
        let e: f64 = v.drain(..1).product();
        d[0] * d[1] * v[0] + e * v[1]
    } at [3.0, 1.0, 2.0, 0.5, 4.0];

    fn vec_resize(x) {
        let mut v = x.to_vec();
        v.resize(5, x[0] * x[1]);
        v.resize(4, 0.0);
        v.resize_with(6, || x[2] * 2.0);
        v.iter().enumerate().map(|(i, a)| a * a * i as f64).sum()
    } at [3.0, 1.0, 2.0];

    fn vec_structs(x) {
        #[derive(Clone, Copy, Debug, Default)]
        struct B {
            p: [f64; 2],
            m: f64,
            k: u32,
        }
        let mut v: Vec<B> =
            (0..4).map(|i| B { p: [x[i % 3], x[(i + 1) % 3]], m: x[2] * i as f64, k: i as u32 }).collect();
        for i in 1..4 {
            let b = v[i - 1];
            v[i].p[0] += b.p[1] * b.m;
            v[i].m += b.k as f64 * b.p[0];
        }
        v.swap(0, 3);
        v.into_iter().map(|b| b.p[0] * b.p[1] + b.m * b.m).sum()
    } at [3.0, 1.0, 2.0];

    fn vec_into_iter(x) {
        let v: Vec<f64> = x.iter().map(|a| a * 2.0).collect();
        let w: Vec<f64> = v.into_iter().map(|a| a * a).filter(|a| *a > 1.0).collect();
        let b: Box<[f64]> = w.into_boxed_slice();
        let v2 = b.into_vec();
        v2.into_iter().rev().fold(1.0, |a, b| a * b + 1.0)
    } at [3.0, 1.0, 2.0];

    fn vec_dedup_append_split(x) {
        let mut v = x.to_vec();
        let mut w: Vec<f64> = x.iter().map(|a| a * a).collect();
        v.append(&mut w);
        w.push(x[0]);
        let t = v.split_off(2);
        v.clear();
        v.push(t[0] * t[3]);
        v.dedup();
        v[0] + w[0] * t[1]
    } at [3.0, 1.0, 2.0];

    fn vecdeque(x) {
        use std::collections::VecDeque;
        let mut q = VecDeque::new();
        for v in x {
            q.push_back(v * v);
            if q.len() > 2 {
                let a = q.pop_front().unwrap();
                q.push_back(a * v);
            }
        }
        q.push_front(x[0]);
        q.iter().product::<f64>() + q[1]
    } at [3.0, 1.0, 2.0];

    fn boxes(x) {
        let mut b = Box::new(x[0] * x[1]);
        *b += x[2];
        let c = b.clone();
        *b *= *c;
        let d = Box::new([x[0], *b, *c]);
        let e = *d;
        e[1] * e[2] + *b * d[0]
    } at [3.0, 1.0, 2.0];

    fn list_in_a_loop(x) {
        struct N {
            v: f64,
            next: Option<Box<N>>,
        }
        let mut head: Option<Box<N>> = None;
        for v in x {
            head = Some(Box::new(N { v: v * v, next: head.take() }));
        }
        let mut s = 1.0;
        let mut cur = &head;
        while let Some(n) = cur {
            s = s * n.v + 0.5;
            cur = &n.next;
        }
        s
    } at [3.0, 1.0, 2.0];

    fn list_rec(x) {
        enum L {
            Nil,
            Cons(f64, Box<L>),
        }
        fn mk(x: &[f64]) -> L {
            match x {
                [] => L::Nil,
                [a, r @ ..] => L::Cons(a * a, Box::new(mk(r))),
            }
        }
        fn map(l: L, k: f64) -> L {
            match l {
                L::Nil => L::Nil,
                L::Cons(a, r) => L::Cons(a * k, Box::new(map(*r, k + 1.0))),
            }
        }
        fn sum(l: &L) -> f64 {
            match l {
                L::Nil => 0.0,
                L::Cons(a, r) => a.sin() + sum(r) * a,
            }
        }
        sum(&map(mk(x), x[1]))
    } at [3.0, 1.0, 2.0];

    fn tree(x) {
        struct T {
            v: f64,
            l: Option<Box<T>>,
            r: Option<Box<T>>,
        }
        impl T {
            fn insert(&mut self, v: f64) {
                let side = if v < self.v { &mut self.l } else { &mut self.r };
                match side {
                    Some(t) => t.insert(v),
                    None => *side = Some(Box::new(T { v, l: None, r: None })),
                }
            }
            fn eval(&self) -> f64 {
                self.v * (1.0 + self.l.as_ref().map_or(0.0, |t| t.eval()))
                    + self.r.as_deref().map_or(1.0, T::eval).sqrt()
            }
        }
        let mut t = T { v: x[0], l: None, r: None };
        for v in &x[1..] {
            t.insert(*v);
        }
        t.eval()
    } at [3.0, 1.0, 2.0, 5.0, 4.0];

    fn rec_enum_vec(x) {
        enum T {
            Leaf(f64),
            Node(Vec<T>),
        }
        fn ev(t: &T) -> f64 {
            match t {
                T::Leaf(v) => v * v,
                T::Node(c) => c.iter().map(ev).fold(1.0, |a, b| a * 0.5 + b * a),
            }
        }
        let t = T::Node(vec![T::Leaf(x[0]), T::Node(vec![T::Leaf(x[1]), T::Leaf(x[2])]), T::Node(vec![])]);
        ev(&t)
    } at [3.0, 1.0, 2.0];

    fn options(x) {
        fn f(v: f64) -> Option<f64> {
            (v > 0.0).then(|| v.ln())
        }
        let a = f(x[0]).and_then(|v| f(x[1]).map(|w| v * w)).unwrap_or_else(|| x[2] * x[1]);
        let mut o = Some(x[0]);
        if let Some(v) = o.as_mut() {
            *v *= x[1];
        }
        let t = o.take();
        let r = o.replace(x[2]);
        a + t.unwrap()
            + r.unwrap_or(0.5 * x[0]) * o.unwrap()
            + f(x[1]).or(Some(x[0])).filter(|v| *v > 0.5).unwrap_or_default()
            + Some(x[0]).zip(Some(x[2])).map(|(a, b)| a * b).unwrap()
    } at [3.0, 1.0, 2.0], [3.0, -1.0, 2.0];

    fn opt_arr(x) {
        let mut memo: [Option<f64>; 8] = [None; 8];
        fn fib(n: usize, x: &[f64], m: &mut [Option<f64>; 8]) -> f64 {
            if n < 2 {
                return x[n];
            }
            if let Some(v) = m[n] {
                return v;
            }
            let r = fib(n - 1, x, m) * 0.5 + fib(n - 2, x, m) * x[2];
            m[n] = Some(r);
            r
        }
        fib(7, x, &mut memo) + memo[4].unwrap() * memo[0].unwrap_or(1.0)
    } at [3.0, 1.0, 2.0];

    fn memo_vec(x) {
        fn fib(n: usize, x: &[f64], m: &mut Vec<Option<f64>>) -> f64 {
            if n < 2 {
                return x[n];
            }
            if let Some(v) = m[n] {
                return v;
            }
            let r = fib(n - 1, x, m) + fib(n - 2, x, m) * x[2];
            m[n] = Some(r);
            r
        }
        let mut m = vec![None; 12];
        fib(11, x, &mut m)
    } at [3.0, 1.0, 2.0];

    fn results(x) {
        #[derive(Debug)]
        enum Err {
            Neg(f64),
            Big { v: f64, n: usize },
        }
        fn chk(v: f64, n: usize) -> Result<f64, Err> {
            if v < 0.0 {
                Err(Err::Neg(v))
            } else if v > 2.5 {
                Err(Err::Big { v: v * 2.0, n })
            } else {
                Ok(v.sqrt())
            }
        }
        fn go(x: &[f64]) -> Result<f64, Err> {
            Ok(chk(x[1], 1)? * chk(x[2], 2)?
                + match chk(x[0], 0) {
                    Ok(v) => v,
                    Err(Err::Big { v, .. }) => v * v,
                    Err(e) => return Err(e),
                })
        }
        match go(x) {
            Ok(v) => v,
            Err(Err::Neg(v)) => v * x[1],
            Err(Err::Big { v, n }) => v * n as f64,
        }
    } at [3.0, 1.0, 2.0], [-3.0, 1.0, 2.0], [3.0, 1.0, -2.0];

    fn res_string(x) {
        fn chk(v: f64) -> Result<f64, String> {
            if v < 0.0 { Err(format!("bad {}", v as i32)) } else { Ok(v * v) }
        }
        chk(x[0]).map(|v| v * x[1]).unwrap_or_else(|e| x[0] * e.len() as f64)
    } at [3.0, 1.0], [-3.0, 1.0];

    fn res_box_err(x) {
        fn chk(v: f64) -> Result<f64, Box<dyn std::error::Error>> {
            if v < 0.0 { Err("neg".into()) } else { Ok(v * v + "2.5".parse::<f64>()?) }
        }
        match chk(x[0]) {
            Ok(v) => v * x[1],
            Err(_) => x[1] * x[0],
        }
    } at [3.0, 1.0], [-3.0, 1.0];

    fn tuples(x) {
        fn f(a: (f64, f64), b: (usize, f64, bool)) -> (f64, (f64, usize)) {
            if b.2 { (a.0 * b.1, (a.1, b.0)) } else { (a.1, (a.0, b.0 + 1)) }
        }
        let (p, (q, n)) = f((x[0], x[1]), (2, x[2], true));
        let (r, (s, m)) = f((p, q), (n, x[0], false));
        p * q + r * s * m as f64
    } at [3.0, 1.0, 2.0];

    fn structs(x) {
        #[derive(Clone)]
        struct In {
            a: [[f64; 2]; 2],
            n: usize,
            t: (f64, u8),
        }
        #[derive(Clone)]
        struct Out {
            i: [In; 2],
            s: f64,
            name: String,
        }
        let i = In { a: [[x[0], x[1]], [x[2], 1.0]], n: 2, t: (x[0] * x[1], 3) };
        let mut o = Out { i: [i.clone(), i], s: x[2], name: "hi".to_string() };
        o.i[1].a[0][1] *= o.s;
        o.i[0].t.0 += o.i[1].a[0][1];
        let p = o.clone();
        o.s = p.i[0].t.0;
        o.i[0] = p.i[1].clone();
        o.s * o.i[0].a[0][1] + o.i[0].t.0 * o.name.len() as f64 + p.s
    } at [3.0, 1.0, 2.0];

    fn enums(x) {
        #[derive(Clone, Copy)]
        enum S {
            Circle(f64),
            Rect { w: f64, h: f64 },
            Poly(u32, f64),
            Unit,
        }
        fn ar(s: S) -> f64 {
            match s {
                S::Circle(r) => r * r * 3.0,
                S::Rect { w, h } => w * h,
                S::Poly(n, s) => n as f64 * s * s * s,
                S::Unit => 1.0,
            }
        }
        let a = [S::Circle(x[0]), S::Rect { w: x[1], h: x[2] }, S::Poly(5, x[0]), S::Unit];
        let mut t = 1.0;
        for (i, s) in a.iter().enumerate() {
            t += ar(*s) * t * (i + 1) as f64 * 0.1;
        }
        t
    } at [3.0, 1.0, 2.0];

    fn mem_functions(x) {
        let mut a = x.to_vec();
        let mut b = vec![x[0] * x[1]];
        std::mem::swap(&mut a, &mut b);
        let c = std::mem::replace(&mut a[0], x[2]);
        let d = std::mem::take(&mut b);
        let mut p = c;
        let mut q = d[1];
        std::mem::swap(&mut p, &mut q);
        let e = std::mem::take(&mut b);
        p * q * q + a[0] * d[2] + e.len() as f64
    } at [3.0, 1.0, 2.0];

    fn format_and_print(x) {
        let mut s = String::new();
        for v in x {
            s.push_str(&format!("{v:.2},"));
        }
        println!("values {s} {:?} {}", x, x[0] * x[1]);
        eprint!("{:>8.3e}", x[2]);
        x[0] * x[1] * s.len() as f64
    } at [3.0, 1.0, 2.0];

    fn fmt_write(x) {
        use std::fmt::Write;
        let mut s = String::new();
        let y = x[0] * x[1];
        write!(s, "{y} {:?}", Some(y)).unwrap();
        let z = y + x[2];
        dbg!(z) * (s.len() > 2) as i32 as f64
    } at [3.0, 1.0, 2.0];

    fn panics(x) {
        assert!(x.len() == 3, "len {}", x.len());
        assert!(x[0] > 0.0);
        let i = x[1] as usize;
        if x[0] < -100.0 {
            panic!("no {}", x[0]);
        }
        debug_assert_eq!(i, i);
        x[i] * x[i + 1] * (if i < 5 { x[0] } else { unreachable!("x") })
    } at [3.0, 1.1, 2.0];

    fn black_box(x) {
        let n = std::hint::black_box(3usize);
        let mut s = 0.0;
        for i in 0..n {
            s += x[i] * x[0];
        }
        s
    } at [3.0, 1.0, 2.0];

    fn ins_sort(x) {
        let mut a = x.to_vec();
        for i in 1..a.len() {
            let mut j = i;
            let t = a[i];
            while j > 0 && a[j - 1] > t {
                a[j] = a[j - 1];
                j -= 1;
            }
            a[j] = t;
        }
        a.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0, 0.5, -1.0];

    fn ins_sort_ptr(x) {
        let mut a = x.to_vec();
        unsafe {
            let b = a.as_mut_ptr();
            let end = b.add(a.len());
            let mut tail = b.add(1);
            while tail != end {
                let mut sift = tail.sub(1);
                if *tail < *sift {
                    let tmp = tail.read();
                    let mut hole = tail;
                    loop {
                        std::ptr::copy_nonoverlapping(sift, hole, 1);
                        hole = sift;
                        if sift == b {
                            break;
                        }
                        sift = sift.sub(1);
                        if !(tmp < *sift) {
                            break;
                        }
                    }
                    *hole = tmp;
                }
                tail = tail.add(1);
            }
        }
        a.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [3.0, 1.0, 2.0, 0.5, -1.0];

    fn sort_arr2(x) {
        let mut a = [x[0], x[1]];
        a.sort_by(|a, b| a.partial_cmp(b).unwrap());
        a[0] * 2.0 + a[1] * 3.0
    } at [3.0, 1.0];

    fn sort_vec2(x) {
        let mut a = x.to_vec();
        a.sort_by(|a, b| a.partial_cmp(b).unwrap());
        a[0] * 2.0 + a[1] * 3.0
    } at [3.0, 1.0], [1.0, 3.0];

    fn ptr_inner(x) {
        let mut a = x.to_vec();
        unsafe {
            let b = a.as_mut_ptr();
            let mut p = b.add(a.len() - 1);
            while p != b {
                *p *= *p.sub(1);
                p = p.sub(1);
            }
        }
        a.iter().sum()
    } at [3.0, 1.0, 2.0];

    fn mem_swap_vec(x) {
        let mut a = x.to_vec();
        let mut b = vec![x[0] * x[1]];
        std::mem::swap(&mut a, &mut b);
        a[0] * b[1]
    } at [3.0, 1.0, 2.0];

    fn mem_take_vec(x) {
        let mut a = x.to_vec();
        let b = std::mem::take(&mut a);
        b[1] * b[0] + a.len() as f64
    } at [3.0, 1.0, 2.0];

    fn loop_swap_vec(x) {
        let mut a = x.to_vec();
        let mut b = vec![0.0; 3];
        for _ in 0..3 {
            for i in 0..3 {
                b[i] = a[i] * x[0];
            }
            std::mem::swap(&mut a, &mut b);
        }
        a[0] * a[1]
    } at [3.0, 1.0, 2.0];

    fn nested_clone(x) {
        let m: Vec<Vec<f64>> = vec![x.to_vec(), vec![x[0] * x[1]]];
        let t = m.clone();
        t[0][1] * t[1][0]
    } at [3.0, 1.0, 2.0];

    fn nested_push(x) {
        let mut m: Vec<Vec<f64>> = vec![vec![0.0; 3]; 2];
        m[0][1] = x[0];
        m.push(vec![x[2]; 2]);
        m[0][1] * m[2][1]
    } at [3.0, 1.0, 2.0];

    fn nested_assign(x) {
        let mut m: Vec<Vec<f64>> = vec![vec![x[1]; 3]; 2];
        m[0] = m[1].clone();
        m[0][1] * x[0]
    } at [3.0, 1.0, 2.0];

    fn e_box1(x) {
        enum E {
            Num(f64),
            Neg(Box<E>),
        }
        fn ev(e: &E) -> f64 {
            match e {
                E::Num(v) => v * v,
                E::Neg(a) => -ev(a),
            }
        }
        ev(&E::Neg(Box::new(E::Neg(Box::new(E::Num(x[0]))))))
    } at [3.0, 1.0, 2.0];

    fn e_pow(x) {
        enum E {
            Num(f64),
            Pow(Box<E>, i32),
            Add(Box<E>, Box<E>),
        }
        fn ev(e: &E) -> f64 {
            match e {
                E::Num(v) => v * v,
                E::Pow(a, n) => ev(a).powi(*n),
                E::Add(a, b) => ev(a) + ev(b),
            }
        }
        ev(&E::Pow(Box::new(E::Add(Box::new(E::Num(x[0])), Box::new(E::Num(x[1])))), 3))
    } at [3.0, 1.0, 2.0];

    fn list_map(x) {
        enum L {
            Nil,
            Cons(f64, Box<L>),
        }
        fn mk(x: &[f64]) -> L {
            match x {
                [] => L::Nil,
                [a, r @ ..] => L::Cons(a * a, Box::new(mk(r))),
            }
        }
        fn sum(l: &L) -> f64 {
            match l {
                L::Nil => 0.0,
                L::Cons(a, r) => a.sin() + sum(r) * a,
            }
        }
        sum(&mk(x))
    } at [3.0, 1.0, 2.0];

    fn list_map2(x) {
        enum L {
            Nil,
            Cons(f64, Box<L>),
        }
        fn mk(x: &[f64]) -> L {
            let mut l = L::Nil;
            for a in x {
                l = L::Cons(a * a, Box::new(l));
            }
            l
        }
        fn map(l: L, k: f64) -> L {
            match l {
                L::Nil => L::Nil,
                L::Cons(a, r) => L::Cons(a * k, Box::new(map(*r, k + 1.0))),
            }
        }
        fn sum(mut l: &L) -> f64 {
            let mut s = 0.0;
            while let L::Cons(a, r) = l {
                s = s * 0.5 + a;
                l = r;
            }
            s
        }
        sum(&map(mk(x), x[1]))
    } at [3.0, 1.0, 2.0];

    fn tree_rec_insert(x) {
        struct T {
            v: f64,
            l: Option<Box<T>>,
        }
        impl T {
            fn insert(&mut self, v: f64) {
                match &mut self.l {
                    Some(t) => t.insert(v),
                    None => self.l = Some(Box::new(T { v, l: None })),
                }
            }
            fn eval(&self) -> f64 {
                self.v * (1.0 + self.l.as_ref().map_or(0.0, |t| t.eval()))
            }
        }
        let mut t = T { v: x[0], l: None };
        for v in &x[1..] {
            t.insert(*v);
        }
        t.eval()
    } at [3.0, 1.0, 2.0];

    fn list_cur_mut(x) {
        struct N {
            v: f64,
            next: Option<Box<N>>,
        }
        let mut head: Option<Box<N>> = None;
        for v in x {
            head = Some(Box::new(N { v: v * v, next: head.take() }));
        }
        let mut cur = &mut head;
        while let Some(n) = cur {
            n.v *= x[0];
            cur = &mut n.next;
        }
        let mut s = 0.0;
        let mut c = head.as_ref();
        while let Some(n) = c {
            s = s * 0.5 + n.v;
            c = n.next.as_ref();
        }
        s
    } at [3.0, 1.0, 2.0];

    fn list_reverse(x) {
        struct N {
            v: f64,
            next: Option<Box<N>>,
        }
        let mut head: Option<Box<N>> = None;
        for v in x {
            head = Some(Box::new(N { v: v * v, next: head.take() }));
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

    fn enum_b_a(x) {
        #[derive(Clone, Copy)]
        enum V {
            A(f32),
            B(f64),
        }
        let v: Vec<V> = x.iter().enumerate().map(|(i, a)| if i < 2 { V::B(*a) } else { V::A(4.0) }).collect();
        v.iter()
            .map(|a| match a {
                V::B(d) => d * d,
                V::A(i) => *i as f64 * x[2],
            })
            .product()
    } at [3.0, 1.0, 2.0];

    fn swap_u32_f64(x) {
        #[derive(Clone, Copy)]
        struct P {
            id: u32,
            w: f64,
        }
        let mut a: Vec<P> = x.iter().enumerate().map(|(i, v)| P { id: 7 - i as u32, w: v * v }).collect();
        for i in 0..2 {
            a.swap(i, i + 1);
        }
        a[0].w * 2.0 + a[1].w * a[0].id as f64
    } at [3.0, 1.0, 2.0];

    fn ring_buffer(x) {
        struct Ring {
            buf: [f64; 4],
            head: usize,
            sum: f64,
        }
        impl Ring {
            fn push(&mut self, v: f64) {
                let i = self.head % 4;
                self.sum += v * v - self.buf[i] * 0.5;
                self.buf[i] = v;
                self.head += 1;
            }
        }
        let mut r = Ring { buf: [0.0; 4], head: 0, sum: 0.0 };
        for k in 0..7 {
            r.push(x[k % 3] * (1.0 + r.sum));
        }
        r.sum * r.buf[1]
    } at [0.3, 0.7, 1.1];

    fn array_and_integer_in_a_vec(x) {
        #[derive(Clone, Copy)]
        struct P {
            x: [f64; 2],
            id: u64,
            live: bool,
        }
        let mut ps: Vec<P> = (0..4).map(|i| P { x: [x[i], x[(i + 1) % 4]], id: i as u64, live: true }).collect();
        for step in 0..3 {
            for p in ps.iter_mut() {
                for k in 0..2 {
                    p.x[k] += 0.1 * p.x[1 - k];
                }
                p.id += 1;
                p.live = p.x[0] < 5.0;
            }
        }
        ps.iter().filter(|p| p.live).map(|p| p.x[0] * p.x[1] * p.id as f64).sum()
    } at [0.3, 0.7, 1.1, 0.2];

    fn rk_struct(x) {
        #[derive(Clone, Copy)]
        struct State {
            t: f64,
            y: [f64; 2],
            steps: u32,
        }
        let mut s = State { t: 0.0, y: [x[0], x[1]], steps: 0 };
        let mut h = 0.1;
        while s.t < 1.0 {
            let k = |s: &State| [s.y[1], -x[2] * s.y[0]];
            let a = k(&s);
            let mut m = s;
            for i in 0..2 {
                m.y[i] += h * a[i];
            }
            let b = k(&m);
            let err = (0..2).map(|i| (a[i] - b[i]).abs()).fold(0.0, f64::max);
            for i in 0..2 {
                s.y[i] += 0.5 * h * (a[i] + b[i]);
            }
            s.t += h;
            s.steps += 1;
            if err > 0.2 {
                h = 0.07;
            }
        }
        s.y[0] * s.y[1] * s.steps as f64
    } at [0.3, 0.7, 1.1];

    fn nearest_neighbours(x) {
        let pts = [(0.1, 0.5), (0.9, 0.3), (0.4, 0.8), (1.2, 1.1)];
        let mut d: Vec<(f64, usize)> = pts
            .iter()
            .enumerate()
            .map(|(i, p)| (((p.0 - x[0]) as f64).powi(2) + ((p.1 - x[1]) as f64).powi(2), i))
            .collect();
        d.sort_by(|a, b| a.partial_cmp(b).unwrap());
        d.iter().take(2).map(|(w, i)| w * x[*i]).sum()
    } at [0.3, 0.7, 1.1, 0.2];

    fn tokens(x) {
        #[derive(Clone, Debug, PartialEq)]
        enum Tok {
            Num(f64),
            Op(char),
            L,
            R,
        }
        fn parse(t: &[Tok], p: &mut usize) -> f64 {
            let mut v = term(t, p);
            while *p < t.len() {
                match t[*p] {
                    Tok::Op('+') => {
                        *p += 1;
                        v += term(t, p);
                    }
                    Tok::Op('-') => {
                        *p += 1;
                        v -= term(t, p);
                    }
                    _ => break,
                }
            }
            v
        }
        fn term(t: &[Tok], p: &mut usize) -> f64 {
            let mut v = fac(t, p);
            while *p < t.len() && t[*p] == Tok::Op('*') {
                *p += 1;
                v *= fac(t, p);
            }
            v
        }
        fn fac(t: &[Tok], p: &mut usize) -> f64 {
            match &t[*p] {
                Tok::Num(v) => {
                    *p += 1;
                    *v
                }
                Tok::L => {
                    *p += 1;
                    let v = parse(t, p);
                    *p += 1;
                    v
                }
                _ => panic!("unexpected"),
            }
        }
        let mut t = vec![];
        let mut i = 0;
        for c in "(a+b)*c-a*a".chars() {
            t.push(match c {
                'a' => Tok::Num(x[0]),
                'b' => Tok::Num(x[1]),
                'c' => Tok::Num(x[2]),
                '(' => Tok::L,
                ')' => Tok::R,
                o => Tok::Op(o),
            });
        }
        parse(&t, &mut i)
    } at [0.3, 0.7, 1.1];

    fn str_parse(x) {
        let mut s = x[0];
        for w in "1.5 2 3.25".split(' ') {
            let v: f64 = w.parse().unwrap();
            s = s * v + x[1];
        }
        s
    } at [0.3, 0.7];

    fn slice_pat(x) {
        match x {
            [a, .., b] if a < b => a * b,
            [a, b, rest @ ..] => a + b * rest[0],
            _ => 0.0,
        }
    } at [0.3, 0.7, 1.1, 2.0];

    fn option_of_reference(x) {
        fn best<'a>(x: &'a [f64]) -> Option<&'a f64> {
            let mut b: Option<&f64> = None;
            for v in x {
                if b.map_or(true, |c| v > c) {
                    b = Some(v);
                }
            }
            b
        }
        let y: Vec<f64> = x.iter().map(|v| v.sin() * 3.0).collect();
        best(&y).unwrap() * best(x).copied().unwrap()
    } at [0.3, 0.7, 1.1, 2.0];

    fn mut_refs(x) {
        fn pick<'a>(a: &'a mut f64, b: &'a mut f64, c: bool) -> &'a mut f64 {
            if c { a } else { b }
        }
        let (mut a, mut b) = (x[0], x[1]);
        for i in 0..4 {
            let r = pick(&mut a, &mut b, i % 2 == 0);
            *r = *r * x[2] + x[3];
        }
        a * b
    } at [0.3, 0.7, 1.1, 2.0];

    fn one_of_two_vecs(x) {
        let (mut a, mut b) = (x.to_vec(), vec![x[0]; 4]);
        for i in 0..4 {
            let r = if x[i] > 1.0 { &mut a } else { &mut b };
            r[i] *= x[3];
            r.push(x[i]);
        }
        a.iter().sum::<f64>() * b.iter().sum::<f64>()
    } at [0.3, 0.7, 1.1, 2.0];

    fn const_or_active(x) {
        const T: [f64; 4] = [1.0, 2.0, 3.0, 4.0];
        let mut s = 0.0;
        for i in 0..4 {
            let r: &[f64] = if i % 2 == 0 { x } else { &T };
            s += r[i] * r[i] * x[0];
        }
        s
    } at [0.3, 0.7, 1.1, 2.0];

    fn static_table(x) {
        static TAB: [[f64; 2]; 3] = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]];
        TAB.iter().map(|r| r[0] * x[0] + r[1] * x[1].sin()).product()
    } at [0.3, 0.7];

    fn shadowed_loop_vars(x) {
        let mut a = x[0];
        let mut b = x[1];
        for _ in 0..5 {
            (a, b) = (b, a * b + 0.5);
        }
        let (a, b) = (b, a);
        [a, b].iter().rev().fold(0.0, |s, v| s * a + v)
    } at [0.3, 0.7];

    fn u8_index_bool(x) {
        let flags: Vec<bool> = x.iter().map(|v| *v > 0.0).collect();
        let idx: Vec<u8> = (0..3u8).rev().collect();
        flags.iter().zip(idx).map(|(f, i)| if *f { x[i as usize].exp() } else { x[i as usize] * 2.0 }).product()
    } at [0.3, 0.7, -0.5];

    fn vec_vec_transpose(x) {
        fn tr(m: &[Vec<f64>]) -> Vec<Vec<f64>> {
            (0..m[0].len()).map(|j| m.iter().map(|r| r[j]).collect()).collect()
        }
        fn mm(a: &[Vec<f64>], b: &[Vec<f64>]) -> Vec<Vec<f64>> {
            a.iter().map(|r| tr(b).iter().map(|c| r.iter().zip(c).map(|(x, y)| x * y).sum()).collect()).collect()
        }
        let m = vec![vec![x[0], x[1]], vec![x[2], x[3]]];
        let p = mm(&m, &tr(&m));
        let q = mm(&p, &m);
        q[0][1] * q[1][0] + p[0][0]
    } at [0.3, 0.7, -0.5, 1.5];

    fn linked_vecdeque_bfs(x) {
        let adj = vec![vec![1, 2], vec![3], vec![3], vec![]];
        let mut q = std::collections::VecDeque::from(vec![(0usize, 1.0f64)]);
        let mut t = 0.0;
        while let Some((u, w)) = q.pop_front() {
            let w = w * x[u];
            t += w;
            for &v in &adj[u] {
                q.push_back((v, w));
            }
        }
        t
    } at [0.3, 0.7, -0.5, 1.5];

    fn chunks_of_struct(x) {
        #[derive(Clone, Copy, Default)]
        struct V3 {
            x: f64,
            y: f64,
            z: f64,
        }
        let vs: Vec<V3> = x.chunks_exact(3).map(|c| V3 { x: c[0], y: c[1], z: c[2] }).collect();
        let mut acc = V3::default();
        for v in &vs {
            acc = V3 { x: acc.x + v.y * v.z, ..acc };
            acc.y = acc.y.max(v.x);
        }
        let b = Box::new(acc);
        let V3 { x, y, z } = *b;
        x * y + z
    } at [0.3, 0.7, -0.5, 1.5, 0.2, 0.9];

    fn inner_fn_ptr_static(x) {
        fn apply(f: fn(f64) -> f64, v: f64) -> f64 {
            f(v)
        }
        apply(f64::sin, x[0]) * apply(|v| v * v, x[1])
    } at [0.3, 0.7];

    fn iter_by_ref_rest(x) {
        let mut it = x.iter();
        let a: f64 = it.by_ref().take(2).sum();
        let b: f64 = it.product();
        a * b
    } at [0.3, 0.7, 1.1, 1.9];

    fn zip3_minmax(x) {
        let mx = x.iter().cloned().fold(f64::NAN, f64::max);
        let mn = x.iter().cloned().fold(f64::INFINITY, f64::min);
        x.iter().zip(x.iter().rev()).zip(x.iter().skip(1)).map(|((a, b), c)| a * b * c / (mx - mn)).sum()
    } at [0.3, 0.7, 1.1, 1.9];

    fn sort_floats_dedup(x) {
        let mut v: Vec<f64> = x.iter().chain(x).map(|a| a * 2.0).collect();
        v.sort_by(f64::total_cmp);
        v.dedup();
        let m = v[v.len() / 2];
        let k = *v.select_nth_unstable_by(1, |a, b| a.total_cmp(b)).1;
        m * k + v.len() as f64 * x[0]
    } at [0.3, 0.7, 1.1, 1.9];

    fn string_keyed(x) {
        let names = vec![String::from("alpha"), "beta".to_owned()];
        let params: Vec<(String, f64)> = names.into_iter().zip(x.iter().copied()).collect();
        let get = |n: &str| params.iter().find(|(k, _)| k == n).map(|(_, v)| *v).unwrap_or(0.0);
        get("alpha") * get("beta") + get("alpha").sin()
    } at [0.3, 0.7];

    fn powf_int_base(x) {
        (1..4).map(|n| (n as f64).powf(x[0]) + x[1].powf(n as f64) + 2f64.powf(x[0] * x[1])).sum()
    } at [1.3, 0.7];

    fn big_while(x) {
        let mut a = x[0];
        let mut n = 0;
        while n < 100000 && a.abs() < 10.0 {
            a = (a + x[1]).cos();
            if n % 3 == 0 {
                a *= x[0];
            }
            n += 1;
        }
        a
    } at [0.3, 0.7];

    fn deep_rec(x) {
        fn r(a: f64, x: &[f64], n: usize) -> f64 {
            if n == 0 { a } else { (r(a * 0.99 + x[1] * 0.001, x, n - 1) + x[0] * 0.01).sin() }
        }
        r(x[0], x, 2000)
    } at [0.3, 0.7];

    fn empty(x) {
        let e: &[f64] = &x[1..];
        let v: Vec<f64> = e.iter().map(|a| a * 2.0).collect();
        let w = vec![0.0; e.len()];
        let m = v.iter().sum::<f64>() + w.iter().product::<f64>() * x[0];
        let mut c = v.clone();
        c.extend_from_slice(&w);
        c.sort_by(|a, b| a.total_cmp(b));
        c.reverse();
        for _ in 0..c.len() {
            return 5.0;
        }
        m * x[0]
    } at [0.3];

    fn overwrite_chain(x) {
        let mut b = [0.0; 3];
        let mut s = 0.0;
        for t in 0..6 {
            let i = t % 3;
            let old = b[i];
            b[i] = x[i] * (1.0 + old);
            s += b[(i + 1) % 3] * old + b[i];
            b[(i + 2) % 3] += 0.1 * s;
        }
        s * b[0]
    } at [0.3, 0.7, 1.1];

    fn alias_slices(x) {
        fn axpy(a: f64, x: &[f64], y: &mut [f64]) {
            for (u, v) in x.iter().zip(y) {
                *v += a * u;
            }
        }
        let mut y = x.to_vec();
        axpy(x[0], x, &mut y);
        let c = y.clone();
        axpy(c[1], &c, &mut y);
        let (l, r) = y.split_at_mut(1);
        axpy(2.0, l, &mut r[..1]);
        y.iter().product()
    } at [0.3, 0.7, 1.1];

    fn realloc_keep(x) {
        let mut v = Vec::with_capacity(1);
        let mut s = 0.0;
        for i in 0..40 {
            let last = v.last().copied().unwrap_or(x[0]);
            v.push(last * 0.9 + x[i % 3] * 0.1);
            if i % 7 == 6 {
                s += v.drain(..3).map(|a| a * a).sum::<f64>();
                v.shrink_to_fit();
            }
        }
        s * v.iter().sum::<f64>()
    } at [0.3, 0.7, 1.1];

    fn vec_of_boxes(x) {
        let mut v: Vec<Box<f64>> = x.iter().map(|a| Box::new(a * a)).collect();
        v.swap(0, 2);
        *v[1] *= *v[0];
        let b = v.pop().unwrap();
        v.insert(0, b);
        v.iter().enumerate().map(|(i, b)| **b * (i + 1) as f64).sum()
    } at [0.3, 0.7, 1.1];

    fn opt_vec(x) {
        let mut o: Option<Vec<f64>> = None;
        let mut s = 0.0;
        for i in 0..6 {
            match &mut o {
                None => o = Some(vec![x[i % 3]]),
                Some(v) if v.len() < 3 => v.push(x[i % 3] * v[0]),
                Some(v) => {
                    s += v.iter().product::<f64>();
                    v.clear();
                    v.push(s);
                }
            }
        }
        s + o.map_or(0.0, |v| v.iter().sum())
    } at [0.3, 0.7, 1.1];

    fn inner_break_state(x) {
        let mut s = 1.0;
        'o: for i in 0..10 {
            let mut k = 0;
            let t = loop {
                k += 1;
                s = s * x[k % 3] + 0.2;
                if s > 1.3 {
                    break s * 2.0;
                }
                if k > 4 {
                    continue 'o;
                }
                if i > 7 && s > 0.6 {
                    break 'o;
                }
            };
            s = t.sin() + x[i % 3];
        }
        s
    } at [0.3, 0.7, 1.1];

    fn two_recursions_tree(x) {
        fn f(a: f64, b: &mut [f64], d: usize) -> f64 {
            if d == 0 {
                b[0] += a;
                return b[0] * a;
            }
            let l = f(a * b[1], b, d - 1);
            b[2] *= 1.0 + 0.1 * l;
            let r = f(a + b[2], b, d - 1);
            l + r * b[0]
        }
        let mut b = x.to_vec();
        f(x[0], &mut b, 3) + b[2]
    } at [0.3, 0.7, 1.1];

    fn spec_store2(x) {
        fn f(v: f64) -> Option<f64> {
            if v > 0.0 { Some(v.ln()) } else { None }
        }
        let o: Vec<Option<f64>> = x.iter().map(|v| f(*v)).collect();
        o.iter().map(|v| v.unwrap_or(2.0)).product::<f64>() * x[1]
    } at [0.3, -1.1];

    fn spec_struct(x) {
        #[derive(Clone, Copy)]
        struct R {
            ok: bool,
            v: f64,
        }
        let o: Vec<R> =
            x.iter().map(|v| if *v > 0.0 { R { ok: true, v: v.sqrt() } } else { R { ok: false, v: 0.0 } }).collect();
        o.iter().filter(|r| r.ok).map(|r| r.v * x[1]).sum()
    } at [0.3, -1.1];

    fn spec_max(x) {
        x.iter().map(|v| if *v > 0.0 { v.powf(0.5) } else { -v }).sum()
    } at [0.3, -1.1];

    fn axis_of_points_with_payload(x) {
        struct S {
            p: [f64; 2],
            v: Vec<f64>,
            axis: u8,
        }
        let v: Vec<S> = x.iter().map(|&a| S { p: [a, 2.0], v: vec![a; 3], axis: (a > 2.0) as u8 }).collect();
        v.iter().map(|s| s.p[s.axis as usize] * s.v[1]).sum()
    } at [3.0, 1.0, 1.5];

    fn index_less_one_beside_text(x) {
        struct N {
            name: String,
            c: [f64; 2],
            k: usize,
        }
        let n = N { name: String::from("n"), c: [x[0] * x[1], x[1]], k: x.len() };
        n.c[n.k - 1] * n.c[n.k - 2] + n.name.len() as f64
    } at [3.0, 1.0];

    fn rows_beside_a_vector(x) {
        struct G {
            m: [[f64; 2]; 2],
            v: Vec<f64>,
        }
        let mut g = G { m: [[x[0], x[1]], [x[1], 1.0]], v: x.to_vec() };
        g.m.swap(0, 1);
        g.m[0][0] * g.m[1][0] * g.v[1]
    } at [3.0, 1.5];
}
