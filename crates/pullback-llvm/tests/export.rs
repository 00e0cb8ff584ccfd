//! Functions made in Pullback's IR, as the engine makes them, and what LLVM gets.

mod common;

use common::toolchains;
use pullback_ir::{AliasClass, BinOp, BlockCall, Builder, Flags, Function, IntPred, MathFn, Op, Terminator, Type};
use pullback_llvm::{Context, Module, Policy, TargetOptions, import_functions};

const TEMPLATE: &str = r#"
    target triple = "x86_64-unknown-linux-gnu"
    declare fastcc void @flag(ptr sret([16 x i8]), [2 x i64], i8 zeroext)
    define void @shim(ptr %x) nounwind uwtable "target-cpu"="haswell" "target-features"="+fma" "other"="1" {
      %slot = alloca [16 x i8]
      %s = insertvalue [2 x i64] poison, i64 1, 0
      %t = insertvalue [2 x i64] %s, i64 2, 1
      call fastcc void @flag(ptr sret([16 x i8]) %slot, [2 x i64] %t, i8 zeroext 3)
      ret void
    }"#;

/// Pushes the powers of `x` on a tape: `d(tape, x, n) -> f64`.
fn push_powers(ir: &mut pullback_ir::Module) -> pullback_ir::FuncId {
    let push = ir.declare("__pullback_tape_push", || {
        Function::new("__pullback_tape_push", vec![Type::Ptr, Type::I64], Some(Type::Ptr))
    });
    let mut func = Function::new("push_powers", vec![Type::Ptr, Type::F64, Type::I64], Some(Type::F64));
    let entry = func.add_block();
    let [tape, x, n] = [Type::Ptr, Type::F64, Type::I64].map(|ty| func.add_param(entry, ty));
    let (head, exit) = (func.add_block(), func.add_block());
    let (i, power) = (func.add_param(head, Type::I64), func.add_param(head, Type::F64));
    let result = func.add_param(exit, Type::F64);
    let (zero, one, start) = (func.i64(0), func.i64(1), func.float(Type::F64, 1.0));
    let mut b = Builder::new(&mut func, entry);
    b.jump(head, vec![zero, start]);
    b.at(head);
    let size = b.func.i64(8);
    let place = b.call(push, vec![tape, size], Type::Ptr);
    b.store(place, power);
    let next_power = b.fmul(power, x);
    b.flags = Flags::NUW;
    let next = b.bin(BinOp::Add, i, one);
    b.flags = Flags::NONE;
    let more = b.icmp(IntPred::Ult, next, n);
    b.branch(more, BlockCall::new(head, vec![next, next_power]), BlockCall::new(exit, vec![next_power]));
    b.at(exit);
    let tangent = b.math(MathFn::Tan, vec![result]);
    let sine = b.math(MathFn::Sin, vec![tangent]);
    let least = b.value(Op::Intrinsic("llvm.umin.i64".into(), vec![n, size]), Type::I64);
    let scale = b.cast(pullback_ir::CastOp::UiToFp, least, Type::F64);
    let value = b.fmul(sine, scale);
    b.ret(Some(value));
    ir.add_function(func)
}

#[test]
fn a_new_function_is_hidden_unwinds_and_has_the_templates_target() {
    for toolchain in toolchains() {
        let context = Context::new(&toolchain.llvm);
        let module = Module::parse_ir(&context, "template", TEMPLATE).expect("LLVM reads it");
        let mut imported = import_functions(module, &["shim"], &|_| Policy::Import).expect("the template imports");
        let id = push_powers(&mut imported.ir);
        pullback_ir::verify::verify_module(&imported.ir).expect("the test's IR is sound");
        imported.export(&[id], "shim").expect("it exports");
        let mut module = imported.into_module();
        module.verify().expect("a sound module");
        let text = module.print();
        let header = text.lines().find(|l| l.contains("@push_powers(")).expect("it is there");
        assert!(header.starts_with("define hidden double @push_powers(ptr %0, double %1, i64 %2)"), "{header}");
        let group = header.split('#').nth(1).and_then(|g| g.split(' ').next()).expect("it has attributes");
        let attributes = text.lines().find(|l| l.starts_with(&format!("attributes #{group} "))).expect("the group");
        for present in ["uwtable", "\"target-cpu\"=\"haswell\"", "\"target-features\"=\"+fma\""] {
            assert!(attributes.contains(present), "{attributes}");
        }
        for absent in ["nounwind", "other"] {
            assert!(!attributes.contains(absent), "{attributes}");
        }
        for needle in ["declare ptr @__pullback_tape_push(ptr, i64)", "@tan(", "@llvm.sin.f64(", "@llvm.umin.i64("] {
            assert!(text.contains(needle), "{needle} in\n{text}");
        }
        module.run_passes("default<O3>", &TargetOptions::default()).expect("LLVM's pipeline runs");
    }
}

