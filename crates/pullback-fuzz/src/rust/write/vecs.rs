//! What grows and shrinks.

use super::Writer;

impl Writer {
    pub(super) fn resize(&mut self) {
        if self.scope.vecs.is_empty() || self.rng.chance(20) {
            return self.new_vec();
        }
        let vec = self.rng.pick(&self.scope.vecs).clone();
        let value = self.bounded();
        let t = self.name("x");
        self.line(format!("let {t} = {value};"));
        match self.rng.below(22) {
            0..3 => self.line(format!("{vec}.push({t});")),
            3 => self.line(format!("for i in 0..9 {{ {vec}.push({t} * (i §as_float)); }}")),
            4 => {
                let count = self.count(&vec);
                self.line(format!("{vec}.insert({count}, {t});"));
            }
            5 => {
                let (i, name) = (self.index(&vec), self.name("x"));
                let word = *self.rng.pick(&["remove", "swap_remove"]);
                self.line(format!("let {name} = {vec}.{word}({i});"));
                self.scope.floats.push(name);
            }
            6..8 => {
                let c = self.atom();
                let word = *self.rng.pick(&["*t > ", "*t < "]);
                self.line(format!("let c = {c}; {vec}.retain(|t| {word}c);"));
            }
            8 => self.line(format!("{vec}.retain_mut(|t| {{ *t *= {t}; *t > §-0.5§ }});")),
            9..11 => {
                let (from, to) = (self.count(&vec), self.count(&vec));
                let name = self.name("x");
                let tail = *self.rng.pick(&[
                    ".sum::<F>()",
                    ".rev().fold(§0.5§, |s, t| s * §0.5§ + t)",
                    ".map(|t| t * t).sum::<F>()",
                ]);
                self.line(format!("let {name} = {vec}.drain({from}.min({to})..{to}.max({from})){tail};"));
                self.scope.floats.push(name);
            }
            11..13 => {
                let (from, to) = (self.count(&vec), self.count(&vec));
                let with = match self.rng.below(3) {
                    0 => format!("[{t}, {t} * §0.5§]"),
                    1 => format!("(0..3).map(|i| {t} * (i §as_float))"),
                    _ => format!("std::iter::once({t})"),
                };
                self.line(format!("let {t} = {vec}.splice({from}.min({to})..{to}.max({from}), {with}).sum::<F>();"));
            }
            13 => self.line(format!("if let Some(t) = {vec}.pop() {{ {vec}.push(t * {t}); }}")),
            14 => {
                let count = self.count(&vec);
                let word = *self.rng.pick(&["truncate", "split_off"]);
                self.line(format!("let _ = {vec}.{word}({count});"));
            }
            15 => self.line(format!("{vec}.resize(5, {t});")),
            16 => {
                let other = self.rng.pick(&self.scope.slices).clone();
                let copy = self.name("m");
                self.line(format!("let {copy} = {other}.to_vec();"));
                self.line(format!("{vec}.extend({copy}.iter().map(|s| s * {t}));"));
            }
            17 => {
                let other = self.rng.pick(&self.scope.slices).clone();
                let copy = self.name("m");
                self.line(format!("let mut {copy} = {other}.to_vec();"));
                let line = if self.rng.chance(50) {
                    format!("{vec}.append(&mut {copy});")
                } else {
                    format!("{vec}.extend_from_slice(&{copy}[..]);")
                };
                self.line(line);
            }
            18 => self.line(format!("{vec}.dedup_by(|s, t| (*s - *t).abs() < §0.5§);")),
            19 => self.line(format!("{vec} = {vec}.into_iter().rev().map(|s| s * {t}).collect();")),
            20 => self.line(format!("{vec}.reserve(20); {vec}.shrink_to_fit();")),
            _ => self.line(format!("{vec} = std::mem::take(&mut {vec}).into_iter().filter(|s| *s < {t}).collect();")),
        }
        self.line(format!("if {vec}.len() < 2 {{ {vec}.extend([{t}, §0.75§]); }}"));
    }

    pub(super) fn new_vec(&mut self) {
        let (a, b) = (self.bounded(), self.atom());
        let int = self.int();
        let value = if self.scope.slices.is_empty() {
            format!("vec![{a}, {b}, {a}]")
        } else {
            let slice = self.rng.pick(&self.scope.slices).clone();
            match self.rng.below(6) {
                0 => format!("vec![{a}, {b}, {a}]"),
                1 => format!("{slice}.to_vec()"),
                2 => format!("{slice}.iter().map(|t| t * {b}).collect()"),
                3 => format!("(0..{int} % 5 + 1).map(|i| {a} * (i §as_float)).collect()"),
                4 => format!("[&{slice}[..], &[{a}]].concat()"),
                _ => format!("vec![{b}; {int} % 4 + 1]"),
            }
        };
        self.bind_vec(&value);
    }
}
