//! What a random function takes and returns, and the code that calls it and its derivatives.

use super::template::Side;
use crate::rng::Rng;
use std::fmt::Write as _;

/// An argument's type.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `F`
    Float,
    /// `[F; N]`
    Array(usize),
    /// `&[F]`
    Slice(usize),
    /// `&[F; N]`
    ArrayRef(usize),
    /// `&mut [F]`
    SliceMut(usize),
    /// `&mut [F; N]`
    ArrayMut(usize),
    /// `Vec<F>`
    Vec,
    /// `&mut Vec<F>`
    VecMut,
    /// `Vec<&mut Vec<F>>`, of two
    Rows,
    /// `P`
    Struct,
    /// `&P`
    StructRef,
    /// `&mut P`
    StructMut,
    /// `usize`
    Index,
}

impl Kind {
    /// Its type, as written in the signature.
    pub fn written(self) -> String {
        match self {
            Kind::Float => "F".into(),
            Kind::Array(n) => format!("[F; {n}]"),
            Kind::Slice(_) => "&[F]".into(),
            Kind::ArrayRef(n) => format!("&[F; {n}]"),
            Kind::SliceMut(_) => "&mut [F]".into(),
            Kind::ArrayMut(n) => format!("&mut [F; {n}]"),
            Kind::Vec => "Vec<F>".into(),
            Kind::VecMut => "&mut Vec<F>".into(),
            Kind::Rows => "Vec<&mut Vec<F>>".into(),
            Kind::Struct => "P".into(),
            Kind::StructRef => "&P".into(),
            Kind::StructMut => "&mut P".into(),
            Kind::Index => "usize".into(),
        }
    }

    /// The type of the variable that it is made of.
    fn owned(self) -> String {
        match self {
            Kind::Slice(n) | Kind::SliceMut(n) | Kind::ArrayRef(n) | Kind::ArrayMut(n) => format!("[F; {n}]"),
            Kind::StructRef | Kind::StructMut => "P".into(),
            Kind::VecMut => "Vec<F>".into(),
            Kind::Rows => "[Vec<F>; 2]".into(),
            _ => self.written(),
        }
    }

    /// How many floats it has.
    pub fn floats(self) -> usize {
        match self {
            Kind::Float => 1,
            Kind::Array(n) | Kind::Slice(n) | Kind::ArrayRef(n) | Kind::SliceMut(n) | Kind::ArrayMut(n) => n,
            Kind::Vec | Kind::VecMut => 4,
            Kind::Rows | Kind::Struct | Kind::StructRef | Kind::StructMut => 8,
            Kind::Index => 0,
        }
    }

    /// Whether the function may write to it, and the caller sees that.
    pub fn is_mut(self) -> bool {
        matches!(self, Kind::SliceMut(_) | Kind::ArrayMut(_) | Kind::StructMut | Kind::VecMut | Kind::Rows)
    }

    /// Whether it is moved into the function, which can write to its own.
    fn is_moved(self) -> bool {
        matches!(self, Kind::Float | Kind::Array(_) | Kind::Vec | Kind::Struct | Kind::Rows)
    }

    /// The variable `name` of [`Kind::owned`], as an argument.
    fn passed(self, name: &str) -> String {
        match self {
            Kind::Slice(_) => format!("&{name}[..]"),
            Kind::SliceMut(_) => format!("&mut {name}[..]"),
            Kind::ArrayRef(_) | Kind::StructRef => format!("&{name}"),
            Kind::ArrayMut(_) | Kind::StructMut | Kind::VecMut => format!("&mut {name}"),
            Kind::Rows => format!("{name}.iter_mut().collect()"),
            _ => name.into(),
        }
    }

    /// The variable `name` of [`Kind::owned`], as a shadow that a gradient is added to.
    fn added_to(self, name: &str) -> String {
        match self {
            Kind::Slice(_) | Kind::SliceMut(_) => format!("&mut {name}[..]"),
            Kind::Rows => format!("&mut {name}.iter_mut().collect()"),
            _ => format!("&mut {name}"),
        }
    }
}

/// An argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Param {
    /// Its type.
    pub kind: Kind,
    /// Whether derivatives are taken with respect to it.
    pub active: bool,
    /// Whether the gradient of what is moved is added to a shadow, and not returned.
    pub added: bool,
}

