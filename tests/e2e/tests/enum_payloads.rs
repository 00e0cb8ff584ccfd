//! Enums whose payload is a float in one variant and a pointer, a number or a `String` in another: built, moved one by
//! one and in bulk, overwritten by another variant. Each function in both modes, against finite differences.

use pullback::autodiff;
use pullback_e2e::check;

mod float_or_number {
    use super::*;

    #[derive(Clone, Copy)]
    enum V {
        B(f64),
        C(i64),
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let v: Vec<V> = x.iter().enumerate().map(|(i, a)| if i < 2 { V::B(*a) } else { V::C(4) }).collect();
        v.iter()
            .map(|a| match a {
                V::B(d) => d * d,
                V::C(i) => *i as f64 * x[2],
            })
            .product()
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod float_number_or_box {
    use super::*;

    enum E {
        Num(f64),
        Var(usize),
        Neg(Box<E>),
    }

    fn ev(e: &E, x: &[f64]) -> f64 {
        match e {
            E::Num(v) => v * v,
            E::Var(i) => x[*i],
            E::Neg(a) => -ev(a, x),
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        ev(&E::Neg(Box::new(E::Neg(Box::new(E::Num(x[0]))))), x) + ev(&E::Neg(Box::new(E::Var(1))), x)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod expression {
    use super::*;

    enum E {
        Num(f64),
        Var(usize),
        Neg(Box<E>),
        Add(Box<E>, Box<E>),
        Mul(Box<E>, Box<E>),
        Pow(Box<E>, i32),
        Sin(Box<E>),
    }

    use E::*;

    fn ev(e: &E, x: &[f64]) -> f64 {
        match e {
            Num(v) => *v,
            Var(i) => x[*i],
            Neg(a) => -ev(a, x),
            Add(a, b) => ev(a, x) + ev(b, x),
            Mul(a, b) => ev(a, x) * ev(b, x),
            Pow(a, n) => ev(a, x).powi(*n),
            Sin(a) => ev(a, x).sin(),
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let e = Add(
            Box::new(Mul(Box::new(Num(x[0])), Box::new(Sin(Box::new(Var(1)))))),
            Box::new(Neg(Box::new(Pow(Box::new(Add(Box::new(Var(2)), Box::new(Num(x[1])))), 3)))),
        );
        ev(&e, x)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod single_double_or_number {
    use super::*;

    #[allow(dead_code, reason = "what nobody makes is still read")]
    #[derive(Clone, Copy)]
    enum V {
        A(f32),
        B(f64),
        C(i64),
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let v: Vec<V> = x
            .iter()
            .enumerate()
            .map(|(i, a)| match i {
                0 => V::B(*a),
                1 => V::B(a * a),
                _ => V::C(4),
            })
            .collect();
        v.iter()
            .map(|a| match a {
                V::A(f) => *f as f64,
                V::B(d) => d * d,
                V::C(i) => *i as f64 * x[2],
            })
            .product()
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod sum_of_results {
    use super::*;

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let r: Result<f64, String> =
            x.iter().map(|v| if *v > 0.0 { Ok(v.ln()) } else { Err(format!("bad {v}")) }).sum();
        r.unwrap_or(x[0] * x[1])
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 0.7, 1.1]);
        check(function, reverse, forward, &[0.3, -0.7, 1.1]);
    }
}

mod arena_of_nodes {
    use super::*;

    enum Node {
        Leaf(f64),
        Sum(usize, usize),
        Prod(usize, usize),
        Scale(usize, f64),
    }

    struct Arena {
        nodes: Vec<Node>,
    }

    impl Arena {
        fn add(&mut self, n: Node) -> usize {
            self.nodes.push(n);
            self.nodes.len() - 1
        }
        fn eval(&self, i: usize) -> f64 {
            match &self.nodes[i] {
                Node::Leaf(v) => *v,
                Node::Sum(a, b) => self.eval(*a) + self.eval(*b),
                Node::Prod(a, b) => self.eval(*a) * self.eval(*b),
                Node::Scale(a, k) => self.eval(*a) * k,
            }
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut a = Arena { nodes: vec![] };
        let l: Vec<usize> = x.iter().map(|v| a.add(Node::Leaf(*v))).collect();
        let s = a.add(Node::Sum(l[0], l[1]));
        let p = a.add(Node::Prod(s, l[2]));
        let q = a.add(Node::Scale(p, x[0]));
        a.eval(q)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 0.7, 1.1]);
    }
}

mod growing_a_vec {
    use super::*;

    enum E {
        Const(f64),
        Add(Box<E>, Box<E>),
        Mul(Box<E>, Box<E>),
    }

    fn ev(e: &E) -> f64 {
        match e {
            E::Const(v) => *v,
            E::Add(a, b) => ev(a) + ev(b),
            E::Mul(a, b) => ev(a) * ev(b),
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut v: Vec<E> = Vec::new();
        for (i, a) in x.iter().enumerate() {
            if i % 2 == 0 {
                v.push(E::Const(a * a));
            } else {
                v.push(E::Mul(
                    Box::new(E::Const(*a)),
                    Box::new(E::Add(Box::new(E::Const(x[0])), Box::new(E::Const(2.0)))),
                ));
            }
        }
        v.iter().map(ev).product()
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5, 0.7]);
    }
}

mod vec_of_five_variants {
    use super::*;

    #[derive(Clone)]

    enum V {
        F(f64),
        L(Vec<f64>),
        S(String),
        P(f64, f64),
        N,
    }

    fn ev(e: &V) -> f64 {
        match e {
            V::F(v) => *v,
            V::L(l) => l.iter().product(),
            V::S(s) => s.len() as f64,
            V::P(a, b) => a / b,
            V::N => 1.5,
        }
    }

    fn mk(i: usize, a: f64) -> V {
        match i % 5 {
            0 => V::F(a * a),
            1 => V::L(vec![a, a + 1.0]),
            2 => V::S("abc".to_string()),
            3 => V::P(a, a * a + 1.0),
            _ => V::N,
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut v: Vec<V> = Vec::new();
        for k in 0..3 {
            for (i, a) in x.iter().enumerate() {
                v.push(mk(i + k, *a));
            }
        }
        v.reverse();
        v.swap(0, 3);
        v.insert(2, V::F(x[1]));
        let r = v.remove(5);
        let w = v.clone();
        v.iter().zip(w.iter().rev()).map(|(a, b)| ev(a) * ev(b)).sum::<f64>() * ev(&r)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5, 0.7]);
    }
}

mod variant_replaced {
    use super::*;

    enum E {
        C(f64),
        A(Box<E>, Box<E>),
    }

    fn ev(e: &E) -> f64 {
        match e {
            E::C(v) => v * v,
            E::A(a, b) => ev(a) + 2.0 * ev(b),
        }
    }

    fn fold(e: &mut E) {
        if let E::A(a, b) = e {
            fold(a);
            fold(b);
            let v = ev(e);
            *e = E::C(v);
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut e = E::A(Box::new(E::C(x[0])), Box::new(E::A(Box::new(E::C(x[1])), Box::new(E::C(x[2])))));
        if let E::A(_, b) = &mut e {
            fold(b);
        }
        let first = ev(&e);
        fold(&mut e);
        first * ev(&e)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod moved_out_of_boxes {
    use super::*;

    enum E {
        C(f64),
        X(usize),
        A(Box<E>, Box<E>),
        M(Box<E>, Box<E>),
    }

    use E::*;

    fn ev(e: &E, x: &[f64]) -> f64 {
        match e {
            C(v) => *v,
            X(i) => x[*i],
            A(a, b) => ev(a, x) + ev(b, x),
            M(a, b) => ev(a, x) * ev(b, x),
        }
    }

    fn simp(e: E) -> E {
        match e {
            A(a, b) => match (simp(*a), simp(*b)) {
                (C(a), C(b)) => C(a + b),
                (a, b) => A(Box::new(a), Box::new(b)),
            },
            M(a, b) => match (simp(*a), simp(*b)) {
                (C(a), C(b)) => C(a * b),
                (a, b) => M(Box::new(a), Box::new(b)),
            },
            o => o,
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let e = A(
            Box::new(M(Box::new(C(x[0])), Box::new(A(Box::new(C(x[1])), Box::new(C(3.0)))))),
            Box::new(M(Box::new(X(2)), Box::new(C(x[2])))),
        );
        let s = simp(e);
        ev(&s, x)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod symbolic_derivative {
    use super::*;

    #[derive(Clone)]
    enum E {
        C(f64),
        X,
        A(Box<E>, Box<E>),
        M(Box<E>, Box<E>),
    }

    use E::*;

    fn ev(e: &E, x: f64) -> f64 {
        match e {
            C(v) => *v,
            X => x,
            A(a, b) => ev(a, x) + ev(b, x),
            M(a, b) => ev(a, x) * ev(b, x),
        }
    }

    fn d(e: &E) -> E {
        match e {
            C(_) => C(0.0),
            X => C(1.0),
            A(a, b) => A(Box::new(d(a)), Box::new(d(b))),
            M(a, b) => A(Box::new(M(Box::new(d(a)), b.clone())), Box::new(M(a.clone(), Box::new(d(b))))),
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let e = A(Box::new(M(Box::new(C(x[1])), Box::new(M(Box::new(X), Box::new(X))))), Box::new(X));
        ev(&d(&e), x[0])
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 1.2]);
    }
}

mod collected_results {
    use super::*;

    fn one(v: f64) -> Result<f64, String> {
        if v > 0.0 { Ok(v.ln()) } else { Err(format!("bad")) }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let r: Result<Vec<f64>, String> = x.iter().map(|v| one(*v)).collect();
        match r {
            Ok(v) => v.iter().product(),
            Err(e) => x[0] * e.len() as f64,
        }
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 0.7, 1.1]);
        check(function, reverse, forward, &[0.3, -0.7, 1.1]);
    }
}

mod vec_of_results {
    use super::*;

    fn one(v: f64) -> Result<f64, String> {
        if v > 0.0 { Ok(v * v) } else { Err(format!("bad")) }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let r: Vec<Result<f64, String>> = x.iter().map(|v| one(*v)).collect();
        let mut s = x[0];
        for a in &r {
            match a {
                Ok(v) => s *= v,
                Err(e) => s += e.len() as f64 * x[2],
            }
        }
        s
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 0.7, 1.1]);
        check(function, reverse, forward, &[0.3, -0.7, 1.1]);
    }
}

mod question_mark {
    use super::*;

    fn one(v: f64) -> Result<f64, String> {
        if v > 0.0 { Ok(v.sqrt()) } else { Err("negative".into()) }
    }

    fn all(x: &[f64]) -> Result<f64, String> {
        let mut s = 1.0;
        for v in x {
            s = s * 0.5 + one(*v)?;
        }
        Ok(s)
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        match all(x) {
            Ok(v) => v * x[0],
            Err(e) => e.len() as f64 * x[2],
        }
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 0.7, 1.1]);
        check(function, reverse, forward, &[0.3, -0.7, 1.1]);
    }
}

mod boxed_error {
    use super::*;

    fn one(v: f64) -> Result<f64, Box<dyn std::error::Error>> {
        if v > 0.0 { Ok(v.sqrt()) } else { Err("negative".into()) }
    }

    fn all(x: &[f64]) -> Result<f64, Box<dyn std::error::Error>> {
        let mut s = 1.0;
        for v in x {
            s = s * 0.5 + one(*v)?;
        }
        Ok(s)
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        all(x).unwrap_or(2.0 * x[1]) * x[0]
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[0.3, 0.7, 1.1]);
        check(function, reverse, forward, &[0.3, -0.7, 1.1]);
    }
}

mod stack_machine {
    use super::*;

