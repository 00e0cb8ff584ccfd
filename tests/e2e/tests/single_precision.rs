//! Two, three and four `f32`s travel in integers and vectors: the same functions in `f32` and `f64`..

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

/// Functions of a slice of `F`, checked for `F = f64`; and for `F = f32` against that.
macro_rules! in_both_precisions {
    ($(fn $name:ident($x:ident) $body:block at $point:expr;)*) => {$(
        mod $name {
            mod double {
                type F = f64;

                #[pullback::autodiff(reverse, Reverse, Duplicated, Active)]
                #[pullback::autodiff(forward, Forward, Dual, Dual)]
                pub fn function($x: &[F]) -> F $body
            }

            mod single {
                type F = f32;

                #[pullback::autodiff(reverse, Reverse, Duplicated, Active)]
                #[pullback::autodiff(forward, Forward, Dual, Dual)]
                pub fn function($x: &[F]) -> F $body
            }

            #[test]
            fn is_right() {
                let point = $point;
                pullback_e2e::check(double::function, double::reverse, double::forward, &point);
                let mut expected = vec![0.0; point.len()];
                double::reverse(&point, &mut expected);

                let point = point.map(|x| x as f32);
                let mut gradient = vec![0.0; point.len()];
                let value = single::reverse(&point, &mut gradient);
                assert_eq!(value, single::function(&point));
                for (index, expected) in expected.into_iter().enumerate() {
                    let mut tangent = vec![0.0; point.len()];
                    tangent[index] = 1.0;
                    pullback_e2e::assert_close(gradient[index].into(), expected, 1e-4);
                    pullback_e2e::assert_close(single::forward(&point, &tangent).1.into(), expected, 1e-4);
                }
            }
        }
    )*};
}

