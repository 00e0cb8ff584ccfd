//! For the tests of passes: programs in the text format, before and after.

use pullback_ir::{Function, parse_module, verify_module};

/// The text of a program of one function, after a pass has rewritten that function. The result is sound.
#[track_caller]
pub fn rewritten(text: &str, pass: impl FnOnce(&mut Function)) -> String {
    let mut module = parse_module(text).expect("the program is well-formed");
    verify_module(&module).expect("the program is sound");
    let (id, _) = module.functions().next().expect("the program has a function");
    pass(module.func_mut(id));
    verify_module(&module).unwrap_or_else(|error| panic!("{error:?} in\n{module}"));
    module.to_string()
}