    #[derive(Clone)]
    enum T {
        Num(f64),
        Op(char),
        Call(Box<Vec<T>>),
    }

    fn run(p: &[T]) -> f64 {
        let mut s: Vec<f64> = vec![];
        for t in p {
            match t {
                T::Num(v) => s.push(*v),
                T::Op(c) => {
                    let b = s.pop().unwrap();
                    let a = s.pop().unwrap();
                    s.push(match c {
                        '+' => a + b,
                        '*' => a * b,
                        _ => a - b,
                    });
                }
                T::Call(q) => s.push(run(q)),
            }
        }
        s.pop().unwrap()
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut p = vec![T::Num(x[0]), T::Num(x[1]), T::Op('*')];
        p.push(T::Call(Box::new(vec![T::Num(x[2]), T::Num(x[3]), T::Op('-')])));
        p.push(T::Op('*'));
        let q = p.clone();
        p.extend(q);
        p.push(T::Op('+'));
        run(&p)
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5]);
    }
}

mod swap_replace_take {
    use super::*;

    enum V {
        F(f64),
        B(Box<f64>),
        N,
    }

    impl Default for V {
        fn default() -> V {
            V::N
        }
    }

    fn ev(v: &V) -> f64 {
        match v {
            V::F(a) => a * a,
            V::B(b) => **b * 3.0,
            V::N => 1.0,
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut a = V::F(x[0]);
        let mut b = V::B(Box::new(x[1] * x[2]));
        let mut s = ev(&a) * ev(&b);
        std::mem::swap(&mut a, &mut b);
        s += ev(&a) / ev(&b);
        let o = std::mem::replace(&mut a, V::F(x[3] * s));
        s += ev(&a) * ev(&o);
        let t = std::mem::take(&mut a);
        s += ev(&t) * ev(&a);
        s
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5]);
    }
}

