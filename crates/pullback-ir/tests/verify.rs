//! The verifier: a program that breaks one rule, and the sentence about it.

use pullback_ir::{Block, Cleanup, FuncId, Function, Module, Op, Type, Value, parse_module, verify_module};

/// The violations of a program, as text.
fn violations(module: &Module) -> Vec<String> {
    verify_module(module).err().into_iter().flatten().map(|v| v.to_string()).collect()
}

/// Each program stands in a function `@f(v0: f64, v1: i64, v2: ptr)`.
fn check(body: &str, expected: &[&str]) {
    let text = format!(
        "declare @g(f64) -> f64\ndeclare @h()\ndeclare @alloc(i64, i64) -> ptr\n\
         declare @k(ptr)\ndeclare @l(f64)\n\
         fn @f(v0: f64, v1: i64, v2: ptr) {{\n{body}\n}}\n"
    );
    let module = parse_module(&text).unwrap_or_else(|e| panic!("{e} in\n{text}"));
    assert_eq!(violations(&module), expected, "for\n{text}");
}

/// One instruction in an otherwise right function, and what is said of it.
fn check_inst(inst: &str, message: &str) {
    check(&format!("b0:\n  {inst}\n  return"), &[&format!("@f, b0: `{inst}`: {message}")]);
}

#[test]
fn a_right_program_has_none() {
    check("b0:\n  v3 = load f64 v2\n  v4 = fmul v3, v0\n  store v2, v4\n  return", &[]);
    let everything = include_str!("programs/everything.ir").replace("v24: f32 = fadd v23, v21", "");
    assert_eq!(violations(&parse_module(&everything).unwrap()), [""; 0]);
}

#[test]
fn arithmetic() {
    check_inst("v3 = fmul v0, v1", "the operands have two types, f64 and i64");
    check_inst("v3 = fmul v1, v1", "the operands are i64, not floats");
    check_inst("v3 = add v0, v0", "the operands are f64, not integers");
    check_inst("v3: f32 = fadd v0, v0", "the result is f32, not f64");
    check_inst("fadd v0, v0", "it has no result");
    check_inst("v3 = fneg v1", "the operands are i64, not floats");
}

#[test]
fn comparisons_and_selects() {
    check_inst("v3 = icmp eq v0, v0", "the operands are f64, not integers");
    check_inst("v3 = fcmp olt v1, v1", "the operands are i64, not floats");
    check_inst("v3: i8 = icmp eq v1, v1", "the result is i8, not i1");
    check_inst("v3 = select v1, v0, v0", "the condition is i64, not i1");
    check_inst("v3 = select true, v0, v1", "the operands have two types, f64 and i64");
    check_inst("v3: i64 = freeze v0", "the result is i64, not f64");
}

#[test]
fn casts() {
    check_inst("v3 = trunc i64 v1", "i64 cannot be cast to i64 this way");
    check_inst("v3 = zext i32 v1", "i64 cannot be cast to i32 this way");
    check_inst("v3 = fpext f64 v0", "f64 cannot be cast to f64 this way");
    check_inst("v3 = sitofp f64 v0", "f64 cannot be cast to f64 this way");
    check_inst("v3 = bitcast i32 v0", "f64 cannot be cast to i32 this way");
    check_inst("v3 = inttoptr i64 v1", "i64 cannot be cast to i64 this way");
}

#[test]
fn float_functions() {
    check_inst("v3 = math.sin v0, v0", "sin takes 1 operands and is given 2");
    check_inst("v3 = math.sin v1", "the operands are i64, not floats");
    check_inst("v3 = math.powi v0, v1", "operand 1 is i64, not i32");
}

