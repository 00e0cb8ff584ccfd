//! Arguments and results of every kind: recursive types, structs that own memory, scratch space, values consumed.

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

use pullback::{Differentiable, autodiff, make_zero};
use pullback_e2e::finite_differences;

fn assert_close(left: f64, right: f64, tolerance: f64, what: &str) {
    let scale = left.abs().max(right.abs()).max(1.0);
    assert!((left - right).abs() <= tolerance * scale, "{what}: {left} and {right} differ by more than {tolerance}");
}

mod arg_list {
    use super::*;

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    enum L {
        Nil,
        Cons(f64, Box<L>),
    }
    #[autodiff(rv, Reverse, Duplicated, Active, Active)]
    #[autodiff(fw, Forward, Dual, Dual, Dual)]
    fn g(l: &L, k: f64) -> f64 {
        match l {
            L::Nil => k,
            L::Cons(a, r) => a * a * g(r, k * a) + k,
        }
    }
    fn mk(v: &[f64]) -> L {
        v.iter().rev().fold(L::Nil, |r, a| L::Cons(*a, Box::new(r)))
    }
    #[test]
    fn is_right() {
        let v = [1.5, 0.5, 2.0];
        let l = mk(&v);
        let mut d = make_zero(&l);
        let (dk, val) = rv(&l, &mut d, 0.7);
        assert_eq!(val, g(&l, 0.7));
        let fd = finite_differences(|x| g(&mk(&x[..3]), x[3]), &[1.5, 0.5, 2.0, 0.7]);
        let mut c = &d;
        let mut i = 0;
        while let L::Cons(a, r) = c {
            assert_close(*a, fd[i], 1e-6, "list");
            c = r;
            i += 1;
        }
        assert_close(dk, fd[3], 1e-6, "k");
        let (_, t) = fw(&l, &mk(&[1.0, 2.0, 3.0]), 0.7, 4.0);
        assert_close(t, fd[0] + 2.0 * fd[1] + 3.0 * fd[2] + 4.0 * fd[3], 1e-6, "fw");
    }
}

mod arg_tree {
    use super::*;

    #[derive(Differentiable, Clone, Debug)]
    struct T {
        v: f64,
        kids: Vec<T>,
        tag: u32,
    }
    #[autodiff(rv, Reverse, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(t: &T) -> f64 {
        let mut s = t.v;
        for k in &t.kids {
            s = s * 0.5 + g(k).sin() * t.v;
        }
        s * t.tag as f64
    }
    fn mk(x: &[f64]) -> T {
        T {
            v: x[0],
            tag: 2,
            kids: vec![
                T { v: x[1], tag: 3, kids: vec![] },
                T { v: x[2], tag: 1, kids: vec![T { v: x[3], tag: 5, kids: vec![] }] },
            ],
        }
    }
    #[test]
    fn is_right() {
        let x = [0.4, 0.3, 0.8, 0.6];
        let t = mk(&x);
        let mut d = make_zero(&t);
        rv(&t, &mut d);
        let fd = finite_differences(|x| g(&mk(x)), &x);
        for (a, b) in [d.v, d.kids[0].v, d.kids[1].v, d.kids[1].kids[0].v].iter().zip(&fd) {
            assert_close(*a, *b, 1e-6, "tree");
        }
        let (_, t) = fw(&t, &T { tag: 0, ..mk(&[1.0, 1.0, 1.0, 1.0]) });
    }
}

mod arg_tree_fw {
    use super::*;

