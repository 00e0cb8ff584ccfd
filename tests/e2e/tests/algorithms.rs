//! Whole algorithms: linear algebra, integrators, solvers, dynamic programming, networks, geometry.

// Programs as people write them, whatever the lints say.
#![allow(unused, clippy::all)]

pullback_e2e::differentiated! {
    fn lu_determinant(x) {
        fn det(mut a: Vec<Vec<f64>>) -> f64 {
            let n = a.len();
            let mut d = 1.0;
            for k in 0..n {
                let p = (k..n).max_by(|&i, &j| a[i][k].abs().partial_cmp(&a[j][k].abs()).unwrap()).unwrap();
                if p != k {
                    a.swap(p, k);
                    d = -d;
                }
                d *= a[k][k];
                for i in k + 1..n {
                    let f = a[i][k] / a[k][k];
                    for j in k..n {
                        let t = a[k][j];
                        a[i][j] -= f * t;
                    }
                }
            }
            d
        }
        det(x.chunks(3).map(|r| r.to_vec()).collect())
    } at [4.0, 1.0, 2.0, 3.0, 5.0, 1.0, 2.0, 1.0, 6.0];

    fn cholesky(x) {
        let a = [[x[0] + 2.0, x[1], x[2]], [x[1], x[3] + 2.0, x[4]], [x[2], x[4], x[5] + 2.0]];
        let mut l = [[0.0f64; 3]; 3];
        for i in 0..3 {
            for j in 0..=i {
                let mut s = a[i][j];
                for k in 0..j {
                    s -= l[i][k] * l[j][k];
                }
                l[i][j] = if i == j { s.sqrt() } else { s / l[j][j] };
            }
        }
        (0..3).map(|i| l[i][i].ln()).sum::<f64>() * 2.0 + l[2][0]
    } at [1.0, 0.2, 0.3, 1.5, 0.1, 2.0];

    fn qr(x) {
        let n = 3;
        let mut q: Vec<Vec<f64>> = (0..n).map(|j| (0..n).map(|i| x[i * n + j]).collect()).collect();
        let mut r = vec![vec![0.0; n]; n];
        for j in 0..n {
            for i in 0..j {
                let d: f64 = q[i].iter().zip(&q[j]).map(|(a, b)| a * b).sum();
                r[i][j] = d;
                let qi = q[i].clone();
                for (a, b) in q[j].iter_mut().zip(&qi) {
                    *a -= d * b;
                }
            }
            let nn = q[j].iter().map(|a| a * a).sum::<f64>().sqrt();
            r[j][j] = nn;
            q[j].iter_mut().for_each(|a| *a /= nn);
        }
        r[0][1] * r[1][2] + r[2][2] + q[2][0]
    } at [1.0, 0.2, 0.3, 1.5, 0.1, 2.0, 0.7, 0.4, 0.9];

    fn matmul(x) {
        struct M {
            d: Vec<f64>,
            r: usize,
            c: usize,
        }
        impl std::ops::Index<(usize, usize)> for M {
            type Output = f64;
            fn index(&self, (i, j): (usize, usize)) -> &f64 {
                &self.d[i * self.c + j]
            }
        }
        impl std::ops::IndexMut<(usize, usize)> for M {
            fn index_mut(&mut self, (i, j): (usize, usize)) -> &mut f64 {
                &mut self.d[i * self.c + j]
            }
        }
        impl M {
            fn zeros(r: usize, c: usize) -> M {
                M { d: vec![0.0; r * c], r, c }
            }
            fn t(&self) -> M {
                let mut o = M::zeros(self.c, self.r);
                for i in 0..self.r {
                    for j in 0..self.c {
                        o[(j, i)] = self[(i, j)];
                    }
                }
                o
            }
        }
        impl std::ops::Mul for &M {
            type Output = M;
            fn mul(self, o: &M) -> M {
                assert_eq!(self.c, o.r);
                let mut m = M::zeros(self.r, o.c);
                for i in 0..self.r {
                    for j in 0..o.c {
                        for k in 0..self.c {
                            m[(i, j)] += self[(i, k)] * o[(k, j)];
                        }
                    }
                }
                m
            }
        }
        let a = M { d: x.to_vec(), r: 2, c: 2 };
        let b = &a * &a.t();
        let c = &b * &b;
        c[(0, 1)] * c[(0, 0)] + c.d.iter().sum::<f64>()
    } at [1.0, 0.2, 0.3, 1.5];

    fn conjugate_gradient(x) {
        let mv = |v: &[f64]| vec![x[0] * v[0] + x[1] * v[1], x[1] * v[0] + x[2] * v[1]];
        let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(p, q)| p * q).sum::<f64>();
        let b = &x[3..];
        let mut s = vec![0.0; 2];
        let mut r = b.to_vec();
        let mut p = r.clone();
        let mut rs = dot(&r, &r);
        let mut it = 0;
        while rs > 1e-16 && it < 10 {
            let ap = mv(&p);
            let al = rs / dot(&p, &ap);
            for i in 0..2 {
                s[i] += al * p[i];
                r[i] -= al * ap[i];
            }
            let rn = dot(&r, &r);
            let be = rn / rs;
            p = r.iter().zip(&p).map(|(a, b)| a + be * b).collect();
            rs = rn;
            it += 1;
            if it == 2 {
                break;
            }
        }
        s[0] * s[1]
    } at [3.0, 0.5, 2.0, 1.0, 2.0];

    fn rk4(x) {
        fn rhs(y: [f64; 2], k: f64) -> [f64; 2] {
            [y[1], -k * y[0] - 0.1 * y[1] * y[1].abs()]
        }
        fn ax(a: [f64; 2], b: [f64; 2], h: f64) -> [f64; 2] {
            [a[0] + h * b[0], a[1] + h * b[1]]
        }
        let mut y = [x[0], x[1]];
        let h = 0.05;
        for _ in 0..40 {
            let k1 = rhs(y, x[2]);
            let k2 = rhs(ax(y, k1, h / 2.0), x[2]);
            let k3 = rhs(ax(y, k2, h / 2.0), x[2]);
            let k4 = rhs(ax(y, k3, h), x[2]);
            for i in 0..2 {
                y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i]);
            }
        }
        y[0] * y[0] + y[1]
    } at [1.0, 0.5, 0.2];

    fn rk4_vec(x) {
        fn step(f: &impl Fn(f64, &[f64]) -> Vec<f64>, t: f64, y: &[f64], h: f64) -> Vec<f64> {
            let k1 = f(t, y);
            let y2: Vec<f64> = y.iter().zip(&k1).map(|(a, b)| a + h * b).collect();
            let k2 = f(t + h, &y2);
            y.iter().zip(k1.iter().zip(&k2)).map(|(a, (b, c))| a + 0.5 * h * (b + c)).collect()
        }
        let f = |t: f64, y: &[f64]| vec![y[1] * t.cos(), -x[2] * y[0]];
        let mut y = vec![x[0], x[1]];
        let mut t = 0.0;
        while t < 1.0 {
            y = step(&f, t, &y, 0.1);
            t += 0.1;
        }
        y[0] * y[1]
    } at [1.0, 0.5, 0.2];

    fn newton(x) {
        let mut r = x[1];
        loop {
            let n = r - (r * r * r - x[0]) / (3.0 * r * r);
            if (n - r).abs() < 1e-13 {
                break n;
            }
            r = n;
        }
    } at [5.0, 2.0];

    fn newton_hof(x) {
        fn newton(f: impl Fn(f64) -> f64, df: impl Fn(f64) -> f64, mut x: f64) -> Result<f64, usize> {
            for i in 0..100 {
                let d = f(x) / df(x);
                x -= d;
                if d.abs() < 1e-12 {
                    return Ok(x);
                }
                if i > 60 {
                    return Err(i);
                }
            }
            Err(100)
        }
        newton(|v| v.exp() - x[0], |v| v.exp(), x[1]).expect("converges") * x[1]
    } at [5.0, 2.0];

    fn lstm(x) {
        fn sg(v: f64) -> f64 {
            1.0 / (1.0 + (-v).exp())
        }
        fn cell(w: &[f64], h: &mut [f64], c: &mut [f64], inp: f64) {
            for i in 0..h.len() {
                let f = sg(w[0] * inp + w[1] * h[i] + w[2]);
                let g = sg(w[3] * inp + w[4] * h[i] + w[5]);
                let o = sg(w[6] * inp + w[7] * h[i] + w[8]);
                let t = (w[9] * inp + w[10] * h[i] + w[11]).tanh();
                c[i] = f * c[i] + g * t;
                h[i] = o * c[i].tanh();
            }
        }
        let mut h = vec![0.0; 2];
        let mut c = vec![0.0; 2];
        h[0] = x[0];
        let mut loss = 0.0;
        for t in 0..5 {
            cell(x, &mut h, &mut c, (t as f64).sin());
            loss += (h[0] - 0.3 * t as f64).powi(2) * (1.0 + h[1]);
        }
        loss
    } at [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.15, 0.25, 0.35, 0.45];

    fn gmm(x) {
        fn lse(v: &[f64]) -> f64 {
            let m = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            m + v.iter().map(|a| (a - m).exp()).sum::<f64>().ln()
        }
        let data = [0.5, 1.5, -0.3, 2.0];
        let al = &x[..2];
        let mu = &x[2..4];
        let ls = &x[4..];
        let mut t = 0.0;
        for d in data {
            let v: Vec<f64> = (0..2).map(|k| al[k] - ls[k] - 0.5 * ((d - mu[k]) / ls[k].exp()).powi(2)).collect();
            t += lse(&v);
        }
        t - 4.0 * lse(al)
    } at [0.1, 0.2, 1.3, -0.4, 0.5, 0.6];

    fn bundle_adjustment(x) {
        fn rod(r: &[f64], p: [f64; 3]) -> [f64; 3] {
            let th2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
            if th2 > 1e-12 {
                let th = th2.sqrt();
                let (s, c) = th.sin_cos();
                let w = [r[0] / th, r[1] / th, r[2] / th];
                let cr = [w[1] * p[2] - w[2] * p[1], w[2] * p[0] - w[0] * p[2], w[0] * p[1] - w[1] * p[0]];
                let d = w.iter().zip(&p).map(|(a, b)| a * b).sum::<f64>() * (1.0 - c);
                let mut o = [0.0; 3];
                for i in 0..3 {
                    o[i] = p[i] * c + cr[i] * s + w[i] * d;
                }
                o
            } else {
                p
            }
        }
        let p = rod(&x[..3], [x[9], x[10], x[11]]);
        let q = [p[0] + x[3], p[1] + x[4], p[2] + x[5]];
        let (u, v) = (q[0] / q[2], q[1] / q[2]);
        let r2 = u * u + v * v;
        let d = 1.0 + r2 * (x[7] + r2 * x[8]);
        let e = [x[6] * d * u - 50.0, x[6] * d * v - 70.0];
        1e-3 * (e[0] * e[0] + e[1] * e[1])
    } at [0.1, 0.2, 0.3, 1.0, 2.0, 3.0, 500.0, 0.01, 0.002, 0.4, 0.5, 6.0];

    fn fft_rec(x) {
        #[derive(Clone, Copy)]
        struct C {
            re: f64,
            im: f64,
        }
        fn fft(x: &[C]) -> Vec<C> {
            let n = x.len();
            if n == 1 {
                return vec![x[0]];
            }
            let e: Vec<C> = x.iter().step_by(2).copied().collect();
            let o: Vec<C> = x.iter().skip(1).step_by(2).copied().collect();
            let (e, o) = (fft(&e), fft(&o));
            let mut r = vec![C { re: 0.0, im: 0.0 }; n];
            for k in 0..n / 2 {
                let a = -2.0 * std::f64::consts::PI * k as f64 / n as f64;
                let (s, c) = a.sin_cos();
                let t = C { re: c * o[k].re - s * o[k].im, im: c * o[k].im + s * o[k].re };
                r[k] = C { re: e[k].re + t.re, im: e[k].im + t.im };
                r[k + n / 2] = C { re: e[k].re - t.re, im: e[k].im - t.im };
            }
            r
        }
        let c: Vec<C> = x.iter().map(|v| C { re: *v, im: 0.0 }).collect();
        fft(&c).iter().enumerate().map(|(i, c)| (c.re * c.re + c.im * c.im) * i as f64 + c.re).sum()
    } at [1.0, 0.5, -0.3, 0.8, 0.1, 0.9, -1.0, 0.2];

    fn fft_iter(x) {
        let n = x.len();
        let mut a: Vec<(f64, f64)> = x.iter().map(|v| (*v, 0.0)).collect();
        let mut j = 0;
        for i in 1..n {
            let mut b = n >> 1;
            while j & b != 0 {
                j ^= b;
                b >>= 1;
            }
            j ^= b;
            if i < j {
                a.swap(i, j);
            }
        }
        let mut len = 2;
        while len <= n {
            let ang = 2.0 * std::f64::consts::PI / len as f64;
            for i in (0..n).step_by(len) {
                for k in 0..len / 2 {
                    let (s, c) = (ang * k as f64).sin_cos();
                    let u = a[i + k];
                    let v = a[i + k + len / 2];
                    let v = (v.0 * c - v.1 * s, v.0 * s + v.1 * c);
                    a[i + k] = (u.0 + v.0, u.1 + v.1);
                    a[i + k + len / 2] = (u.0 - v.0, u.1 - v.1);
                }
            }
            len <<= 1;
        }
        a.iter().enumerate().map(|(i, c)| (c.0 * c.0 + c.1 * c.1) * i as f64 + c.1).sum()
    } at [1.0, 0.5, -0.3, 0.8, 0.1, 0.9, -1.0, 0.2];

    fn softdtw(x) {
        fn smin(a: f64, b: f64, c: f64) -> f64 {
            let m = a.min(b).min(c);
            m - ((m - a).exp() + (m - b).exp() + (m - c).exp()).ln()
        }
        let (a, b) = x.split_at(3);
        let (n, m) = (a.len(), b.len());
        let mut d = vec![vec![1e10; m + 1]; n + 1];
        d[0][0] = 0.0;
        for i in 1..=n {
            for j in 1..=m {
                let c = (a[i - 1] - b[j - 1]).powi(2);
                d[i][j] = c + smin(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1]);
            }
        }
        d[n][m]
    } at [1.0, 0.5, -0.3, 0.8, 0.1, 0.9];

    fn edit_rows(x) {
        let (a, b) = x.split_at(3);
        let mut prev: Vec<f64> = (0..=b.len()).map(|j| j as f64 * x[0]).collect();
        for (i, u) in a.iter().enumerate() {
            let mut cur = vec![(i + 1) as f64 * x[1]];
            for (j, v) in b.iter().enumerate() {
                let c = prev[j] + (u - v).abs();
                cur.push(c.min(prev[j + 1] + x[0]).min(cur[j] + x[1]));
            }
            prev = cur;
        }
        prev[b.len()]
    } at [1.0, 0.5, -0.3, 0.8, 0.1, 0.9];

    fn edit_swap(x) {
        let (a, b) = x.split_at(3);
        let mut prev = vec![0.0; b.len() + 1];
        let mut cur = prev.clone();
        for u in a {
            cur[0] = prev[0] + u * u;
            for (j, v) in b.iter().enumerate() {
                cur[j + 1] = (prev[j] * u + cur[j] * v).tanh() + prev[j + 1];
            }
            std::mem::swap(&mut prev, &mut cur);
        }
        prev.iter().sum()
    } at [1.0, 0.5, -0.3, 0.8, 0.1, 0.9];

    fn softmax(x) {
        let m = x.iter().cloned().fold(f64::MIN, f64::max);
        let e: Vec<f64> = x.iter().map(|v| (v - m).exp()).collect();
        let s: f64 = e.iter().sum();
        let p: Vec<f64> = e.into_iter().map(|v| v / s).collect();
        -p[1].ln() + p.iter().map(|v| v * v.ln()).sum::<f64>()
    } at [1.0, 0.5, -0.3, 0.8];

    fn spline(y) {
        let n = y.len();
        let mut c = vec![0.0; n];
        let mut d = vec![0.0; n];
        let mut m = vec![0.0; n];
        for i in 1..n - 1 {
            let r = 6.0 * (y[i + 1] - 2.0 * y[i] + y[i - 1]);
            let w = 4.0 - c[i - 1];
            c[i] = 1.0 / w;
            d[i] = (r - d[i - 1]) / w;
        }
        for i in (1..n - 1).rev() {
            m[i] = d[i] - c[i] * m[i + 1];
        }
        let t = 1.3f64;
        let i = t as usize;
        let u = t - i as f64;
        y[i] * (1.0 - u) + y[i + 1] * u + m[i] * u * (u - 1.0) * (2.0 - u) / 6.0 + m[i + 1] * u * u * y[0]
    } at [1.0, 0.5, -0.3, 0.8, 0.1];

    fn nbody(x) {
        #[derive(Clone, Copy)]
        struct B {
            p: [f64; 2],
            v: [f64; 2],
            m: f64,
        }
        let mut b = [
            B { p: [x[0], x[1]], v: [x[2], x[3]], m: x[8] },
            B { p: [x[4], x[5]], v: [x[6], x[7]], m: x[9] },
            B { p: [3.0, 3.0], v: [0.0; 2], m: 0.5 },
        ];
        for _ in 0..10 {
            for i in 0..3 {
                for j in i + 1..3 {
                    let d = [b[i].p[0] - b[j].p[0], b[i].p[1] - b[j].p[1]];
                    let r2 = d[0] * d[0] + d[1] * d[1] + 0.01;
                    let k = 0.01 / (r2 * r2.sqrt());
                    let (mi, mj) = (b[i].m, b[j].m);
                    for a in 0..2 {
                        b[i].v[a] -= d[a] * mj * k;
                        b[j].v[a] += d[a] * mi * k;
                    }
                }
            }
            for q in b.iter_mut() {
                for a in 0..2 {
                    q.p[a] += 0.01 * q.v[a];
                }
            }
        }
        b.iter().map(|q| 0.5 * q.m * (q.v[0].powi(2) + q.v[1].powi(2)) + q.p[0] * q.p[1]).sum()
    } at [1.0, 0.0, 0.0, 0.8, -1.0, 0.2, 0.1, -0.9, 1.0, 2.0];

    fn nbody_split(x) {
        struct B {
            p: f64,
            v: f64,
        }
        let mut b: Vec<B> = x.chunks(2).map(|c| B { p: c[0], v: c[1] }).collect();
        for _ in 0..4 {
            for i in 0..b.len() {
                let (l, r) = b.split_at_mut(i);
                let (me, r) = r.split_first_mut().unwrap();
                for o in l.iter().chain(r.iter()) {
                    me.v += (o.p - me.p) / (1.0 + (o.p - me.p).powi(2));
                }
            }
            for q in &mut b {
                q.p += 0.1 * q.v;
            }
        }
        b.iter().map(|q| q.p * q.v).sum()
    } at [1.0, 0.0, 0.0, 0.8, -1.0, 0.2];

    fn ray_and_spheres(x) {
        #[derive(Clone, Copy)]
        struct V(f64, f64, f64);
        impl V {
            fn dot(self, o: V) -> f64 {
                self.0 * o.0 + self.1 * o.1 + self.2 * o.2
            }
            fn sub(self, o: V) -> V {
                V(self.0 - o.0, self.1 - o.1, self.2 - o.2)
            }
            fn mul(self, k: f64) -> V {
                V(self.0 * k, self.1 * k, self.2 * k)
            }
            fn add(self, o: V) -> V {
                V(self.0 + o.0, self.1 + o.1, self.2 + o.2)
            }
        }
        struct Sph {
            c: V,
            r: f64,
        }
        struct Hit {
            t: f64,
            n: V,
        }
        impl Sph {
            fn hit(&self, o: V, d: V) -> Option<Hit> {
                let oc = o.sub(self.c);
                let b = oc.dot(d);
                let c = oc.dot(oc) - self.r * self.r;
                let disc = b * b - d.dot(d) * c;
                if disc < 0.0 {
                    return None;
                }
                let t = (-b - disc.sqrt()) / d.dot(d);
                if t < 0.0 {
                    return None;
                }
                let p = o.add(d.mul(t));
                Some(Hit { t, n: p.sub(self.c).mul(1.0 / self.r) })
            }
        }
        let w = vec![
            Sph { c: V(0.0, 0.0, 0.0), r: x[6] },
            Sph { c: V(0.0, 0.3, 2.0), r: 1.0 },
            Sph { c: V(9.0, 0.3, 2.0), r: 1.0 },
        ];
        let (o, d) = (V(x[0], x[1], x[2]), V(x[3], x[4], x[5]));
        let mut best: Option<Hit> = None;
        for s in &w {
            if let Some(h) = s.hit(o, d) {
                if best.as_ref().map_or(true, |b| h.t < b.t) {
                    best = Some(h);
                }
            }
        }
        match best {
            Some(h) => h.t * h.n.dot(V(0.3, 0.5, -0.8)).max(0.0),
            None => 0.0,
        }
    } at [0.1, 0.2, -5.0, 0.05, 0.02, 1.0, 1.5];

    fn kalman(x) {
        let z = [1.0, 1.1, 0.9, 1.3];
        let (q, r) = (x[2].exp(), x[3].exp());
        let mut m = [x[0], x[1]];
        let mut p = [[1.0, 0.0], [0.0, 1.0]];
        let mut ll = 0.0;
        for zi in z {
            m = [m[0] + m[1], m[1]];
            p = [[p[0][0] + p[0][1] + p[1][0] + p[1][1] + q, p[0][1] + p[1][1]], [p[1][0] + p[1][1], p[1][1] + q]];
            let s = p[0][0] + r;
            let k = [p[0][0] / s, p[1][0] / s];
            let y = zi - m[0];
            ll += -0.5 * (s.ln() + y * y / s);
            m = [m[0] + k[0] * y, m[1] + k[1] * y];
            p = [
                [(1.0 - k[0]) * p[0][0], (1.0 - k[0]) * p[0][1]],
                [p[1][0] - k[1] * p[0][0], p[1][1] - k[1] * p[0][1]],
            ];
        }
        ll
    } at [0.1, 0.2, 0.5, 1.0];

    fn mlp(x) {
        struct Layer {
            w: Vec<Vec<f64>>,
            b: Vec<f64>,
        }
        impl Layer {
            fn fwd(&self, x: &[f64], act: impl Fn(f64) -> f64) -> Vec<f64> {
                self.w
                    .iter()
                    .zip(&self.b)
                    .map(|(r, b)| act(r.iter().zip(x).map(|(a, c)| a * c).sum::<f64>() + b))
                    .collect()
            }
        }
        let ls = vec![
            Layer { w: x[..6].chunks(2).map(|c| c.to_vec()).collect(), b: x[6..9].to_vec() },
            Layer { w: vec![x[9..12].to_vec()], b: vec![x[0]] },
        ];
        let mut loss = 0.0;
        for (inp, t) in [([0.5, 1.0], 1.0), ([1.0, -1.0], 0.0)] {
            let mut h = inp.to_vec();
            for l in &ls {
                h = l.fwd(&h, |v| if v > 0.0 { v } else { 0.1 * v });
            }
            loss += (h[0] - t).powi(2);
        }
        loss
    } at [0.1, 0.2, 0.5, 1.0, -0.3, 0.8, 0.4, -0.6, 0.9, 0.15, -0.2, 0.33];

    fn conv(x) {
        let (k, s) = x.split_at(3);
        let n = s.len();
        let mut o = vec![0.0; n + 2];
        for i in 0..n {
            for j in 0..3 {
                o[i + j] += s[i] * k[j];
            }
        }
        let pooled: Vec<f64> = o.chunks(2).map(|c| c.iter().copied().fold(f64::MIN, f64::max)).collect();
        pooled.iter().map(|v| v * v).sum()
    } at [0.1, 0.2, 0.5, 1.0, -0.3, 0.8, 0.4, -0.6, 0.9];

    fn conv2d(x) {
        let img: [[f64; 5]; 5] = std::array::from_fn(|i| std::array::from_fn(|j| ((i * 5 + j) as f64).sin() * x[0]));
        let mut out = [[0.0; 3]; 3];
        for (i, row) in out.iter_mut().enumerate() {
            for (j, o) in row.iter_mut().enumerate() {
                for a in 0..3 {
                    for b in 0..3 {
                        *o += img[i + a][j + b] * x[a * 3 + b];
                    }
                }
                *o = o.max(0.0);
            }
        }
        out.iter().flatten().map(|v| v * v).sum()
    } at [0.1, 0.2, 0.5, 1.0, -0.3, 0.8, 0.4, -0.6, 0.9];

    fn black_scholes(x) {
        fn cdf(x: f64) -> f64 {
            let k = 1.0 / (1.0 + 0.2316419 * x.abs());
            let p = [0.319381530, -0.356563782, 1.781477937, -1.821255978, 1.330274429]
                .iter()
                .rev()
                .fold(0.0, |a, c| (a + c) * k);
            let r = 1.0 - (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt() * p;
            if x < 0.0 { 1.0 - r } else { r }
        }
        let [s, k, t, v, r] = *x else { panic!() };
        let d1 = ((s / k).ln() + (r + 0.5 * v * v) * t) / (v * t.sqrt());
        let d2 = d1 - v * t.sqrt();
        s * cdf(d1) - k * (-r * t).exp() * cdf(d2)
    } at [100.0, 105.0, 0.5, 0.2, 0.03];

    fn interp(x) {
        let xs = [0.0, 1.0, 2.0, 3.0, 4.0];
        let i = xs.partition_point(|v| *v <= x[0]) - 1;
        let j = match xs.binary_search_by(|p| p.partial_cmp(&x[0]).unwrap()) {
            Ok(j) => j,
            Err(j) => j - 1,
        };
        let t = (x[0] - xs[i]) / (xs[j + 1] - xs[j]);
        x[1 + i] * (1.0 - t) + x[2 + j] * t * t
    } at [2.3, 0.5, 1.0, 4.0, 9.0, 16.0];

    fn bisect(x) {
        let mut lo = 0.0 * x[0];
        let mut hi = x[0] + 1.0;
        for _ in 0..5 {
            let mid = 0.5 * (lo + hi);
            if mid * mid < x[0] + x[1] {
                lo = mid;
            } else {
                hi = mid;
            }
        }
        lo * hi
    } at [2.0, 0.5];

    fn golden(x) {
        let f = |v: f64| (v - x[0]).powi(2) + x[1] * v;
        let (mut a, mut b) = (x[1] - 3.0, x[0] + 3.0);
        let g = 0.618;
        let mut n = 0;
        while (b - a) > 0.5 {
            let c = b - g * (b - a);
            let d = a + g * (b - a);
            if f(c) < f(d) {
                b = d
            } else {
                a = c
            }
            n += 1;
        }
        (a + b) * 0.5 * n as f64
    } at [2.0, 0.5];

    fn adaptive_static(x) {
        fn ad<F: Fn(f64) -> f64>(f: &F, a: f64, b: f64, eps: f64) -> f64 {
            let m = 0.5 * (a + b);
            let h = b - a;
            let s = h / 6.0 * (f(a) + 4.0 * f(m) + f(b));
            let s2 = h / 12.0 * (f(a) + 4.0 * f(0.5 * (a + m)) + 2.0 * f(m) + 4.0 * f(0.5 * (m + b)) + f(b));
            if (s - s2).abs() < eps { s2 } else { ad(f, a, m, eps / 2.0) + ad(f, m, b, eps / 2.0) }
        }
        ad(&|t| (x[0] * t).sin() + x[1] * t * t, 0.0, 3.0, 1e-4)
    } at [2.0, 0.5];

    fn viterbi(x) {
        let mut s = vec![x[0], x[1]];
        for t in 0..3 {
            let mut n = vec![f64::NEG_INFINITY; 2];
            for i in 0..2 {
                for j in 0..2 {
                    let c = s[j] + x[2 + i * 2 + j] * (t + 1) as f64;
                    if c > n[i] {
                        n[i] = c;
                    }
                }
            }
            s = n;
        }
        s.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    } at [0.2, 0.5, 0.3, 0.7, 0.1, 0.9];

    fn heat(x) {
        let mut u = x.to_vec();
        let n = u.len();
        for _ in 0..20 {
            let old = u.clone();
            for i in 1..n - 1 {
                u[i] = old[i] + 0.2 * (old[i - 1] - 2.0 * old[i] + old[i + 1]) * (1.0 + old[i]);
            }
        }
        u.iter().map(|v| v * v).sum()
    } at [0.2, 0.5, 0.3, 0.7, 0.1, 0.9];

    fn heat_inplace(x) {
        let mut u = x.to_vec();
        let n = u.len();
        let mut res = 1.0;
        let mut it = 0;
        while res > 1e-3 && it < 50 {
            res = 0.0;
            for i in 1..n - 1 {
                let nv = 0.5 * (u[i - 1] + u[i + 1]) + 0.01 * u[i] * u[i];
                res += (nv - u[i]).powi(2);
                u[i] = nv;
            }
            it += 1;
        }
        u.iter().map(|v| v * v).sum()
    } at [0.2, 0.5, 0.3, 0.7, 0.1, 0.9];

    fn adam(x) {
        let (mut m, mut v, mut w) = (0.0, 0.0, x[0]);
        // Running products: LLVM may fold `0.9.powi(t)` in one place and compute it in another, with another rounding.
        let (mut b1, mut b2) = (1.0, 1.0);
        for _ in 1..=10 {
            b1 *= 0.9;
            b2 *= 0.99;
            let g = 2.0 * (w - x[1]) + w.cos();
            m = 0.9 * m + 0.1 * g;
            v = 0.99 * v + 0.01 * g * g;
            let mh = m / (1.0 - b1);
            let vh = v / (1.0 - b2);
            w -= 0.05 * mh / (vh.sqrt() + 1e-8);
        }
        w * w
    } at [0.2, 0.5];

    fn lagrange(x) {
        let mut s = 0.0;
        for i in 0..4 {
            let mut p = x[i];
            for j in 0..4 {
                if i != j {
                    p *= (0.6 - x[j]) / (x[i] - x[j]);
                }
            }
            s += p;
        }
        s
    } at [0.2, 0.5, 0.9, 1.7];

    fn value_noise(x) {
        fn h(i: u32) -> f64 {
            let mut v = i.wrapping_mul(747796405).wrapping_add(2891336453);
            v = ((v >> ((v >> 28) + 4)) ^ v).wrapping_mul(277803737);
            v as f64 / u32::MAX as f64
        }
        let mut s = 0.0;
        let mut a = 1.0;
        let mut p = x[0] * 3.7;
        for o in 0..4 {
            let i = p.floor();
            let f = p - i;
            let u = f * f * (3.0 - 2.0 * f);
            s += a * (h(i as u32) * (1.0 - u) + h(i as u32 + 1) * u);
            a *= x[1];
            p *= 2.1;
        }
        s
    } at [0.2, 0.5];

    fn mc_lcg(x) {
        let mut r = 12345u64;
        let mut s = 0.0;
        for _ in 0..20 {
            r = r.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let u = (r >> 11) as f64 / (1u64 << 53) as f64;
            let path = (x[0] * u + x[1] * u * u).exp();
            if path > 1.2 {
                s += path - 1.2;
            }
        }
        s
    } at [0.2, 0.5];

    fn floyd(x) {
        let n = 4;
        let mut d = vec![vec![f64::INFINITY; n]; n];
        let mut k = 0;
        for i in 0..n {
            d[i][i] = 0.0;
            for j in i + 1..n {
                d[i][j] = x[k];
                d[j][i] = x[k] * 2.0;
                k += 1;
            }
        }
        for k in 0..n {
            for i in 0..n {
                for j in 0..n {
                    if d[i][k] + d[k][j] < d[i][j] {
                        d[i][j] = d[i][k] + d[k][j];
                    }
                }
            }
        }
        d.iter().flatten().map(|v| v * v).sum()
    } at [0.2, 0.53, 3.0, 1.0, 0.97, 0.31];

    fn allocation_in_a_loop(x) {
        let mut acc = 0.0;
        for i in 0..5 {
            let v: Vec<f64> = x.iter().map(|a| a * (i as f64 + acc)).collect();
            let b = Box::new(v.iter().sum::<f64>());
            acc = (*b + v[1] + x[0]).sin();
        }
        acc
    } at [0.2, 0.5, 3.0];

    fn stack_machine(x) {
        #[derive(Clone, Copy)]
        enum Op {
            Push(f64),
            Load(usize),
            Add,
            Mul,
            Sin,
            Dup,
            Swap,
        }
        let prog = [
            Op::Load(0),
            Op::Load(1),
            Op::Mul,
            Op::Dup,
            Op::Sin,
            Op::Push(2.5),
            Op::Add,
            Op::Swap,
            Op::Load(2),
            Op::Mul,
            Op::Mul,
        ];
        let mut st: Vec<f64> = vec![];
        for op in prog {
            match op {
                Op::Push(v) => st.push(v),
                Op::Load(i) => st.push(x[i]),
                Op::Add => {
                    let b = st.pop().unwrap();
                    let a = st.pop().unwrap();
                    st.push(a + b)
                }
                Op::Mul => {
                    let b = st.pop().unwrap();
                    *st.last_mut().unwrap() *= b;
                }
                Op::Sin => {
                    let a = st.pop().unwrap();
                    st.push(a.sin())
                }
                Op::Dup => {
                    let a = *st.last().unwrap();
                    st.push(a)
                }
                Op::Swap => {
                    let n = st.len();
                    st.swap(n - 1, n - 2)
                }
            }
        }
        st.pop().unwrap()
    } at [0.2, 0.5, 3.0];

    fn gauss_seidel(x) {
        let a = [[x[0], x[1]], [x[2], x[3]]];
        let b = [x[4], x[5]];
        let mut s = [0.0; 2];
        for _ in 0..8 {
            for i in 0..2 {
                let mut r = b[i];
                for j in 0..2 {
                    if j != i {
                        r -= a[i][j] * s[j];
                    }
                }
                s[i] = r / a[i][i];
            }
        }
        s[0] * s[1]
    } at [4.0, 1.0, 2.0, 5.0, 1.0, 3.0];

    fn power_iter(x) {
        let mut v = vec![1.0, 0.5];
        let mut lam = 0.0;
        for _ in 0..15 {
            let w = vec![x[0] * v[0] + x[1] * v[1], x[2] * v[0] + x[3] * v[1]];
            let n = w.iter().map(|a| a * a).sum::<f64>().sqrt();
            lam = n;
            v = w.into_iter().map(|a| a / n).collect();
        }
        lam
    } at [4.0, 1.0, 2.0, 5.0];

    fn lu_solve_inplace(x) {
        let n = 3;
        let mut a = x.to_vec();
        let mut b = vec![1.0, 2.0, 3.0];
        for k in 0..n {
            for i in k + 1..n {
                a[i * n + k] /= a[k * n + k];
                let f = a[i * n + k];
                for j in k + 1..n {
                    a[i * n + j] -= f * a[k * n + j];
                }
                b[i] -= f * b[k];
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                b[i] -= a[i * n + j] * b[j];
            }
            b[i] /= a[i * n + i];
        }
        b[0] * b[1] + b[2]
    } at [4.0, 1.0, 2.0, 5.0, 3.0, 1.0, 1.0, 2.0, 6.0];

    fn dual_number_struct(x) {
        #[derive(Clone, Copy)]
        struct D {
            v: f64,
            d: f64,
        }
        impl std::ops::Mul for D {
            type Output = D;
            fn mul(self, o: D) -> D {
                D { v: self.v * o.v, d: self.v * o.d + self.d * o.v }
            }
        }
        impl std::ops::Add<f64> for D {
            type Output = D;
            fn add(self, o: f64) -> D {
                D { v: self.v + o, d: self.d }
            }
        }
        let a = D { v: x[0], d: 1.0 };
        let y = (0..3).fold(a, |y, _| y * a + x[1]);
        y.d * y.v
    } at [0.3, 0.7];

    fn quickselect(x) {
        fn qs(v: &mut [f64], k: usize) -> f64 {
            let p = v[v.len() / 2];
            let (mut i, mut j) = (0usize, v.len() - 1);
            loop {
                while v[i] < p {
                    i += 1;
                }
                while v[j] > p {
                    j -= 1;
                }
                if i >= j {
                    break;
                }
                v.swap(i, j);
                i += 1;
                j = j.saturating_sub(1);
            }
            if v.len() == 1 {
                return v[0];
            }
            if k < i { qs(&mut v[..i], k) } else { qs(&mut v[i..], k - i) }
        }
        let mut v: Vec<f64> = x.iter().map(|a| a * a).collect();
        if v.len() > 100 {
            return qs(&mut v, 2);
        }
        let mut w = v.clone();
        w.sort_by(|a, b| a.partial_cmp(b).unwrap());
        w[2] * v[0]
    } at [0.3, 0.7, 0.1, 0.9, 0.5];

    fn merge_sort(x) {
        fn ms(v: Vec<f64>) -> Vec<f64> {
            if v.len() < 2 {
                return v;
            }
            let m = v.len() / 2;
            let (l, r) = (ms(v[..m].to_vec()), ms(v[m..].to_vec()));
            let mut o = Vec::with_capacity(v.len());
            let (mut i, mut j) = (0, 0);
            while i < l.len() || j < r.len() {
                if j >= r.len() || (i < l.len() && l[i] <= r[j]) {
                    o.push(l[i]);
                    i += 1;
                } else {
                    o.push(r[j]);
                    j += 1;
                }
            }
            o
        }
        ms(x.iter().map(|a| a.sin()).collect()).iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [0.3, 0.7, 0.1, 0.9, 0.5];

    fn quicksort_hand(x) {
        fn qs(v: &mut [f64]) {
            if v.len() < 2 {
                return;
            }
            let p = v[v.len() - 1];
            let mut s = 0;
            for i in 0..v.len() - 1 {
                if v[i] < p {
                    v.swap(i, s);
                    s += 1;
                }
            }
            let e = v.len() - 1;
            v.swap(s, e);
            let (l, r) = v.split_at_mut(s);
            qs(l);
            qs(&mut r[1..]);
        }
        let mut v: Vec<f64> = x.iter().map(|a| a.sin()).collect();
        qs(&mut v);
        v.iter().enumerate().map(|(i, v)| v.powi(i as i32 + 1)).sum()
    } at [0.3, 0.7, 0.1, 0.9, 0.5];
}
