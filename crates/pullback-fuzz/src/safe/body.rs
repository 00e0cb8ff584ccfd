//! Random statements about values of random types.
//!
//! A [`Writer`] knows which variables there are. From each, the *places* in it are reached: fields, elements, what is
//! in a box, behind an `Rc`, in a cell. A statement picks a place and does something with it that its type allows. The
//! programs are accepted by the borrow checker: what is borrowed by a loop or a closure is not written in it, unless it
//! is in a cell.

mod statements;

use super::types::{ARRAY, Struct, Ty};
use crate::rng::Rng;

/// What may be done with a variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    Write,
    Read,
    /// It is borrowed by somebody who writes.
    Nothing,
}

/// A variable in scope.
#[derive(Clone, Debug)]
pub struct Variable {
    /// The place it stands for: `v` or `(*v)`.
    pub text: String,
    pub ty: Ty,
    pub access: Access,
    /// Whether its floats may depend on the inputs.
    pub active: bool,
}

/// Something that a variable holds.
#[derive(Clone, Debug)]
pub struct Place {
    pub root: usize,
    pub text: String,
    pub ty: Ty,
    pub writable: bool,
    pub active: bool,
    /// Whether a `Ref` or an `Rc` is on the way.
    pub borrowed: bool,
    /// Whether it is in a field that is skipped, which a shadow has a clone of: another owner.
    pub skipped: bool,
}

/// How floats of new values are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Floats {
    /// Expressions of what is in scope.
    Computed { active: bool },
    /// Inputs, when the arguments are made.
    Inputs,
    /// Constants, when the arguments are made.
    Literals,
}

/// What may be compared with the oracle.
#[derive(Clone, Copy)]
pub struct Trust {
    pub derivative: bool,
    pub after: bool,
}

pub struct Writer {
    pub rng: Rng,
    pub structs: Vec<Struct>,
    pub scope: Vec<Variable>,
    /// Functions and types beside the function.
    pub items: String,
    pub trust: Trust,
    pub next: usize,
    /// Inside of a function without a derivative: no rules, no further such functions.
    pub opaque: bool,
}

const DEEPEST: usize = 6;

impl Writer {
    pub fn new(rng: Rng) -> Self {
        Writer {
            rng,
            structs: Vec::new(),
            scope: Vec::new(),
            items: String::new(),
            trust: Trust { derivative: true, after: true },
            next: 0,
            opaque: false,
        }
    }

    pub fn fresh(&mut self) -> usize {
        self.next += 1;
        self.next
    }

    // ---- places

    /// Every place that can be reached.
    pub fn places(&mut self) -> Vec<Place> {
        let mut places = Vec::new();
        for root in 0..self.scope.len() {
            let variable = self.scope[root].clone();
            if variable.access == Access::Nothing {
                continue;
            }
            let place = Place {
                root,
                text: variable.text,
                ty: variable.ty,
                writable: variable.access == Access::Write,
                active: variable.active,
                borrowed: false,
                skipped: false,
            };
            self.expand(place, 0, &mut places);
        }
        places
    }

    fn expand(&mut self, place: Place, depth: usize, places: &mut Vec<Place>) {
        places.push(place.clone());
        if depth == DEEPEST {
            return;
        }
        let text = &place.text;
        let step = |text: String, ty: &Ty| Place { text, ty: ty.clone(), ..place.clone() };
        let mut steps = Vec::new();
        match &place.ty {
            Ty::Vec(of) => {
                let index = self.index();
                steps.push(step(format!("{text}[{index}]"), of));
            }
            Ty::Boxed(of) => steps.push(step(format!("(*{text})"), of)),
            Ty::Option(of) if place.writable => steps.push(step(format!("(*{text}.as_mut().unwrap())"), of)),
            Ty::Option(of) => steps.push(step(format!("(*{text}.as_ref().unwrap())"), of)),
            Ty::Pair(a, b) => steps.extend([step(format!("{text}.0"), a), step(format!("{text}.1"), b)]),
            Ty::Array(of) => {
                let index = self.rng.below(ARRAY);
                steps.push(step(format!("{text}[{index}]"), of));
            }
            Ty::Rc(of) => steps.push(Place { writable: false, borrowed: true, ..step(format!("(*{text})"), of) }),
            Ty::RefCell(of) => {
                let read = step(format!("(*{text}.borrow())"), of);
                steps.push(Place { writable: false, borrowed: true, ..read });
                let write = step(format!("(*{text}.borrow_mut())"), of);
                steps.push(Place { writable: true, borrowed: true, ..write });
            }
            Ty::Struct(number) => {
                let fields = self.structs[*number].fields.clone();
                steps.extend(fields.iter().enumerate().map(|(k, (ty, skipped))| {
                    // A field that is skipped holds constants.
                    let skipped = place.skipped || *skipped;
                    Place { active: place.active && !skipped, skipped, ..step(format!("{text}.f{k}"), ty) }
                }));
            }
            _ => {}
        }
        for step in steps {
            self.expand(step, depth + 1, places);
        }
    }