in_both_precisions! {
    fn pairs(x) {
        #[derive(Clone, Copy)]
        struct P(F, F);
        fn mk(a: F, b: F) -> P {
            P(a * b, a + b)
        }
        let p = mk(x[0], x[1]);
        let mut q = mk(x[2], p.0);
        let mut r = p;
        std::mem::swap(&mut q, &mut r);
        q.0 * r.1 + q.1 * r.0 * x[3]
    } at [0.3, 0.7, 1.1, 1.9];

    fn swaps(x) {
        let mut v: Vec<(F, F)> = x.chunks(2).map(|c| (c[0], c[1] * c[0])).collect();
        v.swap(0, 1);
        let t = v[0];
        v.push(t);
        v[0] = v[1];
        v.iter().enumerate().map(|(i, a)| a.0 * a.1 * (i + 1) as F).sum()
    } at [0.3, 0.7, 1.1, 1.9];

    fn arrays(x) {
        let mut a: [[F; 2]; 3] = [[x[0], x[1]], [x[2], x[3]], [0.5, 1.0]];
        for i in 0..2 {
            a.swap(i, i + 1);
            a[i][0] *= x[i];
        }
        let b = a;
        a[0] = b[2];
        let [p, q] = a[0];
        p * q + b[1][0] * b[0][1] * a[2][0]
    } at [0.3, 0.7, 1.1, 1.9];

    fn vectors_of_three(x) {
        #[derive(Clone, Copy, Default)]
        struct V {
            x: F,
            y: F,
            z: F,
        }
        fn cross(a: V, b: V) -> V {
            V { x: a.y * b.z - a.z * b.y, y: a.z * b.x - a.x * b.z, z: a.x * b.y - a.y * b.x }
        }
        let mut v = vec![V::default(); 3];
        for i in 0..3 {
            v[i] = V { x: x[i], y: x[i + 1], z: x[0] * x[i] };
        }
        v.reverse();
        v.swap(0, 1);
        let mut w = v.clone();
        w.copy_from_slice(&v);
        let c = w.iter().fold(V { x: 1.0, y: 0.0, z: 0.5 }, |a, b| cross(a, *b));
        c.x * c.y + c.z
    } at [0.3, 0.7, 1.1, 1.9];

    fn enums(x) {
        #[derive(Clone, Copy)]
        enum E {
            A(F),
            B(F, F),
            C,
        }
        let e = [E::A(x[0]), E::B(x[1], x[2]), E::C, E::A(x[3])];
        let mut v = e.to_vec();
        v.rotate_left(1);
        v.iter().fold(1.0, |s, e| match *e {
            E::A(a) => s * a + 1.0,
            E::B(a, b) => s * a - b,
            E::C => s * s,
        })
    } at [0.3, 0.7, 1.1, 1.9];

    fn beside_an_integer(x) {
        #[derive(Clone, Copy)]
        struct W {
            w: F,
            id: u32,
        }
        let mut v: Vec<W> = x.iter().enumerate().map(|(i, a)| W { w: a * a, id: i as u32 }).collect();
        v.swap(1, 3);
        let t = v.remove(0);
        v.push(W { w: t.w * 2.0, id: t.id + 5 });
        v.iter().map(|a| a.w * a.id as F).sum()
    } at [0.3, 0.7, 1.1, 1.9];

    fn sorts(x) {
        let mut v = x.to_vec();
        v.sort_by(|a, b| a.partial_cmp(b).unwrap());
        let mut w = x.to_vec();
        w.sort_unstable_by(|a, b| b.total_cmp(a));
        v.iter().zip(&w).enumerate().map(|(i, (a, b))| a * b * (i + 1) as F).sum()
    } at [0.3, 1.7, 1.1, 0.9];

    fn matrices(x) {
        #[derive(Clone, Copy)]
        struct M {
            c: [[F; 4]; 4],
        }
        impl std::ops::Mul for M {
            type Output = M;
            fn mul(self, o: M) -> M {
                let mut r = M { c: [[0.0; 4]; 4] };
                for i in 0..4 {
                    for j in 0..4 {
                        for k in 0..4 {
                            r.c[i][j] += self.c[k][j] * o.c[i][k];
                        }
                    }
                }
                r
            }
        }
        let mut m = M { c: [[0.0; 4]; 4] };
        for i in 0..4 {
            for j in 0..4 {
                m.c[i][j] = x[i] * x[j] + if i == j { 1.0 } else { 0.0 };
            }
        }
        let p = m * m * m;
        p.c[0][3] * 0.01 + p.c[2][1] * 0.02
    } at [0.3, 0.7, 1.1, 1.9];

    fn returned_pairs(x) {
        fn rec(x: &[F], n: usize) -> (F, F) {
            if n == 0 {
                (x[0], x[1])
            } else {
                let (a, b) = rec(x, n - 1);
                (a * b, a + x[n])
            }
        }
        let (a, b) = rec(x, 3);
        a * b
    } at [0.3, 0.7, 1.1, 1.9];

    fn filter(x) {
        let mut s = (0.0, 0.0);
        let mut out = vec![];
        for i in 0..20 {
            let inp = if i == 0 { x[0] } else { 0.1 * x[1] };
            let y = inp + 0.5 * x[2] * s.0 - 0.1 * x[3] * s.1;
            s = (y, s.0);
            out.push(y);
        }
        out.iter().map(|v| v * v).sum::<F>() + out.iter().copied().fold(0.0, F::max)
    } at [0.3, 0.7, 1.1, 1.9];

    fn float_trait_f32(x) {
        trait Float:
            Copy
            + PartialOrd
            + std::ops::Add<Output = Self>
            + std::ops::Mul<Output = Self>
            + std::ops::Div<Output = Self>
            + std::ops::Sub<Output = Self>
            + std::iter::Sum
        {
            const ONE: Self;
            fn exp(self) -> Self;
            fn sqrt(self) -> Self;
            fn from_usize(n: usize) -> Self;
        }
        impl Float for f64 {
            const ONE: f64 = 1.0;
            fn exp(self) -> f64 {
                self.exp()
            }
            fn sqrt(self) -> f64 {
                self.sqrt()
            }
            fn from_usize(n: usize) -> f64 {
                n as f64
            }
        }
        impl Float for f32 {
            const ONE: f32 = 1.0;
            fn exp(self) -> f32 {
                self.exp()
            }
            fn sqrt(self) -> f32 {
                self.sqrt()
            }
            fn from_usize(n: usize) -> f32 {
                n as f32
            }
        }
        fn mean<T: Float>(x: &[T]) -> T {
            x.iter().copied().sum::<T>() / T::from_usize(x.len())
        }
        fn std<T: Float>(x: &[T]) -> T {
            let m = mean(x);
            (x.iter().map(|v| (*v - m) * (*v - m)).sum::<T>() / T::from_usize(x.len() - 1)).sqrt()
        }
        let s = std(x);
        x.iter().map(|v| F::ONE / (F::ONE + (F::ONE - *v / s).exp())).sum::<F>()
    } at [0.8, 0.7, 1.4];

    fn matmul_f32(x) {
        #[derive(Clone)]
        struct M {
            rows: usize,
            cols: usize,
            data: Vec<F>,
        }
        impl M {
            fn mul(&self, o: &M) -> M {
                let mut d = vec![0.0; self.rows * o.cols];
                for i in 0..self.rows {
                    for j in 0..o.cols {
                        for k in 0..self.cols {
                            d[i * o.cols + j] += self.data[i * self.cols + k] * o.data[k * o.cols + j];
                        }
                    }
                }
                M { rows: self.rows, cols: o.cols, data: d }
            }
            fn t(&self) -> M {
                let mut d = Vec::with_capacity(self.data.len());
                for j in 0..self.cols {
                    for i in 0..self.rows {
                        d.push(self.data[i * self.cols + j]);
                    }
                }
                M { rows: self.cols, cols: self.rows, data: d }
            }
        }
        let a = M { rows: 2, cols: 2, data: x.to_vec() };
        let b = a.mul(&a.t()).mul(&a);
        b.data.iter().zip(&a.data).map(|(p, q)| p * q.tanh()).sum()
    } at [0.8, 0.7, 1.4, -0.3];

    fn generic_struct_f32(x) {
        #[derive(Clone, Debug)]
        struct Stats<T> {
            n: u32,
            mean: T,
            m2: T,
            min: Option<T>,
        }
        impl Stats<F> {
            fn push(&mut self, x: F) {
                self.n += 1;
                let d = x - self.mean;
                self.mean += d / self.n as F;
                self.m2 += d * (x - self.mean);
                self.min = Some(match self.min {
                    Some(m) if m < x => m,
                    _ => x,
                });
            }
            fn var(&self) -> F {
                self.m2 / (self.n - 1) as F
            }
        }
        let mut s = Stats { n: 0, mean: 0.0, m2: 0.0, min: None };
        for v in x {
            s.push(*v * *v);
        }
        s.var().sqrt() + s.mean * s.min.unwrap_or(0.0)
    } at [1.0, 4.0, 2.0];
}

