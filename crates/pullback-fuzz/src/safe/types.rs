//! The types of random safe programs: what they are called, what Rust and Pullback let them do.

use crate::rng::Rng;

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Ty {
    /// The float of the program: `F`.
    Float,
    Usize,
    /// An enum that holds floats in one variant and numbers, or an enum of numbers, in another: `Either`.
    Either,
    String,
    BoxStr,
    Vec(Box<Ty>),
    Boxed(Box<Ty>),
    Option(Box<Ty>),
    Pair(Box<Ty>, Box<Ty>),
    Array(Box<Ty>),
    Rc(Box<Ty>),
    Cell(Box<Ty>),
    RefCell(Box<Ty>),
    /// An owner that a derivative knows nothing of, in a cell: `Held`, a type without a layout.
    Held(Box<Ty>),
    /// A struct of the program, by its number.
    Struct(usize),
}

/// How many elements an array has.
pub const ARRAY: usize = 2;

/// A struct of the program.
#[derive(Clone, Debug)]
pub struct Struct {
    /// The fields, and whether `#[pullback(skip)]` is on them.
    pub fields: Vec<(Ty, bool)>,
}

impl Ty {
    pub fn vec(self) -> Ty {
        Ty::Vec(Box::new(self))
    }

    pub fn rc(self) -> Ty {
        Ty::Rc(Box::new(self))
    }

    pub fn cell(self) -> Ty {
        Ty::Cell(Box::new(self))
    }

    pub fn ref_cell(self) -> Ty {
        Ty::RefCell(Box::new(self))
    }

    /// How it is written.
    pub fn name(&self) -> String {
        match self {
            Ty::Float => "F".to_owned(),
            Ty::Usize => "usize".to_owned(),
            Ty::Either => "Either".to_owned(),
            Ty::String => "String".to_owned(),
            Ty::BoxStr => "Box<str>".to_owned(),
            Ty::Vec(of) => format!("Vec<{}>", of.name()),
            Ty::Boxed(of) => format!("Box<{}>", of.name()),
            Ty::Option(of) => format!("Option<{}>", of.name()),
            Ty::Pair(a, b) => format!("({}, {})", a.name(), b.name()),
            Ty::Array(of) => format!("[{}; {ARRAY}]", of.name()),
            Ty::Rc(of) => format!("Rc<{}>", of.name()),
            Ty::Cell(of) => format!("Cell<{}>", of.name()),
            Ty::RefCell(of) => format!("RefCell<{}>", of.name()),
            Ty::Held(of) => format!("Held<{}>", of.name()),
            Ty::Struct(number) => format!("S{number}"),
        }
    }

    pub fn is_copy(&self) -> bool {
        match self {
            Ty::Float | Ty::Usize | Ty::Either => true,
            Ty::Option(of) | Ty::Array(of) => of.is_copy(),
            Ty::Pair(a, b) => a.is_copy() && b.is_copy(),
            _ => false,
        }
    }

    /// Whether `std::mem::take` can take it.
    pub fn has_default(&self) -> bool {
        match self {
            Ty::Float | Ty::Usize | Ty::String | Ty::Vec(_) | Ty::Option(_) => true,
            Ty::Boxed(of) | Ty::Rc(of) | Ty::Cell(of) | Ty::RefCell(of) => of.has_default(),
            Ty::Pair(a, b) => a.has_default() && b.has_default(),
            _ => false,
        }
    }

    /// Whether any part of it is so.
    pub fn any(&self, structs: &[Struct], is: &impl Fn(&Ty) -> bool) -> bool {
        is(self)
            || match self {
                Ty::Vec(of)
                | Ty::Boxed(of)
                | Ty::Option(of)
                | Ty::Array(of)
                | Ty::Rc(of)
                | Ty::Cell(of)
                | Ty::RefCell(of) => of.any(structs, is),
                Ty::Pair(a, b) => a.any(structs, is) || b.any(structs, is),
                Ty::Struct(number) => {
                    structs.get(*number).is_some_and(|of| of.fields.iter().any(|(field, _)| field.any(structs, is)))
                }
                _ => false,
            }
    }

    pub fn has_floats(&self, structs: &[Struct]) -> bool {
        self.any(structs, &|ty| matches!(ty, Ty::Float | Ty::Either))
    }

    /// Whether it holds floats that a shadow has, too.
    pub fn has_active_floats(&self, structs: &[Struct]) -> bool {
        match self {
            Ty::Struct(number) => {
                structs[*number].fields.iter().any(|(field, skipped)| !skipped && field.has_active_floats(structs))
            }
            Ty::Vec(of)
            | Ty::Boxed(of)
            | Ty::Option(of)
            | Ty::Array(of)
            | Ty::Rc(of)
            | Ty::Cell(of)
            | Ty::RefCell(of) => of.has_active_floats(structs),
            Ty::Pair(a, b) => a.has_active_floats(structs) || b.has_active_floats(structs),
            _ => matches!(self, Ty::Float | Ty::Either),
        }
    }

