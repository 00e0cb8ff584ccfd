//! Landing pads on the way in and out: an `invoke` is a call with a clean-up, and what follows a landing pad a
//! function.

mod common;

use common::toolchains;
use pullback_ir::{Cleanup, Op, verify_module};
use pullback_llvm::{Context, Imported, Module, NormaliseOptions, Policy, import_functions, normalise};

/// Two calls, with a landing pad each: the second's holds more, and goes on with what the first's does. What panics
/// while it cleans up ends the program.
const TWO_PADS: &str = r#"
    target triple = "x86_64-unknown-linux-gnu"
    declare i32 @rust_eh_personality(...)
    declare void @stop() noreturn
    declare i64 @work(ptr)
    declare void @drop_one(ptr, i64)
    define i64 @f(ptr %a, i1 %c) personality ptr @rust_eh_personality {
    entry:
      %x = invoke i64 @work(ptr %a) to label %first unwind label %pad1
    first:
      %y = add i64 %x, 1
      br i1 %c, label %second, label %end
    second:
      %z = invoke i64 @work(ptr %a) to label %end unwind label %pad2
    end:
      %r = phi i64 [ %y, %first ], [ %z, %second ]
      ret i64 %r
    pad2:
      %e2 = landingpad { ptr, i32 } cleanup
      invoke void @drop_one(ptr %a, i64 %y) to label %rest unwind label %abort
    pad1:
      %e1 = landingpad { ptr, i32 } cleanup
      br label %rest
    rest:
      %n = phi i64 [ 1, %pad1 ], [ 2, %pad2 ]
      %e = phi { ptr, i32 } [ %e1, %pad1 ], [ %e2, %pad2 ]
      invoke void @drop_one(ptr %a, i64 %n) to label %out unwind label %abort
    out:
      resume { ptr, i32 } %e
    abort:
      %e3 = landingpad { ptr, i32 } filter [0 x ptr] zeroinitializer
      call void @stop()
      unreachable
    }"#;

fn imported(toolchain: &common::Toolchain, text: &str) -> Imported {
    let context = Context::new(&toolchain.llvm);
    let module = Module::parse_ir(&context, "text", text).expect("LLVM reads it");
    let imported = import_functions(module, &["f"], &|_| Policy::Import).expect("everything imports");
    verify_module(&imported.ir).expect("sound IR");
    imported
}

/// The clean-ups of a function's calls, in order.
fn cleanups<'i>(imported: &'i Imported, name: &str) -> Vec<Option<&'i Cleanup>> {
    let function = imported.ir.func(imported.ir.find(name).expect("imported"));
    let insts = function.blocks().flat_map(|b| &function.block(b).insts);
    let calls = insts.map(|i| &function.inst(*i).op).filter(|op| matches!(op, Op::Call(..) | Op::Opaque(_)));
    calls.map(Op::cleanup).collect()
}

#[test]
fn what_follows_a_landing_pad_is_a_function() {
    for toolchain in toolchains() {
        let imported = imported(&toolchain, TWO_PADS);
        let found = cleanups(&imported, "f");
        assert_eq!(found.len(), 2);
        let [first, second] = [0, 1].map(|i| found[i].expect("each call has a clean-up"));
        let function = imported.ir.func(imported.ir.find("f").expect("imported"));
        // The blocks that only a panic leads to are gone.
        assert_eq!(function.blocks().len(), 4);
        // The first needs `a`, the second `a` and what the first call gave.
        assert_eq!((first.args.len(), second.args.len()), (1, 2));
        let inner: Vec<_> = cleanups(&imported, &imported.ir.func(second.func).name);
        assert_eq!(inner.len(), 2, "it drops two things");
        let stop = inner[0].expect("a panic there ends the program").func;
        assert_eq!(inner[1].map(|c| c.func), Some(stop));
        assert!(imported.ir.func(first.func).name.starts_with("f.cleanup."));
    }
}

#[test]
fn clean_ups_go_out_as_landing_pads() {
    for toolchain in toolchains() {
        let mut imported = imported(&toolchain, TWO_PADS);
        let mut copy = imported.ir.func(imported.ir.find("f").expect("imported")).clone();
        copy.name = "f_again".to_owned();
        let copy = imported.ir.add_function(copy);
        imported.export(&[copy], "f").expect("everything exports");
        let mut module = imported.into_module();
        module.verify().expect("a sound module");
        module.retain_reachable(&["f_again"]).expect("it is there");
        let text = module.print();
        let body = text.split("@f_again").nth(1).expect("it is there").split("\n}").next().expect("its end");
        assert!(
            body.starts_with("(ptr %0, i1 %1) ") && body.contains("personality ptr @rust_eh_personality"),
            "{body}"
        );
        assert_eq!(body.matches("invoke i64 @work(").count(), 2, "{body}");
        assert_eq!((body.matches("landingpad").count(), body.matches("resume").count()), (2, 2), "{body}");
        // Clean-up functions come along, and theirs.
        assert_eq!(text.matches("define hidden void @f.cleanup.").count(), 3, "{text}");
    }
}

