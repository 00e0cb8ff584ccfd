//! Random statements: writes, exchanges, cells and their owners, loops, branches and closures.

use super::{Access, Floats, Place, Variable, Writer};
use crate::safe::types::Ty;

impl Writer {
    /// Some statements. What they declare is gone afterwards.
    pub fn block(&mut self, count: usize, depth: usize, pad: &str) -> String {
        let outer = self.scope.clone();
        let mut text = String::new();
        for _ in 0..count {
            if self.rng.chance(30) {
                text += &format!("{pad}tick();\n");
            }
            text += &self.statement(depth, pad);
        }
        // What was moved away is gone for good.
        let lost = self.scope.clone();
        self.scope = outer;
        for (variable, now) in self.scope.iter_mut().zip(lost) {
            if now.ty != variable.ty || now.text != variable.text {
                variable.access = Access::Nothing;
            }
        }
        text
    }

    fn statement(&mut self, depth: usize, pad: &str) -> String {
        match self.rng.below(if depth == 0 { 58 } else { 100 }) {
            0..14 => format!("{pad}acc += {};\n", self.float(true, 1)),
            14..34 => self.write(pad),
            34..48 => self.touch(pad),
            48..52 => self.exchange(pad),
            52..56 => self.declare(pad),
            56..58 => self.check(pad),
            58..62 => {
                let condition = self.condition();
                let inner = format!("{pad}    ");
                let (a, b) = (self.rng.between(1, 3), self.rng.below(2));
                let (a, b) = (self.block(a, depth - 1, &inner), self.block(b, depth - 1, &inner));
                format!("{pad}if {condition} {{\n{a}{pad}}} else {{\n{b}{pad}}}\n")
            }
            62..72 => self.over_numbers(depth, pad),
            72..78 => self.counted(depth, pad),
            78..82 => self.matched(depth, pad),
            82..86 => self.borrowed(depth, pad),
            86..91 => self.callback(depth, pad),
            91..96 => self.opaque(pad),
            _ => self.ruled(pad),
        }
    }

    fn condition(&mut self) -> String {
        if self.rng.chance(50) {
            format!("{} < {}", self.float(true, 0), self.literal())
        } else {
            format!("{} % 2 == {}", self.number(), self.rng.below(2))
        }
    }

    /// Something that may panic.
    fn check(&mut self, pad: &str) -> String {
        match self.rng.below(3) {
            0 => format!("{pad}assert!({} < c(1.2), \"too much\");\n", self.float(true, 0)),
            1 => format!("{pad}if {} > 3 {{ panic!(\"too many\") }}\n", self.number()),
            _ => format!("{pad}tick();\n"),
        }
    }

    /// Write to a place.
    pub fn write(&mut self, pad: &str) -> String {
        match self.find(|place| place.writable) {
            Some(place) => self.write_to(&place, pad),
            None => self.touch(pad),
        }
    }