    /// Whether its floats can be written through a shared reference, as a gradient behind an `Rc` must be.
    fn is_shared_writable(&self) -> bool {
        match self {
            Ty::Float | Ty::Either | Ty::Struct(_) => false,
            Ty::Cell(_) => true,
            Ty::RefCell(of) => of.is_writable(),
            Ty::Vec(of) | Ty::Boxed(of) | Ty::Option(of) | Ty::Array(of) | Ty::Rc(of) => of.is_shared_writable(),
            Ty::Pair(a, b) => a.is_shared_writable() && b.is_shared_writable(),
            _ => true,
        }
    }

    /// Whether a gradient can be written to it.
    pub fn is_writable(&self) -> bool {
        match self {
            Ty::Rc(of) => of.is_shared_writable(),
            Ty::Vec(of) | Ty::Boxed(of) | Ty::Option(of) | Ty::Array(of) | Ty::Cell(of) | Ty::RefCell(of) => {
                of.is_writable()
            }
            Ty::Pair(a, b) => a.is_writable() && b.is_writable(),
            _ => true,
        }
    }
}

/// What a random type is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// An argument with a shadow, to which a gradient can be written.
    Duplicated,
    /// An argument with a shadow in forward mode.
    Dual,
    /// A constant.
    Const,
}

/// A random type.
pub fn random(rng: &mut Rng, structs: &[Struct], purpose: Use, depth: usize) -> Ty {
    for _ in 0..50 {
        let ty = attempt(rng, structs, purpose, depth);
        if purpose == Use::Const || purpose == Use::Dual || ty.is_writable() {
            return ty;
        }
    }
    Ty::Float.vec()
}

fn attempt(rng: &mut Rng, structs: &[Struct], purpose: Use, depth: usize) -> Ty {
    if depth == 0 {
        return leaf(rng, purpose);
    }
    let inner = |rng: &mut Rng| Box::new(attempt(rng, structs, purpose, depth - 1));
    match rng.below(20) {
        0..6 => Ty::Vec(inner(rng)),
        6..8 => Ty::Boxed(inner(rng)),
        // A skipped field may tell whether there is something.
        8..10 if !structs.is_empty() && rng.chance(40) => Ty::Option(Box::new(Ty::Struct(rng.below(structs.len())))),
        8..10 => Ty::Option(inner(rng)),
        10 => Ty::Pair(inner(rng), inner(rng)),
        11 => Ty::Array(inner(rng)),
        12..14 => Ty::Rc(inner(rng)),
        14..16 => copied(rng).cell(),
        16 if purpose == Use::Const || rng.chance(50) => Ty::RefCell(inner(rng)),
        16..19 if !structs.is_empty() => Ty::Struct(rng.below(structs.len())),
        _ => leaf(rng, purpose),
    }
}

fn leaf(rng: &mut Rng, purpose: Use) -> Ty {
    let floats = if purpose == Use::Const { 4 } else { 6 };
    match rng.below(10) {
        n if n < floats && rng.chance(10) => Ty::Either,
        n if n < floats => Ty::Float,
        9 => Ty::BoxStr,
        8 => Ty::String,
        _ => Ty::Usize,
    }
}

/// What a `Cell` holds.
fn copied(rng: &mut Rng) -> Ty {
    match rng.below(8) {
        0..3 if rng.chance(10) => Ty::Either,
        0..3 => Ty::Float,
        3..5 => Ty::Usize,
        5 => Ty::Pair(Box::new(Ty::Float), Box::new(Ty::Usize)),
        6 => Ty::Option(Box::new(Ty::Float)),
        _ => Ty::Array(Box::new(Ty::Float)),
    }
}

/// Memory that is reached in several ways.
pub fn shared(rng: &mut Rng, structs: &[Struct], purpose: Use) -> Ty {
    if purpose != Use::Const {
        let of = match rng.below(9) {
            8 => random(rng, structs, purpose, 1).ref_cell(),
            0..3 => copied(rng).cell(),
            3..5 => copied(rng).cell().vec(),
            5 => Ty::Usize.cell().vec(),
            6 => Ty::Option(Box::new(copied(rng).cell())),
            _ => Ty::Boxed(Box::new(copied(rng).cell())),
        };
        return of.rc();
    }
    match rng.below(10) {
        0..4 => Ty::Usize.vec().ref_cell().rc(),
        4 => Ty::Float.vec().ref_cell().rc(),
        5 => Ty::Usize.cell().rc(),
        6 => Ty::Usize.cell().vec().rc(),
        7 => Ty::Option(Box::new(Ty::Usize.vec())).ref_cell().rc(),
        8 => Ty::Pair(Box::new(Ty::Usize), Box::new(Ty::String)).ref_cell().rc(),
        _ => random(rng, structs, Use::Const, 2).ref_cell().rc(),
    }
}

/// A struct for arguments with shadows.
pub fn a_struct(rng: &mut Rng, structs: &[Struct]) -> Struct {
    let count = rng.between(1, 4);
    let mut fields: Vec<_> = (0..count)
        .map(|_| {
            let skipped = rng.chance(30);
            let purpose = if skipped { Use::Const } else { Use::Duplicated };
            let ty = match rng.below(10) {
                0..3 => Ty::Float,
                3 => Ty::String,
                4 => Ty::Usize,
                _ => random(rng, structs, purpose, 2),
            };
            (ty, skipped)
        })
        .collect();
    fields.insert(rng.below(count + 1), (Ty::Float, false));
    Struct { fields }
}
