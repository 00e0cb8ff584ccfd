//! One random Rust function.

use crate::rng::Rng;

/// The source of the function of this seed, called `name`.
pub fn function(seed: u64, name: &str) -> String {
    let mut rng = Rng::new(seed);
    let budget = rng.between(4, 16);
    let mut writer = Writer { rng, out: String::new(), indent: 1, scope: Scope::top(), next: 0, budget, loops: 0 };
    while writer.budget > 0 {
        writer.statement();
    }
    let result = writer.summary();
    format!(
        "fn {name}(x: f64, p: &P, v: &[f64], m: &mut [f64], c: &[f64], n: usize) -> f64 {{\n{}    {result}\n}}\n",
        writer.out
    )
}

/// The names in scope.
#[derive(Clone)]
struct Scope {
    /// Expressions of type `f64` that are just a name or a field.
    floats: Vec<String>,
    /// Mutable `f64`s.
    vars: Vec<String>,
    /// `usize`s.
    ints: Vec<String>,
    /// What can be indexed and iterated over; never empty at run time.
    slices: Vec<String>,
    /// Those of them that can be written to.
    writable: Vec<String>,
    /// `Vec`s that can grow.
    vecs: Vec<String>,
}

impl Scope {
    fn top() -> Self {
        let names = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
        Scope {
            floats: names(&["x", "x", "p.a"]),
            vars: Vec::new(),
            ints: names(&["n", "p.k"]),
            slices: names(&["v", "v", "m", "c", "p.b", "p.w"]),
            writable: names(&["m"]),
            vecs: Vec::new(),
        }
    }
}

struct Writer {
    rng: Rng,
    out: String,
    indent: usize,
    scope: Scope,
    next: usize,
    budget: usize,
    loops: usize,
}

impl Writer {
    fn line(&mut self, text: impl AsRef<str>) {
        self.out += &"    ".repeat(self.indent);
        self.out += text.as_ref();
        self.out.push('\n');
    }

    fn name(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("{stem}{}", self.next)
    }

    /// A new `f64` of this value.
    fn bind(&mut self, value: &str) {
        let name = self.name("a");
        self.line(format!("let {name} = {value};"));
        self.scope.floats.push(name);
    }

    fn constant(&mut self) -> String {
        let value = (self.rng.float(-2.0, 2.0) * 16.0).round() / 16.0;
        if value < 0.0 { format!("({value:?}f64)") } else { format!("{:?}f64", value + 0.125) }
    }

    fn int(&mut self) -> String {
        if self.rng.chance(25) { self.rng.below(5).to_string() } else { self.rng.pick(&self.scope.ints).clone() }
    }

    fn element(&mut self) -> String {
        let slice = self.rng.pick(&self.scope.slices).clone();
        let index = self.int();
        format!("{slice}[{index} % {slice}.len()]")
    }

    fn atom(&mut self) -> String {
        match self.rng.below(10) {
            0 => self.constant(),
            1 | 2 => self.element(),
            3 | 4 if !self.scope.vars.is_empty() => self.rng.pick(&self.scope.vars).clone(),
            _ => {
                let newest = self.scope.floats.len().min(4);
                let at = if self.rng.chance(50) {
                    self.scope.floats.len() - 1 - self.rng.below(newest)
                } else {
                    self.rng.below(self.scope.floats.len())
                };
                self.scope.floats[at].clone()
            }
        }
    }

