//! For the tests of passes: programs in the text format, before and after.

use crate::analysis::points_to::{facts::Facts, flow};
use crate::analysis::scope::OnPanic;
use crate::request::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ir::{FuncId, Function, Module, parse_module, verify_module};

/// The text of a program of one function, after a pass has rewritten that function. The result is sound.
#[track_caller]
pub fn rewritten(text: &str, pass: impl FnOnce(&mut Function)) -> String {
    rewrite(text, |module, id| pass(module.func_mut(id)))
}

/// The same for a pass that knows what memory holds. Each parameter points to memory with these floats and integers in
/// a row.
#[track_caller]
pub fn rewritten_with_facts(
    text: &str,
    memory: &[&[FieldKind]],
    pass: fn(&mut Function, FuncId, &Facts) -> bool,
) -> String {
    rewrite(text, |module, id| {
        let facts = flow::analyse(module, id, &request(memory), OnPanic::Leave);
        pass(module.func_mut(id), id, &facts);
    })
}

#[track_caller]
fn rewrite(text: &str, pass: impl FnOnce(&mut Module, FuncId)) -> String {
    let mut module = parse_module(text).expect("the program is well-formed");
    verify_module(&module).expect("the program is sound");
    let (id, _) = module.functions().next().expect("the program has a function");
    pass(&mut module, id);
    verify_module(&module).unwrap_or_else(|error| panic!("{error:?} in\n{module}"));
    module.to_string()
}

fn request(memory: &[&[FieldKind]]) -> Request {
    let mut layouts = Layouts::default();
    let mut argument = |(index, kinds): (usize, &&[FieldKind])| {
        let mut layout = Layout { name: format!("Memory{index}"), ..Layout::default() };
        for kind in *kinds {
            layout.fields.push(Field { offset: layout.size, kind: *kind });
            layout.size += match kind {
                FieldKind::F32 => 4,
                FieldKind::F64 | FieldKind::Pointer(_) | FieldKind::Reference(_) => 8,
                FieldKind::Int(bytes)
                | FieldKind::Opaque(bytes)
                | FieldKind::Unknown(bytes)
                | FieldKind::Owners(bytes) => *bytes,
                FieldKind::Nested(..) | FieldKind::Payload(_) | FieldKind::Cell(_) => {
                    panic!("the tests have flat memory")
                }
            };
        }
        Argument::new(format!("a{index}"), Activity::Duplicated, layouts.add(layout))
    };
    let args = memory.iter().enumerate().map(&mut argument).collect();
    Request::new(Mode::Reverse, args, layouts)
}