mod deque {
    use super::*;

    enum V {
        F(f64),
        B(Box<f64>),
    }

    fn ev(v: &V) -> f64 {
        match v {
            V::F(a) => a * a,
            V::B(b) => **b * 3.0,
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut q = std::collections::VecDeque::new();
        for (i, v) in x.iter().enumerate() {
            if i % 2 == 0 { q.push_back(V::F(*v)) } else { q.push_front(V::B(Box::new(v * v))) }
        }
        let f = q.pop_front().unwrap();
        q.push_back(f);
        let mut s = 0.0;
        while let Some(v) = q.pop_front() {
            s = s * 0.7 + ev(&v);
        }
        s
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5]);
    }
}

mod list_with_jumps {
    use super::*;

    enum L {
        Nil,
        Cons(f64, Box<L>),
        Jump(Box<L>),
    }

    fn sum(l: &L, k: f64) -> f64 {
        match l {
            L::Nil => 0.0,
            L::Cons(v, r) => v * k + sum(r, k * 0.5),
            L::Jump(r) => sum(r, 2.0 * k),
        }
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut l = L::Nil;
        for (i, v) in x.iter().enumerate() {
            l = L::Cons(v * v, Box::new(l));
            if i == 1 {
                l = L::Jump(Box::new(l));
            }
        }
        sum(&l, x[0])
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5]);
    }
}

