//! The shape of what is imported.

mod common;

use common::toolchains;
use pullback_ir::cfg::Cfg;
use pullback_ir::dominators::Dominators;
use pullback_ir::loops::Loops;
use pullback_ir::{BinOp, Block, Callee, Op, Type};
use pullback_llvm::{Context, Imported, Module, NormaliseOptions, Policy, import_functions, normalise};

fn import(mut module: Module, root: &str) -> Imported {
    normalise(&mut module, &[root], &NormaliseOptions::default()).expect("the passes run");
    import_functions(module, &[root], &|name| if name.contains("print") { Policy::Inactive } else { Policy::Import })
        .expect("the root imports")
}

fn ops(imported: &Imported, name: &str) -> Vec<Op> {
    let function = imported.ir.func(imported.ir.find(name).expect("imported"));
    let insts = function.blocks().flat_map(|b| function.block(b).insts.clone());
    insts.map(|i| function.inst(i).op.clone()).collect()
}

#[test]
fn locations_carry_the_chain_of_inlined_calls() {
    let source = "#[inline] fn inner(x: f64) -> f64 {\n    x.sin()\n}\n\
                  #[unsafe(no_mangle)]\npub fn outer(x: f64) -> f64 {\n    inner(x) * x\n}\n";
    for toolchain in toolchains() {
        for opt_level in ["0", "3"] {
            let imported = import(toolchain.module(source, opt_level), "outer");
            let function = imported.ir.func(imported.ir.find("outer").expect("imported"));
            let sine = function
                .blocks()
                .flat_map(|b| function.block(b).insts.clone())
                .find(|i| matches!(function.inst(*i).op, Op::Math(..)))
                .expect("a sine");
            let mut chain = Vec::new();
            let mut at = function.inst(sine).loc;
            while let Some(loc) = at {
                let location = imported.ir.location(loc);
                chain.push((location.function.clone(), location.line));
                at = location.inlined_at;
            }
            let names: Vec<&str> = chain.iter().map(|(name, _)| name.rsplit("::").next().unwrap_or_default()).collect();
            assert_eq!(names, ["sin", "inner", "outer"], "{chain:?}");
            assert_eq!((chain[1].1, chain[2].1), (2, 6));
            let file = &imported.ir.location(function.inst(sine).loc.expect("it has one")).file;
            assert!(file.ends_with(".rs") && file.starts_with('/'), "{file}");
        }
    }
}

#[test]
fn debug_and_release_code_come_out_alike() {
    let source = "#[unsafe(no_mangle)] pub fn dot(x: &[f64], y: &[f64]) -> f64 {
        x.iter().zip(y).map(|(a, b)| a * b).sum() }";
    for toolchain in toolchains() {
        let count = |opt_level| {
            let imported = import(toolchain.module(source, opt_level), "dot");
            let all = ops(&imported, "dot");
            assert!(all.iter().all(|op| !matches!(op, Op::Call(..) | Op::Opaque(_) | Op::Alloca { .. })), "{all:?}");
            all.len()
        };
        assert!(count("0").abs_diff(count("3")) <= 3);
    }
}

#[test]
fn an_index_into_a_small_array_becomes_a_constant() {
    let source = "pub struct Particle { position: [f64; 2], id: u64 }
        #[unsafe(no_mangle)] pub fn grow(particles: &mut [Particle]) {
            for p in particles { for k in 0..2 { p.position[k] *= 2.0; } p.id += 1; } }";
    for toolchain in toolchains() {
        for opt_level in ["0", "3"] {
            let imported = import(toolchain.module(source, opt_level), "grow");
            let function = imported.ir.func(imported.ir.find("grow").expect("imported"));
            let constant = |v| function.as_int(v).is_some();
            let addresses: Vec<Op> =
                ops(&imported, "grow").into_iter().filter(|op| matches!(op, Op::PtrAdd(..))).collect();
            let variable = addresses.iter().filter(|op| matches!(op, Op::PtrAdd(_, by) if !constant(*by))).count();
            assert!(variable <= 1, "only the slice's end is at a variable distance: {addresses:?}");
        }
    }
}

/// Whether an operation's derivative may be singular; the snippets below have one such operation.
fn is_singular(op: &Op) -> bool {
    matches!(op, Op::Math(..) | Op::Bin(BinOp::FDiv | BinOp::FMul | BinOp::FRem, ..))
}

