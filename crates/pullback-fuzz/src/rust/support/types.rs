// What random programs are made of. Written once for each type of float: `F`.

§derive
pub struct P {
    pub a: F,
    pub g: Box<F>,
    pub b: [F; 2],
    pub k: usize,
    pub w: Vec<F>,
}

impl Data for P {
    fn read(s: &mut Stream) -> Self {
        P { a: s.take(), g: s.take(), b: s.take(), k: s.take(), w: s.take() }
    }
    fn write(&self, out: &mut Vec<Number>) {
        self.a.write(out);
        self.g.write(out);
        self.b.write(out);
        self.w.write(out);
    }
}

impl P {
    pub fn new(a: F, b: F, k: usize) -> P {
        P { a, g: Box::new(b * a), b: [a - b, b], k, w: vec![b, a.sin()] }
    }

    pub fn weight(&self) -> F {
        self.a * *self.g + self.b[0] - self.b[1] * self.w.iter().sum::<F>()
    }

    pub fn poke(&mut self, t: F) -> &mut Self {
        self.a += t;
        *self.g *= self.b[self.k % 2];
        self
    }

    pub fn consume(self) -> F {
        let mut w = self.w;
        w.push(*self.g);
        w.into_iter().map(|t| t * self.a).sum::<F>() + self.b[self.k % 2]
    }
}

#[derive(Clone, Debug)]
pub enum E {
    One(F),
    Pair(F, F),
    Tagged(F, usize),
    Count(usize),
    Boxed(Box<F>),
    Empty,
}

impl E {
    pub fn new(which: usize, a: F, b: F) -> E {
        match which % 6 {
            0 => E::One(a),
            1 => E::Pair(a, b),
            2 => E::Tagged(b, which),
            3 => E::Count(which),
            4 => E::Boxed(Box::new(a * b)),
            _ => E::Empty,
        }
    }

    pub fn size(&self) -> F {
        match self {
            E::One(a) => a * a,
            E::Pair(a, b) => a * b,
            E::Tagged(a, k) => a * ((*k % 5) §as_float),
            E::Count(k) => (*k % 7) §as_float,
            E::Boxed(b) => (**b).sin(),
            E::Empty => §0.5§,
        }
    }

    pub fn change(&mut self, t: F) {
        match self {
            E::One(a) if *a > §0.25§ => *self = E::Count(2),
            E::One(a) => *a *= t,
            E::Pair(a, b) => std::mem::swap(a, b),
            E::Tagged(a, k) => {
                *k += 1;
                *a += t;
            }
            E::Count(k) => *self = E::Tagged(t, *k),
            E::Boxed(b) => **b -= t,
            E::Empty => *self = E::One(t),
        }
    }
}

#[derive(Clone, Debug)]
pub enum G {
    Float(F),
    Floats(Vec<F>),
    Name(String),
    Small(u32),
}

impl G {
    pub fn new(which: usize, a: F, b: F) -> G {
        match which % 4 {
            0 => G::Float(a),
            1 => G::Floats(vec![a, b * a]),
            2 => G::Name(format!("the {which}th")),
            _ => G::Small(which as u32),
        }
    }

    pub fn size(&self) -> F {
        match self {
            G::Float(a) => a * a,
            G::Floats(all) => all.iter().map(|a| a.sin()).sum::<F>(),
            G::Name(name) => (name.len() % 5) §as_float,
            G::Small(k) => (*k as usize % 3) §as_float,
        }
    }
}

pub fn checked(a: F, k: u32) -> Result<F, u32> {
    if a > §0.1§ { Ok(a) } else { Err(k) }
}

pub fn settled(r: Result<F, u32>, t: F) -> F {
    match r {
        Ok(a) => a * t,
        Err(k) => t + ((k as usize % 7) §as_float),
    }
}

#[derive(Clone, Debug)]
pub enum List {
    Nil,
    Cons(F, Box<List>),
}

impl List {
    pub fn build(items: impl Iterator<Item = F>) -> List {
        items.fold(List::Nil, |list, item| List::Cons(item, Box::new(list)))
    }

    pub fn sum(&self) -> F {
        match self {
            List::Nil => §0.0§,
            List::Cons(item, rest) => item.sin() + §0.5§ * rest.sum(),
        }
    }
}

pub fn apply(f: impl Fn(F) -> F, x: F) -> F {
    f(f(x))
}

pub fn repeat(mut f: impl FnMut(F), n: usize, x: F) {
    for i in 0..n {
        f(x * (i §as_float));
    }
}

pub fn both(a: F, b: F) -> (F, F) {
    if a < b { (a * b, a - b) } else { (b, a * a) }
}

pub fn longest<'a>(a: &'a [F], b: &'a [F]) -> &'a [F] {
    if a.len() < b.len() { b } else { a }
}

pub fn scale(m: &mut [F], by: F) {
    let Some(last) = m.len().checked_sub(1) else { return };
    for i in 0..last {
        m[i] = (m[i] * by + m[i + 1]).tanh();
    }
}

pub fn down(n: usize, x: F, v: &[F]) -> F {
    if n == 0 { x } else { (x * v[n % v.len()]).sin() + §0.5§ * down(n - 1, x * §0.9§, v) }
}

pub fn even(n: usize, x: F, v: &[F]) -> F {
    if n == 0 { x * x } else { odd(n - 1, x * v[0], v) }
}

pub fn odd(n: usize, x: F, v: &[F]) -> F {
    if n == 0 { x.cos() } else { even(n - 1, x + v[n % v.len()], v) }
}

pub fn tree(n: usize, x: F, v: &[F]) -> F {
    if n == 0 {
        return x * v[0];
    }
    tree(n - 1, x * §0.5§, v) * tree(n - 1, x + §0.25§, v)
}

pub fn halve(m: &mut [F], t: F) -> F {
    if m.len() < 2 {
        return m.first().copied().unwrap_or(t);
    }
    let (low, high) = m.split_at_mut(m.len() / 2);
    low[0] += high[0] * t;
    halve(low, t) * halve(high, t.sin())
}