mod state_in_a_loop {
    use super::*;

    #[derive(Clone, Copy)]
    enum V {
        F(f64),
        I(i64),
        U(u32, u32),
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
        let mut st = V::I(1);
        let mut s = 0.0;
        for (i, v) in x.iter().enumerate() {
            st = match st {
                V::F(a) => {
                    if a > 2.0 {
                        V::I(i as i64)
                    } else {
                        V::F(a * v)
                    }
                }
                V::I(k) => {
                    if k % 2 == 1 {
                        V::F(v * v)
                    } else {
                        V::U(1, 2)
                    }
                }
                V::U(a, b) => V::F(a as f64 * v + b as f64),
            };
            s += match st {
                V::F(a) => a,
                V::I(k) => k as f64 * v,
                V::U(a, b) => (a + b) as f64,
            };
        }
        s
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5]);
    }
}

mod list_changed_and_reversed {
    use super::*;

    struct N {
        v: f64,
        next: Option<Box<N>>,
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
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
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0]);
    }
}

mod rows_cloned_and_replaced {
    use super::*;

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn function(x: &[f64]) -> f64 {
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
    }

    #[test]
    fn is_right() {
        check(function, reverse, forward, &[3.0, 1.0, 2.0, 0.5, 4.0]);
    }
}

/// Two floats of single precision in an enum are read as one number of 64 bits, of which a half goes where floats lie.
mod halves_of_words {
    use pullback::{autodiff, jvp};
    use std::cell::Cell;