    /// An index: mostly one that is there.
    fn index(&mut self) -> String {
        match self.rng.below(20) {
            0..17 => "0".to_owned(),
            17..19 => "1".to_owned(),
            _ => (*self.rng.pick(&["2", "i0"])).to_owned(),
        }
    }

    pub fn find(&mut self, is: impl Fn(&Place) -> bool) -> Option<Place> {
        let found: Vec<_> = self.places().into_iter().filter(|place| is(place)).collect();
        if found.is_empty() { None } else { Some(self.rng.pick(&found).clone()) }
    }

    // ---- expressions

    fn literal(&mut self) -> String {
        let value = self.rng.float(-1.5, 1.5);
        format!("c({value:.3})")
    }

    /// A float that is there.
    fn read_float(&mut self, active: bool) -> String {
        let suits = |place: &Place| {
            let holds = match &place.ty {
                Ty::Float | Ty::Either => !(place.borrowed && place.writable),
                Ty::Cell(of) => matches!(**of, Ty::Float | Ty::Either | Ty::Pair(..) | Ty::Option(_) | Ty::Array(_)),
                _ => false,
            };
            holds && (active || !place.active)
        };
        let Some(place) = self.find(suits) else { return self.literal() };
        let text = place.text;
        match place.ty {
            Ty::Cell(of) => match *of {
                Ty::Pair(..) => format!("{text}.get().0"),
                Ty::Option(_) => format!("{text}.get().unwrap_or(c(0.5))"),
                Ty::Array(_) => format!("{text}.get()[{}]", self.rng.below(ARRAY)),
                Ty::Either => format!("{text}.get().float()"),
                _ => format!("{text}.get()"),
            },
            Ty::Either => format!("{text}.float()"),
            _ => text,
        }
    }

    /// A float.
    pub fn float(&mut self, active: bool, depth: usize) -> String {
        if depth == 0 {
            return if self.rng.chance(75) { self.read_float(active) } else { self.literal() };
        }
        let mut operand = || self.float(active, depth - 1);
        let (a, b) = (operand(), operand());
        match self.rng.below(9) {
            0..3 => format!("({a} * {b})"),
            3..5 => format!("({a} + {b})"),
            5 => format!("({a} - {b})"),
            6 => format!("{a}.sin()"),
            7 => format!("{a}.tanh()"),
            _ => {
                let number = self.number();
                format!("({a} * c(({number} % 5) as f64))")
            }
        }
    }

    /// A number that is there, or a literal.
    pub fn number(&mut self) -> String {
        if self.rng.chance(30) {
            return self.rng.below(4).to_string();
        }
        let suits = |place: &Place| match &place.ty {
            Ty::Usize | Ty::Vec(_) | Ty::String | Ty::BoxStr => !(place.borrowed && place.writable),
            Ty::Cell(of) => matches!(**of, Ty::Usize | Ty::Pair(..)),
            Ty::Rc(_) => !(place.borrowed && place.writable || place.skipped),
            _ => false,
        };
        let Some(place) = self.find(suits) else { return self.rng.below(4).to_string() };
        let text = place.text;
        match place.ty {
            Ty::Usize => text,
            Ty::Cell(of) if *of == Ty::Usize => format!("{text}.get()"),
            Ty::Cell(_) => format!("{text}.get().1"),
            Ty::Rc(_) => format!("Rc::strong_count(&{text}).min(2)"),
            _ => format!("{text}.len()"),
        }
    }

    fn words(&mut self) -> String {
        let length = *self.rng.pick(&[0, 1, 3, 8, 17, 40]);
        format!("{:?}", &"the quick brown fox jumps over the lazy dog"[..length])
    }