    fn write_to(&mut self, place: &Place, pad: &str) -> String {
        let (text, floats) = (&place.text, Floats::Computed { active: place.active });
        let t = format!("t{}", self.fresh());
        let with = |writer: &mut Self, ty: &Ty, operation: &str| {
            let value = writer.value(ty, floats);
            let operation = operation.replace('@', text).replace('$', &t);
            format!("{pad}let {t} = {value};\n{pad}{operation};\n")
        };
        let plain = |operation: &str| format!("{pad}{};\n", operation.replace('@', text));
        let n = self.rng.below(4);
        match place.ty.clone() {
            Ty::Float => {
                let operation = *self.rng.pick(&["@ = $", "@ += $", "@ *= $", "@ -= $"]);
                with(self, &Ty::Float, operation)
            }
            Ty::Usize => {
                let operation = *self.rng.pick(&["@ = $", "@ = @.wrapping_add($)", "@ = $ % 3"]);
                with(self, &Ty::Usize, operation)
            }
            Ty::String => match self.rng.below(8) {
                0..3 => plain(&format!("@.push_str({})", self.words())),
                3 => plain("@.clear()"),
                4 => plain("@.shrink_to_fit()"),
                5 => plain(&format!("@.reserve({})", n * 20)),
                6 => plain(&format!("@.insert_str(0, {})", self.words())),
                _ => with(self, &Ty::String, "@ = $"),
            },
            Ty::Vec(of) => match self.rng.below(22) {
                0..6 => with(self, &of, "@.push($)"),
                6 => plain("drop(@.pop())"),
                7 => plain(&format!("@.truncate({n})")),
                8 => plain(&format!("@.reserve({})", n * 7)),
                9 => plain("@.shrink_to_fit()"),
                10 => with(self, &of, "@.insert(0, $)"),
                11 => plain("drop(@.remove(0))"),
                12 => plain("@.swap(0, 1)"),
                13 => plain("@.reverse()"),
                14 => plain("@.clear()"),
                15 => with(self, &of, &format!("@.resize({n}, $)")),
                16 => plain("if @.len() < 99 { @.extend_from_within(..) }"),
                17 => {
                    let number = self.number();
                    plain(&format!("if !@.is_empty() {{ let n = @.len(); let k = {number} % n; @.rotate_left(k) }}"))
                }
                18 => plain("drop(@.drain(1..))"),
                19 => with(self, &place.ty, "if @.len() < 99 { @.append(&mut { $ }) }"),
                20 => with(self, &of, "@.fill($)"),
                _ => with(self, &place.ty, "@ = $"),
            },
            Ty::Option(of) => match self.rng.below(5) {
                0 => plain("drop(@.take())"),
                1 => with(self, &of, "drop(@.replace($))"),
                2 => with(self, &of, "drop(@.insert($))").replace("drop(", "let _ = ("),
                3 => plain("@ = None"),
                _ => with(self, &place.ty, "@ = $"),
            },
            Ty::Rc(of) => match self.rng.below(3) {
                0 => with(self, &of, "*Rc::make_mut(&mut @) = $"),
                1 if !place.skipped => with(self, &of, "if let Some(r) = Rc::get_mut(&mut @) { *r = $ }"),
                _ => with(self, &place.ty, "@ = $"),
            },
            Ty::Array(_) if self.rng.chance(50) => plain("@.swap(0, 1)"),
            ty if ty.has_default() && self.rng.chance(20) => {
                let name = format!("t{}", self.fresh());
                let declared = format!("{pad}let mut {name} = std::mem::take(&mut {text});\n");
                self.scope.push(Variable { text: name, ty, access: Access::Write, active: place.active });
                declared
            }
            ty => with(self, &ty, "@ = $"),
        }
    }

    /// Do something with a cell, or an `Rc`.
    pub fn touch(&mut self, pad: &str) -> String {
        self.touch_one_of(pad, |_| true)
    }

    /// Change numbers that lie in a cell, and may be indices: where they lie, or by others.
    pub fn touch_numbers(&mut self, pad: &str) -> String {
        let indices = |ty: &Ty| *ty == Ty::Usize || *ty == Ty::Usize.vec();
        let in_place = self.find(|place| place.borrowed && place.writable && !place.active && indices(&place.ty));
        match in_place {
            Some(place) if place.ty == Ty::Usize.vec() && self.rng.chance(60) => {
                let value = *self.rng.pick(&["0", "1", "2", "1 << 40", "usize::MAX"]);
                let how =
                    *self.rng.pick(&["fill($)", "reverse()", "iter_mut().for_each(|k| *k = $)", "rotate_right(1)"]);
                format!("{pad}{}.{};\n", place.text, how.replace('$', value))
            }
            Some(place) if self.rng.chance(70) => self.write_to(&place, pad),
            _ => self.touch_one_of(pad, |place| match &place.ty {
                Ty::Cell(of) => **of == Ty::Usize,
                Ty::RefCell(of) => indices(of),
                _ => false,
            }),
        }
    }