impl Param {
    /// Derivatives are taken with respect to it.
    pub fn active(kind: Kind) -> Self {
        Param { kind, active: true, added: false }
    }

    /// It is a constant.
    pub fn constant(kind: Kind) -> Self {
        Param { kind, active: false, added: false }
    }

    /// Whether a reverse derivative returns its gradient.
    fn is_returned(self) -> bool {
        self.active && !self.has_shadow()
    }

    /// Whether a reverse derivative takes a shadow of it.
    pub fn has_shadow(self) -> bool {
        self.active && (self.added || !self.kind.is_moved() || self.kind == Kind::Rows)
    }
}

/// A result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Output {
    /// Nothing; something is written to an argument then.
    Nothing,
    /// `F`, whose seed is 1.
    Active,
    /// `F`, whose seed is an argument.
    Float,
    /// `(F, F)`
    Pair,
    /// `[F; 2]`
    Array,
}

impl Output {
    /// Its type.
    pub fn written(self) -> &'static str {
        match self {
            Output::Nothing => "()",
            Output::Active | Output::Float => "F",
            Output::Pair => "(F, F)",
            Output::Array => "[F; 2]",
        }
    }

    /// How many floats it has.
    pub fn floats(self) -> usize {
        match self {
            Output::Nothing => 0,
            Output::Active | Output::Float => 1,
            Output::Pair | Output::Array => 2,
        }
    }
}

/// What calls derivatives without an attribute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Functional {
    /// Nothing.
    None,
    /// `value_and_grad` and `jvp`.
    First,
    /// Those and `hvp`.
    Second,
}

/// What a function takes and returns.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signature {
    /// Its arguments, `a0`, `a1`, ….
    pub params: Vec<Param>,
    /// Its result.
    pub output: Output,
    /// What else is asked of it.
    pub functional: Functional,
}

impl Signature {
    /// A random one.
    pub fn random(rng: &mut Rng) -> Self {
        let index = Param::constant(Kind::Index);
        if rng.chance(35) {
            // One active argument behind a reference: what `grad` and `jvp` take.
            let kind = match rng.below(4) {
                0 => Kind::ArrayRef(rng.between(2, 5)),
                1 => Kind::StructRef,
                _ => Kind::Slice(rng.between(2, 7)),
            };
            let functional = if rng.chance(35) { Functional::Second } else { Functional::First };
            let mut params = vec![Param::active(kind)];
            if rng.chance(60) {
                params.push(index);
            }
            if rng.chance(20) {
                params.push(Param::constant(Kind::Slice(3)));
            }
            return Signature { params, output: Output::Active, functional };
        }
        let mut params = Vec::new();
        for _ in 0..rng.between(1, 4) {
            let kind = match rng.below(20) {
                0..3 => Kind::Float,
                3 => Kind::Array(rng.between(2, 4)),
                4..7 => Kind::Slice(rng.between(1, 6)),
                7 => Kind::ArrayRef(rng.between(2, 5)),
                8..11 => Kind::SliceMut(rng.between(2, 7)),
                11..13 => Kind::ArrayMut(rng.between(2, 5)),
                13 => Kind::Vec,
                14 => Kind::Struct,
                15 => Kind::StructRef,
                16 => Kind::StructMut,
                17 => Kind::VecMut,
                18 => Kind::Rows,
                _ => Kind::Index,
            };
            let may_be_constant = matches!(kind, Kind::Float | Kind::Slice(_));
            let active = kind != Kind::Index && !(may_be_constant && rng.chance(15));
            let added = matches!(kind, Kind::Vec | Kind::Struct) && rng.chance(50);
            params.push(Param { kind, active, added });
        }
        if params.iter().all(|param| !param.active) {
            params.push(Param::active(Kind::Float));
        }
        let may_return_nothing = params.iter().any(|param| param.kind.is_mut());
        let output = match rng.below(8) {
            0 | 1 if may_return_nothing => Output::Nothing,
            0 | 2 => Output::Float,
            3 => Output::Pair,
            4 => Output::Array,
            _ => Output::Active,
        };
        Signature { params, output, functional: Functional::None }
    }

    /// How many floats derivatives are taken with respect to.
    pub fn inputs(&self) -> usize {
        self.params.iter().filter(|param| param.active).map(|param| param.kind.floats()).sum()
    }