    /// An expression of type `f64`, in parentheses where needed.
    fn float(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.atom();
        }
        let a = self.float(depth - 1);
        match self.rng.below(16) {
            0 | 1 => format!("({a} + {})", self.float(depth - 1)),
            2 => format!("({a} - {})", self.float(depth - 1)),
            3..6 => format!("({a} * {})", self.float(depth - 1)),
            6 => format!("({a} / ({} + 1.5))", self.square(depth - 1)),
            7 => format!("(-{a})"),
            8 => format!("({a}).sin()"),
            9 => format!("({a}).tanh()"),
            10 => self.function(&a),
            11 => format!("({a}).max({})", self.float(depth - 1)),
            12 => format!("f64::min({a}, {})", self.float(depth - 1)),
            13 => {
                let cond = self.condition();
                format!("(if {cond} {{ {a} }} else {{ {} }})", self.float(depth - 1))
            }
            _ => a,
        }
    }

    fn square(&mut self, depth: usize) -> String {
        let a = self.float(depth);
        format!("({a}).powi(2)")
    }

    fn function(&mut self, a: &str) -> String {
        let b = self.atom();
        match self.rng.below(14) {
            0 => format!("(({a}).powi(2) + 1.0).sqrt()"),
            1 => format!("(({a}).powi(2) + 0.5).ln()"),
            2 => format!("(0.3 * ({a}).sin()).exp()"),
            3 => format!("({a}).abs()"),
            4 => format!("({a}).hypot({b} + 3.0)"),
            5 => format!("({a}).atan2(({b}).powi(2) + 1.0)"),
            6 => format!("(0.7 * ({a}).sin()).asin()"),
            7 => format!("(({a}).powi(2) + 0.25).powf(0.4 * ({b}).cos())"),
            8 => format!("({a}).mul_add({b}, 0.25)"),
            9 => format!("({a}).clamp(-1.5, 1.5)"),
            10 => format!("(({a}).powi(2) + 0.5).cbrt()"),
            11 => format!("({a}).cos().powi(2).ln_1p().exp_m1()"),
            12 => format!("({a}).atan()"),
            _ => format!("({a}).tanh().sinh().asinh()"),
        }
    }

    /// An expression that stays in [−1, 1].
    fn bounded(&mut self) -> String {
        let a = self.float(1);
        match self.rng.below(3) {
            0 => format!("({a}).sin()"),
            1 => format!("({a}).tanh()"),
            _ => {
                let b = self.atom();
                format!("({a} * {b}).cos()")
            }
        }
    }

    fn condition(&mut self) -> String {
        if self.rng.chance(30) {
            let (a, b) = (self.int(), self.int());
            let operator = self.rng.pick(&["<", "==", ">=", "!="]);
            return format!("{a} % 3 {operator} {b} % 3");
        }
        let (a, b) = (self.atom(), self.atom());
        let operator = self.rng.pick(&["<", "<=", ">"]);
        format!("({a}) {operator} ({b})")
    }

    /// Statements in braces, with a scope of their own; `inside` writes them.
    fn nested(&mut self, inside: impl FnOnce(&mut Self)) {
        let scope = self.scope.clone();
        self.indent += 1;
        inside(self);
        self.indent -= 1;
        self.scope = scope;
    }

    fn some_statements(&mut self, most: usize) {
        for _ in 0..self.rng.between(1, most) {
            if self.budget > 0 {
                self.statement();
            }
        }
    }

    fn statement(&mut self) {
        self.budget = self.budget.saturating_sub(1);
        let deep = self.indent > 4;
        match self.rng.below(34) {
            0..3 => {
                let value = self.float(2);
                self.bind(&value);
            }
            3 => self.variable(),
            4 | 5 => self.update(),
            6 | 7 => self.store(),
            8 if !deep => self.branch(),
            9 if !deep => self.match_int(),
            10 | 11 if !deep => self.counted_loop(),
            12 if !deep => self.iteration(),
            13 if !deep => self.while_loop(),
            14 | 15 => self.chain(),
            16 => self.collect(),
            17 => self.push(),
            18 => self.rearrange(),
            19 => self.option(),
            20 => self.result(),
            21 => self.early_return(),
            22 => self.closure(),
            23 => self.enumeration(),
            24 => self.recursion(),
            25 => self.list(),
            26 => self.array(),
            27 => self.in_place(),
            28 => self.tuple(),
            29 => self.nested_vec(),
            30 => self.boxed(),
            31 => self.assertion(),
            32 => self.slice_pattern(),
            _ => {
                let value = self.bounded();
                self.bind(&value);
            }
        }
    }

    fn variable(&mut self) {
        let value = self.float(1);
        let name = self.name("s");
        self.line(format!("let mut {name} = {value};"));
        self.scope.vars.push(name);
    }

    fn update(&mut self) {
        if self.scope.vars.is_empty() {
            return self.variable();
        }
        let name = self.rng.pick(&self.scope.vars).clone();
        let value = self.bounded();
        let statement = match self.rng.below(3) {
            0 => format!("{name} = {value};"),
            1 => format!("{name} += {value};"),
            _ => format!("{name} *= {value};"),
        };
        self.line(statement);
    }

    fn store(&mut self) {
        let slice = self.rng.pick(&self.scope.writable).clone();
        let (index, value) = (self.int(), self.bounded());
        let operator = self.rng.pick(&["=", "+=", "="]).to_string();
        let temporary = self.name("t");
        self.line(format!("let {temporary} = {value};"));
        let place = self.name("i");
        self.line(format!("let {place} = {index} % {slice}.len();"));
        self.line(format!("{slice}[{place}] {operator} {temporary};"));
    }

    fn branch(&mut self) {
        let cond = self.condition();
        self.line(format!("if {cond} {{"));
        self.nested(|w| w.some_statements_and_update());
        if self.rng.chance(60) {
            if self.rng.chance(30) {
                let cond = self.condition();
                self.line(format!("}} else if {cond} {{"));
                self.nested(|w| w.some_statements_and_update());
            }
            self.line("} else {");
            self.nested(|w| w.some_statements_and_update());
        }
        self.line("}");
    }

    /// Statements, and one whose effect is seen outside.
    fn some_statements_and_update(&mut self) {
        self.some_statements(3);
        if self.scope.vars.is_empty() { self.store() } else { self.update() }
    }

    fn match_int(&mut self) {
        let int = self.int();
        let (a, b, c) = (self.float(1), self.float(1), self.float(2));
        let guard = self.condition();
        let name = self.name("a");
        self.line(format!("let {name} = match {int} % 4 {{"));
        self.line(format!("    0 => {a},"));
        self.line(format!("    1 | 2 if {guard} => {b},"));
        self.line(format!("    _ => {c},"));
        self.line("};");
        self.scope.floats.push(name);
    }

    fn counted_loop(&mut self) {
        if self.loops >= 3 {
            return self.update();
        }
        if self.scope.vars.is_empty() {
            self.variable();
        }
        let (i, bound) = (self.name("i"), self.int());
        let range = match self.rng.below(4) {
            0 => format!("0..{bound} % 4 + 1"),
            1 => format!("0..{bound} % 5"),
            2 => format!("(0..{bound} % 4 + 1).rev()"),
            _ => format!("(1..{bound} % 4 + 4).step_by(2)"),
        };
        self.line(format!("for {i} in {range} {{"));
        self.loops += 1;
        self.nested(|w| {
            w.scope.ints.push(i);
            w.way_out();
            w.some_statements_and_update();
        });
        self.loops -= 1;
        self.line("}");
    }

    fn way_out(&mut self) {
        if self.rng.chance(25) {
            let cond = self.condition();
            let word = self.rng.pick(&["break", "continue"]);
            let line = format!("if {cond} {{ {word}; }}");
            self.line(line);
        }
    }

    fn iteration(&mut self) {
        if self.loops >= 3 {
            return self.update();
        }
        if self.scope.vars.is_empty() {
            self.variable();
        }
        // Only what is not written to may be borrowed for the whole loop.
        let slice = self.rng.pick(&["v", "c", "p.w", "p.b"]).to_string();
        let (i, item) = (self.name("i"), self.name("a"));
        let other = self.rng.pick(&["v", "c", "p.w"]).to_string();
        let second = self.name("a");
        let head = match self.rng.below(4) {
            0 => format!("for {item} in {slice}.iter().copied() {{ let ({i}, {second}) = (1, {item});"),
            1 => format!("for ({i}, &{item}) in {slice}.iter().enumerate() {{ let {second} = {item} * 0.5;"),
            2 => format!(
                "for (&{item}, {second}) in {slice}.iter().zip({other}.iter()) {{ let ({i}, {second}) = (2, *{second});"
            ),
            _ => {
                format!("for {item} in {slice}.windows(2) {{ let ({i}, {second}, {item}) = (0, {item}[0], {item}[1]);")
            }
        };
        self.line(head);
        self.loops += 1;
        self.nested(|w| {
            w.scope.ints.push(i);
            w.scope.floats.extend([item, second]);
            w.way_out();
            w.some_statements_and_update();
        });
        self.loops -= 1;
        self.line("}");
    }

    fn while_loop(&mut self) {
        if self.loops >= 3 {
            return self.update();
        }
        self.variable();
        let (count, var) = (self.name("k"), self.scope.vars[self.scope.vars.len() - 1].clone());
        self.line(format!("let mut {count} = 0usize;"));
        let limit = self.rng.between(2, 6);
        let bound = self.constant();
        if self.rng.chance(50) {
            self.line(format!("while {count} < {limit} && {var} < {bound} + 1.0 {{"));
        } else {
            self.line("loop {");
            self.line(format!("    if {count} >= {limit} || {var} > {bound} + 1.0 {{ break; }}"));
        }
        self.loops += 1;
        self.nested(|w| {
            w.line(format!("{count} += 1;"));
            w.scope.ints.push(count);
            w.some_statements(2);
            let step = w.bounded();
            w.line(format!("{var} += 0.75 * {step};"));
        });
        self.loops -= 1;
        self.line("}");
    }

    fn chain(&mut self) {
        let slice = self.rng.pick(&self.scope.slices).clone();
        let other = self.rng.pick(&self.scope.slices).clone();
        let a = self.atom();
        let b = self.constant();
        let chain = match self.rng.below(12) {
            0 => format!("{slice}.iter().map(|t| t * {a}).sum::<f64>()"),
            1 => format!("{slice}.iter().zip({other}.iter()).map(|(s, t)| s * t).sum::<f64>()"),
            2 => format!("{slice}.iter().fold({a}, |s, t| (s * t + {b}).sin())"),
            3 => format!("{slice}.iter().filter(|t| **t > {b}).map(|t| t.sin() * {a}).sum::<f64>()"),
            4 => format!("{slice}.windows(2).map(|w| w[0] * w[1]).sum::<f64>()"),
            5 => format!("{slice}.chunks(2).map(|w| w.iter().product::<f64>()).sum::<f64>()"),
            6 => format!("{slice}.iter().copied().fold(f64::NEG_INFINITY, f64::max)"),
            7 => format!("{slice}.iter().rev().skip(1).step_by(2).map(|t| t.powi(3)).sum::<f64>()"),
            8 => format!("{slice}.iter().take_while(|t| t.abs() < 1.5).map(|t| t + {a}).sum::<f64>()"),
            9 => format!("{slice}.iter().enumerate().map(|(i, t)| t * i as f64 * {a}).sum::<f64>()"),
            10 => format!("{slice}.iter().chain({other}.iter()).map(|t| t.cos()).sum::<f64>()"),
            _ => format!("{slice}.iter().scan({a}, |s, t| {{ *s = (*s + t).sin(); Some(*s) }}).sum::<f64>()"),
        };
        self.bind(&chain);
    }

    fn collect(&mut self) {
        let slice = self.rng.pick(&self.scope.slices).clone();
        let a = self.atom();
        let name = self.name("w");
        let value = match self.rng.below(5) {
            0 => format!("{slice}.iter().map(|t| (t * {a}).sin()).collect::<Vec<f64>>()"),
            1 => format!("{slice}.to_vec()"),
            2 => format!("vec![{a}; {} % 3 + 1]", self.int()),
            3 => format!("(0..{} % 4 + 1).map(|i| {a} * (i as f64 + 0.5)).collect::<Vec<f64>>()", self.int()),
            _ => format!("{slice}.iter().copied().chain([{a}]).collect::<Vec<f64>>()"),
        };
        self.line(format!("let mut {name} = {value};"));
        self.grow(&name);
        self.scope.slices.push(name.clone());
        self.scope.writable.push(name.clone());
        self.scope.vecs.push(name);
    }

    fn grow(&mut self, vec: &str) {
        let value = self.bounded();
        let line = match self.rng.below(3) {
            0 => format!("{vec}.push({value});"),
            1 => format!("{vec}.extend([{value}, 0.25]);"),
            _ => format!("{vec}.insert(0, {value});"),
        };
        // `value` may read the vector itself.
        let temporary = self.name("t");
        self.line(format!("let {temporary} = {value};"));
        self.line(line.replace(&value, &temporary));
    }

    fn push(&mut self) {
        let Some(vec) = self.scope.vecs.last().cloned() else { return self.collect() };
        if self.loops > 1 {
            return self.update();
        }
        self.grow(&vec);
    }

    fn rearrange(&mut self) {
        let slice = self.rng.pick(&self.scope.writable).clone();
        let (i, j) = (self.int(), self.int());
        match self.rng.below(5) {
            0 => {
                let (a, b) = (self.name("i"), self.name("i"));
                self.line(format!("let ({a}, {b}) = ({i} % {slice}.len(), {j} % {slice}.len());"));
                self.line(format!("{slice}.swap({a}, {b});"));
            }
            1 => self.line(format!("{slice}[..1].copy_from_slice(&v[1..2]);")),
            2 => self.line(format!("{slice}.sort_by(|a, b| a.partial_cmp(b).unwrap());")),
            3 => self.line(format!("{slice}.reverse();")),
            _ => {
                let line = format!("let r{0} = {j} % {slice}.len(); {slice}.rotate_left(r{0});", self.next);
                self.next += 1;
                self.line(line);
            }
        }
    }

    fn option(&mut self) {
        let (cond, a, b, c) = (self.condition(), self.float(1), self.float(1), self.atom());
        let (name, kept) = (self.name("o"), self.name("a"));
        self.line(format!("let {name} = if {cond} {{ Some({a}) }} else {{ None }};"));
        let use_it = match self.rng.below(3) {
            0 => format!("{name}.map(|t| t * {c}).unwrap_or({b})"),
            1 => format!("if let Some(t) = {name} {{ t.sin() + {c} }} else {{ {b} }}"),
            _ => format!("match {name} {{ Some(t) if t > 0.0 => t * {c}, Some(t) => t, None => {b} }}"),
        };
        self.line(format!("let {kept} = {use_it};"));
        self.scope.floats.push(kept);
    }

    fn result(&mut self) {
        let (cond, a, b, c) = (self.condition(), self.float(1), self.float(1), self.atom());
        let name = self.name("a");
        self.line(format!("let {name} = (|| -> Result<f64, f64> {{"));
        self.line(format!("    let t = if {cond} {{ Ok({a}) }} else {{ Err({c}) }}?;"));
        self.line("    Ok(t * t)");
        self.line(format!("}})().unwrap_or_else(|e| e + {b});"));
        self.scope.floats.push(name);
    }

    fn early_return(&mut self) {
        let (cond, value) = (self.condition(), self.float(2));
        self.line(format!("if {cond} && n % 4 == 2 {{"));
        self.line(format!("    return {value};"));
        self.line("}");
    }

    fn closure(&mut self) {
        let (a, b, c) = (self.float(1), self.atom(), self.atom());
        let (name, closure) = (self.name("a"), self.name("g"));
        if self.rng.chance(50) {
            self.line(format!(
                "let {name} = {{ let {closure} = |t: f64| t * {a} + {b}; {closure}({c}) * {closure}(0.5) }};"
            ));
        } else {
            self.line(format!("let {name} = apply(|t| (t * {b}).sin() + {a}, {c});"));
        }
        self.scope.floats.push(name);
    }

    fn enumeration(&mut self) {
        let (cond, other, a, b) = (self.condition(), self.condition(), self.float(1), self.float(1));
        let (shape, name) = (self.name("e"), self.name("a"));
        self.line(format!("let {shape} = if {cond} {{ Shape::Disc({a}) }} else if {other} {{ Shape::Box({a}, {b}) }} else {{ Shape::Empty }};"));
        self.line(format!("let {name} = {shape}.area();"));
        self.scope.floats.push(name);
    }

    fn recursion(&mut self) {
        let (int, a) = (self.int(), self.bounded());
        let slice = self.rng.pick(&["v", "c", "p.w"]).to_string();
        let function = self.rng.pick(&["down", "even", "tree"]).to_string();
        self.bind(&format!("{function}({int} % 4, {a}, &{slice}[..])"));
    }

    fn list(&mut self) {
        let slice = self.rng.pick(&self.scope.slices).clone();
        let a = self.atom();
        self.bind(&format!("List::build({slice}.iter().map(|t| t * {a})).sum()"));
    }

    fn array(&mut self) {
        let name = self.name("w");
        let (a, b, c) = (self.float(1), self.atom(), self.atom());
        self.line(format!("let mut {name} = [{a}, {b}, {c}, 0.5];"));
        self.scope.slices.push(name.clone());
        self.scope.writable.push(name);
        self.store();
    }

    fn in_place(&mut self) {
        let slice = self.rng.pick(&self.scope.writable).clone();
        let a = self.name("t");
        let value = self.atom();
        self.line(format!("let {a} = {value};"));
        let line = match self.rng.below(3) {
            0 => format!("{slice}.iter_mut().for_each(|t| *t = (*t * {a}).sin());"),
            1 => format!("for t in {slice}.iter_mut() {{ *t += 0.25 * {a}; }}"),
            _ => format!("scale(&mut {slice}[..], {a});"),
        };
        self.line(line);
    }

    fn tuple(&mut self) {
        let (a, b) = (self.float(1), self.float(1));
        let (first, second) = (self.name("a"), self.name("a"));
        let line = match self.rng.below(2) {
            0 => format!("let ({first}, {second}) = ({a}).sin_cos(); let {second} = {second} * {b};"),
            _ => format!("let ({first}, {second}) = both({a}, {b});"),
        };
        self.line(line);
        self.scope.floats.extend([first, second]);
    }

    fn nested_vec(&mut self) {
        let a = self.bounded();
        let name = self.name("w");
        let int = self.int();
        self.line(format!("let {name}: Vec<Vec<f64>> = (0..{int} % 3 + 1).map(|i| v.iter().map(|t| t * {a} + i as f64).collect()).collect();"));
        self.bind(&format!("{name}.iter().map(|r| r.iter().map(|t| t.sin()).sum::<f64>()).sum::<f64>()"));
    }

    fn boxed(&mut self) {
        let (a, b) = (self.float(1), self.atom());
        let name = self.name("b");
        self.line(format!("let mut {name} = Box::new(({a}, [{b}; 2]));"));
        self.line(format!("{name}.1[1] *= 0.5;"));
        self.bind(&format!("{name}.0 * {name}.1[0] + {name}.1[1]"));
    }

    fn assertion(&mut self) {
        let a = self.atom();
        self.line(format!("assert!(!{a}.is_nan(), \"a value is NaN: {{}}\", {a});"));
    }

    fn slice_pattern(&mut self) {
        let slice = self.rng.pick(&self.scope.slices).clone();
        let (a, b) = (self.atom(), self.atom());
        self.bind(&format!("match &{slice}[..] {{ [s, t, ..] => s * t + {a}, [s] => s * {b}, [] => {a} }}"));
    }

    /// The result: something of everything.
    fn summary(&mut self) -> String {
        let mut terms: Vec<String> = Vec::new();
        for float in self.scope.floats.iter().chain(&self.scope.vars).cloned().collect::<Vec<_>>() {
            if self.rng.chance(50) {
                let weight = 0.25 + self.rng.below(8) as f64 / 8.0;
                terms.push(format!("{weight:?} * ({float})"));
            }
        }
        for slice in self.scope.writable.clone() {
            terms.push(format!("{slice}.iter().sum::<f64>()"));
        }
        terms.join("\n        + ")
    }
}