    fn touch_one_of(&mut self, pad: &str, is: impl Fn(&Place) -> bool) -> String {
        let suits = |place: &Place| {
            matches!(place.ty, Ty::Cell(_) | Ty::RefCell(_) | Ty::Rc(_) | Ty::Held(_))
                && !(place.borrowed && place.writable)
                && is(place)
        };
        let Some(place) = self.find(suits) else {
            return if self.rng.chance(30) { self.poke(pad) } else { format!("{pad}tick();\n") };
        };
        let (text, floats) = (&place.text, Floats::Computed { active: place.active });
        let t = format!("t{}", self.fresh());
        match place.ty.clone() {
            Ty::Cell(of) => {
                let value = self.value(&of, floats);
                match self.rng.below(4) {
                    0 => {
                        let other = self.find(|other| other.ty == place.ty && other.active == place.active);
                        let other = other.map_or(text.clone(), |other| other.text);
                        // A place in a `&mut` is not borrowed twice.
                        if text.contains("as_mut()") && other.contains("as_mut()") {
                            return String::new();
                        }
                        format!("{pad}{text}.swap(&{other});\n")
                    }
                    1 => format!("{pad}let {t} = {value};\n{pad}let _ = {text}.replace({t});\n"),
                    _ => format!("{pad}let {t} = {value};\n{pad}{text}.set({t});\n"),
                }
            }
            Ty::RefCell(of) => {
                let value = self.value(&of, floats);
                match self.rng.below(3) {
                    0 => format!("{pad}let {t} = {value};\n{pad}drop({text}.replace({t}));\n"),
                    1 => format!(
                        "{pad}let {t} = {value};\n{pad}if let Ok(mut r) = {text}.try_borrow_mut() {{ *r = {t}; }}\n"
                    ),
                    _ => format!("{pad}let {t} = {value};\n{pad}*{text}.borrow_mut() = {t};\n"),
                }
            }
            Ty::Held(_) => match self.rng.below(4) {
                0 => format!("{pad}let {t} = {text}.0.borrow().clone();\n"),
                1 => format!("{pad}let {t} = {text}.0.take();\n"),
                _ => format!("{pad}drop({text}.0.take());\n"),
            },
            ty => {
                let declared = format!("{pad}let {t} = Rc::clone(&{text});\n");
                self.scope.push(Variable { text: t, ty, access: Access::Read, active: place.active });
                declared
            }
        }
    }

    fn poke(&mut self, pad: &str) -> String {
        format!("{pad}poke({});\n", self.rng.below(6))
    }

    /// Two places change their contents.
    fn exchange(&mut self, pad: &str) -> String {
        match self.find(|place| place.writable) {
            Some(place) => self.exchange_or_write(&place, pad),
            None => self.write(pad),
        }
    }

    /// A place changes its content with another one, if there is one in another variable.
    pub fn exchange_or_write(&mut self, a: &Place, pad: &str) -> String {
        let pair = self.find(|b| b.writable && b.root != a.root && b.ty == a.ty && b.active == a.active);
        match pair.filter(|_| self.rng.chance(60)) {
            Some(b) => format!("{pad}std::mem::swap(&mut {}, &mut {});\n", a.text, b.text),
            None => self.write_to(a, pad),
        }
    }

    /// A new variable.
    fn declare(&mut self, pad: &str) -> String {
        let Some(place) = self.find(|place| !(place.borrowed && place.writable)) else { return String::new() };
        let name = format!("t{}", self.fresh());
        let active = place.active;
        let text = if self.rng.chance(50) {
            format!("{pad}let mut {name} = {}.clone();\n", place.text)
        } else {
            let value = self.value(&place.ty, Floats::Computed { active });
            format!("{pad}let mut {name}: {} = {value};\n", place.ty.name())
        };
        self.scope.push(Variable { text: name, ty: place.ty, access: Access::Write, active });
        text
    }