    #[derive(Differentiable, Clone, Debug)]
    struct T {
        v: f64,
        l: Option<Box<T>>,
        r: Option<Box<T>>,
    }
    #[autodiff(rv, Reverse, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(t: &T) -> f64 {
        t.v * (1.0 + t.l.as_ref().map_or(0.0, |t| g(t))) + t.r.as_deref().map_or(0.5, g).sin()
    }
    fn mk(x: &[f64]) -> T {
        T {
            v: x[0],
            l: Some(Box::new(T { v: x[1], l: None, r: Some(Box::new(T { v: x[2], l: None, r: None })) })),
            r: None,
        }
    }
    #[test]
    fn is_right() {
        let x = [0.4, 0.3, 0.8];
        let t = mk(&x);
        let mut d = make_zero(&t);
        rv(&t, &mut d);
        let fd = finite_differences(|x| g(&mk(x)), &x);
        let l = d.l.as_ref().unwrap();
        assert_close(d.v, fd[0], 1e-6, "");
        assert_close(l.v, fd[1], 1e-6, "");
        assert_close(l.r.as_ref().unwrap().v, fd[2], 1e-6, "");
        let (_, tt) = fw(&t, &mk(&[1.0, 2.0, 3.0]));
        assert_close(tt, fd[0] + 2.0 * fd[1] + 3.0 * fd[2], 1e-6, "");
    }
}

mod arg_expr {
    use super::*;

    #[derive(Differentiable, Clone, Debug)]
    enum E {
        Num(f64),
        Var(usize),
        Neg(Box<E>),
        Add(Box<E>, Box<E>),
        Mul(Box<E>, Box<E>),
        Pow(Box<E>, i32),
    }
    use E::*;
    #[autodiff(rv, Reverse, Duplicated, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual, Dual)]
    fn ev(e: &E, x: &[f64]) -> f64 {
        match e {
            Num(v) => *v,
            Var(i) => x[*i],
            Neg(a) => -ev(a, x),
            Add(a, b) => ev(a, x) + ev(b, x),
            Mul(a, b) => ev(a, x) * ev(b, x),
            Pow(a, n) => ev(a, x).powi(*n),
        }
    }
    #[test]
    fn is_right() {
        let b = |e: E| Box::new(e);
        let mk = |p: f64| Add(b(Mul(b(Num(p)), b(Var(0)))), b(Neg(b(Pow(b(Var(1)), 3)))));
        let e = mk(1.5);
        let mut d = make_zero(&e);
        let mut dx = [0.0; 2];
        rv(&e, &mut d, &[2.0, 3.0], &mut dx);
        assert_eq!(dx, [1.5, -27.0]);
        if let Add(m, _) = &d {
            if let Mul(n, _) = &**m {
                if let Num(v) = **n {
                    assert_eq!(v, 2.0);
                    return;
                }
            }
        }
        panic!();
    }
}

mod arg_enum_slice {
    use super::*;

    #[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
    enum S {
        Circle(f64),
        Rect { w: f64, h: f64 },
        Poly(u32, f64),
        Unit,
    }
    #[autodiff(rv, Reverse, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(s: &[S]) -> f64 {
        s.iter()
            .map(|s| match s {
                S::Circle(r) => r * r,
                S::Rect { w, h } => w * h,
                S::Poly(n, s) => *n as f64 * s * s * s,
                S::Unit => 1.0,
            })
            .product()
    }
    #[test]
    fn is_right() {
        let s = [S::Circle(2.0), S::Rect { w: 3.0, h: 4.0 }, S::Poly(2, 0.5), S::Unit];
        let mut d = make_zero(&s);
        let v = rv(&s, &mut d);
        assert_eq!(v, 12.0);
        assert_eq!(d[0], S::Circle(12.0));
        assert_eq!(d[1], S::Rect { w: 4.0, h: 3.0 });
        assert_eq!(d[2], S::Poly(2, 72.0));
    }
}

