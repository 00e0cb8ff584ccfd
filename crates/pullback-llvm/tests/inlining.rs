//! What normalising inlines, and what it does not.

mod common;

use common::toolchains;
use pullback_llvm::{Context, Module, NormaliseOptions, Policy, import_functions, normalise};
use std::fmt::Write as _;

const TRIPLE: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n";

/// The modules with this text, prepared for the import of `root`, as text; one for each toolchain.
fn normalised(text: &str, limit: u64) -> Vec<(Module, String)> {
    let prepare = |context: &Context| {
        let mut module = Module::parse_ir(context, "test", &format!("{TRIPLE}{text}")).expect("the text is valid");
        normalise(&mut module, &["root"], &NormaliseOptions { limit, ..NormaliseOptions::default() }).expect("it is");
        module.verify().expect("the passes leave a valid module");
        let text = module.print();
        (module, text)
    };
    toolchains().iter().map(|toolchain| prepare(&Context::new(&toolchain.llvm))).collect()
}

/// The text of a function.
fn body<'t>(text: &'t str, name: &str) -> &'t str {
    let start = text.find(&format!("@{name}(double %x")).unwrap_or_else(|| panic!("no `{name}` in {text}"));
    &text[start..start + text[start..].find("\n}").expect("it ends")]
}

/// `square` and `method` are known by their addresses; who calls them is seen once `apply` and `send` are inlined.
/// Nobody is seen to call `other`.
#[test]
fn what_is_only_known_by_its_address_is_left_as_it_is() {
    let text = "
        @table = internal constant [2 x ptr] [ptr @method, ptr @other]
        declare void @keep(ptr)
        define double @root(double %x) {
          %a = call double @apply(ptr @square, double %x)
          %b = call double @send(ptr @table, double %a)
          call void @keep(ptr @table)
          ret double %b
        }
        define internal double @apply(ptr %f, double %x) {
          %y = call double %f(double %x)
          ret double %y
        }
        define internal double @send(ptr %table, double %x) {
          %f = load ptr, ptr %table
          %y = call double %f(double %x)
          ret double %y
        }
        define internal double @square(double %x) {
          %y = call double @times(double %x, double %x)
          ret double %y
        }
        define internal double @times(double %x, double %y) {
          %z = fmul double %x, %y
          ret double %z
        }
        define internal double @method(double %x) {
          %y = call double @times(double %x, double 3.0)
          ret double %y
        }
        define internal double @other(double %x) {
          %y = call double @times(double %x, double 7.0)
          %z = call double @times(double %y, double 7.0)
          ret double %z
        }";
    for (_, text) in normalised(text, NormaliseOptions::default().limit) {
        let root = body(&text, "root");
        assert!(!root.contains("call double") && root.matches("fmul").count() == 2, "{text}");
        assert_eq!(body(&text, "other").matches("call double @times").count(), 2, "{text}");
        // What was said to LLVM's inliner is not said to whoever optimises the derivative.
        let attributes = text.lines().filter(|line| line.starts_with("attributes") && line.contains("inline"));
        assert_eq!(attributes.collect::<Vec<_>>(), ["attributes #0 = { noinline }"], "{text}");
        assert!(!body(&text, "other").lines().skip(1).any(|line| line.contains('#')), "{text}");
    }
}

/// Each function calls the next one three times: at the end 3ⁿ times the code of the last.
#[test]
fn code_does_not_grow_with_the_power_of_the_depth() {
    const DEPTH: usize = 30;
    let mut text = String::new();
    for depth in 0..DEPTH {
        let _ = write!(
            text,
            "define internal double @f{depth}(double %x) {{
               %a = call double @f{next}(double %x)
               %b = call double @f{next}(double %a)
               %c = call double @f{next}(double %b)
               %d = fadd double %c, {depth}.0
               ret double %d
             }}\n",
            next = depth + 1
        );
    }
    let _ = write!(
        text,
        "define internal double @f{DEPTH}(double %x) {{
           %y = fmul double %x, %x
           ret double %y
         }}
         define double @root(double %x) {{
           %y = call double @f0(double %x)
           ret double %y
         }}"
    );
    for (module, text) in normalised(&text, 2000) {
        let lines = text.lines().count();
        assert!((100..5000).contains(&lines), "{lines} lines");
        // What is small is inlined all the same.
        assert!(!text.contains(&format!("@f{DEPTH}(")) && text.contains("call double @f"), "{text}");
        let imported = import_functions(module, &["root"], &|_| Policy::Import).expect("the root imports");
        assert!(imported.skipped.is_empty());
    }
}
