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

/// A table of functions, all of which are called in turn: who is called is seen once the loop is unrolled.
#[test]
fn a_table_of_functions_is_inlined_function_by_function() {
    let text = "
        @table = internal constant [2 x ptr] [ptr @square, ptr @fourth]
        define double @root(double %x) {
        entry:
          br label %loop
        loop:
          %i = phi i64 [ 0, %entry ], [ %next, %loop ]
          %sum = phi double [ 0.0, %entry ], [ %more, %loop ]
          %place = getelementptr ptr, ptr @table, i64 %i
          %f = load ptr, ptr %place
          %y = call double %f(double %x)
          %more = fadd double %sum, %y
          %next = add i64 %i, 1
          %again = icmp ult i64 %next, 2
          br i1 %again, label %loop, label %end
        end:
          ret double %more
        }
        define internal double @fourth(double %x) {
          %y = call double @square(double %x)
          %z = call double @square(double %y)
          ret double %z
        }
        define internal double @square(double %x) {
          %y = fmul double %x, %x
          ret double %y
        }";
    for (_, text) in normalised(text, NormaliseOptions::default().limit) {
        let root = body(&text, "root");
        assert!(!root.contains("call ") && (2..=3).contains(&root.matches("fmul").count()), "{text}");
    }
}

/// Functions that find each other in a table are recursive, which is seen while they are inlined.
#[test]
fn functions_that_find_each_other_in_a_table_stay_calls() {
    let text = "
        @table = internal constant [2 x ptr] [ptr @even, ptr @odd]
        define double @root(double %x) {
          %f = load ptr, ptr @table
          %y = call double %f(double %x)
          ret double %y
        }
        define internal double @even(double %x) {
          %small = fcmp olt double %x, 1.0
          br i1 %small, label %end, label %more
        more:
          %place = getelementptr ptr, ptr @table, i64 1
          %f = load ptr, ptr %place
          %less = fsub double %x, 1.0
          %y = call double %f(double %less)
          %z = call double @scaled(double %y)
          ret double %z
        end:
          ret double %x
        }
        define internal double @odd(double %x) {
          %f = load ptr, ptr @table
          %less = fsub double %x, 1.0
          %y = call double %f(double %less)
          %z = call double @scaled(double %y)
          ret double %z
        }
        define internal double @scaled(double %x) {
          %y = fmul double %x, %x
          ret double %y
        }";
    for (_, text) in normalised(text, NormaliseOptions::default().limit) {
        assert!(text.lines().count() < 100 && text.contains("call double @"), "{text}");
        assert!(!text.contains("@scaled"), "{text}");
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