mod arg_struct_mut {
    use super::*;

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    struct St {
        p: [f64; 3],
        m: Vec<f64>,
        n: usize,
        b: Box<f64>,
        o: Option<f64>,
    }
    #[autodiff(rv, Reverse, Duplicated, Active, Const)]
    #[autodiff(fw, Forward, Dual, Dual, Const)]
    fn step(s: &mut St, h: f64) {
        for i in 0..3 {
            s.p[i] += h * s.m[i] * *s.b;
        }
        *s.b *= s.p[0];
        s.m[0] = s.p[1] * s.p[2];
        if let Some(v) = &mut s.o {
            *v = *v * h;
        }
        s.n += 1;
    }
    fn mk(x: &[f64]) -> St {
        St { p: [x[0], x[1], x[2]], m: vec![x[3], x[4], x[5]], n: 0, b: Box::new(x[6]), o: Some(x[7]) }
    }
    fn un(s: &St) -> [f64; 8] {
        [s.p[0], s.p[1], s.p[2], s.m[0], s.m[1], s.m[2], *s.b, s.o.unwrap()]
    }
    #[test]
    fn is_right() {
        let x = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9];
        let w = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
        let f = |x: &[f64]| {
            let mut s = mk(x);
            step(&mut s, x[8]);
            un(&s).iter().zip(w).map(|(a, b)| a * b).sum::<f64>()
        };
        let fd = finite_differences(f, &x);
        let mut s = mk(&x);
        let mut d = mk(&w);
        let dh = rv(&mut s, &mut d, x[8]);
        let dh: f64 = dh;
        for (a, b) in un(&d).iter().zip(&fd) {
            assert_close(*a, *b, 1e-6, &format!("{d:?} {fd:?}"));
        }
        assert_close(dh, fd[8], 1e-6, "h");
        assert_eq!(s.n, 1);
        for i in 0..9 {
            let mut e = [0.0; 9];
            e[i] = 1.0;
            let mut s = mk(&x);
            let mut d = mk(&e);
            fw(&mut s, &mut d, x[8], e[8]);
            assert_close(un(&d).iter().zip(w).map(|(a, b)| a * b).sum(), fd[i], 1e-6, "fw");
        }
    }
}

mod mymul {
    use super::*;

    #[autodiff(rv, Reverse, Duplicated, Duplicated, Duplicated, Const)]
    fn g(r: &mut [f64], a: &[f64], b: &[f64]) {
        let n = 2;
        for i in 0..n {
            for j in 0..n {
                r[i * n + j] = 0.0;
                for k in 0..n {
                    r[i * n + j] += a[i * n + k] * b[k * n + j];
                }
            }
        }
    }
    #[test]
    fn is_right() {
        let (a, b) = ([1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]);
        let mut r = [0.0; 4];
        let mut dr = [1.0, 2.0, 3.0, 4.0];
        let (mut da, mut db) = ([0.0; 4], [0.0; 4]);
        rv(&mut r, &mut dr, &a, &mut da, &b, &mut db);
        assert_eq!(dr, [0.0; 4]);
        assert_eq!(da, [17.0, 23.0, 39.0, 53.0]);
        assert_eq!(db, [10.0, 14.0, 14.0, 20.0]);
        assert_eq!(r, [19.0, 22.0, 43.0, 50.0]);
    }
}

mod byval_vec {
    use super::*;

    #[autodiff(rv, Reverse, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(mut v: Vec<f64>) -> f64 {
        v.push(3.0);
        v[0] *= v[1];
        v.iter().map(|a| a * a).sum()
    }
    #[test]
    fn is_right() {
        let (v, t) = fw(vec![1.0, 2.0], vec![1.0, 0.0]);
        assert_eq!((v, t), (17.0, 8.0));
    }
}

mod byval_struct {
    use super::*;

    #[derive(Differentiable, Clone, Copy, Debug, PartialEq)]
    struct P {
        a: f64,
        b: [f32; 2],
        n: i32,
    }
    #[autodiff(rv, Reverse, Active, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(p: P) -> f64 {
        p.a * p.b[0] as f64 + (p.b[1] * p.n as f32) as f64
    }
    #[test]
    fn is_right() {
        let p = P { a: 2.0, b: [3.0, 4.0], n: 5 };
        let (d, v) = rv(p);
        assert_eq!(v, 26.0);
        assert_eq!((d.a, d.b), (3.0, [2.0, 5.0]));
    }
}

