//! What the link driver does with a module before anything is differentiated: find marker calls, read the constants
//! they are given, replace them.

mod common;

use common::toolchains;
use pullback_llvm::{Error, Linkage, TargetOptions, Visibility};

const SOURCE: &str = r#"
#[repr(C)]
pub struct Request { version: u32, mode: u32, name: &'static str, args: *const Arg, count: usize }
unsafe impl Sync for Request {}
#[repr(C)]
pub struct Arg { name: &'static str, layout: fn() -> &'static Layout }
#[repr(C)]
pub struct Layout { size: usize, align: usize }

unsafe extern "C-unwind" { fn __pullback_marker(f: *const (), request: *const Request) -> *const (); }

pub trait Differentiable { const LAYOUT: &'static Layout; }
impl Differentiable for f64 { const LAYOUT: &'static Layout = &Layout { size: 8, align: 8 }; }
pub fn layout_of<T: Differentiable>() -> &'static Layout { T::LAYOUT }

static REQUEST: Request = Request {
    version: 1, mode: 7, name: "square",
    args: &[Arg { name: "x", layout: layout_of::<f64> }] as *const Arg, count: 1,
};

unsafe extern "C-unwind" fn shim(x: *const f64, out: *mut f64) { unsafe { *out = *x * *x } }

struct Noisy;
impl Drop for Noisy { fn drop(&mut self) { println!("dropped"); } }

#[unsafe(no_mangle)]
pub fn derivative(x: &f64, dx: &mut f64) -> f64 {
    let _guard = Noisy;
    let address = unsafe { __pullback_marker(shim as *const (), &REQUEST) };
    let f: unsafe extern "C-unwind" fn(*const f64, *mut f64) = unsafe { core::mem::transmute(address) };
    let mut out = 0.0;
    unsafe { f(x, &mut out) };
    *dx = out;
    out
}
"#;

#[test]
fn marker_calls_are_found_read_and_replaced() {
    for toolchain in toolchains() {
        for opt_level in ["0", "2"] {
            let mut module = toolchain.module(SOURCE, opt_level);
            // Without optimisation the arguments are in stack slots.
            module.run_passes("function(sroa,early-cse)", &TargetOptions::default()).expect("the passes run");
            let calls = module.calls_of("__pullback_marker");
            let [call] = calls.as_slice() else { panic!("one call, not {calls:?}") };
            assert!(call.caller.contains("derivative"));
            let [Some(shim), Some(request)] = call.arguments.as_slice() else { panic!("{call:?}") };
            assert!(shim.contains("shim"), "{shim}");

            let data = module.constant_data(request).expect("a request is plain data");
            assert_eq!(data.bytes[..8], [1, 0, 0, 0, 7, 0, 0, 0]);
            let name = data.reloc_at(8).expect("the name's address");
            assert_eq!(module.constant_data(&name.symbol).expect("text").bytes, b"square");
            assert_eq!(data.bytes[16..24], 6u64.to_le_bytes());
            let args = data.reloc_at(24).expect("the arguments' address");
            let arg = module.constant_data(&args.symbol).expect("an argument is plain data");
            let layout = arg.reloc_at(16).expect("the layout function");
            let layout = module.returned_constant(&layout.symbol).expect("it returns a constant");
            let layout = module.constant_data(&layout).expect("a layout is plain data");
            assert_eq!(layout.bytes, [8u64.to_le_bytes(), 8u64.to_le_bytes()].concat());

            let call = call.clone();
            module.replace_calls([(&call, Some("__pullback_d0"))]).expect("the call is there");
            module.verify().expect("an invoke leaves a sound module too");
            assert!(module.calls_of("__pullback_marker").is_empty());
            let declared = module.find_symbol("__pullback_d0").expect("declared");
            assert!(declared.is_declaration && declared.visibility == Visibility::Hidden);
            module.emit_object(&TargetOptions::default()).expect("LLVM generates code");
        }
    }
}

#[test]
fn modules_are_copied_linked_and_cut_down() {
    for toolchain in toolchains() {
        let source = "static mut N: u32 = 0; #[inline(never)] fn next() -> u32 { unsafe { N += 1; N } }
            #[unsafe(no_mangle)] pub fn a() -> u32 { next() * 2 } #[unsafe(no_mangle)] pub fn b() -> u32 { next() }";
        let mut module = toolchain.module(source, "2");
        let promoted = module.promote_internals(".pullback", |symbol| symbol.name.contains("next"));
        assert_eq!(promoted.len(), 2, "the counter and the function: {promoted:?}");
        let mut copy = module.clone_module();
        copy.retain_reachable(&["a"]).expect("a is there");
        assert!(copy.find_symbol("b").is_none());
        for symbol in copy.functions().into_iter().chain(copy.globals()) {
            let visible = matches!(symbol.linkage, Linkage::External | Linkage::Mergeable);
            if visible && !symbol.is_declaration && symbol.name != "a" {
                copy.set_linkage(&symbol.name, Linkage::AvailableExternally).expect("it is there");
            }
        }
        let counter = copy.globals().into_iter().find(|g| !g.is_constant).expect("the counter");
        assert_eq!(counter.linkage, Linkage::AvailableExternally);
        copy.rename("a", "a_copy").expect("a is there");
        module.link_in(copy).expect("the copy links");
        module.make_declaration("b").expect("b is there");
        module.verify().expect("a sound module");
        assert!(module.find_symbol("a_copy").is_some_and(|s| !s.is_declaration));
        assert!(module.find_symbol("b").is_some_and(|s| s.is_declaration));
        let again = pullback_llvm::Module::parse_bitcode(module.context(), "again", &module.write_bitcode());
        assert_eq!(again.expect("what is written can be read").functions().len(), module.functions().len());
    }
}

/// Debug records of a deleted body must not come up in a block that is made later at the same address: LLVM's verifier
/// does not take them before a phi.
#[test]
fn debug_records_go_with_their_blocks() {
    let text = r#"
        define double @f(i1 %c, double %x) !dbg !3 {
          #dbg_value(double %x, !5, !DIExpression(), !6)
          br i1 %c, label %a, label %b
        a:
          #dbg_value(double %x, !5, !DIExpression(), !6)
          br label %b
        b:
          %y = phi double [ 1.0, %0 ], [ 2.0, %a ]
          #dbg_value(double %y, !5, !DIExpression(), !6)
          ret double %y
        }
        !llvm.dbg.cu = !{!0}
        !llvm.module.flags = !{!2}
        !0 = distinct !DICompileUnit(language: DW_LANG_Rust, file: !1, emissionKind: FullDebug)
        !1 = !DIFile(filename: "f.rs", directory: "")
        !2 = !{i32 2, !"Debug Info Version", i32 3}
        !3 = distinct !DISubprogram(name: "f", file: !1, line: 1, type: !4, unit: !0, spFlags: DISPFlagDefinition)
        !4 = !DISubroutineType(types: !{null})
        !5 = !DILocalVariable(name: "x", scope: !3, file: !1, line: 1)
        !6 = !DILocation(line: 1, scope: !3)
        "#;
    for toolchain in toolchains() {
        let context = pullback_llvm::Context::new(&toolchain.llvm);
        let module = pullback_llvm::Module::parse_ir(&context, "f", text).expect("the text is right");
        for _ in 0..20 {
            module.clone_module().make_declaration("f").expect("f is there");
            module.clone_module().verify().expect("a copy that is as good as the original");
        }
    }
}

#[test]
fn errors_name_their_cause() {
    for toolchain in toolchains() {
        let context = pullback_llvm::Context::new(&toolchain.llvm);
        let error = pullback_llvm::Module::parse_ir(&context, "broken", "define void @f() {").err();
        assert!(matches!(error, Some(Error::Parse { .. })));
        let mut module = toolchain.module("pub static X: u8 = 1;", "0");
        let error = module.run_passes("no-such-pass", &TargetOptions::default()).expect_err("there is no such pass");
        assert!(error.to_string().contains("no-such-pass"), "{error}");
        let error = module.constant_data("nowhere").expect_err("there is no such global");
        assert_eq!(error.to_string(), "the module has no symbol nowhere");
    }
    let error = pullback_llvm::Llvm::load(std::path::Path::new("/nowhere")).err().expect("there is no library");
    assert!(matches!(error, Error::NoLibrary { .. }));
}
