//! Structs, enums, boxes, strings.

use super::{Writer, base};

impl Writer {
    pub(super) fn structure(&mut self) {
        let (a, b, int) = (self.float(1), self.atom(), self.int());
        if self.scope.structs.is_empty() || self.rng.chance(30) {
            let name = self.name("p");
            self.line(format!("let mut {name} = P::new({a}, {b}, {int} % 5);"));
            return self.scope.enter_struct(&name);
        }
        let name = self.rng.pick(&self.scope.structs).clone();
        let x = self.name("x");
        self.line(format!("let {x} = {a};"));
        match self.rng.below(8) {
            0 => self.line(format!("{name}.poke({x}).poke({x} * §0.5§);")),
            1 => {
                let value = format!("{name}.weight()");
                self.bind(&value);
            }
            2 => {
                let value = format!("{name}.clone().consume()");
                self.bind(&value);
            }
            3 => self.line(format!("*{name}.g = {name}.a * {x};")),
            4 => {
                let other = self.name("p");
                self.line(format!("let mut {other} = P::new({x}, {b}, {int} % 3);"));
                self.line(format!("std::mem::swap(&mut {other}.g, &mut {name}.g);"));
                self.scope.enter_struct(&other);
            }
            5 => {
                let old = self.name("x");
                self.line(format!("let {old} = std::mem::replace(&mut {name}.g, Box::new({x}));"));
                self.scope.floats.push(format!("*{old}"));
            }
            6 => {
                let other = self.name("p");
                self.line(format!("let mut {other} = P {{ a: {x}, ..{name}.clone() }};"));
                self.scope.enter_struct(&other);
            }
            _ => self.line(format!(
                "let t = if *{name}.g > §0.3§ {{ {name}.b[1] }} else {{ {name}.a }}; \
                 {name}.b[0] *= t.sin(); {name}.b.swap(0, 1);"
            )),
        }
    }

    pub(super) fn enumeration(&mut self) {
        let (a, b, int) = (self.float(1), self.float(1), self.int());
        let t = self.atom();
        let name = self.name("e");
        match self.rng.below(11) {
            0 => {
                self.line(format!("let mut {name} = E::new({int} % 6, {a}, {b});"));
                self.line(format!("{name}.change({t});"));
                self.bind(&format!("{name}.size()"));
            }
            1 => {
                let (cond, other) = (self.condition(), self.condition());
                self.line(format!(
                    "let {name} = if {cond} {{ E::One({a}) }} else if {other} {{ E::Tagged({b}, \
                     {int} % 9) }} else {{ E::Count({int} % 4) }};"
                ));
                self.bind(&format!(
                    "match {name} {{ E::One(s) => s * s, E::Tagged(s, k) => s * (k §as_float), \
                     E::Count(k) => (k §as_float), _ => {t} }}"
                ));
            }
            2 => {
                self.line(format!(
                    "let mut {name}: Vec<E> = (0..4).map(|i| E::new(i + {int} % 3, {a}, {b})).collect();"
                ));
                let line = match self.rng.below(4) {
                    0 => format!("{name}.swap(0, 2);"),
                    1 => format!("{name}.rotate_left({int} % 4);"),
                    2 => format!("{name}.retain(|e| e.size() > {t});"),
                    _ => format!("for e in {name}.iter_mut() {{ e.change({t}); }}"),
                };
                self.line(line);
                self.bind(&format!("{name}.iter().map(|e| e.size()).sum::<F>()"));
            }
            3 => {
                let cond = self.condition();
                self.line(format!("let {name} = if {cond} {{ Some(E::Pair({a}, {b})) }} else {{ None }};"));
                self.bind(&format!("{name}.map_or({t}, |e| e.size())"));
            }
            4 => {
                self.line(format!(
                    "let {name}: Result<F, usize> = if {a} > {t} {{ Ok({b}) }} else {{ Err({int} % 3) }};"
                ));
                self.bind(&format!("match {name} {{ Ok(s) => s * {t}, Err(k) => (k §as_float) }}"));
            }
            5 => {
                let slice = self.scope.slices.last().cloned();
                let slice = slice.unwrap_or_else(|| "[§0.5§]".into());
                self.bind(&format!("List::build({slice}.iter().map(|s| s * {t})).sum()"));
            }
            6 => {
                let line = match self.rng.below(3) {
                    0 => format!("let {name} = checked({a}, ({int} % 9) as u32);"),
                    1 => format!("let {name} = checked({a}, 3).or(Err(({int} % 9) as u32)).map(|s| s * {b});"),
                    _ => format!("let mut {name} = checked({a}, 4); if let Ok(s) = &mut {name} {{ *s *= {b}; }}"),
                };
                self.line(line);
                self.bind(&format!("settled({name}, {t})"));
            }
            7 => {
                self.line(format!(
                    "let mut {name}: Vec<Result<F, u32>> = (0..4).map(|i| checked({a} * (i §as_float) - \
                     {b}, i as u32)).collect();"
                ));
                let line = match self.rng.below(3) {
                    0 => format!("{name}.swap(0, 2);"),
                    1 => format!("{name}.rotate_left({int} % 4);"),
                    _ => format!("{name}.push(checked({t}, 9));"),
                };
                self.line(line);
                self.bind(&format!("{name}.into_iter().map(|r| settled(r, {t})).sum::<F>()"));
            }
            8 | 9 => {
                let second = self.name("e");
                self.line(format!(
                    "let mut {name}: Vec<G> = (0..5).map(|i| G::new(i + {int} % 4, {a}, {b})).collect();"
                ));
                self.line(format!("let {second} = {name}.clone();"));
                let line = match self.rng.below(4) {
                    0 => format!("{name}.swap(0, 2);"),
                    1 => format!("{name}.rotate_right({int} % 5);"),
                    2 => format!("{name}[{int} % 5] = G::Float({t});"),
                    _ => format!("{name}.truncate(1 + {int} % 4);"),
                };
                self.line(line);
                self.bind(&format!("{name}.iter().chain(&{second}).map(|g| g.size()).sum::<F>()"));
            }
            _ => {
                let second = self.name("e");
                self.line(format!("let mut {name} = E::Count({int} % 5); let mut {second} = E::One({a});"));
                let cond = self.condition();
                self.line(format!("if {cond} {{ std::mem::swap(&mut {name}, &mut {second}); }}"));
                self.bind(&format!("{name}.size() - {second}.size() * {b}"));
            }
        }
    }