mod res_tuple_arr {
    use super::*;

    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(x: &[f64]) -> (f64, [f64; 2], f64) {
        (x[0] * x[1], [x[0], x[1] * x[1]], 3.0)
    }
    #[autodiff(fw2, Forward, Dual, Dual)]
    fn h(x: f64) -> [[f64; 2]; 2] {
        [[x, x * x], [x.sin(), 1.0]]
    }
    #[test]
    fn is_right() {
        let (v, t) = fw(&[2.0, 3.0], &[1.0, 10.0]);
        assert_eq!(v, (6.0, [2.0, 9.0], 3.0));
        assert_eq!(t, (23.0, [1.0, 60.0], 0.0));
        assert_eq!(fw2(2.0, 1.0).1, [[1.0, 4.0], [2f64.cos(), 0.0]]);
    }
}

mod res_vecvec {
    use super::*;

    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(x: &[f64]) -> Vec<Vec<f64>> {
        x.iter().map(|a| x.iter().map(|b| a * b).collect()).collect()
    }
    #[test]
    fn is_right() {
        let (v, t) = fw(&[2.0, 3.0], &[1.0, 0.0]);
        assert_eq!(v, g(&[2.0, 3.0]));
        assert_eq!(t, vec![vec![4.0, 3.0], vec![3.0, 0.0]]);
    }
}

mod res_box_list {
    use super::*;

    #[derive(Differentiable, Clone, Debug, PartialEq)]
    enum L {
        Nil,
        Cons(f64, Box<L>),
    }
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(x: &[f64]) -> L {
        x.iter().rev().fold(L::Nil, |r, a| L::Cons(a * a, Box::new(r)))
    }
    #[test]
    fn is_right() {
        let (v, t) = fw(&[2.0, 3.0], &[1.0, 1.0]);
        assert_eq!(v, g(&[2.0, 3.0]));
        assert_eq!(t, L::Cons(4.0, Box::new(L::Cons(6.0, Box::new(L::Nil)))));
    }
}

mod res_option_result {
    use super::*;

    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(x: f64) -> Option<f64> {
        if x > 0.0 { Some(x.ln()) } else { None }
    }
    #[autodiff(fr, Forward, Dual, Dual)]
    fn h(x: f64) -> Result<f64, i32> {
        if x > 0.0 { Ok(x * x) } else { Err(3) }
    }
    #[autodiff(fs, Forward, Dual, Dual)]
    fn k(x: f64) -> Result<f64, String> {
        if x > 0.0 { Ok(x * x) } else { Err(format!("no {}", 3)) }
    }
    #[test]
    fn is_right() {
        assert_eq!(fw(2.0, 1.0).1, Some(0.5));
        assert_eq!(fw(-2.0, 1.0).0, None);
        assert_eq!(fr(2.0, 1.0).1, Ok(4.0));
        assert_eq!(fr(-2.0, 1.0).0, Err(3));
        assert_eq!(fs(2.0, 1.0).1, Ok(4.0));
        assert_eq!(fs(-2.0, 1.0).0, Err("no 3".to_string()));
    }
}

mod push_arg {
    use super::*;

    #[autodiff(rv, Reverse, Duplicated, Active, Const)]
    #[autodiff(fw, Forward, Dual, Dual, Const)]
    fn g(v: &mut Vec<f64>, x: f64) {
        for i in 0..10 {
            v.push(x * i as f64);
        }
        v[0] *= x;
    }
    #[test]
    fn is_right() {
        let mut v = vec![1.0, 2.0];
        let mut d = vec![1.0, 0.0];
        fw(&mut v, &mut d, 3.0, 1.0);
        assert_eq!(v[..4], [3.0, 2.0, 0.0, 3.0]);
        assert_eq!(d[..5], [4.0, 0.0, 0.0, 1.0, 2.0]);
        assert_eq!(d.len(), 12);
    }
}

mod opt_box_arg {
    use super::*;