#[test]
fn singular_operations_are_executed_only_where_the_program_does() {
    for expression in ["x.sqrt()", "1.0 / x", "x * y", "5.0 % x", "x.powf(-1.0)", "x.powf(0.5)", "x.mul_add(*y, 1.0)"] {
        let payload = format!(
            "#[unsafe(no_mangle)] pub fn guarded(x: &[f64], y: &f64, out: &mut [Option<f64>]) {{
                for (x, out) in x.iter().zip(out) {{ *out = if *x > 0.0 {{ Some({expression}) }} else {{ None }} }} }}"
        );
        let invariant = format!(
            "#[unsafe(no_mangle)] pub fn guarded(x: &f64, y: &f64, z: &[f64]) -> f64 {{
                let mut sum = 0.0; for z in z {{ if *z > *x {{ sum += {expression}; }} }} sum }}"
        );
        for (toolchain, source) in toolchains().iter().flat_map(|t| [(t, &payload), (t, &invariant)]) {
            let imported = import(toolchain.module(source, "0"), "guarded");
            let function = imported.ir.func(imported.ir.find("guarded").expect("imported"));
            let has = |block, wanted: &dyn Fn(&Op) -> bool| {
                function.block(block).insts.iter().any(|i| wanted(&function.inst(*i).op))
            };
            let blocks: Vec<_> = function.blocks().filter(|b| has(*b, &is_singular)).collect();
            let [block] = blocks[..] else { panic!("one operation in {source}:\n{}", imported.ir) };
            let cfg = Cfg::new(function);
            let guarded = cfg.predecessors(block).iter().all(|pred| has(*pred, &|op| matches!(op, Op::FCmp(..))));
            assert!(guarded && block != function.entry(), "{source}:\n{}", imported.ir);
        }
    }
}

#[test]
fn linear_operations_may_be_executed_ahead() {
    let source = "#[unsafe(no_mangle)] pub fn scaled(x: &[f64], out: &mut [Option<f64>]) {
        for (x, out) in x.iter().zip(out) { *out = if *x > 0.0 { Some(x * 2.0) } else { None } } }";
    for toolchain in toolchains() {
        let imported = import(toolchain.module(source, "0"), "scaled");
        let function = imported.ir.func(imported.ir.find("scaled").expect("imported"));
        let block = function.blocks().find(|b| {
            let insts = &function.block(*b).insts;
            insts.iter().any(|i| matches!(function.inst(*i).op, Op::Bin(BinOp::FMul, ..)))
        });
        let insts = &function.block(block.expect("a product")).insts;
        assert!(insts.iter().any(|i| matches!(function.inst(*i).op, Op::FCmp(..))), "{}", imported.ir);
    }
}

#[test]
fn comparisons_are_executed_only_where_the_program_does() {
    let source = "#[unsafe(no_mangle)] pub fn guarded(x: &[f64], limit: f64) -> f64 {
        let mut sum = 0.0;
        for x in x { if *x > 0.0 { sum += if limit > 1.0 { *x } else { x * x } } } sum }";
    for toolchain in toolchains() {
        let imported = import(toolchain.module(source, "0"), "guarded");
        let function = imported.ir.func(imported.ir.find("guarded").expect("imported"));
        let compares = |op: &Op| matches!(op, Op::FCmp(..));
        let has_one = |b: &Block| function.block(*b).insts.iter().any(|i| compares(&function.inst(*i).op));
        let blocks: Vec<Block> = function.blocks().filter(has_one).collect();
        let cfg = Cfg::new(function);
        let loops = Loops::new(function, &cfg, &Dominators::new(&cfg)).expect("loops with one way in");
        let all_in_loop = blocks.iter().all(|b| loops.innermost(*b).is_some());
        assert!(blocks.len() == 2 && all_in_loop, "{}", imported.ir);
    }
}

#[test]
fn a_loop_that_is_counted_by_a_float_runs_a_known_number_of_times() {
    for condition in ["t < 8.0", "1.0 / (t + 1.0) > 0.125", "(t as f32 - 1.0) * 2.0 != 14.0"] {
        let source = format!(
            "#[unsafe(no_mangle)] pub fn counted(x: f64) -> f64 {{
                let (mut y, mut t) = (x, 0.0); while {condition} {{ y += 0.1 * (y * y - t * x); t += 1.0; }} y }}"
        );
        for toolchain in toolchains() {
            let imported = import(toolchain.module(&source, "0"), "counted");
            let all = ops(&imported, "counted");
            assert!(!all.iter().any(|op| matches!(op, Op::FCmp(..))), "{condition}:\n{}", imported.ir);
        }
    }
}