#[test]
fn memory() {
    check_inst("v3 = load f64 v1", "the address is i64, not ptr");
    check_inst("v3 = load f64 v2 align 3", "the alignment 3 is not a power of two");
    check_inst("store v1, v0", "the address is i64, not ptr");
    check_inst("v3: f64 = store v2, v0", "it has a result");
    check_inst("v3 = ptradd v2, 1:i32", "the offset is i32, not i64");
    check_inst("copy v2, v2, 1:i32", "the length is i32, not i64");
    check_inst("fill v2, v1, v1", "the byte is i64, not i8");
    check_inst("v3 = alloc v0, v1, @alloc", "the size is f64, not i64");
    check_inst("dealloc v2, v1, v0, @alloc", "the alignment is f64, not i64");
    check(
        "b0:\n  jump b1\nb1:\n  v3 = alloca 8 align 8\n  return",
        &["@f, b1: `v3 = alloca 8 align 8`: an alloca stands in the entry block"],
    );
}

#[test]
fn structs() {
    check_inst("v3: f64 = extract v0, 0", "f64 has no field 0");
    check_inst("v3: f64 = extract zero {f64}, 1", "{f64} has no field 1");
    check_inst("v3 = insert zero {f64}, v1, 0", "the new field is i64, not f64");
}

#[test]
fn calls() {
    check_inst("v3 = call @g()", "@g takes 1 arguments and is given 0");
    check_inst("v3 = call @g(v1)", "argument 0 of @g is i64, not f64");
    check_inst("call @g(v0)", "@g returns f64, and the call has no result");
    check_inst("v3: f64 = call @h()", "@h returns nothing, and the call has a result");
    check_inst("call v1()", "the callee is i64, not ptr");
}

#[test]
fn clean_ups() {
    check_inst("call @h() cleanup @g(v0)", "@g returns f64, and a clean-up returns nothing");
    check_inst("call @h() cleanup @h(v0)", "@h takes 0 arguments and is given 1");
    check_inst("opaque #0 \"asm\" () cleanup @k(v0)", "argument 0 of @k is f64, not ptr");
    let own = "v3 = call @g(v0) cleanup @l(v3)";
    check_inst(own, "v3 is used here, but its definition in b0 does not dominate this");
    check("b0:\n  v3 = call @g(v0) cleanup @k(v2)\n  return", &[]);
}

#[test]
fn constants() {
    check_inst("v3 = fneg 1:f64", "the constant 1:f64 does not fit the type f64");
    check_inst("v3 = add v1, null:i64", "the constant null:i64 does not fit the type i64");
}

#[test]
fn terminators() {
    let term = |text: &str, message: &str| {
        let sentence = format!("@f, b0: `{text}`: {message}");
        check(&format!("b0:\n  {text}\nb1(v3: f64):\n  return"), &[&sentence]);
    };
    term("jump b1", "b1 takes 1 arguments and is given 0");
    term("jump b1(v1)", "b1 takes v3 as f64 and is given v1 of type i64");
    term("branch v1, b1(v0), b1(v0)", "the condition is i64, not i1");
    term("switch v0, b1(v0) {}", "it switches on f64, not on an integer");
    term("switch v1, b1(v0) {3 => b1(v0), 3 => b1(v0)}", "the case 3 is there twice");
    term("switch true, b1(v0) {2 => b1(v0)}", "the case 2 does not fit i1");
    term("return v0", "it returns f64, the function nothing");
    let back = "jump b0(v0, v1, v2)";
    check(&format!("b0:\n  jump b1\nb1:\n  {back}"), &[&format!("@f, b1: `{back}`: it jumps to the entry")]);
}

#[test]
fn definitions_dominate_uses() {
    check(
        "b0:\n  branch true, b1, b2\nb1:\n  v3 = fneg v0\n  jump b2\nb2:\n  v4 = fneg v3\n  return",
        &["@f, b2: `v4 = fneg v3`: v3 is used here, but its definition in b1 does not dominate this"],
    );
    check(
        "b0:\n  v4 = fneg v3\n  v3 = fneg v0\n  return",
        &["@f, b0: `v4 = fneg v3`: v3 is used here, but its definition in b0 does not dominate this"],
    );
    // Nothing is asked of blocks that nobody reaches.
    check("b0:\n  return\nb1:\n  v4 = fneg v3\n  v3 = fneg v0\n  return", &[]);
}

