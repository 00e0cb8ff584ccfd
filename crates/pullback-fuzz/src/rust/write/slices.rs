//! What moves the elements of a slice about.

use super::Writer;

impl Writer {
    pub(super) fn rearrange(&mut self) {
        if self.scope.writable.is_empty() {
            return self.array();
        }
        // An array of the function's own has a length that the compiler knows.
        if self.rng.chance(15) {
            self.array();
        }
        let slice = if self.rng.chance(30) {
            self.scope.writable[self.scope.writable.len() - 1].clone()
        } else {
            self.rng.pick(&self.scope.writable).clone()
        };
        let value = self.bounded();
        let t = self.name("x");
        self.line(format!("let {t} = {value};"));
        match self.rng.below(24) {
            0..4 => {
                let (count, word) = (self.count(&slice), *self.rng.pick(&["rotate_left", "rotate_right"]));
                self.line(format!("{slice}.{word}({count});"));
            }
            4..7 => {
                let (from, length) = (self.count(&slice), self.count(&slice));
                let (to, end) = (self.name("k"), self.name("k"));
                self.line(format!("let {end} = ({from} + {length}).min({slice}.len());"));
                let room = self.int();
                self.line(format!("let {to} = {room} % ({slice}.len() - ({end} - {from}) + 1);"));
                self.line(format!("{slice}.copy_within({from}..{end}, {to});"));
            }
            7..9 => self.split(&slice, &t),
            9 => {
                let (i, j) = (self.index(&slice), self.index(&slice));
                self.line(format!("{slice}.swap({i}, {j});"));
            }
            10 => self.line(format!("{slice}.reverse();")),
            11..15 => self.sort(&slice, &t),
            15 => {
                let (from, word) = (self.count(&slice), *self.rng.pick(&["fill", "fill_with"]));
                let what = if word == "fill" { t } else { format!("|| {t} * §0.5§") };
                self.line(format!("{slice}[{from}..].{word}({what});"));
            }
            16 => {
                let other = self.rng.pick(&self.scope.slices).clone();
                let (copy, count) = (self.name("m"), self.name("k"));
                self.line(format!("let {copy} = {other}.to_vec();"));
                self.line(format!("let {count} = {copy}.len().min({slice}.len());"));
                let word = *self.rng.pick(&["copy_from_slice", "clone_from_slice"]);
                self.line(format!("{slice}[..{count}].{word}(&{copy}[..{count}]);"));
            }
            17 => {
                let n = self.rng.between(1, 3);
                self.line(format!(
                    "for c in {slice}.chunks_mut({n}) {{ let n = c.len(); c[0] *= {t}; c.swap(0, n - 1); }}"
                ));
            }
            18 => self.line(format!("{slice}.iter_mut().rev().step_by(2).for_each(|t| *t = (*t * {t}).sin());")),
            19 => self.line(format!("for (i, t) in {slice}.iter_mut().enumerate() {{ *t += {t} * (i §as_float); }}")),
            20 => self.line(format!("scale(&mut {slice}[..], {t});")),
            21 => {
                self.line(format!("if let Some(t) = {slice}.last_mut() {{ *t = std::mem::replace(t, {t}) * §0.5§; }}"))
            }
            22 => {
                let i = self.index(&slice);
                self.line(format!("let _ = std::mem::take(&mut {slice}[{i}]);"));
            }
            _ => {
                let name = self.name("x");
                self.line(format!("let {name} = halve(&mut {slice}[..], {t});"));
                self.scope.floats.push(name);
            }
        }
    }

    fn split(&mut self, slice: &str, t: &str) {
        let count = self.count(slice);
        let (low, high) = (self.name("m"), self.name("m"));
        self.line("{");
        self.line(format!("    let ({low}, {high}) = {slice}.split_at_mut({count});"));
        let line = match self.rng.below(4) {
            0 => format!("for (s, t) in {low}.iter_mut().zip({high}.iter()) {{ *s = *s * {t} + t; }}"),
            1 => format!(
                "if let (Some(s), Some(t)) = ({low}.first_mut(), {high}.last_mut()) {{ std::mem::swap(s, t); }}"
            ),
            2 => format!("let n = {low}.len().min({high}.len()); {low}[..n].swap_with_slice(&mut {high}[..n]);"),
            _ => format!("let n = {low}.len().min({high}.len()); {high}[..n].copy_from_slice(&{low}[..n]);"),
        };
        self.line(format!("    {line}"));
        self.line("}");
    }

    fn sort(&mut self, slice: &str, t: &str) {
        let line = match self.rng.below(10) {
            0 | 1 => format!("{slice}.sort_by(|s, t| s.total_cmp(t));"),
            2 | 3 => format!("{slice}.sort_by(|s, t| s.partial_cmp(t).unwrap());"),
            4 => format!("{slice}.sort_by(|s, t| t.partial_cmp(s).unwrap());"),
            5 => format!("{slice}.sort_unstable_by(|s, t| s.total_cmp(t));"),
            6 => format!("{slice}.sort_unstable_by(|s, t| t.partial_cmp(s).unwrap());"),
            7 => format!("{slice}.sort_by_key(|s| (s * §8.0§) §as_i64);"),
            8 => format!("{slice}.sort_by(|s, u| (s * {t}).total_cmp(&(u * {t})));"),
            _ => {
                let pairs = self.name("m");
                self.line(format!(
                    "let mut {pairs}: Vec<(usize, F)> = {slice}.iter().map(|t| t * {t}).enumerate().collect();"
                ));
                self.line(format!("{pairs}.sort_by(|s, t| s.1.total_cmp(&t.1).then(s.0.cmp(&t.0)));"));
                format!("for (s, t) in {slice}.iter_mut().zip({pairs}) {{ *s += t.1 * (t.0 §as_float); }}")
            }
        };
        self.line(line);
    }

    pub(super) fn array(&mut self) {
        let (a, b, c) = (self.float(1), self.atom(), self.atom());
        let value = match self.rng.below(4) {
            0 => format!("[{a}, {b}, {c}]"),
            1 => format!("[{a}, {b}, {c}, §0.5§, {b}]"),
            2 => format!("[{a}; 3].map(|t| t * {b})"),
            _ => format!("[{a}, {b}]"),
        };
        self.bind_slice(&value);
        self.store();
    }
}