#[test]
fn conditions_for_order_are_one_where_that_saves_a_branch() {
    let source = "#[unsafe(no_mangle)] pub fn within(x: &[f64]) -> f64 {
        let mut sum = 0.0; for x in x { if *x < 0.25 && *x > 1e-6 { sum += x * x / (x + 1.0); } } sum }";
    for toolchain in toolchains() {
        let imported = import(toolchain.module(source, "0"), "within");
        let function = imported.ir.func(imported.ir.find("within").expect("imported"));
        let compared = |b: Block| {
            let insts = &function.block(b).insts;
            insts.iter().filter(|i| matches!(function.inst(**i).op, Op::FCmp(..))).count()
        };
        assert_eq!(function.blocks().map(compared).max(), Some(2), "{}", imported.ir);
    }
}

#[test]
fn memory_travels_by_the_allocator() {
    let source = "#[unsafe(no_mangle)] pub fn grow(x: &[f64]) -> Vec<f64> {
        let mut v = Vec::new(); for a in x { v.push(*a); } v }";
    for toolchain in toolchains() {
        let imported = import(toolchain.module(source, "3"), "grow");
        let all = ops(&imported, "grow");
        assert!(all.iter().any(|op| matches!(op, Op::Alloc { .. })));
        assert!(all.iter().any(|op| matches!(op, Op::Dealloc { .. })), "a realloc gives the old memory back");
        assert!(all.iter().any(|op| matches!(op, Op::Copy { may_overlap: false, .. })));
    }
}

#[test]
fn what_is_not_modelled_stays_opaque() {
    let text = r#"
        target triple = "x86_64-unknown-linux-gnu"
        @counter = external global i64
        @table = constant [2 x i64] [i64 3, i64 4]
        declare i32 @printf(ptr, ...)
        declare void @print_it(ptr)
        define <4 x float> @f(ptr %p, <4 x float> %v, { i64, i64 } %s) {
          %old = atomicrmw add ptr @counter, i64 1 seq_cst
          %volatile = load volatile i64, ptr %p
          %sum = fadd <4 x float> %v, %v
          %n = call i32 (ptr, ...) @printf(ptr %p, i64 %old)
          call void asm sideeffect "nop", ""()
          call void @print_it(ptr getelementptr (i8, ptr @table, i64 8))
          %t = insertvalue { i64, i64 } %s, i64 %volatile, 1
          store { i64, i64 } %t, ptr %p
          ret <4 x float> %sum
        }"#;
    for toolchain in toolchains() {
        let context = Context::new(&toolchain.llvm);
        let module = Module::parse_ir(&context, "text", text).expect("LLVM reads it");
        let mut imported = import_functions(module, &["f"], &|name| match name {
            "print_it" => Policy::Inactive,
            _ => Policy::Import,
        })
        .expect("everything imports");
        let all = ops(&imported, "f");
        let opaque: Vec<(&str, bool)> = all
            .iter()
            .filter_map(|op| match op {
                Op::Opaque(o) => Some((&*o.name, o.writes)),
                _ => None,
            })
            .collect();
        assert_eq!(
            opaque,
            [("atomicrmw", true), ("volatile load", true), ("fadd", false), ("printf", true), ("asm", true)],
        );
        let id = imported.ir.find("print_it").expect("declared");
        assert!(imported.ir.func(id).attrs.inactive);
        assert!(all.iter().any(|op| matches!(op, Op::Call(Callee::Direct(f), ..) if *f == id)));
        let f = imported.ir.find("f").expect("imported");
        assert!(matches!(imported.ir.func(f).ret, Some(Type::Opaque(..))));
        let (_, table) = imported.ir.globals().find(|(_, g)| g.name == "table").expect("used");
        assert_eq!(table.bytes.as_deref().map(|b| b[8]), Some(4));

        let mut copy = imported.ir.func(f).clone();
        copy.name = "f_again".to_owned();
        let copy = imported.ir.add_function(copy);
        imported.export(&[copy], "f").expect("everything exports");
        let module = imported.into_module();
        module.verify().expect("a sound module");
        let text = module.print();
        for needle in ["define hidden <4 x float> @f_again", "atomicrmw", "load volatile", "asm sideeffect \"nop\""] {
            assert!(text.contains(needle), "{needle} in\n{text}");
        }
    }
}