    /// A new value.
    pub fn value(&mut self, ty: &Ty, floats: Floats) -> String {
        if let Floats::Computed { active } = floats {
            // A value that is there: a copy of it.
            if !ty.is_copy() && self.rng.chance(25) {
                let suits =
                    |place: &Place| place.ty == *ty && place.active == active && !(place.borrowed && place.writable);
                if let Some(place) = self.find(suits) {
                    return format!("{}.clone()", place.text);
                }
            }
        } else if let Ty::Rc(_) = ty {
            // Memory that is shared.
            let is_there = |place: &Place| !place.text.contains('[') && !place.text.contains("unwrap");
            let place = self.find(|place| place.ty == *ty && !(place.borrowed && place.writable) && is_there(place));
            if let Some(place) = place.filter(|_| self.rng.chance(85)) {
                return format!("{}.clone()", place.text);
            }
        }
        let computed = matches!(floats, Floats::Computed { .. });
        let inner = |writer: &mut Self, ty: &Ty| writer.value(ty, floats);
        match ty {
            Ty::Float => match floats {
                Floats::Computed { active } => self.float(active, 1),
                Floats::Inputs => format!("x({:.3})", self.rng.float(-1.5, 1.5)),
                Floats::Literals => self.literal(),
            },
            Ty::Either => {
                let suits = |place: &Place| place.ty == Ty::Either && !(place.borrowed && place.writable);
                let active = !matches!(floats, Floats::Computed { active: false });
                let there = self.find(|place| suits(place) && (active || !place.active));
                match self.rng.below(6) {
                    0..2 if computed && there.is_some() => there.expect("just looked").text,
                    0..3 => format!("Either::Floats({}, {})", inner(self, &Ty::Float), inner(self, &Ty::Float)),
                    3 => format!("Either::Maybe(Some({}))", inner(self, &Ty::Usize)),
                    4 => "Either::Maybe(None)".to_owned(),
                    _ => format!("Either::Counted({}, {})", inner(self, &Ty::Usize), inner(self, &Ty::Float)),
                }
            }
            Ty::Usize if computed && self.rng.chance(50) => self.number(),
            Ty::Usize if computed && self.rng.chance(20) => "(1 << 40)".to_owned(),
            Ty::Usize if self.rng.chance(10) => "2".to_owned(),
            Ty::Usize => self.rng.below(2).to_string(),
            Ty::String if computed && self.rng.chance(30) => format!("format!(\"n{{}}\", {})", self.number()),
            Ty::String => format!("text({})", self.words()),
            Ty::BoxStr => format!("Box::<str>::from({})", self.words()),
            Ty::Vec(of) => {
                let count = *self.rng.pick(&[0, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3]);
                let values: Vec<_> = (0..count).map(|_| inner(self, of)).collect();
                format!("roomy::<{}>(vec![{}])", of.name(), values.join(", "))
            }
            Ty::Boxed(of) => format!("Box::new({})", inner(self, of)),
            Ty::Option(_) if self.rng.chance(10) => "None".to_owned(),
            Ty::Option(of) => format!("Some({})", inner(self, of)),
            Ty::Pair(a, b) => format!("({}, {})", inner(self, a), inner(self, b)),
            Ty::Array(of) => format!("[{}, {}]", inner(self, of), inner(self, of)),
            Ty::Rc(of) => format!("Rc::new({})", inner(self, of)),
            Ty::Cell(of) => format!("Cell::new({})", inner(self, of)),
            Ty::RefCell(of) => format!("RefCell::new({})", inner(self, of)),
            Ty::Held(_) => "Held(RefCell::new(None))".to_owned(),
            Ty::Struct(number) => {
                let fields = self.structs[*number].fields.clone();
                let fields: Vec<_> = fields
                    .iter()
                    .enumerate()
                    .map(|(k, (ty, skipped))| {
                        let floats = match floats {
                            Floats::Computed { .. } if *skipped => Floats::Computed { active: false },
                            Floats::Inputs if *skipped => Floats::Literals,
                            floats => floats,
                        };
                        format!("f{k}: {}", self.value(ty, floats))
                    })
                    .collect();
                format!("S{number} {{ {} }}", fields.join(", "))
            }
        }
    }
}
