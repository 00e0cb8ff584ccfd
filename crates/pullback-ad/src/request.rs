//! What is asked of the engine: a mode, and for each argument its activity and the layout of its memory.

use crate::custom::{CustomRule, CustomRules};
pub use pullback_abi::{Activity, Mode};
use pullback_ir::FuncId;
use std::sync::Arc;

/// A layout of [`Layouts`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayoutId(pub usize);

/// What lies at an offset of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FieldKind {
    /// A single-precision float.
    F32,
    /// A double-precision float.
    F64,
    /// A pointer to one or more values of a layout; `None` if nothing behind it is differentiated.
    Pointer(Option<LayoutId>),
    /// A shared reference to one or more values of a layout.
    Reference(LayoutId),
    /// A pointer to some of the values of a layout that the pointer before it in the same layout leads to.
    Again(LayoutId),
    /// So many bytes without a derivative.
    Int(u64),
    /// So many values of a layout in a row.
    Nested(LayoutId, u64),
    /// So many bytes whose content depends on a variant.
    Opaque(u64),
    /// In the opaque bytes of the same layout, a variant has a value of this layout. The variant's number stands for
    /// the offset.
    Payload(LayoutId),
    /// So many bytes of a type that takes no part: a skipped field, or an argument of any type. What they hold has no
    /// derivative, and memory that is reached through them has no shadow. There may be cells in them.
    Unknown(u64),
    /// So many bytes lie in a cell: they may be written through a shared reference. Other fields say what they are.
    Cell(u64),
    /// So many bytes count who owns the memory they lie in, or refers to it weakly.
    Owners(u64),
}

/// A field of a layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Field {
    /// Offset in bytes.
    pub offset: u64,
    /// What is there.
    pub kind: FieldKind,
}

/// The memory layout of a type.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layout {
    /// The type's name, for messages.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
    /// The fields; bytes not covered are padding.
    pub fields: Vec<Field>,
}

/// The layouts of a request. They may refer to each other in cycles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Layouts {
    nodes: Vec<Layout>,
}

impl Layouts {
    /// Add a layout; give it its fields later with [`Layouts::set`] if they refer to it.
    pub fn add(&mut self, layout: Layout) -> LayoutId {
        self.nodes.push(layout);
        LayoutId(self.nodes.len() - 1)
    }

    /// Replace a layout.
    pub fn set(&mut self, id: LayoutId, layout: Layout) {
        self.nodes[id.0] = layout;
    }

    /// A layout.
    pub fn get(&self, id: LayoutId) -> &Layout {
        &self.nodes[id.0]
    }

    /// What lies in the own bytes of a value of a layout, in order: its fields, and after one that is a value itself
    /// the fields of that.
    pub fn within(&self, id: LayoutId) -> Vec<Part> {
        let mut found = Vec::new();
        self.add_parts(id, 1, &mut Vec::new(), &mut found);
        found
    }

    /// What lies in a variant of a layout, of the one of this number or of any.
    pub fn in_variant(&self, id: LayoutId, variant: Option<u64>) -> Vec<Part> {
        let mut found = Vec::new();
        for field in &self.get(id).fields {
            if let FieldKind::Payload(inner) = field.kind
                && variant.is_none_or(|variant| variant == field.offset)
            {
                self.add_parts(inner, 1, &mut vec![id], &mut found);
            }
        }
        found
    }

    /// `path` holds the layouts on the way here: no value lies in itself, whatever a layout says.
    fn add_parts(&self, of: LayoutId, times: u64, path: &mut Vec<LayoutId>, found: &mut Vec<Part>) {
        if path.contains(&of) {
            return;
        }
        path.push(of);
        for field in &self.get(of).fields {
            found.push(Part { of, kind: field.kind, times });
            match field.kind {
                FieldKind::Nested(inner, count) => self.add_parts(inner, times.saturating_mul(count), path, found),
                FieldKind::Payload(inner) => self.add_parts(inner, times, path, found),
                _ => {}
            }
        }
        path.pop();
    }
}

/// A field somewhere in the own bytes of a value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Part {
    /// The layout whose field it is.
    pub of: LayoutId,
    /// What it is.
    pub kind: FieldKind,
    /// How often it is there, by arrays around it.
    pub times: u64,
}

/// An argument, or the place of the result. In the primal it is a pointer to a value of `layout`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Argument {
    /// Its name in the source, for messages.
    pub name: String,
    /// Whether it takes part.
    pub activity: Activity,
    /// Whether it is moved into the function: what it owns, the caller does not see afterwards.
    pub by_value: bool,
    /// Whether it is the place of the result.
    pub is_result: bool,
    /// What its pointer points to.
    pub layout: LayoutId,
}

impl Argument {
    /// The argument `name`, given by reference.
    pub fn new(name: impl Into<String>, activity: Activity, layout: LayoutId) -> Self {
        Argument { name: name.into(), activity, by_value: false, is_result: false, layout }
    }

    /// The place of the result.
    pub fn result(activity: Activity, layout: LayoutId) -> Self {
        Argument { is_result: true, ..Argument::new("return", activity, layout) }
    }
}

/// A derivative that is asked for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Request {
    /// Forward or reverse.
    pub mode: Mode,
    /// How many tangents or cotangents side by side, at least 1.
    pub width: usize,
    /// A zero cotangent stays zero, whatever it is multiplied with.
    pub strong_zero: bool,
    /// Decide at run time whether a pointer has a shadow.
    pub runtime_activity: bool,
    /// The reverse sweep is a function of its own, to be called later (reverse mode).
    pub split: bool,
    /// The result has its cotangent between the sweeps, and before that none (reverse mode).
    pub seeds: bool,
    /// The derivative is to be differentiated itself.
    pub nested: bool,
    /// The primal's name in the source.
    pub name: String,
    /// One for each parameter of the primal, in order.
    pub args: Vec<Argument>,
    /// The layouts the arguments refer to.
    pub layouts: Layouts,
    /// The rules that users gave for functions the primal may call.
    pub rules: CustomRules,
}

impl Request {
    /// The plain derivative of a function with these arguments: one batch direction, no options, no rules.
    pub fn new(mode: Mode, args: Vec<Argument>, layouts: Layouts) -> Self {
        Request {
            mode,
            width: 1,
            strong_zero: false,
            runtime_activity: false,
            split: false,
            seeds: false,
            nested: false,
            name: "f".to_owned(),
            args,
            layouts,
            rules: CustomRules::default(),
        }
    }

    /// The user's rule for calls of `function`.
    pub fn rule(&self, function: FuncId) -> Option<&Arc<CustomRule>> {
        self.rules.get(function, self.mode)
    }

    /// Whether an argument is the place of the result.
    pub fn is_result(&self, arg: usize) -> bool {
        self.args[arg].is_result
    }
}