#[test]
fn calls_of_every_kind_clean_up() {
    let text = r#"
        target triple = "x86_64-unknown-linux-gnu"
        declare i32 @rust_eh_personality(...)
        declare i32 @printf(ptr, ...)
        declare void @drop_one(ptr)
        define i32 @f(ptr %a, ptr %code) personality ptr @rust_eh_personality {
          invoke void %code(ptr %a) to label %next unwind label %pad
        next:
          %n = invoke i32 (ptr, ...) @printf(ptr %a, i64 1) to label %last unwind label %pad
        last:
          invoke void %code(ptr byval([32 x i8]) %a) to label %end unwind label %pad
        end:
          ret i32 %n
        pad:
          %p = phi ptr [ %a, %0 ], [ null, %next ], [ %code, %last ]
          %e = landingpad { ptr, i32 } cleanup
          call void @drop_one(ptr %p)
          resume { ptr, i32 } %e
        }"#;
    for toolchain in toolchains() {
        let mut imported = imported(&toolchain, text);
        let found = cleanups(&imported, "f");
        assert_eq!(found.iter().map(|c| c.expect("a clean-up").args.len()).collect::<Vec<_>>(), [1, 1, 1]);
        let mut copy = imported.ir.func(imported.ir.find("f").expect("imported")).clone();
        copy.name = "f_again".to_owned();
        let copy = imported.ir.add_function(copy);
        imported.export(&[copy], "f").expect("everything exports");
        let module = imported.into_module();
        module.verify().expect("a sound module");
        let text = module.print();
        let body = text.split("@f_again").nth(1).expect("it is there").split("\n}").next().expect("its end");
        assert_eq!((body.matches("invoke ").count(), body.matches("landingpad").count()), (3, 3), "{body}");
        assert!(body.contains("byval([32 x i8])") && body.contains("(ptr, ...) @printf"), "{body}");
    }
}

#[test]
fn what_catches_panics_is_not_imported() {
    let text = r#"
        target triple = "x86_64-unknown-linux-gnu"
        declare i32 @rust_eh_personality(...)
        declare void @work()
        define void @f() { call void @catch()  ret void }
        define void @catch() personality ptr @rust_eh_personality {
          invoke void @work() to label %end unwind label %pad
        end:
          ret void
        pad:
          %e = landingpad { ptr, i32 } catch ptr null
          ret void
        }"#;
    for toolchain in toolchains() {
        let imported = imported(&toolchain, text);
        let catch = imported.ir.find("catch").expect("declared");
        assert!(imported.ir.func(catch).is_declaration());
        assert_eq!(imported.skipped, [(catch, "it catches panics".to_owned())]);
    }
}

#[test]
fn memory_on_the_heap_is_given_back_after_normalising() {
    let source = "#[unsafe(no_mangle)] pub fn held(x: &[f64], n: usize) -> f64 {
        let copy: Vec<f64> = x.to_vec(); copy[n] + copy.iter().sum::<f64>() }";
    for toolchain in toolchains() {
        for opt_level in ["0", "3"] {
            let mut module = toolchain.module(source, opt_level);
            normalise(&mut module, &["held"], &NormaliseOptions::default()).expect("the passes run");
            let imported = import_functions(module, &["held"], &|_| Policy::Import).expect("the root imports");
            let found: Vec<&Cleanup> = cleanups(&imported, "held").into_iter().flatten().collect();
            assert!(!found.is_empty(), "the bounds check panics while the vector is held");
            for cleanup in found {
                let function = imported.ir.func(cleanup.func);
                let insts = function.blocks().flat_map(|b| &function.block(b).insts);
                // Without optimisation it is a function of std's that frees, of which there is only the name here.
                let freeing =
                    |op: &Op| matches!(op, Op::Dealloc { .. }) || opt_level == "0" && matches!(op, Op::Call(..));
                assert_eq!(insts.filter(|i| freeing(&function.inst(**i).op)).count(), 1, "{function}");
            }
        }
    }
}
