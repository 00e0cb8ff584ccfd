//! Expressions: floats, integers, conditions.

use super::Writer;

impl Writer {
    pub(super) fn literal(&mut self) -> String {
        let value = (self.rng.float(-2.0, 2.0) * 16.0).round() / 16.0;
        if value <= 0.0 { format!("§{:?}§", value - 0.125) } else { format!("§{value:?}§") }
    }

    /// An integer; it may be large.
    pub(super) fn int(&mut self) -> String {
        match self.rng.below(11) {
            10 if !self.scope.ints.is_empty() => self.hash(),
            0 | 1 => self.rng.below(5).to_string(),
            2 | 3 => self.amount(),
            4 if !self.scope.slices.is_empty() => {
                let slice = self.rng.pick(&self.scope.slices);
                format!("({slice}.len() / 2)")
            }
            _ if !self.scope.ints.is_empty() => self.rng.pick(&self.scope.ints).clone(),
            5 => self.amount(),
            _ => self.rng.below(5).to_string(),
        }
    }

    /// An integer that comes from arithmetic which goes beyond its numbers.
    fn hash(&mut self) -> String {
        let int = self.rng.pick(&self.scope.ints).clone();
        match self.rng.below(5) {
            0 => format!("(((({int} & 3) as u32).wrapping_mul(0x9e37_79b9) >> 28) as usize)"),
            1 => format!("(((({int} & 7) as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 59) as usize)"),
            2 => format!("(((({int} & 15) as u8).wrapping_mul(24) / 3) as usize)"),
            3 => format!("((({int} as u8).wrapping_sub(3) >> 3) as usize)"),
            _ => format!("((({int} as u16).wrapping_mul(0x9e37) % 31) as usize)"),
        }
    }

    /// An integer that comes from a float.
    pub(super) fn amount(&mut self) -> String {
        let a = if self.rng.chance(70) { self.atom() } else { self.float(1) };
        match self.rng.below(5) {
            0 => format!("(({a}) §as_usize)"),
            1 => format!("((({a}).abs() * §2.5§).round() §as_usize)"),
            2 => format!("((({a}) * ({a})).floor() §as_usize)"),
            _ => format!("((({a}).abs() * §3.0§) §as_usize)"),
        }
    }

    /// An index of this slice.
    pub(super) fn index(&mut self, slice: &str) -> String {
        let (name, int) = (self.name("k"), self.int());
        self.line(format!("let {name} = {int} % {slice}.len();"));
        name
    }

    /// A count from 0 to the slice's length, both included.
    pub(super) fn count(&mut self, slice: &str) -> String {
        let (name, int) = (self.name("k"), if self.rng.chance(40) { self.amount() } else { self.int() });
        self.line(format!("let {name} = {int} % ({slice}.len() + 1);"));
        name
    }

    pub(super) fn element(&mut self) -> String {
        if self.scope.slices.is_empty() {
            return self.literal();
        }
        let slice = self.rng.pick(&self.scope.slices).clone();
        match self.rng.below(6) {
            0 => format!("{slice}[0]"),
            1 => format!("{slice}.last().copied().unwrap_or({})", self.literal()),
            2 => {
                let int = self.int();
                format!("{slice}.get({int}).copied().unwrap_or({})", self.literal())
            }
            _ => {
                let int = if self.scope.ints.is_empty() || self.rng.chance(30) {
                    self.rng.below(5).to_string()
                } else {
                    self.rng.pick(&self.scope.ints).clone()
                };
                format!("{slice}[{int} % {slice}.len()]")
            }
        }
    }

    pub(super) fn atom(&mut self) -> String {
        match self.rng.below(10) {
            0 => self.literal(),
            1..4 => self.element(),
            _ if self.scope.floats.is_empty() => self.element(),
            _ => {
                let count = self.scope.floats.len();
                let back = if self.rng.chance(50) { self.rng.below(count.min(4)) } else { self.rng.below(count) };
                self.scope.floats[count - 1 - back].clone()
            }
        }
    }

