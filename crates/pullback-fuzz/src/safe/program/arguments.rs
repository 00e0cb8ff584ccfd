//! How functions take their arguments, and what they return.

use crate::safe::types::Ty;

/// How an argument is passed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Pass {
    Value,
    Ref,
    RefMut,
    Slice,
    SliceMut,
    /// `Box<&mut _>`
    InBox,
    /// `Vec<&mut _>`, of one
    InVec,
    /// A reference to what is in an `Rc`.
    Content,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Activity {
    Const,
    Duplicated,
    /// A float by value, whose gradient is returned.
    Active,
}

#[derive(Clone, Debug)]
pub(super) struct Argument {
    /// What the caller owns.
    pub(super) ty: Ty,
    pub(super) pass: Pass,
    pub(super) activity: Activity,
}

impl Argument {
    pub(super) fn parameter(&self, k: usize) -> String {
        let name = self.ty.name();
        let of = if let Ty::Vec(of) | Ty::Rc(of) = &self.ty { of.name() } else { String::new() };
        match self.pass {
            Pass::Value => format!("mut p{k}: {name}"),
            Pass::Ref => format!("p{k}: &{name}"),
            Pass::RefMut => format!("p{k}: &mut {name}"),
            Pass::Slice => format!("p{k}: &[{of}]"),
            Pass::SliceMut => format!("p{k}: &mut [{of}]"),
            Pass::InBox => format!("mut p{k}: Box<&mut {name}>"),
            Pass::InVec => format!("mut p{k}: Vec<&mut {name}>"),
            Pass::Content => format!("p{k}: &{of}"),
        }
    }

    /// The argument, where `name` is what the caller owns.
    pub(super) fn given(&self, name: &str) -> String {
        match self.pass {
            Pass::Value => name.to_owned(),
            Pass::Ref => format!("&{name}"),
            Pass::RefMut => format!("&mut {name}"),
            Pass::Slice => format!("&{name}[..]"),
            Pass::SliceMut => format!("&mut {name}[..]"),
            Pass::InBox => format!("Box::new(&mut {name})"),
            Pass::InVec => format!("vec![&mut {name}]"),
            Pass::Content => format!("&*{name}"),
        }
    }

    /// Its shadow in reverse mode.
    pub(super) fn shadow(&self, name: &str) -> String {
        match self.pass {
            Pass::Slice | Pass::SliceMut => format!("&mut {name}[..]"),
            Pass::InBox | Pass::InVec => format!("&mut {}", self.given(name)),
            _ => format!("&mut {name}"),
        }
    }

    pub(super) fn stays(&self) -> bool {
        self.pass != Pass::Value
    }
}

/// What the function returns.
#[derive(Clone, PartialEq, Debug)]
pub(super) enum Returned {
    Nothing,
    Value(Ty),
    /// A pair of a value and something without a derivative that is not owned.
    Named,
    /// A reference into the first argument.
    Borrowed(Ty),
}

/// How many owners the shadow of shared memory has, beside the primal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Owners {
    Same,
    Fewer,
    More,
}