    /// Exchange one vector for another.
    pub(super) fn exchange(&mut self) {
        if !self.scope.rows.is_empty() && self.rng.chance(60) {
            let name = self.rng.pick(&self.scope.rows).clone();
            let t = self.atom();
            return match self.rng.below(5) {
                0 => self.line(format!("{name}.swap(0, 1);")),
                1 => self.line(format!(
                    "{{ let (first, rest) = {name}.split_at_mut(1); std::mem::swap(&mut *first[0], &mut *rest[0]); }}"
                )),
                2 => self.line(format!("{name}.sort_by(|l, r| l[0].total_cmp(&r[0]));")),
                3 => self.line(format!("{{ let t = {t}; for row in {name}.iter_mut() {{ row[0] *= t; }} }}")),
                _ => self.line(format!(
                    "for row in {name}.iter_mut() {{ let old = std::mem::take(&mut **row); \
                     **row = old.into_iter().rev().collect(); }}"
                )),
            };
        }
        if self.scope.fixed.is_empty() {
            return self.structure();
        }
        let first = self.rng.pick(&self.scope.fixed).clone();
        let others: Vec<String> = self.scope.fixed.iter().chain(&self.scope.vecs).cloned().collect();
        let others: Vec<String> = others.into_iter().filter(|other| base(other) != base(&first)).collect();
        if others.is_empty() || self.rng.chance(25) {
            let (by, x) = (self.atom(), self.name("x"));
            let list = first.trim_start_matches('*');
            self.line(format!("let {x} = {by};"));
            self.line(format!("{first} = {list}.iter().map(|s| s * {x}).collect();"));
            return;
        }
        let other = self.rng.pick(&others).clone();
        let (a, b) = (first.trim_start_matches('*'), other.trim_start_matches('*'));
        self.line(format!("if {a}.len() == {b}.len() {{ std::mem::swap(&mut {first}, &mut {other}); }}"));
    }

    pub(super) fn boxed(&mut self) {
        let (a, b) = (self.float(1), self.atom());
        let name = self.name("b");
        match self.rng.below(3) {
            0 => {
                self.line(format!("let mut {name} = Box::new(({a}, [{b}; 2], 3usize));"));
                self.line(format!("{name}.1[1] *= {name}.0;"));
                self.bind(&format!("{name}.0 * {name}.1[0] + {name}.1[1]"));
            }
            1 => {
                self.line(format!("let mut {name} = Box::new({a});"));
                self.line(format!("*{name} += {b};"));
                self.scope.floats.push(format!("*{name}"));
                self.scope.vars.push(format!("*{name}"));
            }
            _ => {
                let cond = self.condition();
                self.line(format!("let {name}: Option<Box<F>> = if {cond} {{ Some(Box::new({a})) }} else {{ None }};"));
                self.bind(&format!("{name}.as_deref().copied().unwrap_or({b})"));
            }
        }
    }

    pub(super) fn text(&mut self) {
        let (a, b, int) = (self.atom(), self.atom(), self.int());
        match self.rng.below(3) {
            0 => self.line(format!("let _ = format!(\"{{}} {{:?}}\", {a}, {int});")),
            1 => {
                let name = self.name("n");
                self.line(format!("let {name} = format!(\"{{:.1}}{{:?}}\", {a}, {b}).len() % 4;"));
                self.scope.ints.push(name);
            }
            _ => {
                let name = self.name("t");
                self.line(format!("let mut {name} = String::from(\"at \"); {name}.push_str(&({a}).to_string());"));
            }
        }
    }
}