    #[autodiff(d_cell, Reverse, Const, Duplicated, Active)]
    fn cell(indices: &[usize], of: &Option<Cell<[f32; 2]>>) -> f32 {
        let [low, high] = of.as_ref().unwrap().get();
        let all = vec![1.5, low, high];
        indices.iter().map(|index| all[*index] * all[*index]).sum()
    }

    #[autodiff(d_one_half, Reverse, Const, Duplicated, Active)]
    fn one_half(indices: &[usize], of: &Option<Cell<[f32; 2]>>) -> f32 {
        let all = vec![1.5, of.as_ref().unwrap().get()[1], 3.0];
        indices.iter().map(|index| all[*index] * all[*index]).sum()
    }

    #[autodiff(d_written, Reverse, Duplicated, Duplicated)]
    fn written(to: &mut [f32], of: &Option<Cell<[f32; 2]>>) {
        to[1] = of.as_ref().unwrap().get()[1];
        to[2] = of.as_ref().unwrap().get()[0];
    }

    #[test]
    fn in_a_cell() {
        let of = Some(Cell::new([3.0, 2.0]));
        let mut shadow = Some(Cell::new([0.0; 2]));
        assert_eq!(d_cell(&[0, 1, 2], &of, &mut shadow), 15.25);
        assert_eq!(shadow, Some(Cell::new([6.0, 4.0])));
        assert_eq!(d_one_half(&[0, 1], &of, &mut shadow), 6.25);
        assert_eq!(shadow, Some(Cell::new([6.0, 8.0])));
        let (mut to, mut d_to) = ([0.0; 3], [10.0, 20.0, 30.0]);
        d_written(&mut to, &mut d_to, &of, &mut shadow);
        assert_eq!((to, d_to, shadow), ([0.0, 2.0, 3.0], [10.0, 0.0, 0.0], Some(Cell::new([36.0, 28.0]))));
        let direction = Some(Cell::new([1.0, 10.0]));
        assert_eq!(jvp(|of: &Option<Cell<[f32; 2]>>| one_half(&[0, 1], of), &of, &direction), (6.25, 40.0));
    }
}

/// Numbers that are hashed beside floats: what is done to them is done to no float.
mod hashed_numbers {
    use super::*;

    #[derive(Clone, Copy)]
    enum V {
        F(f64),
        I(u64),
    }

    #[autodiff(reverse, Reverse, Duplicated, Active)]
    #[autodiff(forward, Forward, Dual, Dual)]
    fn turned(x: &[f64]) -> f64 {
        after(x, |n| n.rotate_left(13))
    }

    #[autodiff(reverse_hashed, Reverse, Duplicated, Active)]
    #[autodiff(forward_hashed, Forward, Dual, Dual)]
    fn hashed(x: &[f64]) -> f64 {
        after(x, |n| (n.rotate_left(5) ^ 77).wrapping_mul(0x517c_c1b7_2722_0a95))
    }

    #[autodiff(reverse_cleared, Reverse, Duplicated, Active)]
    #[autodiff(forward_cleared, Forward, Dual, Dual)]
    fn cleared(x: &[f64]) -> f64 {
        after(x, |n| (n & !(1 << 40)) + (1 << 41))
    }

    /// Floats are squared, numbers changed; then both count.
    fn after(x: &[f64], change: impl Fn(u64) -> u64) -> f64 {
        let mut all: Vec<V> =
            x.iter().enumerate().map(|(i, a)| if i % 2 == 0 { V::F(*a) } else { V::I(i as u64 * 77) }).collect();
        for e in &mut all {
            *e = match *e {
                V::F(a) => V::F(a * a),
                V::I(n) => V::I(change(n)),
            };
        }
        let one = |v: &V| match *v {
            V::F(a) => a.sin(),
            V::I(n) => (n % 5) as f64 * x[1],
        };
        all.iter().map(one).sum()
    }

    #[test]
    fn are_right() {
        let at = [0.5, 1.5, -0.75, 2.0, 0.25];
        check(turned, reverse, forward, &at);
        check(hashed, reverse_hashed, forward_hashed, &at);
        check(cleared, reverse_cleared, forward_cleared, &at);
    }
}