    #[autodiff(rv, Reverse, Duplicated, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual, Dual)]
    fn g(a: &Option<Box<f64>>, b: &Result<f64, u32>) -> f64 {
        a.as_ref().map_or(1.0, |v| **v * **v)
            * match b {
                Ok(v) => *v,
                Err(n) => *n as f64,
            }
    }
    #[test]
    fn is_right() {
        let a = Some(Box::new(3.0));
        let mut da = make_zero(&a);
        let b = Ok(2.0);
        let mut db = make_zero(&b);
        assert_eq!(rv(&a, &mut da, &b, &mut db), 18.0);
        assert_eq!((da, db), (Some(Box::new(12.0)), Ok(9.0)));
        let n = None;
        let mut dn = None;
        let e = Err(7);
        let mut de = Err(7);
        assert_eq!(rv(&n, &mut dn, &e, &mut de), 7.0);
        assert_eq!((dn, de), (None, Err(7)));
    }
}

mod vecvec_arg {
    use super::*;

    #[autodiff(rv, Reverse, Duplicated, Active)]
    fn g(m: &mut Vec<Vec<f64>>) -> f64 {
        let t = m[0][0];
        m[1][0] *= t;
        m.swap(0, 1);
        m[0].push(t);
        m.iter().map(|r| r.iter().product::<f64>()).sum()
    }
    #[autodiff(rv2, Reverse, Duplicated, Active)]
    fn h(m: &[Vec<f64>]) -> f64 {
        m.iter().map(|r| r.iter().product::<f64>()).sum()
    }
    #[autodiff(rv3, Reverse, Duplicated, Active)]
    fn k(m: &[[f64; 2]]) -> f64 {
        m.iter().map(|r| r.iter().product::<f64>()).product()
    }
    #[test]
    fn is_right() {
        let m = vec![vec![2.0, 3.0], vec![4.0]];
        let mut d = make_zero(&m);
        rv2(&m, &mut d);
        assert_eq!(d, vec![vec![3.0, 2.0], vec![1.0]]);
        let a = [[1.0, 2.0], [3.0, 4.0]];
        let mut d = [[0.0; 2]; 2];
        rv3(&a, &mut d);
        assert_eq!(d, [[24.0, 12.0], [8.0, 6.0]]);
    }
}

mod panic_message {
    use super::*;

    #[autodiff(rv, Reverse, Duplicated, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(x: &[f64]) -> f64 {
        let mut v = x.to_vec();
        v.push(1.0);
        if x[0] < 0.0 {
            panic!("negative: {}", x[0]);
        }
        let i = x[0] as usize;
        v[i] * x[0]
    }
    #[test]
    fn is_right() {
        std::panic::set_hook(Box::new(|_| {}));
        let mut d = [0.0; 2];
        let e = std::panic::catch_unwind(move || {
            let mut d = [0.0; 2];
            rv(&[-1.0, 2.0], &mut d)
        })
        .unwrap_err();
        assert_eq!(e.downcast_ref::<String>().unwrap(), "negative: -1");
        let e = std::panic::catch_unwind(|| {
            let mut d = [0.0; 2];
            rv(&[7.0, 2.0], &mut d)
        })
        .unwrap_err();
        assert_eq!(e.downcast_ref::<String>().unwrap(), "index out of bounds: the len is 3 but the index is 7");
        let e = std::panic::catch_unwind(|| fw(&[7.0, 2.0], &[0.0; 2])).unwrap_err();
        assert_eq!(e.downcast_ref::<String>().unwrap(), "index out of bounds: the len is 3 but the index is 7");
        let v = rv(&[1.0, 2.0], &mut d);
        assert_eq!(v, 2.0);
        assert_eq!(d, [2.0, 1.0]);
    }
}

mod drop_counts {
    use super::*;