    /// A loop over indices that lie in memory.
    pub fn over_numbers(&mut self, depth: usize, pad: &str) -> String {
        let suits = |place: &Place| match &place.ty {
            Ty::Vec(of) => **of == Ty::Usize || **of == Ty::Usize.cell(),
            _ => false,
        };
        let Some(indices) = self.find(suits) else { return self.counted(depth, pad) };
        let inner = format!("{pad}    ");
        let before = self.scope[indices.root].access;
        // A `Ref` of a cell inside lets others have it, at their own risk.
        let through_cell = indices.text.contains(".borrow");
        self.scope[indices.root].access =
            if indices.writable && !through_cell { Access::Nothing } else { Access::Read };
        let element = if indices.ty == Ty::Usize.vec() { "*k" } else { "k.get()" };
        let mut values = self.find(|place| {
            matches!(&place.ty, Ty::Vec(of) if **of == Ty::Float || **of == Ty::Float.cell())
                && !(place.borrowed && place.writable)
        });
        let mut before_it = String::new();
        if values.is_none() || self.rng.chance(20) {
            // A vector of its own.
            let name = format!("t{}", self.fresh());
            let floats: Vec<_> = (0..3).map(|_| self.float(true, 0)).collect();
            before_it = format!("{pad}let {name} = vec![{}];\n", floats.join(", "));
            let ty = Ty::Float.vec();
            values =
                Some(Place { root: 0, text: name, ty, writable: false, active: true, borrowed: false, skipped: false });
        }
        let sum = match values.filter(|_| self.rng.chance(85)) {
            Some(values) => {
                let get = if values.ty == Ty::Float.vec() { "" } else { ".get()" };
                let values = values.text;
                if self.rng.chance(60) {
                    let v = if get.is_empty() { "*v" } else { "v.get()" };
                    format!("{inner}if let Some(v) = {values}.get({element}) {{ acc += {v} * {v}; }}\n")
                } else {
                    format!("{inner}acc += {values}[{element}]{get} * {values}[{element}]{get};\n")
                }
            }
            None => format!("{inner}acc += {} * c(({element} % 7) as f64);\n", self.float(true, 0)),
        };
        if through_cell && self.rng.chance(75) {
            // It is borrowed, and a write would panic.
            self.scope[indices.root].access = Access::Nothing;
        }
        let count = self.rng.below(3);
        let rest = self.block(count, depth - 1, &inner);
        self.scope[indices.root].access = before;
        if self.rng.chance(30) {
            // By position: the memory is looked at each time round.
            let position = format!("k{}", self.fresh());
            let body = sum
                .replace("*k", &format!("{}[{position}]", indices.text))
                .replace("k.get()", &format!("{}[{position}].get()", indices.text));
            return before_it + &format!("{pad}for {position} in 0..{}.len() {{\n{body}{pad}}}\n", indices.text);
        }
        before_it + &format!("{pad}for k in {}.iter() {{\n{sum}{rest}{pad}}}\n", indices.text)
    }

    /// A loop with a bound, which may be beyond what any memory could hold.
    fn counted(&mut self, depth: usize, pad: &str) -> String {
        let inner = format!("{pad}    ");
        let i = format!("i{}", self.fresh());
        let (bound, guard) = match self.rng.below(10) {
            0 => ("usize::MAX".to_owned(), format!("{inner}if {i} >= {} {{ break; }}\n", self.rng.between(2, 12))),
            1 => {
                ("usize::MAX".to_owned(), format!("{inner}assert!({i} < {}, \"too far\");\n", self.rng.between(2, 12)))
            }
            2 => (
                "usize::MAX / 2".to_owned(),
                format!("{inner}tick();\n{inner}if acc > c(3.0) || {i} > 9 {{ panic!(\"over\") }}\n"),
            ),
            3..6 => (format!("{} % 5", self.number()), String::new()),
            _ => (self.rng.between(1, 4).to_string(), String::new()),
        };
        self.scope.push(Variable { text: i.clone(), ty: Ty::Usize, access: Access::Read, active: false });
        let first = format!("{inner}acc = (acc * {}).sin();\n", self.float(true, 0));
        let count = self.rng.between(0, 2);
        let rest = self.block(count, depth - 1, &inner);
        self.scope.pop();
        // A borrow in the bound ends before the loop begins.
        format!("{pad}let n{i}: usize = {bound};\n{pad}for {i} in 0..n{i} {{\n{guard}{first}{rest}{pad}}}\n")
    }

