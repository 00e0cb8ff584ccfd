//! The passes of `prepare`: what becomes of the programs in `passes/`.
//!
//! A case has a title; for passes that use points-to, what lies in a row where each parameter points; the program; and
//! what it becomes. Cases are separated by empty lines:
//!
//! ```text
//! ; a move of bits is a move of floats
//! ; memory f64
//! fn @f(v0: ptr, v1: ptr) {
//! …
//! }
//! ; becomes                      or `; stays`
//! fn @f(v0: ptr, v1: ptr) {
//! …
//! }
//! ```
//!
//! `UPDATE_PASSES=1 cargo test -p pullback-ad --test passes` writes what the programs become now.

use pullback_ad::analysis::points_to::facts::Facts;
use pullback_ad::analysis::points_to::flow;
use pullback_ad::analysis::scope::OnPanic;
use pullback_ad::prepare;
use pullback_ad::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ir::{FuncId, Function, parse_module, verify_module};
use std::collections::HashMap;
use std::path::Path;

/// Makes a test of each pass.
macro_rules! passes {
    ($($name:ident: $run:expr;)*) => {
        $(
            #[test]
            fn $name() {
                check(stringify!($name), $run);
            }
        )*
    };
}

passes! {
    access_to_branch: |func, _, _| _ = prepare::access_to_branch::access_to_branch(func);
    carried_selection: |func, _, _| prepare::carried_selection::carried_selection(func);
    hoist: |func, id, facts| _ = prepare::hoist::hoist(func, id, facts);
    rejoin: |func, _, _| prepare::rejoin::rejoin(func);
    retype: |func, id, facts| _ = prepare::retype::retype(func, id, facts, &HashMap::new());
    select_to_branch: |func, _, _| prepare::select_to_branch::select_to_branch(func);
    signs: |func, _, _| _ = prepare::signs::signs(func);
    split_wide_ints: |func, id, facts| _ = prepare::split_wide_ints::split_wide_ints(func, id, facts);
    unpack: |func, _, _| prepare::unpack::unpack(func);
}

/// Run a pass over the programs of its file.
fn check(name: &str, pass: impl Fn(&mut Function, FuncId, &Facts)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/passes/{name}.ir"));
    let file = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let cases: Vec<&str> = file.trim_end().split("\n\n").collect();
    let now: Vec<String> = cases.iter().map(|case| outcome(case, &pass)).collect();
    if std::env::var_os("UPDATE_PASSES").is_some() {
        std::fs::write(&path, now.join("\n\n") + "\n").expect("the file can be written");
    } else {
        for (was, is) in cases.iter().zip(&now) {
            assert!(was == is, "{name}: expected\n\n{was}\n\nand not\n\n{is}\n");
        }
    }
}

/// The case with what its program becomes now.
fn outcome(case: &str, pass: impl Fn(&mut Function, FuncId, &Facts)) -> String {
    let start = case.find("fn ").expect("a case has a program");
    let end = case.find("\n; becomes").or(case.find("\n; stays")).unwrap_or(case.len());
    let (given, before) = (&case[..end], &case[start..end]);

    let mut module = parse_module(before).unwrap_or_else(|error| panic!("{error} in\n{case}"));
    verify_module(&module).unwrap_or_else(|error| panic!("{error:?} in\n{case}"));
    let (id, func) = module.functions().next().expect("a case has a function");
    let memory = given.lines().find_map(|line| line.strip_prefix("; memory ")).unwrap_or_default();
    let facts = flow::analyse(&module, id, &request(memory, func.params.len()), OnPanic::Leave);
    pass(module.func_mut(id), id, &facts);
    verify_module(&module).unwrap_or_else(|error| panic!("{error:?} in\n{module}"));

    let after = module.to_string();
    if after.trim_end() == before {
        format!("{given}\n; stays")
    } else {
        format!("{given}\n; becomes\n{}", after.trim_end())
    }
}

/// A request in which each parameter points to memory with these types in a row.
fn request(memory: &str, params: usize) -> Request {
    let mut layout = Layout { name: "Memory".to_owned(), ..Layout::default() };
    for name in memory.split_whitespace() {
        let (kind, size) = match name {
            "f32" => (FieldKind::F32, 4),
            "f64" => (FieldKind::F64, 8),
            "i64" => (FieldKind::Int(8), 8),
            "ptr" => (FieldKind::Pointer(None), 8),
            _ => panic!("memory of type {name}"),
        };
        layout.fields.push(Field { offset: layout.size, kind });
        layout.size += size;
    }
    let mut layouts = Layouts::default();
    let layout = layouts.add(layout);
    let args = (0..params).map(|index| Argument::new(format!("a{index}"), Activity::Duplicated, layout)).collect();
    Request::new(Mode::Reverse, args, layouts)
}