    /// The function's head, without what comes before its name.
    pub fn head(&self, name: &str) -> String {
        let params: Vec<String> = self
            .params
            .iter()
            .enumerate()
            .map(|(i, param)| {
                let word = if param.kind.is_moved() { "mut " } else { "" };
                format!("{word}a{i}: {}", param.kind.written())
            })
            .collect();
        format!("{name}({}) -> {}", params.join(", "), self.output.written())
    }

    /// The attributes that ask for `df` and `tf`.
    pub fn attributes(&self, name: &str) -> String {
        let words = |f: &dyn Fn(Param) -> &'static str, output: &str| {
            let mut words: Vec<&str> = self.params.iter().map(|param| f(*param)).collect();
            if self.output != Output::Nothing {
                words.push(output);
            }
            words.join(", ")
        };
        let reverse = |param: Param| match param {
            Param { active: false, .. } => "Const",
            _ if param.is_returned() => "Active",
            _ => "Duplicated",
        };
        let forward = |param: Param| if param.active { "Dual" } else { "Const" };
        let output = if self.output == Output::Active { "Active" } else { "Duplicated" };
        format!(
            "#[autodiff(d{name}, Reverse, {})]\n#[autodiff(t{name}, Forward, {})]\n",
            words(&reverse, output),
            words(&forward, "Dual")
        )
    }

    /// The function that runs `name` and its derivatives, or with dual numbers just `name`.
    pub fn harness(&self, name: &str, side: Side) -> String {
        match side {
            Side::Floats => {
                let mut text = String::from("\npub fn check(s: &Session) {\n");
                self.primal(&mut text, name);
                self.forward(&mut text, name);
                self.reverse(&mut text, name);
                self.functional(&mut text, name);
                text + "}\n"
            }
            Side::Duals => {
                let mut text = String::from("\npub fn run(s: &Session) -> Vec<Number> {\n");
                self.arguments(&mut text, |_| None);
                let args = self.passed(|_| None);
                writeln!(text, "        let r = {name}({args});\n        let mut out = Vec::new();").expect("a string");
                text += "        r.write(&mut out);\n";
                for i in self.written() {
                    writeln!(text, "        a{i}.write(&mut out);").expect("a string");
                }
                text + "        out\n}\n"
            }
        }
    }

    /// The arguments that the caller sees changed.
    fn written(&self) -> impl Iterator<Item = usize> + '_ {
        self.params.iter().enumerate().filter(|(_, param)| param.kind.is_mut()).map(|(i, _)| i)
    }

    /// The variables `a0`, …, and the shadows `d0`, … from the stream that `shadow` names.
    fn arguments(&self, text: &mut String, shadow: impl Fn(Param) -> Option<&'static str>) {
        *text += "        let (mut v, mut c) = (s.values(), s.constants());\n";
        if self.params.iter().any(|param| shadow(*param).is_some()) {
            *text += "        let (mut t, mut w) = (s.direction(), s.cotangents());\n";
        }
        for (i, param) in self.params.iter().enumerate() {
            let (owned, stream) = (param.kind.owned(), if param.active { "v" } else { "c" });
            writeln!(text, "        let mut a{i}: {owned} = {stream}.take();").expect("a string");
            if let Some(stream) = shadow(*param) {
                writeln!(text, "        let mut d{i}: {owned} = {stream}.take();").expect("a string");
            }
        }
    }

    /// The arguments of a call; `shadow` says how that of an argument is passed.
    fn passed(&self, shadow: impl Fn(usize) -> Option<String>) -> String {
        let mut words = Vec::new();
        for (i, param) in self.params.iter().enumerate() {
            words.push(param.kind.passed(&format!("a{i}")));
            words.extend(shadow(i));
        }
        words.join(", ")
    }

    /// Call `call`, whose result matches `pattern`, and record what comes of it.
    fn record(text: &mut String, form: &str, call: &str, pattern: &str, values: &[String], derivatives: &[String]) {
        // After a panic there is no result: only what is in the arguments counts.
        let names: Vec<&str> = pattern.split([',', '(', ')', ' ']).filter(|word| !word.is_empty()).collect();
        let some = |name: &str| format!("let {name} = r.as_ref().ok().map(|{pattern}| {name}.clone());");
        writeln!(text, "        let r = s.call({form:?}, || {call});").expect("a string");
        for name in &names {
            writeln!(text, "        {}", some(name)).expect("a string");
        }
        let list = |items: &[String]| items.iter().map(|item| format!("&{item}")).collect::<Vec<_>>().join(", ");
        let (values, derivatives) = (list(values), list(derivatives));
        writeln!(text, "        s.record({form:?}, r.as_ref().err(), &[{values}], &[{derivatives}]);")
            .expect("a string");
    }

    /// What a call with these results returns.
    fn tuple(names: &[String]) -> String {
        match names {
            [one] => one.clone(),
            _ => format!("({})", names.join(", ")),
        }
    }

    fn values(&self) -> Vec<String> {
        let result = (self.output != Output::Nothing).then(|| "y".to_owned());
        result.into_iter().chain(self.written().map(|i| format!("a{i}"))).collect()
    }

    fn primal(&self, text: &mut String, name: &str) {
        *text += "    {\n";
        self.arguments(text, |_| None);
        let call = format!("{name}({})", self.passed(|_| None));
        let pattern = if self.output == Output::Nothing { "()" } else { "y" };
        Self::record(text, "primal", &call, pattern, &self.values(), &[]);
        *text += "    }\n";
    }

    fn forward(&self, text: &mut String, name: &str) {
        *text += "    {\n";
        self.arguments(text, |param| param.active.then_some("t"));
        let call = format!(
            "t{name}({})",
            self.passed(|i| {
                let param = self.params[i];
                let shadow = format!("d{i}");
                // Only what the function may write to has a shadow that is written to.
                param.active.then(|| param.kind.passed(&shadow))
            })
        );
        let pattern = if self.output == Output::Nothing { "()" } else { "(y, dy)" };
        let result = (self.output != Output::Nothing).then(|| "dy".to_owned());
        let tangents: Vec<String> = result.into_iter().chain(self.written().map(|i| format!("d{i}"))).collect();
        Self::record(text, "forward", &call, pattern, &self.values(), &tangents);
        *text += "    }\n";
    }

    fn reverse(&self, text: &mut String, name: &str) {
        *text += "    {\n";
        self.arguments(text, |param| param.has_shadow().then_some("w"));
        let mut args = self.passed(|i| {
            let param = self.params[i];
            param.has_shadow().then(|| param.kind.added_to(&format!("d{i}")))
        });
        if !matches!(self.output, Output::Nothing | Output::Active) {
            args += ", s.seeds().take()";
        }
        let is_returned = |i: &usize| self.params[*i].is_returned();
        let mut names: Vec<String> = (0..self.params.len()).filter(is_returned).map(|i| format!("d{i}")).collect();
        if self.output != Output::Nothing {
            names.push("y".into());
        }
        let gradients: Vec<String> =
            (0..self.params.len()).filter(|i| self.params[*i].active).map(|i| format!("d{i}")).collect();
        let call = format!("d{name}({args})");
        Self::record(text, "reverse", &call, &Self::tuple(&names), &self.values(), &gradients);
        *text += "    }\n";
    }

    fn functional(&self, text: &mut String, name: &str) {
        if self.functional == Functional::None {
            return;
        }
        let kind = self.params[0].kind;
        let typed = kind.written();
        let rest: String =
            (1..self.params.len()).map(|i| format!(", {}", self.params[i].kind.passed(&format!("a{i}")))).collect();
        let x = kind.passed("a0");
        let mut form = |form: &str, call: String, pattern: &str, values: &[String], derivatives: &[String]| {
            *text += "    {\n";
            self.arguments(text, |param| param.active.then_some("t"));
            Self::record(text, form, &call, pattern, values, derivatives);
            *text += "    }\n";
        };
        let (y, d) = (vec!["y".to_owned()], vec!["d".to_owned()]);
        let dx = kind.passed("d0");
        let closure = format!("|x: {typed}| {name}(x{rest})");
        form("grad", format!("value_and_grad({closure}, {x})"), "(y, d)", &y, &d);
        form("jvp", format!("jvp({closure}, {x}, {dx})"), "(y, d)", &y, &d);
        if self.functional == Functional::Second {
            form("hvp", format!("hvp({closure}, {x}, {dx})"), "d", &[], &d);
        }
    }
}