    /// An option is looked into.
    fn matched(&mut self, depth: usize, pad: &str) -> String {
        let suits = |place: &Place| matches!(place.ty, Ty::Option(_)) && !place.text.contains(".borrow");
        let Some(place) = self.find(suits) else { return self.write(pad) };
        let Ty::Option(of) = place.ty.clone() else { unreachable!("asked for") };
        self.reference(depth, pad, &place, *of, if place.writable { "as_mut" } else { "as_ref" })
    }

    fn reference(&mut self, depth: usize, pad: &str, place: &Place, of: Ty, how: &str) -> String {
        let inner = format!("{pad}    ");
        let before = self.scope[place.root].access;
        self.scope[place.root].access = if place.writable { Access::Nothing } else { Access::Read };
        let name = format!("q{}", self.fresh());
        let access = if place.writable { Access::Write } else { Access::Read };
        self.scope.push(Variable { text: format!("(*{name})"), ty: of, access, active: place.active });
        let count = self.rng.between(1, 3);
        let body = self.block(count, depth - 1, &inner);
        self.scope.pop();
        self.scope[place.root].access = before;
        match how {
            "&" => {
                let sign = if place.writable { "&mut " } else { "&" };
                format!("{pad}{{\n{inner}let {name} = {sign}{};\n{body}{pad}}}\n", place.text)
            }
            "iter" => {
                let iter = if place.writable { "iter_mut" } else { "iter" };
                format!("{pad}for {name} in {}.{iter}() {{\n{body}{pad}}}\n", place.text)
            }
            _ => format!("{pad}if let Some({name}) = {}.{how}() {{\n{body}{pad}}}\n", place.text),
        }
    }

    /// A reference to a place; or its elements, one by one.
    fn borrowed(&mut self, depth: usize, pad: &str) -> String {
        let suits = |place: &Place| !place.text.contains(".borrow") && place.text != "acc";
        let Some(place) = self.find(suits) else { return String::new() };
        match place.ty.clone() {
            Ty::Vec(of) | Ty::Array(of) if self.rng.chance(60) => self.reference(depth, pad, &place, *of, "iter"),
            ty => self.reference(depth, pad, &place, ty, "&"),
        }
    }

    /// A closure that does things to cells, called later: by name, or when it is dropped.
    fn callback(&mut self, depth: usize, pad: &str) -> String {
        let inner = format!("{pad}    ");
        let outer: Vec<_> = self.scope.iter().map(|variable| variable.access).collect();
        for variable in &mut self.scope {
            if variable.access == Access::Write {
                variable.access = Access::Read;
            }
        }
        // The sum goes on beside the closure.
        let sum = self.scope.iter().position(|variable| variable.text == "acc");
        if let Some(sum) = sum {
            self.scope[sum].access = Access::Nothing;
        }
        let count = self.rng.between(1, 2);
        let body: String = (0..count).map(|_| self.touch(&inner)).collect();
        self.scope.truncate(outer.len());
        if let Some(sum) = sum {
            self.scope[sum].access = Access::Read;
        }
        let name = format!("g{}", self.fresh());
        let on_drop = self.rng.chance(40);
        // While the closure is there, everything is only read.
        let count = self.rng.between(1, 3);
        let mut rest = String::new();
        for _ in 0..count {
            rest += &if self.rng.chance(40) {
                format!("{inner}acc += {};\n", self.float(true, 1))
            } else {
                self.over_numbers_or_touch(depth, &inner)
            };
            if !on_drop && self.rng.chance(50) {
                rest += &format!("{inner}{name}();\n");
            }
        }
        self.scope.truncate(outer.len());
        for (variable, access) in self.scope.iter_mut().zip(outer) {
            variable.access = access;
        }
        let close = if on_drop { format!("{inner}let {name} = OnDrop({name});\n") } else { String::new() };
        format!("{pad}{{\n{inner}let {name} = || {{\n{body}{inner}}};\n{close}{rest}{inner}let _ = &{name};\n{pad}}}\n")
    }

    fn over_numbers_or_touch(&mut self, depth: usize, pad: &str) -> String {
        if self.rng.chance(60) && depth > 0 { self.over_numbers(depth, pad) } else { self.touch(pad) }
    }
}