#[test]
fn calls_are_made_as_the_callee_wants() {
    for toolchain in toolchains() {
        let context = Context::new(&toolchain.llvm);
        let module = Module::parse_ir(&context, "template", TEMPLATE).expect("LLVM reads it");
        let mut imported = import_functions(module, &["shim"], &|_| Policy::Import).expect("the template imports");
        let mut copy = imported.ir.func(imported.ir.find("shim").expect("imported")).clone();
        copy.name = "shim_again".to_owned();
        let copy = imported.ir.add_function(copy);
        imported.export(&[copy], "shim").expect("it exports");
        let text = imported.module().print();
        imported.module().verify().expect("a sound module");
        let body = text.split("@shim_again").nth(1).expect("it is there");
        let call = body.lines().find(|l| l.contains("@flag")).expect("a call");
        assert!(call.contains("call fastcc void @flag(ptr sret([16 x i8])"), "{call}");
        assert!(call.contains("[2 x i64]") && call.contains("i8 zeroext 3"), "{call}");
    }
}

/// `*q = *p; return *p`, where `p` and `q` point into memory of different classes, or of the same.
fn copy_twice(ir: &mut pullback_ir::Module, classes: [u32; 2]) -> pullback_ir::FuncId {
    let mut func = Function::new("copy_twice", vec![Type::Ptr, Type::Ptr], Some(Type::F64));
    let entry = func.add_block();
    let [p, q] = [Type::Ptr, Type::Ptr].map(|ty| func.add_param(entry, ty));
    let mut b = Builder::new(&mut func, entry);
    let first = b.load(Type::F64, p);
    let two = b.func.float(Type::F64, 2.0);
    let double = b.fmul(first, two);
    b.store(q, double);
    let second = b.load(Type::F64, p);
    b.ret(Some(second));
    let class = |op: &Op| match op {
        Op::Load { .. } => Some(AliasClass(classes[0])),
        Op::Store { .. } => Some(AliasClass(classes[1])),
        _ => None,
    };
    let insts = func.block(entry).insts.clone();
    let marked = insts.into_iter().filter_map(|inst| Some((inst, class(&func.inst(inst).op)?))).collect();
    func.set_alias_classes(marked);
    ir.add_function(func)
}

#[test]
fn memory_of_different_classes_does_not_alias() {
    for toolchain in toolchains() {
        for (classes, loads) in [([0, 1], 1), ([5, 5], 2)] {
            let context = Context::new(&toolchain.llvm);
            let module = Module::parse_ir(&context, "template", TEMPLATE).expect("LLVM reads it");
            let mut imported = import_functions(module, &["shim"], &|_| Policy::Import).expect("the template imports");
            let id = copy_twice(&mut imported.ir, classes);
            imported.export(&[id], "shim").expect("it exports");
            let mut module = imported.into_module();
            module.verify().expect("a sound module");
            module.run_passes("default<O3>", &TargetOptions::default()).expect("LLVM's pipeline runs");
            let text = module.print();
            let body = text.split("@copy_twice").nth(1).expect("it is there").split("\n}").next().expect("its end");
            assert_eq!(body.matches(" load ").count(), loads, "{body}");
        }
    }
}

/// A branch, and a switch, to one block with different values.
fn choose(ir: &mut pullback_ir::Module) -> pullback_ir::FuncId {
    let mut func = Function::new("choose", vec![Type::I64], Some(Type::I64));
    let entry = func.add_block();
    let n = func.add_param(entry, Type::I64);
    let (middle, exit) = (func.add_block(), func.add_block());
    let (a, b) = (func.add_param(middle, Type::I64), func.add_param(exit, Type::I64));
    let [zero, one, two, three] = [0, 1, 2, 3].map(|i| func.i64(i));
    let mut build = Builder::new(&mut func, entry);
    let is_zero = build.icmp(IntPred::Eq, n, zero);
    build.branch(is_zero, BlockCall::new(middle, vec![one]), BlockCall::new(middle, vec![two]));
    build.at(middle);
    let to = |value| BlockCall::new(exit, vec![value]);
    build.terminate(Terminator::Switch(a, vec![(1, to(two)), (2, to(three)), (3, to(two))], to(a)));
    build.at(exit);
    build.ret(Some(b));
    ir.add_function(func)
}

#[test]
fn two_ways_to_one_block_with_different_values() {
    for toolchain in toolchains() {
        let context = Context::new(&toolchain.llvm);
        let module = Module::parse_ir(&context, "template", TEMPLATE).expect("LLVM reads it");
        let mut imported = import_functions(module, &["shim"], &|_| Policy::Import).expect("the template imports");
        let id = choose(&mut imported.ir);
        imported.export(&[id], "shim").expect("it exports");
        let mut module = imported.into_module();
        module.verify().expect("LLVM takes it");
        module.retain_reachable(&["choose"]).expect("it is there");
        module.run_passes("default<O2>", &TargetOptions::default()).expect("it is optimised");
        assert!(module.print().contains("select i1 %2, i64 2, i64 3"), "{}", module.print());
    }
}