    use std::cell::Cell;
    thread_local! { static DROPS: Cell<usize> = Cell::new(0); }
    struct D(f64);
    impl Drop for D {
        fn drop(&mut self) {
            DROPS.with(|d| d.set(d.get() + 1));
        }
    }
    #[autodiff(rv, Reverse, Active, Active)]
    #[autodiff(fw, Forward, Dual, Dual)]
    fn g(x: f64) -> f64 {
        let v: Vec<D> = (0..3).map(|i| D(x * i as f64)).collect();
        let b = Box::new(D(x));
        v.iter().map(|d| d.0 * d.0).sum::<f64>() * b.0
    }
    #[test]
    fn is_right() {
        let (d, _) = rv(2.0);
        assert_eq!(d, 60.0);
        assert_eq!(DROPS.with(|d| d.get()), 4);
        assert_eq!(fw(2.0, 1.0).1, 60.0);
        assert_eq!(DROPS.with(|d| d.get()), 8);
    }
}

mod methods_generic {
    use super::*;

    use std::ops::*;
    trait Model {
        fn eval(&self, x: f64) -> f64;
    }
    #[derive(Differentiable, Clone)]
    struct Lin {
        a: f64,
        b: f64,
    }
    impl Model for Lin {
        fn eval(&self, x: f64) -> f64 {
            self.a * x + self.b
        }
    }
    #[derive(Differentiable, Clone)]
    struct Quad(f64);
    impl Model for Quad {
        fn eval(&self, x: f64) -> f64 {
            self.0 * x * x
        }
    }
    #[autodiff(rv, Reverse, Duplicated, Const, Active)]
    fn loss<M: Model>(m: &M, data: &[(f64, f64)]) -> f64 {
        data.iter().map(|(x, y)| (m.eval(*x) - y).powi(2)).sum()
    }
    #[test]
    fn is_right() {
        let d = [(1.0, 2.0), (2.0, 5.0)];
        let m = Lin { a: 1.0, b: 0.5 };
        let mut g = make_zero(&m);
        rv(&m, &mut g, &d);
        assert_eq!((g.a, g.b), (2.0 * -0.5 + 2.0 * -2.5 * 2.0, -6.0));
        let m = Quad(2.0);
        let mut g = make_zero(&m);
        rv(&m, &mut g, &d);
        assert_eq!(g.0, 2.0 * 3.0 * 4.0);
    }
}

mod dup_scratch {
    use super::*;

    #[autodiff(rv, Reverse, Active, Duplicated, Active)]
    fn g(x: f64, tmp: &mut [f64]) -> f64 {
        tmp[0] = x;
        for i in 1..5 {
            tmp[i] = tmp[i - 1] * x;
        }
        tmp[4]
    }
    #[test]
    fn is_right() {
        let mut d = [0.0; 5];
        let (d, _) = rv(1.2, &mut [0.0; 5], &mut d);
        assert_close(d, 10.368, 1e-9, "");
    }
}

mod aliasing_cells {
    use super::*;

    use std::cell::Cell;
    #[autodiff(rv, Reverse, Active, Active)]
    fn g(x: f64) -> f64 {
        let c = Cell::new(x);
        let a = &c;
        let b = &c;
        a.set(b.get() * x);
        b.set(a.get() + b.get());
        let r = std::cell::RefCell::new(vec![c.get()]);
        r.borrow_mut().push(x);
        let s = r.borrow().iter().product::<f64>();
        s
    }
    #[test]
    fn is_right() {
        assert_eq!(rv(2.0).0, 2.0 * 3.0 * 4.0);
    }
}

mod array_and_integer {
    use super::*;

    #[derive(Differentiable, Clone, Debug)]
    struct S {
        p: [f64; 3],
        n: usize,
        w: f64,
    }
    #[autodiff(rv, Reverse, Duplicated, Const)]
    fn step(s: &mut S) {
        for i in 0..3 {
            s.p[i] *= s.w;
        }
        s.n += 1;
    }
    #[test]
    fn is_right() {
        let mut s = S { p: [1.0, 2.0, 3.0], n: 4, w: 2.0 };
        let mut d = S { p: [1.0; 3], n: 4, w: 0.0 };
        rv(&mut s, &mut d);
        assert_eq!(s.n, 5);
        assert_eq!(d.p, [2.0; 3]);
        assert_eq!(d.w, 6.0);
    }
}
