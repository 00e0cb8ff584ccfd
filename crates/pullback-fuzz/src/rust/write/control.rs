//! Branches, loops, labels.

use super::{Place, Writer};
use crate::rust::signature::Output;

impl Writer {
    pub(super) fn branch(&mut self) {
        let cond = self.condition();
        self.line(format!("if {cond} {{"));
        self.nested(Self::some_statements_and_update);
        if self.rng.chance(60) {
            if self.rng.chance(30) {
                let cond = self.condition();
                self.line(format!("}} else if {cond} {{"));
                self.nested(Self::some_statements_and_update);
            }
            self.line("} else {");
            self.nested(Self::some_statements_and_update);
        }
        self.line("}");
    }

    pub(super) fn match_int(&mut self) {
        let int = self.int();
        if self.rng.chance(50) {
            let (a, b, c) = (self.float(1), self.float(1), self.float(2));
            let guard = self.condition();
            let value = format!("match {int} % 5 {{ 0 => {a}, 1 | 2 if {guard} => {b}, 3.. => -({b}), _ => {c} }}");
            self.bind(&value);
            return;
        }
        self.line(format!("match {int} % 4 {{"));
        for arm in ["0 => {", "1 | 2 => {"] {
            self.line(arm);
            self.nested(Self::some_statements_and_update);
            self.line("}");
        }
        self.line("_ => {}");
        self.line("}");
    }

    fn way_out(&mut self) {
        if self.rng.chance(30) {
            let cond = self.condition();
            let word = *self.rng.pick(&["break", "continue"]);
            let label = if self.scope.labels.is_empty() || self.rng.chance(50) {
                String::new()
            } else {
                format!(" {}", self.rng.pick(&self.scope.labels))
            };
            self.line(format!("if {cond} {{ {word}{label}; }}"));
        }
    }

    pub(super) fn counted_loop(&mut self) {
        if self.loops >= 2 {
            return self.update();
        }
        let (i, bound) = (self.name("i"), self.int());
        let range = match self.rng.below(5) {
            0 => format!("0..{bound} % 4 + 1"),
            1 => format!("0..{bound} % 5"),
            2 => format!("(0..{bound} % 4 + 1).rev()"),
            3 => "0..3".into(),
            _ => format!("(1..{bound} % 4 + 4).step_by(2)"),
        };
        let label = if self.rng.chance(30) { Some(format!("'l{}", self.next)) } else { None };
        let before = label.as_ref().map_or(String::new(), |label| format!("{label}: "));
        self.line(format!("{before}for {i} in {range} {{"));
        self.loops += 1;
        self.nested(|w| {
            w.scope.ints.push(i);
            w.scope.labels.extend(label);
            w.way_out();
            w.some_statements_and_update();
        });
        self.loops -= 1;
        self.line("}");
    }

    pub(super) fn iteration(&mut self) {
        // What is not written to can be borrowed for the whole loop.
        let fixed: Vec<String> =
            self.scope.slices.iter().filter(|slice| !self.scope.writable.contains(slice)).cloned().collect();
        if self.loops >= 2 || fixed.is_empty() {
            return self.counted_loop();
        }
        let (slice, other) = (self.rng.pick(&fixed).clone(), self.rng.pick(&fixed).clone());
        let (i, item, second) = (self.name("i"), self.name("x"), self.name("x"));
        let head = match self.rng.below(5) {
            0 => format!("for {item} in {slice}.iter().copied() {{ let ({i}, {second}) = (1usize, {item});"),
            1 => format!("for ({i}, &{item}) in {slice}.iter().enumerate() {{ let {second} = {item} * §0.5§;"),
            2 => format!(
                "for (&{item}, {second}) in {slice}.iter().zip({other}.iter()) {{ let ({i}, {second}) = (2usize, \
                 *{second});"
            ),
            3 => format!(
                "for {item} in {slice}.chunks(2).rev() {{ let ({i}, {second}, {item}) = ({item}.len(), {item}[0], \
                 {item}[{item}.len() - 1]);"
            ),
            _ => format!(
                "for {item} in {slice}.windows(2) {{ let ({i}, {second}, {item}) = (0usize, {item}[0], {item}[1]);"
            ),
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

    pub(super) fn while_loop(&mut self) {
        if self.loops >= 2 {
            return self.update();
        }
        let (var, count, value) = (self.name("s"), self.name("n"), self.float(1));
        self.line(format!("let mut {var} = {value};"));
        self.line(format!("let mut {count} = 0usize;"));
        let (limit, bound) = (self.rng.between(2, 6), self.literal());
        self.scope.vars.push(var.clone());
        self.scope.floats.push(var.clone());
        match self.rng.below(3) {
            0 => self.line(format!("while {count} < {limit} && {var} < {bound} + §1.0§ {{")),
            1 => {
                self.line("loop {");
                self.line(format!("    if {count} >= {limit} || {var} > {bound} + §1.0§ {{ break; }}"));
            }
            _ => {
                let (name, end) = (self.name("x"), self.atom());
                self.line(format!("let {name} = loop {{"));
                self.line(format!("    if {count} >= {limit} || {var} > {bound} + §1.0§ {{ break {var} * {end}; }}"));
            }
        }
        let labels = std::mem::take(&mut self.scope.labels);
        self.loops += 1;
        self.nested(|w| {
            w.line(format!("{count} += 1;"));
            w.scope.ints.push(count);
            w.some_statements(2);
            let step = w.bounded();
            w.line(format!("{var} += §0.75§ * {step};"));
        });
        self.loops -= 1;
        self.scope.labels = labels;
        self.line("};");
    }

    /// A block that is left with a value.
    pub(super) fn labelled(&mut self) {
        let (name, label) = (self.name("x"), self.name("'b"));
        self.line(format!("let {name} = {label}: {{"));
        let value = self.rng.between(1, 2);
        self.nested(|w| {
            for _ in 0..value {
                w.some_statements(2);
                let (cond, value) = (w.condition(), w.float(1));
                w.line(format!("if {cond} {{ break {label} {value}; }}"));
            }
            let last = w.float(1);
            w.line(last);
        });
        self.line("};");
        self.scope.floats.push(name);
    }

    pub(super) fn early_return(&mut self) {
        if self.place == Place::Closure {
            return self.update();
        }
        let (cond, int, value) = (self.condition(), self.int(), self.float(1));
        let value = match self.returns {
            Output::Nothing => String::new(),
            Output::Active | Output::Float => value,
            Output::Pair => format!("({value}, §0.5§)"),
            Output::Array => format!("[{value}; 2]"),
        };
        self.line(format!("if {cond} && {int} % 4 == 2 {{ return {value}; }}"));
    }

    pub(super) fn integer(&mut self) {
        let (name, int) = (self.name("n"), self.int());
        let modulus = self.rng.between(2, 7);
        self.line(format!("let {name} = {int} % {modulus};"));
        self.scope.ints.push(name);
    }

    pub(super) fn assertion(&mut self) {
        let a = self.atom();
        if self.rng.chance(15) {
            // One that fails at some points.
            let int = self.int();
            self.line(format!("assert!({int} % 4 != 2 || {a} < §0.5§, \"{{}} is not small\", {a});"));
        } else {
            self.line(format!("assert!(!({a}).is_nan(), \"a value is NaN: {{}}\", {a});"));
        }
    }
}
