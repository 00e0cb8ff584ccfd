//! What people try on the first day: numerical methods with their own matrix, vector, filter and network types.

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

pullback_e2e::differentiated! {
    fn lu_struct(x) {
        struct Lu {
            n: usize,
            data: Vec<f64>,
            pivots: Vec<usize>,
            sign: f64,
            swaps: u32,
        }
        impl Lu {
            fn new(n: usize, a: &[f64]) -> Result<Lu, String> {
                let mut lu = Lu { n, data: a.to_vec(), pivots: (0..n).collect(), sign: 1.0, swaps: 0 };
                for k in 0..n {
                    let mut p = k;
                    for i in k + 1..n {
                        if lu.at(i, k).abs() > lu.at(p, k).abs() {
                            p = i;
                        }
                    }
                    if lu.at(p, k) == 0.0 {
                        return Err(format!("singular at column {k}"));
                    }
                    if p != k {
                        lu.swap_rows(p, k);
                    }
                    for i in k + 1..n {
                        let f = lu.at(i, k) / lu.at(k, k);
                        *lu.at_mut(i, k) = f;
                        for j in k + 1..n {
                            let t = lu.at(k, j);
                            *lu.at_mut(i, j) -= f * t;
                        }
                    }
                }
                Ok(lu)
            }
            fn at(&self, i: usize, j: usize) -> f64 {
                self.data[i * self.n + j]
            }
            fn at_mut(&mut self, i: usize, j: usize) -> &mut f64 {
                &mut self.data[i * self.n + j]
            }
            fn swap_rows(&mut self, a: usize, b: usize) {
                for j in 0..self.n {
                    self.data.swap(a * self.n + j, b * self.n + j);
                }
                self.pivots.swap(a, b);
                self.sign = -self.sign;
                self.swaps += 1;
            }
            fn solve(&self, b: &[f64]) -> Vec<f64> {
                let mut y: Vec<f64> = self.pivots.iter().map(|&p| b[p]).collect();
                for i in 0..self.n {
                    for j in 0..i {
                        y[i] -= self.at(i, j) * y[j];
                    }
                }
                for i in (0..self.n).rev() {
                    for j in i + 1..self.n {
                        y[i] -= self.at(i, j) * y[j];
                    }
                    y[i] /= self.at(i, i);
                }
                y
            }
            fn det(&self) -> f64 {
                (0..self.n).map(|i| self.at(i, i)).product::<f64>() * self.sign
            }
        }
        match Lu::new(3, x) {
            Ok(lu) => lu.solve(&[1.0, x[0], -2.0]).iter().sum::<f64>() + 0.1 * lu.det() + lu.swaps as f64,
            Err(_) => x[0],
        }
    } at [4.0, 1.0, 2.0, 3.0, 5.0, 1.0, 2.0, 1.0, 6.0];

    fn qr_householder(x) {
        const N: usize = 3;
        let mut a = [[0.0; N]; N];
        for (i, row) in a.iter_mut().enumerate() {
            for (j, v) in row.iter_mut().enumerate() {
                *v = x[i * N + j];
            }
        }
        for k in 0..N - 1 {
            let alpha = -(k..N).map(|i| a[i][k] * a[i][k]).sum::<f64>().sqrt() * a[k][k].signum();
            let mut v = [0.0; N];
            for i in k..N {
                v[i] = a[i][k];
            }
            v[k] -= alpha;
            let vv: f64 = v.iter().map(|t| t * t).sum();
            for j in 0..N {
                let d: f64 = (0..N).map(|i| v[i] * a[i][j]).sum();
                for i in 0..N {
                    a[i][j] -= 2.0 * v[i] * d / vv;
                }
            }
        }
        a[0][0] * a[1][1] + a[2][2] * a[0][2]
    } at [1.0, 2.0, 0.5, -1.0, 3.0, 0.2, 0.7, 1.1, -2.0];

    fn const_generic_matrix(x) {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct Mat<const R: usize, const C: usize>([[f64; C]; R]);
        impl<const R: usize, const C: usize> Mat<R, C> {
            fn zero() -> Self {
                Mat([[0.0; C]; R])
            }
            fn t(&self) -> Mat<C, R> {
                let mut m = Mat::<C, R>::zero();
                for i in 0..R {
                    for j in 0..C {
                        m.0[j][i] = self.0[i][j];
                    }
                }
                m
            }
        }
        impl<const R: usize, const K: usize, const C: usize> std::ops::Mul<Mat<K, C>> for Mat<R, K> {
            type Output = Mat<R, C>;
            fn mul(self, o: Mat<K, C>) -> Mat<R, C> {
                let mut m = Mat::<R, C>::zero();
                for i in 0..R {
                    for j in 0..C {
                        for k in 0..K {
                            m.0[i][j] += self.0[i][k] * o.0[k][j];
                        }
                    }
                }
                m
            }
        }
        impl<const R: usize, const C: usize> std::ops::Add for Mat<R, C> {
            type Output = Self;
            fn add(mut self, o: Self) -> Self {
                for (a, b) in self.0.iter_mut().zip(o.0.iter()) {
                    for (p, q) in a.iter_mut().zip(b) {
                        *p += *q;
                    }
                }
                self
            }
        }
        impl<const R: usize, const C: usize> std::ops::Index<(usize, usize)> for Mat<R, C> {
            type Output = f64;
            fn index(&self, (i, j): (usize, usize)) -> &f64 {
                &self.0[i][j]
            }
        }
        impl<const R: usize, const C: usize> std::ops::IndexMut<(usize, usize)> for Mat<R, C> {
            fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
                &mut self.0[i][j]
            }
        }
        let a = Mat([[x[0], x[1], x[2]], [x[3], x[4], x[5]]]);
        let mut s = a * a.t() + Mat([[x[0], 0.0], [0.0, x[1]]]);
        s[(0, 1)] += x[2] * s[(1, 0)];
        s[(0, 0)] * s[(1, 1)] - s[(0, 1)] * s[(1, 0)]
    } at [4.0, 1.0, 0.5, 3.0, 1.0, -1.0];

    fn fft_tuples(x) {
        fn fft(buf: &mut [(f64, f64)]) {
            let n = buf.len();
            let mut j = 0;
            for i in 1..n {
                let mut bit = n >> 1;
                while j & bit != 0 {
                    j ^= bit;
                    bit >>= 1;
                }
                j |= bit;
                if i < j {
                    buf.swap(i, j);
                }
            }
            let mut len = 2;
            while len <= n {
                let ang = -2.0 * std::f64::consts::PI / len as f64;
                for chunk in buf.chunks_exact_mut(len) {
                    let (lo, hi) = chunk.split_at_mut(len / 2);
                    for (k, (a, b)) in lo.iter_mut().zip(hi).enumerate() {
                        let (s, c) = (ang * k as f64).sin_cos();
                        let t = (b.0 * c - b.1 * s, b.0 * s + b.1 * c);
                        *b = (a.0 - t.0, a.1 - t.1);
                        *a = (a.0 + t.0, a.1 + t.1);
                    }
                }
                len <<= 1;
            }
        }
        let mut v: Vec<(f64, f64)> = x.iter().map(|&r| (r, r * r)).collect();
        fft(&mut v);
        v.iter().enumerate().map(|(k, (re, im))| (re * re + im * im).sqrt() * (k + 1) as f64).sum()
    } at [1.0, 0.2, -1.0, 0.5, 2.0, -0.3, 0.1, 0.9];

    fn spline_struct(x) {
        struct Spline {
            xs: Vec<f64>,
            ys: Vec<f64>,
            m: Vec<f64>,
        }
        impl Spline {
            fn natural(xs: Vec<f64>, ys: Vec<f64>) -> Spline {
                let n = xs.len();
                let (mut c, mut d, mut m) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
                for i in 1..n - 1 {
                    let (h0, h1) = (xs[i] - xs[i - 1], xs[i + 1] - xs[i]);
                    let r = 6.0 * ((ys[i + 1] - ys[i]) / h1 - (ys[i] - ys[i - 1]) / h0);
                    let den = 2.0 * (h0 + h1) - h0 * c[i - 1];
                    c[i] = h1 / den;
                    d[i] = (r - h0 * d[i - 1]) / den;
                }
                for i in (1..n - 1).rev() {
                    m[i] = d[i] - c[i] * m[i + 1];
                }
                Spline { xs, ys, m }
            }
            fn eval(&self, t: f64) -> Option<f64> {
                let i = match self.xs.binary_search_by(|p| p.partial_cmp(&t).unwrap()) {
                    Ok(i) => return Some(self.ys[i]),
                    Err(0) => return None,
                    Err(i) if i == self.xs.len() => return None,
                    Err(i) => i - 1,
                };
                let h = self.xs[i + 1] - self.xs[i];
                let (a, b) = ((self.xs[i + 1] - t) / h, (t - self.xs[i]) / h);
                Some(
                    a * self.ys[i]
                        + b * self.ys[i + 1]
                        + ((a * a * a - a) * self.m[i] + (b * b * b - b) * self.m[i + 1]) * h * h / 6.0,
                )
            }
        }
        let s = Spline::natural((0..x.len()).map(|i| i as f64 * 0.7).collect(), x.to_vec());
        [0.3, 1.1, 2.5, 9.0].iter().filter_map(|t| s.eval(*t)).sum::<f64>() + s.eval(x[1] * 0.9).unwrap_or(0.0)
    } at [0.0, 1.0, 4.0, 2.0, -1.0];

    fn rk45_adaptive(x) {
        fn rk45(f: impl Fn(f64, &[f64; 2]) -> [f64; 2], mut y: [f64; 2], t1: f64, tol: f64) -> ([f64; 2], usize) {
            let (mut t, mut h, mut n) = (0.0, 0.1, 0);
            let axpy = |y: &[f64; 2], ks: &[(f64, [f64; 2])]| {
                let mut r = *y;
                for (c, k) in ks {
                    for i in 0..2 {
                        r[i] += c * k[i];
                    }
                }
                r
            };
            while t < t1 {
                if t + h > t1 {
                    h = t1 - t;
                }
                let k1 = f(t, &y);
                let k2 = f(t + h / 4.0, &axpy(&y, &[(h / 4.0, k1)]));
                let k3 = f(t + 3.0 * h / 8.0, &axpy(&y, &[(3.0 * h / 32.0, k1), (9.0 * h / 32.0, k2)]));
                let y4 = axpy(&y, &[(h * 0.2, k1), (h * 0.5, k2), (h * 0.3, k3)]);
                let y3 = axpy(&y, &[(h * 0.25, k1), (h * 0.45, k2), (h * 0.3, k3)]);
                let err = (0..2).map(|i| (y4[i] - y3[i]).powi(2)).sum::<f64>().sqrt();
                let e = err * 0.0 + if err > tol { 2.0 } else { 0.5 };
                if e > 1.0 && h > 1e-3 {
                    h *= 0.5;
                    continue;
                }
                t += h;
                y = y4;
                n += 1;
                if n > 200 {
                    break;
                }
            }
            (y, n)
        }
        let (y, n) = rk45(|t, y| [y[1], -x[2] * y[0] - x[1] * y[1] + t * 0.1], [x[0], x[1]], 1.0, 1e-2);
        y[0] * y[1] + n as f64 * 0.0
    } at [1.0, 0.3, 2.0];

    fn kalman_struct(x) {
        #[derive(Clone)]
        struct Kalman {
            x: [f64; 2],
            p: [[f64; 2]; 2],
            q: f64,
            r: f64,
            steps: usize,
            name: String,
        }
        impl Kalman {
            fn predict(&mut self, dt: f64) -> &mut Self {
                self.x = [self.x[0] + dt * self.x[1], self.x[1]];
                let f = [[1.0, dt], [0.0, 1.0]];
                let mut p = [[0.0; 2]; 2];
                for i in 0..2 {
                    for j in 0..2 {
                        for k in 0..2 {
                            for l in 0..2 {
                                p[i][j] += f[i][k] * self.p[k][l] * f[j][l];
                            }
                        }
                    }
                }
                p[0][0] += self.q;
                p[1][1] += self.q;
                self.p = p;
                self
            }
            fn update(&mut self, z: f64) -> f64 {
                let s = self.p[0][0] + self.r;
                let k = [self.p[0][0] / s, self.p[1][0] / s];
                let y = z - self.x[0];
                for i in 0..2 {
                    self.x[i] += k[i] * y;
                }
                let p = self.p;
                for i in 0..2 {
                    for j in 0..2 {
                        self.p[i][j] = p[i][j] - k[i] * p[0][j];
                    }
                }
                self.steps += 1;
                -0.5 * (y * y / s + s.ln())
            }
        }
        let mut k = Kalman {
            x: [x[0], 0.0],
            p: [[1.0, 0.0], [0.0, 1.0]],
            q: x[5] * x[5],
            r: x[6] * x[6],
            steps: 0,
            name: "track".to_string(),
        };
        let ll: f64 = x[1..5].iter().map(|&z| k.predict(0.5).update(z)).sum();
        ll + k.x[1] / k.steps as f64 + k.name.len() as f64
    } at [1.0, 0.5, 1.5, 2.1, 2.9, 0.2, 0.3];

    fn kmeans(x) {
        #[derive(Clone, Copy)]
        struct P {
            x: f64,
            y: f64,
        }
        let pts: Vec<P> = x.chunks_exact(2).map(|c| P { x: c[0], y: c[1] }).collect();
        let mut cs = vec![pts[0], pts[2]];
        for _ in 0..4 {
            let assign: Vec<usize> = pts
                .iter()
                .map(|p| {
                    cs.iter()
                        .enumerate()
                        .map(|(i, c)| (i, (p.x - c.x).powi(2) + (p.y - c.y).powi(2)))
                        .min_by(|a, b| a.1.partial_cmp(&b.1).unwrap())
                        .unwrap()
                        .0
                })
                .collect();
            for (i, c) in cs.iter_mut().enumerate() {
                let mine: Vec<&P> = pts.iter().zip(&assign).filter(|(_, a)| **a == i).map(|(p, _)| p).collect();
                if mine.is_empty() {
                    continue;
                }
                let n = mine.len() as f64;
                *c = P { x: mine.iter().map(|p| p.x).sum::<f64>() / n, y: mine.iter().map(|p| p.y).sum::<f64>() / n };
            }
        }
        pts.iter().map(|p| cs.iter().map(|c| (p.x - c.x).hypot(p.y - c.y)).fold(f64::INFINITY, f64::min)).sum()
    } at [0.1, 0.2, 0.15, 0.3, 2.0, 2.1, 2.2, 1.9, 0.5, 0.4];

    fn gmm_em(x) {
        #[derive(Clone, Debug)]
        struct Comp {
            w: f64,
            mu: f64,
            var: f64,
        }
        fn logsumexp(v: &[f64]) -> f64 {
            let m = v.iter().cloned().fold(f64::NEG_INFINITY, f64::max);
            m + v.iter().map(|a| (a - m).exp()).sum::<f64>().ln()
        }
        let mut c = vec![Comp { w: 0.5, mu: 0.0, var: 1.0 }, Comp { w: 0.5, mu: 2.0, var: 1.0 }];
        let lp = |c: &Comp, v: f64| c.w.ln() - 0.5 * ((v - c.mu).powi(2) / c.var + c.var.ln());
        for _ in 0..3 {
            let r: Vec<Vec<f64>> = x
                .iter()
                .map(|&v| {
                    let l: Vec<f64> = c.iter().map(|c| lp(c, v)).collect();
                    let z = logsumexp(&l);
                    l.into_iter().map(|a| (a - z).exp()).collect()
                })
                .collect();
            for (k, c) in c.iter_mut().enumerate() {
                let nk: f64 = r.iter().map(|r| r[k]).sum();
                c.w = nk / x.len() as f64;
                c.mu = r.iter().zip(x).map(|(r, v)| r[k] * v).sum::<f64>() / nk;
                c.var = r.iter().zip(x).map(|(r, v)| r[k] * (v - c.mu).powi(2)).sum::<f64>() / nk + 0.1;
            }
        }
        x.iter().map(|&v| logsumexp(&[lp(&c[0], v), lp(&c[1], v)])).sum()
    } at [0.1, 0.3, 2.0, 2.4, 1.8, -0.2];

    fn lstm_struct(x) {
        #[derive(Clone, Default)]
        struct State {
            h: [f64; 2],
            c: [f64; 2],
        }
        struct Cell {
            w: [[f64; 4]; 4],
            b: [f64; 4],
            hidden: usize,
        }
        impl Cell {
            fn step(&self, s: &State, x: f64) -> State {
                let sig = |v: f64| 1.0 / (1.0 + (-v).exp());
                let input = [x, s.h[0], s.h[1], 1.0];
                let mut out = State::default();
                for k in 0..self.hidden {
                    let g: Vec<f64> = (0..4)
                        .map(|r| (0..4).map(|j| self.w[r][j] * input[j]).sum::<f64>() + self.b[r] * (k + 1) as f64)
                        .collect();
                    out.c[k] = sig(g[0]) * s.c[k] + sig(g[1]) * g[2].tanh();
                    out.h[k] = sig(g[3]) * out.c[k].tanh();
                }
                out
            }
        }
        let mut w = [[0.0; 4]; 4];
        for i in 0..4 {
            for j in 0..4 {
                w[i][j] = x[(i + j) % x.len()] * (1.0 + i as f64 - j as f64);
            }
        }
        let cell = Cell { w, b: [x[4], x[5], x[6], x[7]], hidden: 2 };
        let s = [0.5, x[0], -1.0, x[3]].iter().fold(State::default(), |s, v| cell.step(&s, *v));
        s.h[0] + s.h[1] * s.c[0]
    } at [0.3, -0.2, 0.5, 0.1, 0.9, -0.4, 0.2, 0.7];

    fn ray_option(x) {
        #[derive(Clone, Copy, Debug, PartialEq)]
        struct V3 {
            x: f64,
            y: f64,
            z: f64,
        }
        impl std::ops::Add for V3 {
            type Output = V3;
            fn add(self, o: V3) -> V3 {
                V3 { x: self.x + o.x, y: self.y + o.y, z: self.z + o.z }
            }
        }
        impl std::ops::Sub for V3 {
            type Output = V3;
            fn sub(self, o: V3) -> V3 {
                V3 { x: self.x - o.x, y: self.y - o.y, z: self.z - o.z }
            }
        }
        impl std::ops::Mul<f64> for V3 {
            type Output = V3;
            fn mul(self, k: f64) -> V3 {
                V3 { x: self.x * k, y: self.y * k, z: self.z * k }
            }
        }
        impl std::ops::Neg for V3 {
            type Output = V3;
            fn neg(self) -> V3 {
                self * -1.0
            }
        }
        impl std::iter::Sum for V3 {
            fn sum<I: Iterator<Item = V3>>(i: I) -> V3 {
                i.fold(V3 { x: 0.0, y: 0.0, z: 0.0 }, |a, b| a + b)
            }
        }
        impl V3 {
            fn dot(self, o: V3) -> f64 {
                self.x * o.x + self.y * o.y + self.z * o.z
            }
            fn unit(self) -> V3 {
                self * (1.0 / self.dot(self).sqrt())
            }
        }
        struct Ray {
            o: V3,
            d: V3,
        }
        struct Hit<'a> {
            t: f64,
            p: V3,
            n: V3,
            id: u32,
            s: &'a Sphere,
        }
        struct Sphere {
            c: V3,
            r: f64,
            albedo: f64,
            id: u32,
        }
        impl Sphere {
            fn hit(&self, r: &Ray) -> Option<Hit<'_>> {
                let oc = r.o - self.c;
                let b = oc.dot(r.d);
                let disc = b * b - oc.dot(oc) + self.r * self.r;
                if disc < 0.0 {
                    return None;
                }
                let t = -b - disc.sqrt();
                if t < 1e-3 {
                    return None;
                }
                let p = r.o + r.d * t;
                Some(Hit { t, p, n: (p - self.c).unit(), id: self.id, s: self })
            }
        }
        fn trace(w: &[Sphere], r: Ray, depth: u32) -> f64 {
            let hit = w.iter().filter_map(|s| s.hit(&r)).min_by(|a, b| a.t.total_cmp(&b.t));
            match hit {
                Some(h) if depth > 0 => {
                    let d = r.d - h.n * (2.0 * r.d.dot(h.n));
                    0.2 * h.n.z.abs() + h.s.albedo * trace(w, Ray { o: h.p, d }, depth - 1) + h.id as f64 * 0.01
                }
                Some(h) => h.n.y,
                None => 0.5 * (r.d.y + 1.0),
            }
        }
        let w = [
            Sphere { c: V3 { x: 0.0, y: 0.0, z: 0.0 }, r: x[5], albedo: 0.6, id: 1 },
            Sphere { c: V3 { x: x[0] + 1.5, y: 0.0, z: -2.0 }, r: 0.8, albedo: x[1] + 0.5, id: 2 },
            Sphere { c: V3 { x: 0.0, y: -100.5, z: -1.0 }, r: 100.0, albedo: 0.3, id: 3 },
        ];
        (0..4)
            .map(|i| {
                trace(
                    &w,
                    Ray {
                        o: V3 { x: x[0], y: x[1], z: x[2] },
                        d: V3 { x: x[3] + 0.1 * i as f64, y: x[4], z: 1.0 }.unit(),
                    },
                    3,
                )
            })
            .sum()
    } at [0.1, 0.2, -3.0, 0.0, 0.05, 1.0];

    fn monte_carlo_lcg(x) {
        struct Lcg(u64);
        impl Lcg {
            fn next(&mut self) -> f64 {
                self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (self.0 >> 11) as f64 / (1u64 << 53) as f64
            }
            fn normal(&mut self) -> f64 {
                let (a, b) = (self.next().max(1e-12), self.next());
                (-2.0 * a.ln()).sqrt() * (2.0 * std::f64::consts::PI * b).cos()
            }
        }
        impl Iterator for Lcg {
            type Item = f64;
            fn next(&mut self) -> Option<f64> {
                Some(self.normal())
            }
        }
        let [s, vol, r] = x else { return 0.0 };
        let paths = 32;
        let mut rng = Lcg(42);
        let mut total = 0.0;
        for _ in 0..paths {
            let mut p = *s;
            let mut sum = 0.0;
            for z in rng.by_ref().take(4) {
                p *= ((r - 0.5 * vol * vol) * 0.25 + vol * 0.5 * z).exp();
                sum += p;
            }
            total += (sum / 4.0 - 100.0).max(0.0);
        }
        (-r * 1.0).exp() * total / paths as f64
    } at [100.0, 0.2, 0.05];

    fn hmm_forward(x) {
        enum Sym {
            A,
            B,
            C,
        }
        struct Hmm {
            init: [f64; 2],
            trans: [[f64; 2]; 2],
            emit: [[f64; 3]; 2],
        }
        let h = Hmm {
            init: [x[0], 1.0 - x[0]],
            trans: [[x[1], 1.0 - x[1]], [x[2], 1.0 - x[2]]],
            emit: [[x[3], 0.1, 0.3], [0.2, x[4], x[5]]],
        };
        let obs = [Sym::A, Sym::C, Sym::B, Sym::B, Sym::A];
        let code = |s: &Sym| match s {
            Sym::A => 0usize,
            Sym::B => 1,
            Sym::C => 2,
        };
        let mut alpha = h.init.iter().zip(&h.emit).map(|(p, e)| p * e[code(&obs[0])]).collect::<Vec<_>>();
        let mut ll = 0.0;
        for o in &obs[1..] {
            let scale: f64 = alpha.iter().sum();
            ll += scale.ln();
            alpha = (0..2)
                .map(|j| (0..2).map(|i| alpha[i] / scale * h.trans[i][j]).sum::<f64>() * h.emit[j][code(o)])
                .collect();
        }
        ll + alpha.iter().sum::<f64>().ln()
    } at [0.7, 0.3, 0.4, 0.6, 0.9, 0.2];

    fn poly_terms(x) {
        #[derive(Clone, Debug)]
        struct Term {
            c: f64,
            p: i32,
        }
        #[derive(Clone, Debug, Default)]
        struct Poly(Vec<Term>);
        impl Poly {
            fn eval(&self, x: f64) -> f64 {
                self.0.iter().map(|t| t.c * x.powi(t.p)).sum()
            }
            fn derive(&self) -> Poly {
                Poly(self.0.iter().filter(|t| t.p != 0).map(|t| Term { c: t.c * t.p as f64, p: t.p - 1 }).collect())
            }
            fn simplify(mut self) -> Poly {
                self.0.sort_by_key(|t| t.p);
                let mut out: Vec<Term> = vec![];
                for t in self.0 {
                    match out.last_mut() {
                        Some(l) if l.p == t.p => l.c += t.c,
                        _ => out.push(t),
                    }
                }
                out.retain(|t| t.c != 0.0);
                Poly(out)
            }
        }
        impl std::ops::Mul for &Poly {
            type Output = Poly;
            fn mul(self, o: &Poly) -> Poly {
                Poly(self.0.iter().flat_map(|a| o.0.iter().map(move |b| Term { c: a.c * b.c, p: a.p + b.p })).collect())
                    .simplify()
            }
        }
        let p = Poly(vec![Term { c: x[0], p: 2 }, Term { c: x[1], p: 1 }, Term { c: 1.0, p: 0 }]);
        let q = Poly(vec![Term { c: x[2], p: 1 }, Term { c: -x[0], p: 0 }]);
        let r = &p * &q;
        r.eval(x[2]) + r.derive().eval(x[1]) + r.0.len() as f64
    } at [1.5, -0.5, 2.0];

    fn impl_closures(x) {
        fn compose(f: impl Fn(f64) -> f64, g: impl Fn(f64) -> f64) -> impl Fn(f64) -> f64 {
            move |x| f(g(x))
        }
        fn scale(k: f64) -> impl Fn(f64) -> f64 + Clone {
            move |x| k * x
        }
        fn apply_n<F>(n: usize, f: F, x: f64) -> f64
        where
            F: Fn(f64) -> f64,
        {
            (0..n).fold(x, |a, _| f(a))
        }
        fn counter() -> impl FnMut(f64) -> f64 {
            let mut s = 0.0;
            let mut n = 0u32;
            move |v| {
                s += v;
                n += 1;
                s / n as f64
            }
        }
        let s = scale(x[0]);
        let h = compose(s.clone(), f64::sin);
        let h = compose(h, move |v| v * v + x[2]);
        let mut c = counter();
        x.iter().for_each(|v| {
            c(*v);
        });
        apply_n(3, h, x[1])
            + c(x[0] * x[1])
            + std::iter::successors(Some(x[2]), |v| if *v < 10.0 { Some(v * 2.0 + s(*v)) } else { None }).sum::<f64>()
    } at [1.0, 2.0, 0.5];

    fn const_generic_sum(x) {
        fn frob<const M: usize, const N: usize>(a: &[[f64; N]; M]) -> f64 {
            a.iter().flatten().map(|v| v * v).sum::<f64>().sqrt()
        }
        fn transpose<const M: usize, const N: usize>(a: [[f64; N]; M]) -> [[f64; M]; N] {
            std::array::from_fn(|i| std::array::from_fn(|j| a[j][i]))
        }
        let a: [[f64; 3]; 2] = [x[..3].try_into().unwrap(), x[3..6].try_into().unwrap()];
        let t = transpose(a);
        frob(&a) * t[2][0] + t.map(|r| r[0] * r[1]).iter().sum::<f64>() + frob(&t)
    } at [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    fn complex_newton(x) {
        #[derive(Clone, Copy, PartialEq, Debug, Default)]
        struct C {
            re: f64,
            im: f64,
        }
        use std::ops::*;
        impl Add for C {
            type Output = C;
            fn add(self, o: C) -> C {
                C { re: self.re + o.re, im: self.im + o.im }
            }
        }
        impl Sub for C {
            type Output = C;
            fn sub(self, o: C) -> C {
                C { re: self.re - o.re, im: self.im - o.im }
            }
        }
        impl Mul for C {
            type Output = C;
            fn mul(self, o: C) -> C {
                C { re: self.re * o.re - self.im * o.im, im: self.re * o.im + self.im * o.re }
            }
        }
        impl Div for C {
            type Output = C;
            fn div(self, o: C) -> C {
                let n = o.re * o.re + o.im * o.im;
                C { re: (self.re * o.re + self.im * o.im) / n, im: (self.im * o.re - self.re * o.im) / n }
            }
        }
        impl AddAssign for C {
            fn add_assign(&mut self, o: C) {
                *self = *self + o;
            }
        }
        impl MulAssign<f64> for C {
            fn mul_assign(&mut self, k: f64) {
                self.re *= k;
                self.im *= k;
            }
        }
        impl From<f64> for C {
            fn from(re: f64) -> C {
                C { re, im: 0.0 }
            }
        }
        let mut z = C { re: x[0], im: x[1] };
        for _ in 0..3 {
            z = z - (z * z * z - x[2].into()) / (z * z * C::from(3.0));
        }
        let mut w = C::default();
        for k in 0..4 {
            w += z;
            w *= 0.5 + x[k % 3] * 0.1;
        }
        w.re * w.im + z.re
    } at [0.8, 0.7, 1.2];

    fn dual_user_type(x) {
        #[derive(Clone, Copy)]
        struct Dual {
            v: f64,
            d: f64,
        }
        impl std::ops::Mul for Dual {
            type Output = Dual;
            fn mul(self, o: Dual) -> Dual {
                Dual { v: self.v * o.v, d: self.v * o.d + self.d * o.v }
            }
        }
        impl std::ops::Add for Dual {
            type Output = Dual;
            fn add(self, o: Dual) -> Dual {
                Dual { v: self.v + o.v, d: self.d + o.d }
            }
        }
        trait Real: Copy + std::ops::Add<Output = Self> + std::ops::Mul<Output = Self> {
            fn sin(self) -> Self;
            fn lift(v: f64) -> Self;
        }
        impl Real for f64 {
            fn sin(self) -> f64 {
                f64::sin(self)
            }
            fn lift(v: f64) -> f64 {
                v
            }
        }
        impl Real for Dual {
            fn sin(self) -> Dual {
                Dual { v: self.v.sin(), d: self.d * self.v.cos() }
            }
            fn lift(v: f64) -> Dual {
                Dual { v, d: 0.0 }
            }
        }
        fn g<T: Real>(a: T, b: T) -> T {
            let mut s = T::lift(0.0);
            for k in 0..3 {
                s = s * a + (b * T::lift(k as f64)).sin();
            }
            s
        }
        g(x[0], x[1]) + g(Dual { v: x[0], d: 1.0 }, Dual { v: x[1], d: 0.0 }).d
    } at [0.8, 0.7];

    fn black_scholes_greeks(x) {
        #[derive(Clone, Copy)]
        enum Kind {
            Call,
            Put,
        }
        struct Opt {
            kind: Kind,
            k: f64,
            t: f64,
        }
        fn erf(x: f64) -> f64 {
            let t = 1.0 / (1.0 + 0.3275911 * x.abs());
            let y = 1.0
                - (((((1.061405429 * t - 1.453152027) * t) + 1.421413741) * t - 0.284496736) * t + 0.254829592)
                    * t
                    * (-x * x).exp();
            y.copysign(x)
        }
        fn cdf(x: f64) -> f64 {
            0.5 * (1.0 + erf(x / std::f64::consts::SQRT_2))
        }
        impl Opt {
            fn price(&self, s: f64, v: f64, r: f64) -> f64 {
                let d1 = ((s / self.k).ln() + (r + v * v / 2.0) * self.t) / (v * self.t.sqrt());
                let d2 = d1 - v * self.t.sqrt();
                let df = (-r * self.t).exp();
                match self.kind {
                    Kind::Call => s * cdf(d1) - self.k * df * cdf(d2),
                    Kind::Put => self.k * df * cdf(-d2) - s * cdf(-d1),
                }
            }
        }
        [Opt { kind: Kind::Call, k: x[1], t: x[4] }, Opt { kind: Kind::Put, k: x[1] * 0.9, t: x[4] * 2.0 }]
            .iter()
            .zip([3.0, -1.5])
            .map(|(o, n)| n * o.price(x[0], x[2], x[3]))
            .sum()
    } at [100.0, 105.0, 0.2, 0.03, 0.5];

    fn median_mad(x) {
        fn median(v: &[f64]) -> f64 {
            let mut s = v.to_vec();
            s.sort_by(|a, b| a.partial_cmp(b).unwrap());
            let n = s.len();
            if n % 2 == 1 { s[n / 2] } else { (s[n / 2 - 1] + s[n / 2]) / 2.0 }
        }
        let m = median(x);
        let d: Vec<f64> = x.iter().map(|v| (v - m).abs()).collect();
        let mad = median(&d);
        x.iter().map(|v| ((v - m) / (mad + 0.1)).tanh()).sum::<f64>() + median(&x[..4])
    } at [3.3, 1.0, 2.0, 0.5, 9.0];

    fn histogram_soft(x) {
        const B: usize = 4;
        let mut h = [0.0; B];
        let mut n = [0usize; B];
        for &v in x {
            let b = ((v * B as f64) as usize).min(B - 1);
            n[b] += 1;
            let f = v * B as f64 - b as f64;
            h[b] += 1.0 - f;
            if b + 1 < B {
                h[b + 1] += f;
            }
        }
        h.iter().zip(n).map(|(p, k)| (p + 0.1).ln() * (k as f64 + 1.0)).sum()
    } at [0.1, 0.55, 0.7, 0.95];

    fn matrix_vec_vec(x) {
        type Matrix = Vec<Vec<f64>>;
        fn mul(a: &Matrix, b: &Matrix) -> Matrix {
            a.iter()
                .map(|r| (0..b[0].len()).map(|j| r.iter().zip(b).map(|(x, row)| x * row[j]).sum()).collect())
                .collect()
        }
        fn eye(n: usize) -> Matrix {
            let mut m = vec![vec![0.0; n]; n];
            for i in 0..n {
                m[i][i] = 1.0;
            }
            m
        }
        fn pow(m: &Matrix, mut k: u32) -> Matrix {
            let (mut r, mut b) = (eye(m.len()), m.clone());
            while k > 0 {
                if k & 1 == 1 {
                    r = mul(&r, &b);
                }
                b = mul(&b, &b);
                k >>= 1;
            }
            r
        }
        fn inverse(m: &Matrix) -> Option<Matrix> {
            let n = m.len();
            let mut a = m.clone();
            let mut b = eye(n);
            for c in 0..n {
                let p = (c..n).max_by(|i, j| a[*i][c].abs().total_cmp(&a[*j][c].abs()))?;
                if a[p][c].abs() < 1e-12 {
                    return None;
                }
                a.swap(c, p);
                b.swap(c, p);
                let d = a[c][c];
                a[c].iter_mut().for_each(|v| *v /= d);
                b[c].iter_mut().for_each(|v| *v /= d);
                for r in 0..n {
                    if r != c {
                        let f = a[r][c];
                        for k in 0..n {
                            let (t, u) = (a[c][k], b[c][k]);
                            a[r][k] -= f * t;
                            b[r][k] -= f * u;
                        }
                    }
                }
            }
            Some(b)
        }
        let m: Matrix = x.chunks(2).map(<[f64]>::to_vec).collect();
        let p = pow(&m, 3);
        let i = inverse(&m).unwrap();
        p[0][1] * 0.1 + i[1][0] * p[1][1] + mul(&m, &i)[0][0]
    } at [1.0, 2.0, 3.0, 4.0];

    fn adam_optimizer(x) {
        struct Adam {
            m: Vec<f64>,
            v: Vec<f64>,
            t: i32,
            lr: f64,
        }
        impl Adam {
            fn step(&mut self, p: &mut [f64], g: &[f64]) {
                self.t += 1;
                // Not `powi`: its rounding depends on whether the optimiser computes it.
                let power = |base: f64| (0..self.t).fold(1.0, |power, _| power * base);
                let (left_m, left_v) = (1.0 - power(0.9), 1.0 - power(0.99));
                for (((p, g), m), v) in p.iter_mut().zip(g).zip(&mut self.m).zip(&mut self.v) {
                    *m = 0.9 * *m + 0.1 * g;
                    *v = 0.99 * *v + 0.01 * g * g;
                    let (mh, vh) = (*m / left_m, *v / left_v);
                    *p -= self.lr * mh / (vh.sqrt() + 1e-3);
                }
            }
        }
        let mut p = x.to_vec();
        let mut o = Adam { m: vec![0.0; 3], v: vec![0.0; 3], t: 0, lr: 0.1 };
        for _ in 0..5 {
            let g: Vec<f64> = p.iter().zip(x).map(|(a, b)| 2.0 * a * b + 1.0).collect();
            o.step(&mut p, &g);
        }
        p.iter().map(|v| v * v).sum()
    } at [1.0, -1.5, 0.3];

    fn mlp_layers(x) {
        #[derive(Clone, Copy)]
        enum Act {
            Relu,
            Tanh,
            Id,
        }
        struct Layer {
            w: Vec<Vec<f64>>,
            b: Vec<f64>,
            act: Act,
        }
        impl Layer {
            fn forward(&self, x: &[f64]) -> Vec<f64> {
                self.w
                    .iter()
                    .zip(&self.b)
                    .map(|(r, b)| {
                        let z = r.iter().zip(x).map(|(a, b)| a * b).sum::<f64>() + b;
                        match self.act {
                            Act::Relu => z.max(0.0),
                            Act::Tanh => z.tanh(),
                            Act::Id => z,
                        }
                    })
                    .collect()
            }
        }
        let net = vec![
            Layer { w: vec![vec![x[0], x[1]], vec![x[2], x[3]]], b: vec![x[4], x[5]], act: Act::Tanh },
            Layer { w: vec![vec![x[6], x[7]], vec![x[0], x[3]]], b: vec![0.1, 0.2], act: Act::Relu },
            Layer { w: vec![vec![1.0, x[1]]], b: vec![x[2]], act: Act::Id },
        ];
        let data = [([1.0, 2.0], 0.5), ([0.3, -1.0], -0.2)];
        data.iter()
            .map(|(i, t)| {
                let o = net.iter().fold(i.to_vec(), |h, l| l.forward(&h));
                (o[0] - t).powi(2)
            })
            .sum()
    } at [0.1, -0.2, 0.3, 0.4, 0.5, -0.6, 0.7, 0.8];

    fn graph_pagerank(x) {
        struct Edge {
            to: usize,
            w: f64,
        }
        struct Graph {
            adj: Vec<Vec<Edge>>,
        }
        let mut g = Graph { adj: (0..3).map(|_| Vec::new()).collect() };
        for (i, w) in x.iter().enumerate() {
            g.adj[i].push(Edge { to: (i + 1) % 3, w: *w });
            g.adj[i].push(Edge { to: (i + 2) % 3, w: 1.0 - w });
        }
        let mut r = vec![1.0 / 3.0; 3];
        for _ in 0..6 {
            let mut n = vec![0.05; 3];
            for (i, es) in g.adj.iter().enumerate() {
                for e in es {
                    n[e.to] += 0.85 * r[i] * e.w;
                }
            }
            r = n;
        }
        r[0] * 3.0 + r[2]
    } at [0.2, 0.5, 0.3];

    fn dfs_stack_topo(x) {
        let edges: Vec<(usize, usize, f64)> = vec![(0, 1, x[0]), (0, 2, x[1]), (1, 3, x[2]), (2, 3, x[0] * x[1])];
        let mut indeg = [0u8; 4];
        for e in &edges {
            indeg[e.1] += 1;
        }
        let mut stack = vec![0usize];
        let mut val = [0.0f64; 4];
        val[0] = 1.0;
        while let Some(n) = stack.pop() {
            for (_, b, w) in edges.iter().filter(|e| e.0 == n) {
                val[*b] += val[n] * w;
                indeg[*b] -= 1;
                if indeg[*b] == 0 {
                    stack.push(*b);
                }
            }
        }
        val[3]
    } at [1.0, 2.0, 3.0];

    fn knapsack_dp(x) {
        let w = [1usize, 2, 3];
        let cap = 5;
        let mut dp = vec![vec![0.0f64; cap + 1]; w.len() + 1];
        let mut take = vec![vec![false; cap + 1]; w.len() + 1];
        for i in 1..=w.len() {
            for c in 0..=cap {
                dp[i][c] = dp[i - 1][c];
                if c >= w[i - 1] {
                    let v = dp[i - 1][c - w[i - 1]] + x[i - 1] * x[i - 1];
                    if v > dp[i][c] {
                        dp[i][c] = v;
                        take[i][c] = true;
                    }
                }
            }
        }
        dp[w.len()][cap] + take.iter().flatten().filter(|t| **t).count() as f64
    } at [1.0, 2.0, 3.0];

    fn simplex_2d(x) {
        let f = |p: &[f64; 2]| (p[0] - x[0]).powi(2) + 3.0 * (p[1] - x[1] * p[0]).powi(2);
        let mut s = [[0.0, 0.0], [1.0, 0.2], [0.3, 1.1]];
        for _ in 0..6 {
            s.sort_by(|a, b| f(a).partial_cmp(&f(b)).unwrap());
            let c = [(s[0][0] + s[1][0]) / 2.0, (s[0][1] + s[1][1]) / 2.0];
            let r = [2.0 * c[0] - s[2][0], 2.0 * c[1] - s[2][1]];
            if f(&r) < f(&s[1]) {
                s[2] = r;
            } else {
                s[2] = [(c[0] + s[2][0]) / 2.0, (c[1] + s[2][1]) / 2.0];
            }
        }
        s.iter().map(|p| f(p)).sum()
    } at [1.0, 0.5];

    fn interp_table_struct(x) {
        struct Row {
            key: f64,
            val: f64,
            hits: std::cell::Cell<u32>,
        }
        let t: Vec<Row> = (0..5)
            .map(|i| Row { key: i as f64 * 0.8, val: (i as f64 + x[0]).sin(), hits: Default::default() })
            .collect();
        let get = |k: f64| {
            let i = t.partition_point(|r| r.key <= k).clamp(1, t.len() - 1);
            let (a, b) = (&t[i - 1], &t[i]);
            a.hits.set(a.hits.get() + 1);
            a.val + (b.val - a.val) * (k - a.key) / (b.key - a.key)
        };
        x.iter().map(|v| get(*v)).sum::<f64>() + t.iter().map(|r| r.hits.get() as f64).sum::<f64>()
    } at [0.5, 1.5, 2.2];
}