    /// An expression, in parentheses where needed.
    pub(super) fn float(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.atom();
        }
        let a = self.float(depth - 1);
        match self.rng.below(20) {
            0..3 => format!("({a} + {})", self.float(depth - 1)),
            3 => format!("({a} - {})", self.float(depth - 1)),
            4..7 => format!("({a} * {})", self.float(depth - 1)),
            7 => format!("({a} / (({}).powi(2) + §1.5§))", self.float(depth - 1)),
            8 => format!("(-({a}))"),
            9 => format!("({a}).sin()"),
            10 => format!("({a}).tanh()"),
            11..13 => self.function(&a),
            13 => format!("({a}).max({})", self.float(depth - 1)),
            14 => format!("F::min({a}, {})", self.float(depth - 1)),
            15 => {
                let cond = self.condition();
                format!("(if {cond} {{ {a} }} else {{ {} }})", self.float(depth - 1))
            }
            16 => format!("({a} % §1.75§)"),
            17 => format!("({a} * ({} §as_float))", self.small_int()),
            _ => a,
        }
    }

    fn small_int(&mut self) -> String {
        let int = self.int();
        format!("({int} % 5)")
    }

    fn function(&mut self, a: &str) -> String {
        let b = self.atom();
        match self.rng.below(28) {
            0 => format!("(({a}).powi(2) + §1.0§).sqrt()"),
            1 => format!("(({a}).powi(2) + §0.5§).ln()"),
            2 => format!("(§0.3§ * ({a}).sin()).exp()"),
            3 => format!("({a}).abs()"),
            4 => format!("({a}).hypot({b} + §3.0§)"),
            5 => format!("({a}).atan2(({b}).powi(2) + §1.0§)"),
            6 => format!("(§0.7§ * ({a}).sin()).asin()"),
            7 => format!("(({a}).powi(2) + §0.25§).powf(§0.4§ * ({b}).cos())"),
            8 => format!("({a}).mul_add({b}, §0.25§)"),
            9 => format!("({a}).clamp(§-1.5§, §1.5§)"),
            10 => format!("(({a}).powi(2) + §0.5§).cbrt()"),
            11 => format!("({a}).cos().powi(2).ln_1p().exp_m1()"),
            12 => format!("({a}).atan()"),
            13 => format!("({a}).tanh().sinh().asinh()"),
            14 => format!("(({a}).abs() + §1.0§).recip()"),
            15 => format!("(({a}).sin() * §0.5§).exp2()"),
            16 => format!("(({a}).abs() + §0.75§).log2()"),
            17 => format!("(({a}).powi(2) + §1.25§).log10()"),
            18 => format!("(({a}).tanh() * §0.8§).acos()"),
            19 => format!("(({a}).sin() * §0.9§).tan()"),
            20 => format!("({a}).copysign({b})"),
            21 => format!("(({a}).signum() * {b})"),
            22 => format!("({a}).fract()"),
            23 => format!("(({a}).round() * {b})"),
            24 => format!("({a}).rem_euclid(§1.25§)"),
            25 => format!("(({a}).sin() * §0.5§).cosh()"),
            26 => format!("({a}).to_radians()"),
            _ => format!("(({a}).powi(3) - ({b}).floor())"),
        }
    }

    /// An expression whose size is about 1.
    pub(super) fn bounded(&mut self) -> String {
        let a = self.float(1);
        match self.rng.below(5) {
            0 => format!("({a}).sin()"),
            1 => format!("({a}).tanh()"),
            2 => format!("({a}).clamp(§-2.0§, §2.0§)"),
            3 => format!("({a} % §1.7§)"),
            _ => {
                let b = self.atom();
                format!("({a} * {b}).cos()")
            }
        }
    }

    /// A constant that some values are equal to.
    fn half(&mut self) -> &'static str {
        const HALVES: [&str; 6] = ["§-1.5§", "§-1.0§", "§-0.5§", "§0.5§", "§1.0§", "§1.5§"];
        HALVES[self.rng.below(HALVES.len())]
    }

    pub(super) fn condition(&mut self) -> String {
        match self.rng.below(12) {
            10 => {
                let (a, half, operator) = (self.atom(), self.half(), *self.rng.pick(&["==", "!="]));
                format!("({a}) {operator} {half}")
            }
            11 => {
                let (a, half) = (self.atom(), self.half());
                format!("({a}) >= {half} && ({a}) <= {half}")
            }
            0..3 => {
                let (a, b) = (self.int(), self.int());
                let operator = self.rng.pick(&["<", "==", ">=", "!="]);
                format!("{a} % 3 {operator} {b} % 3")
            }
            3 if !self.scope.slices.is_empty() => {
                let slice = self.rng.pick(&self.scope.slices).clone();
                let (a, word) = (self.atom(), *self.rng.pick(&["any", "all"]));
                format!("{slice}.iter().{word}(|t| *t > {a})")
            }
            4 => {
                let a = self.atom();
                format!("({a}).is_sign_negative()")
            }
            _ => {
                let (a, b) = (self.atom(), self.atom());
                let operator = self.rng.pick(&["<", "<=", ">"]);
                format!("({a}) {operator} ({b})")
            }
        }
    }

    /// A reduction of a slice.
    pub(super) fn chain(&mut self) -> String {
        if self.scope.slices.is_empty() {
            return self.float(2);
        }
        let slice = self.rng.pick(&self.scope.slices).clone();
        let other = self.rng.pick(&self.scope.slices).clone();
        let (a, b) = (self.atom(), self.atom());
        let n = self.rng.between(1, 3);
        match self.rng.below(24) {
            0 => format!("{slice}.iter().sum::<F>()"),
            1 => format!("{slice}.iter().map(|t| t * {a}).sum::<F>()"),
            2 => format!("{slice}.iter().zip({other}.iter()).map(|(s, t)| s * t).sum::<F>()"),
            3 => format!("{slice}.iter().rev().step_by({n}).fold({a}, |s, t| s * §0.5§ + t)"),
            4 => format!("{slice}.windows(2).map(|t| t[0] * t[1]).sum::<F>()"),
            5 => format!("{slice}.chunks({n}).map(|t| t.iter().sum::<F>().sin()).sum::<F>()"),
            6 => format!("{slice}.iter().copied().fold({a}, F::max)"),
            7 => format!("{slice}.iter().copied().filter(|t| *t > {a}).map(|t| t * t).sum::<F>()"),
            8 => format!("{slice}.iter().enumerate().map(|(i, t)| t * (i §as_float) + {a}).sum::<F>()"),
            9 => format!("{slice}.iter().scan({a}, |s, t| {{ *s = *s * §0.5§ + t; Some(*s) }}).sum::<F>()"),
            10 => format!("{slice}.iter().take_while(|t| **t < {a}).chain(std::iter::once(&{b})).product::<F>()"),
            11 => format!("{slice}.rchunks({n}).map(|t| t[0] - {a}).fold({b}, |s, t| (s + t).sin())"),
            12 => format!("{slice}.chunks_exact({n}).map(|t| t[t.len() - 1]).chain([{a}, {b}]).sum::<F>()"),
            13 => format!("{slice}.iter().cycle().skip({n}).take(5).map(|t| t.cos()).sum::<F>()"),
            14 => format!("{slice}.iter().fold(({a}, {b}), |(s, r), t| (r, s * §0.5§ + t)).1"),
            15 => format!("{slice}.iter().flat_map(|t| [*t, t * {a}]).skip(1).sum::<F>()"),
            16 => format!(
                "{{ let (p, q): (Vec<F>, Vec<F>) = {slice}.iter().copied().partition(|t| *t > {a}); \
                 p.iter().sum::<F>() * {b} + (q.len() §as_float) }}"
            ),
            17 => format!("{slice}.iter().zip({other}.iter().rev()).map(|(s, t)| (s - t).powi(2)).sum::<F>().sqrt()"),
            18 => format!("{slice}.iter().skip_while(|t| **t < {a}).map(|t| t.tanh()).sum::<F>()"),
            19 => format!("{slice}.iter().map(|t| t * {a}).collect::<Vec<F>>().iter().rev().step_by(2).sum::<F>()"),
            20 => format!("{slice}.iter().copied().map(|t| if t > {a} {{ t }} else {{ {b} }}).sum::<F>()"),
            21 => format!("longest(&{slice}[..1], &{slice}[..]).iter().sum::<F>()"),
            22 => format!("match &{slice}[..] {{ [s, .., t] => s * t + {a}, [s] => s * {b}, [] => {a} }}"),
            _ => format!("{slice}.split_first().map_or({a}, |(s, t)| s * t.iter().sum::<F>())"),
        }
    }

    /// What goes through an `Option` or a `Result`.
    pub(super) fn option(&mut self) -> String {
        let (a, b, c) = (self.atom(), self.float(1), self.atom());
        if self.scope.slices.is_empty() || self.rng.chance(30) {
            let cond = self.condition();
            return match self.rng.below(5) {
                0 => format!("({cond}).then_some({b}).map(|t| t * {a}).unwrap_or({c})"),
                1 => format!("(if {cond} {{ Some({a}) }} else {{ None }}).zip(Some({b})).map_or({c}, |(s, t)| s * t)"),
                2 => format!("(if {cond} {{ Ok({b}) }} else {{ Err({a}) }}).unwrap_or_else(|e: F| e + {c})"),
                3 => format!("Some({b}).filter(|t| *t > {a}).or(Some({c})).unwrap()"),
                _ => format!(
                    "(|| -> Option<F> {{ let t = (if {cond} {{ Some({b}) }} else {{ None }})?; \
                     Some(t * t) }})().unwrap_or({a})"
                ),
            };
        }
        let slice = self.rng.pick(&self.scope.slices).clone();
        let int = self.int();
        match self.rng.below(12) {
            0 => format!("{slice}.first().copied().map(|t| t * {a}).filter(|t| *t > {c}).unwrap_or({b})"),
            1 => format!("{slice}.get({int} % 9).map(|t| t.sin()).unwrap_or({a})"),
            2 => format!("{slice}.iter().copied().reduce(F::min).unwrap_or({a})"),
            3 => format!("{slice}.iter().max_by(|s, t| s.total_cmp(t)).map_or({a}, |t| t * {b})"),
            4 => format!("{slice}.iter().position(|t| *t > {a}).map_or({b}, |i| {slice}[i])"),
            5 => format!(
                "{slice}.iter().copied().find(|t| *t < {a}).and_then(|t| if t > {c} {{ Some(t * t) }} else {{ None \
                 }}).unwrap_or({b})"
            ),
            6 => format!("usize::checked_sub({int} % 7, 1).map(|i| {slice}[i % {slice}.len()]).unwrap_or({a})"),
            7 => format!("{slice}.iter().nth({int} % 4).copied().unwrap_or({a}) * {b}"),
            8 => format!("if let Some(t) = {slice}.get({int} % 5) {{ t * {a} }} else {{ {b} }}"),
            9 => format!(
                "match {slice}.split_last() {{ Some((t, r)) if r.len() > 1 => t * r[0], Some((t, _)) => *t, \
                 None => {a} }}"
            ),
            10 => format!("{slice}.iter().min_by(|s, t| s.partial_cmp(t).unwrap()).copied().unwrap_or({a})"),
            _ => format!(
                "{slice}.iter().rev().map(|t| if *t > {a} {{ Some(*t) }} else {{ None \
                 }}).flatten().next().unwrap_or({b})"
            ),
        }
    }
}
