//! Control flow, iterators, closures, generics and recursion, in the mixtures people write.

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

pullback_e2e::differentiated! {
    fn while_loop(x) {
        let mut s = x[0];
        let mut n = 0;
        while s < 50.0 {
            s = s * x[1] + 0.1;
            n += 1;
        }
        s + n as f64 * x[0]
    } at [1.5, 2.0];

    fn loop_break(x) {
        let mut s = x[0];
        let r = loop {
            s *= 1.0 + x[1].abs();
            if s > 10.0 {
                break s.ln();
            }
            if s < 0.01 {
                break s * 2.0;
            }
        };
        r * x[1]
    } at [1.5, 2.0], [0.3, 1.2];

    fn labelled(x) {
        let mut s = 0.0;
        'outer: for i in 0..x.len() {
            for j in 0..x.len() {
                if i * j == 2 {
                    continue 'outer;
                }
                if s > 40.0 {
                    break 'outer;
                }
                s += x[i] * x[j];
            }
            s += 1.0 * x[i];
        }
        s
    } at [1.0, 2.0, 3.0, 4.0];

    fn label_block(x) {
        let r = 'a: {
            if x[0] > x[1] {
                break 'a x[0] * x[1];
            }
            let t = x[0].sin();
            if t > 0.5 {
                break 'a t * x[1];
            }
            3.0
        };
        r * r
    } at [1.0, 2.0], [2.0, 1.0];

    fn early_return(x) {
        for v in x {
            if *v < 0.0 {
                return v * v * v;
            }
            if *v > 2.5 {
                return v.exp() * x[0];
            }
        }
        x[0]
    } at [1.0, 2.0, 3.0], [-1.0, 2.0, 3.0];

    fn question(x) {
        fn lg(v: f64) -> Result<f64, String> {
            if v < 0.0 { Err(format!("negative {v}")) } else { Ok((1.0 + v).ln()) }
        }
        fn go(x: &[f64]) -> Result<f64, String> {
            let mut s = 0.0;
            for v in x {
                s += lg(*v)? * x[1];
            }
            Ok(s)
        }
        match go(x) {
            Ok(v) => v,
            Err(e) => x[1] * e.len() as f64,
        }
    } at [1.0, 2.0, 3.0], [-1.0, 2.0, 3.0], [0.1, 1.0, 2.0];

    fn match_guard(x) {
        match (x[0], x.len()) {
            (v, 2) if v < 0.0 => v * x[1],
            (v, _) if v < 0.5 => v.cos(),
            (v, n) if v < 2.0 => v.powi(n as i32),
            (v, _) => v / x[1],
        }
    } at [1.0, 2.0], [-3.0, 2.0], [0.2, 0.1], [5.0, 1.0];

    fn nested_data(x) {
        let mut s = 0.0;
        for &v in x {
            let mut t = v;
            while t < 8.0 {
                let mut k = 0;
                while (k as f64) < t {
                    s += t * v * 0.1;
                    k += 1;
                }
                t += 1.0 + v;
            }
            s *= 1.0 + 0.01 * v;
        }
        s
    } at [0.43, 1.73, 2.91];

    fn continue_loop(x) {
        let mut p = 1.0;
        for (i, v) in x.iter().enumerate() {
            if *v < 0.0 {
                p += v;
                continue;
            }
            p *= v + i as f64;
        }
        p
    } at [1.0, -2.0, 3.0];

    fn map_zip_en(x) {
        x.iter().zip(x.iter().skip(1)).enumerate().map(|(i, (a, b))| a * b * (i as f64 + 0.5)).sum()
    } at [1.0, 2.0, 3.0];

    fn windows_chunks(x) {
        let a: f64 = x.windows(2).map(|w| (w[1] - w[0]).powi(3)).sum();
        let b: f64 = x.chunks(2).map(|c| c.iter().product::<f64>()).sum();
        let c: f64 = x.chunks_exact(2).map(|c| c[0].sin() * c[1]).product();
        a + b * c
    } at [1.0, 2.0, 3.0, 4.5, 5.0];

    fn rchunks(x) {
        let r: f64 = x.rchunks(2).map(|c| c[0] * c[c.len() - 1]).sum();
        let ce = x.chunks_exact(2);
        let rem: f64 = ce.remainder().iter().map(|v| v * v).sum();
        r * rem
    } at [1.0, 2.0, 3.0, 4.5, 5.0];

    fn rev_step(x) {
        let mut acc = 0.0;
        for v in x.iter().rev().step_by(2) {
            acc = acc * 0.5 + v * v;
        }
        for i in (0..x.len()).rev().step_by(3) {
            acc += x[i] * acc;
        }
        acc
    } at [1.0, 2.0, 3.0, 4.5, 5.0];

    fn filter_scan(x) {
        x.iter()
            .filter(|v| **v > 0.0)
            .scan(1.0, |s, v| {
                *s = *s * v + 1.0;
                Some(*s)
            })
            .fold(0.0, |a, b| a * 0.1 + b)
    } at [1.0, -2.0, 3.0, 4.5, -5.0];

    fn flat_map(x) {
        x.iter().flat_map(|a| x.iter().map(move |b| a * b * b)).sum()
    } at [1.0, 2.0, 3.0];

    fn flat_vec(x) {
        x.iter().flat_map(|a| vec![a * 2.0, a * a]).sum()
    } at [1.0, 2.0, 3.0];

    fn flatten(x) {
        let v: Vec<Vec<f64>> = x.iter().map(|a| vec![*a; 2]).collect();
        v.into_iter().flatten().map(|v| v.exp()).sum()
    } at [1.0, 2.0, 3.0];

    fn take_skip_while(x) {
        let a: f64 = x.iter().take_while(|v| **v < 3.5).map(|v| v.sqrt()).sum();
        let b: f64 = x.iter().skip_while(|v| **v < 1.5).product();
        a * b
    } at [1.0, 2.0, 3.0, 4.0];

    fn max_min_by(x) {
        let m = x.iter().max_by(|a, b| a.partial_cmp(b).unwrap()).unwrap();
        let n = x.iter().copied().min_by(|a, b| a.total_cmp(b)).unwrap();
        m * m * n
    } at [1.0, 5.0, 3.0, -4.0];

    fn peekable(x) {
        let mut it = x.iter().peekable();
        let mut s = 0.0;
        while let Some(v) = it.next() {
            if let Some(n) = it.peek() {
                s += v * **n;
            } else {
                s *= v;
            }
        }
        s
    } at [1.0, 5.0, 3.0, -4.0];

    fn iter_mut(x) {
        let mut v = x.to_vec();
        for (i, a) in v.iter_mut().enumerate() {
            *a = *a * *a + i as f64;
        }
        for a in &mut v {
            *a = a.ln();
        }
        v.iter().sum()
    } at [1.0, 5.0, 3.0];

    fn retain(x) {
        let mut v: Vec<f64> = x.iter().map(|a| a * a * a).collect();
        v.retain(|a| *a > 0.0);
        v.iter().product::<f64>() + v.len() as f64 * x[1]
    } at [1.0, -5.0, 3.0, 2.0];

    fn partition(x) {
        let (p, n): (Vec<f64>, Vec<f64>) = x.iter().copied().partition(|a| *a > 0.0);
        p.iter().product::<f64>() * n.iter().sum::<f64>()
    } at [1.0, -5.0, 3.0, 2.0];

    fn unzip(x) {
        let (p, n): (Vec<f64>, Vec<f64>) = x.iter().map(|a| (a * a, a.sin())).unzip();
        p.iter().zip(&n).map(|(a, b)| a * b).sum()
    } at [1.0, -5.0, 3.0, 2.0];

    fn chain_cycle(x) {
        x.iter().chain(x.iter().rev()).cycle().take(8).enumerate().map(|(i, v)| v.powi(i as i32 % 3 + 1)).sum()
    } at [1.0, 2.0, 3.0];

    fn repeat_successors(x) {
        let a: f64 = std::iter::repeat(x[0]).take(3).product();
        let b: f64 = std::iter::successors(Some(x[1]), |v| if *v < 50.0 { Some(v * x[2]) } else { None }).sum();
        a * b
    } at [0.5, 2.0, 3.0];

    fn once_from_fn(x) {
        let mut st = x[0];
        let mut k = 0;
        let s: f64 = std::iter::from_fn(|| {
            k += 1;
            if k > 4 {
                None
            } else {
                st = st * x[1] + 1.0;
                Some(st)
            }
        })
        .sum();
        s + std::iter::once(x[2]).chain(std::iter::empty()).map(|v| v * v).sum::<f64>()
    } at [0.5, 2.0, 3.0];

    fn position_rposition(x) {
        let a = x.iter().position(|v| *v > 1.0).unwrap();
        let b = x.iter().rposition(|v| *v < 2.5).unwrap();
        x[a] * x[b]
            + x.iter().find(|v| **v > 2.5).map(|v| v.exp()).unwrap_or(0.0)
            + x.iter().last().unwrap() * x.iter().nth(1).unwrap()
    } at [0.5, 2.0, 3.0];

    fn try_fold(x) {
        x.iter().try_fold(1.0, |a, v| if *v > 0.0 { Some(a * v) } else { None }).unwrap_or(x[1] * x[1])
    } at [0.5, 2.0, 3.0], [0.5, -2.0, 3.0];

    fn reduce(x) {
        x.iter().copied().reduce(|a, b| a * b + a).unwrap()
    } at [0.5, 2.0, 3.0];

    fn sum_option(x) {
        let s: Option<f64> = x.iter().map(|v| if *v > 0.0 { Some(v.ln()) } else { None }).sum();
        s.unwrap() * x[0]
    } at [0.5, 2.0, 3.0];

    fn collect_result(x) {
        let s: Result<Vec<f64>, usize> =
            x.iter().enumerate().map(|(i, v)| if *v > 0.0 { Ok(v.ln()) } else { Err(i) }).collect();
        match s {
            Ok(v) => v.iter().product(),
            Err(i) => x[i] * x[0],
        }
    } at [0.5, 2.0, 3.0], [0.5, -2.0, 3.0];

    fn map_while_inspect(x) {
        let mut t = 0.0;
        let s: f64 =
            x.iter().inspect(|v| t += **v * **v).map_while(|v| if *v < 2.5 { Some(v * 3.0) } else { None }).sum();
        s * t
    } at [0.5, 2.0, 3.0];

    fn array_map(x) {
        let a = [x[0], x[1], x[2]].map(|v| v * v);
        let [p, q, r] = a;
        let b: [f64; 3] = std::array::from_fn(|i| a[i] * x[i]);
        p * q + r + b.iter().sum::<f64>()
    } at [0.5, 2.0, 3.0];

    fn array_into(x) {
        let mut s = 1.0;
        for v in [x[0], x[1], x[2] * x[0]] {
            s = s * v + v;
        }
        s
    } at [0.5, 2.0, 3.0];

    fn filter_map(x) {
        x.iter().filter_map(|v| if *v > 0.0 { Some(v.sqrt()) } else { None }).product()
    } at [0.5, -2.0, 3.0];

    fn sum_ref(x) {
        x.iter().sum::<f64>() * x.iter().copied().product::<f64>() * x.iter().count() as f64
    } at [0.5, -2.0, 3.0];

    fn fold_tuple(x) {
        let (a, b, _) = x.iter().fold((0.0, 1.0, 0usize), |(a, b, n), v| (a + v * b, b * v + 0.5, n + 1));
        a * b
    } at [0.5, -2.0, 3.0];

    fn range_incl(x) {
        (1..=4).map(|i| x[0].powi(i) / i as f64).sum::<f64>() + (0..=2usize).rev().map(|i| x[i] * x[2 - i]).sum::<f64>()
    } at [0.5, -2.0, 3.0];

    fn dyn_len_boxed(x) {
        let n = (x[2].abs() as usize) * 2;
        let mut v = vec![0.0; n];
        for i in 0..n {
            v[i] = x[i % 3] * if i > 0 { v[i - 1] + 1.0 } else { 1.0 };
        }
        v[n - 1]
    } at [0.5, -2.0, 3.2];

    fn closures(x) {
        let k = x[0];
        let f = |v: f64| k * v + x[1];
        let g = move |v: f64| f(f(v));
        let mut c = 0.0;
        let mut add = |v: f64| {
            c += v * v;
            c
        };
        add(g(x[2]));
        add(k);
        c
    } at [0.5, -2.0, 3.0];

    fn closure_compose(x) {
        fn compose<A, B, C>(f: impl Fn(A) -> B, g: impl Fn(B) -> C) -> impl Fn(A) -> C {
            move |a| g(f(a))
        }
        let h = compose(|v: f64| v * x[0], |v: f64| (v + x[1]).sin());
        h(x[2]) * h(x[0])
    } at [0.5, -2.0, 3.0];

    fn generics(x) {
        trait Shape {
            fn area(&self) -> f64;
            fn twice(&self) -> f64 {
                2.0 * self.area()
            }
        }
        struct Circle(f64);
        struct Rect {
            w: f64,
            h: f64,
        }
        impl Shape for Circle {
            fn area(&self) -> f64 {
                std::f64::consts::PI * self.0 * self.0
            }
        }
        impl Shape for Rect {
            fn area(&self) -> f64 {
                self.w * self.h
            }
            fn twice(&self) -> f64 {
                self.w * 3.0
            }
        }
        fn total<S: Shape, T: Shape>(s: &S, t: &T) -> f64 {
            s.twice() * t.twice() + s.area() / t.area()
        }
        total(&Circle(x[0]), &Rect { w: x[1], h: x[2] }) + total(&Rect { w: x[2], h: x[2] }, &Circle(x[1]))
    } at [0.5, -2.0, 3.0];

    fn generic_num(x) {
        use std::ops::{Add, Mul};
        fn horner<T: Copy + Add<Output = T> + Mul<Output = T>>(c: &[T], v: T) -> T {
            let mut r = c[0];
            for k in &c[1..] {
                r = r * v + *k;
            }
            r
        }
        #[derive(Clone, Copy)]
        struct C(f64, f64);
        impl Add for C {
            type Output = C;
            fn add(self, o: C) -> C {
                C(self.0 + o.0, self.1 + o.1)
            }
        }
        impl Mul for C {
            type Output = C;
            fn mul(self, o: C) -> C {
                C(self.0 * o.0 - self.1 * o.1, self.0 * o.1 + self.1 * o.0)
            }
        }
        let p = horner(x, x[0]);
        let q = horner(&[C(x[0], x[1]), C(x[2], 1.0), C(0.5, x[0])], C(x[1], x[2]));
        p + q.0 * q.1
    } at [0.5, -2.0, 3.0];

    fn rec_single(x) {
        fn p(x: f64, n: u32) -> f64 {
            if n == 0 {
                1.0
            } else if n % 2 == 0 {
                let h = p(x, n / 2);
                h * h
            } else {
                x * p(x, n - 1)
            }
        }
        p(x[0], 13) + p(x[1], 6) * x[0]
    } at [1.2, 0.9];

    fn rec_mutual(x) {
        fn even(x: f64, n: u32) -> f64 {
            if n == 0 { x } else { odd(x * 1.1, n - 1) * x }
        }
        fn odd(x: f64, n: u32) -> f64 {
            if n == 0 { x.sin() } else { even(x + 0.1, n - 1) + x }
        }
        even(x[0], 7) * odd(x[1], 4)
    } at [1.2, 0.9];

    fn rec_slice(x) {
        fn s(x: &[f64]) -> f64 {
            match x {
                [] => 0.0,
                [a] => a * a,
                _ => {
                    let (l, r) = x.split_at(x.len() / 2);
                    s(l) * 1.5 + s(r) * l[0]
                }
            }
        }
        s(x)
    } at [1.2, 0.9, 3.0, 4.0, 5.0];

    fn rec_pattern(x) {
        fn s(x: &[f64]) -> f64 {
            if let [first, rest @ ..] = x { first * (1.0 + s(rest)).sin() } else { 0.5 }
        }
        s(x)
    } at [1.2, 0.9, 3.0];

    fn rec_mut_slice(x) {
        fn go(v: &mut [f64], d: usize) {
            if v.len() < 2 {
                return;
            }
            let m = v.len() / 2;
            for i in 0..m {
                let a = v[i];
                let b = v[i + m];
                v[i] = a + b;
                v[i + m] = (a - b) * a;
            }
            let (l, r) = v.split_at_mut(m);
            go(l, d + 1);
            go(r, d + 1);
        }
        let mut v = x.to_vec();
        go(&mut v, 0);
        v.iter().enumerate().map(|(i, a)| a * (i + 1) as f64).sum()
    } at [1.2, 0.9, 3.0, 0.1];

    fn depth_first(x) {
        fn dfs(i: usize, acc: f64, x: &[f64], out: &mut f64) {
            if i == x.len() {
                *out += acc * acc;
                return;
            }
            dfs(i + 1, acc + x[i], x, out);
            dfs(i + 1, acc * x[i], x, out);
        }
        let mut o = 0.0;
        dfs(0, 1.0, x, &mut o);
        o
    } at [1.2, 0.9, 3.0];

    fn rec_vec_ret(x) {
        fn perms(x: &[f64]) -> Vec<f64> {
            if x.is_empty() {
                return vec![1.0];
            }
            let mut out = vec![];
            for p in perms(&x[1..]) {
                out.push(p + x[0]);
                out.push(p * x[0]);
            }
            out
        }
        perms(x).iter().map(|v| v * v).sum()
    } at [1.2, 0.9, 3.0];
}