/// Two floats in one variant, and a pointer at the place of the second in another. All numbers are exact.
#[test]
fn floats_and_a_pointer_at_the_same_place() {
    enum Shape {
        Pair(f32, f32),
        Boxed(Box<f32>),
    }
    fn size(shape: &Shape) -> f32 {
        match shape {
            Shape::Pair(a, b) => a * b,
            Shape::Boxed(b) => **b * 3.0,
        }
    }
    fn change(shape: &mut Shape, x: f32, y: f32) {
        match shape {
            Shape::Pair(a, b) if *a > 1.0 => *shape = Shape::Boxed(Box::new(*a * *b)),
            Shape::Pair(a, _) => *a *= x,
            Shape::Boxed(_) => *shape = Shape::Pair(x, y),
        }
    }
    fn function(x: &[f32; 3]) -> f32 {
        let mut shape = Box::new(Shape::Boxed(Box::new(x[0] * x[1])));
        let mut sum = 0.0;
        for i in 0..5 {
            sum += x[i % 3] * size(&shape);
            change(&mut shape, x[i % 3], x[(i + 1) % 3]);
        }
        sum
    }
    for (x, gradient) in
        [([1.5, 2.5, 0.25], [33.25, 15.9375, 19.125]), ([0.5, 0.25, 1.5], [1.0234375, 1.6328125, 0.05078125])]
    {
        assert_eq!(pullback::grad(function, &x), gradient);
        for (i, expected) in gradient.into_iter().enumerate() {
            let mut direction = [0.0; 3];
            direction[i] = 1.0;
            assert_eq!(pullback::jvp(function, &x, &direction).1, expected);
        }
    }
}