#[test]
fn the_entry_has_the_parameters_of_the_function() {
    let module = parse_module("fn @f(f64) {\nb0(v0: i64):\n  return\n}").unwrap();
    assert_eq!(violations(&module), ["@f, `b0(v0: i64)`: the entry's parameters are not the function's"]);
}

#[test]
fn globals() {
    let module = parse_module("global @t 4 align 3 = x\"00\"").unwrap();
    assert_eq!(
        violations(&module),
        ["global @t: it has 1 initial bytes and the size 4", "global @t: the alignment 3 is not a power of two"]
    );
}

/// A function `f()` that the text format cannot express, made by `edit`.
fn made(edit: impl FnOnce(&mut Function, Block)) -> Vec<String> {
    let mut func = Function::new("f", vec![], None);
    let block = func.add_block();
    func.block_mut(block).term = pullback_ir::Terminator::Return(None);
    edit(&mut func, block);
    let mut module = Module::new();
    module.add_function(func);
    violations(&module)
}

#[test]
fn what_is_named_exists() {
    let missing = Value::from_index(99);
    let found = made(|f, b| f.block_mut(b).term = pullback_ir::Terminator::Return(Some(missing)));
    assert_eq!(found, ["@f: b0 uses v99, which does not exist"]);
    let found = made(|f, b| {
        let call = Op::Call(pullback_ir::Callee::Direct(FuncId::from_index(9)), vec![], None);
        let inst = f.make_inst(call, None, Default::default(), None);
        f.block_mut(b).insts.push(inst);
    });
    assert_eq!(found, ["@f: b0 uses fn9, which does not exist"]);
    let found = made(|f, b| {
        let cleanup = Cleanup { func: FuncId::from_index(9), args: vec![missing] };
        let call = Op::Call(pullback_ir::Callee::Direct(FuncId::from_index(0)), vec![], Some(cleanup));
        let inst = f.make_inst(call, None, Default::default(), None);
        f.block_mut(b).insts.push(inst);
    });
    assert_eq!(found, ["@f: b0 uses v99, which does not exist", "@f: b0 uses fn9, which does not exist"]);
    let found = made(|f, b| {
        let gone = f.add_block();
        f.retain_blocks(|b| b != gone);
        f.block_mut(b).term = pullback_ir::Terminator::Jump(pullback_ir::BlockCall::new(gone, vec![]));
    });
    assert_eq!(found, ["@f: b0 jumps to b1, which is not in the function"]);
}

#[test]
fn an_instruction_stands_once() {
    let found = made(|f, b| {
        let inst = f.make_inst(Op::Alloca { size: 8, align: 8 }, None, Default::default(), None);
        f.block_mut(b).insts.extend([inst, inst]);
    });
    assert_eq!(found, ["@f, b0: `v0 = alloca 8 align 8`: it stands in the function twice"]);
}

#[test]
fn integers_have_a_width() {
    let found = made(|f, _| {
        let other = f.add_block();
        f.block_mut(other).term = pullback_ir::Terminator::Return(None);
        f.add_param(other, Type::structure([Type::Int(0)]));
    });
    assert_eq!(found, ["@f, `b1(v0: {i0})`: {i0} is no type"]);
}

#[test]
fn parameters_say_where_they_come_from() {
    let found = made(|f, b| {
        let other = f.add_block();
        f.block_mut(other).term = pullback_ir::Terminator::Return(None);
        let param = f.add_param(other, Type::F64);
        f.block_mut(other).params.push(param);
        let _ = b;
    });
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].ends_with("v0 stands here as parameter 1 and says it comes from elsewhere"), "{found:?}");
}
