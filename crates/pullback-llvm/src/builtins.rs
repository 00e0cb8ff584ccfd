//! Keeps LLVM's passes from replacing calls of float functions by something that they take for the same.
//!
//! LLVM knows what the functions of the C library compute, and its own intrinsics. Two kinds of things that it does
//! with them are not for us:
//!
//! - It *rewrites* a call: `pow(x, 0.5)` becomes `x == −∞ ? ∞ : fabs(sqrt(x))`. That is the same value, and another
//!   derivative: that of `fabs` at 0 is 0, that of `sqrt` ∞, and their product NaN. So derivatives are taken of the
//!   calls that the program has.
//! - It *folds* a call whose arguments are constants, with the functions of the machine that compiles, or in double
//!   precision: `tanhf(0.3)` is not always what the C library's `tanhf` returns. Where the program itself is not
//!   optimised, the value that a derivative returns would not be the function's, bit by bit.
//!
//! Both stop at a call with LLVM's attribute `nobuiltin`. A call of an unoptimised module gets it for good
//! ([`Module::keep_float_calls`]): it has it through import, differentiation and export, and in the code of the
//! derivative. Any other call has it while the passes of normalising run, unless its arguments are constants: such a
//! call has no derivative, and the program's own optimiser will compute it too.
//!
//! Functions that no rewriting can harm are left to LLVM, which reasons with them: their values are exact, and their
//! partials are 0, 1 or −1.

use crate::ffi::{InstRef, ValueRef, llvm};
use crate::kinds::{FUNCTION_INDEX, type_kind};
use crate::module::Module;

/// Exact functions whose partials are 0, 1 or −1, without the `f` that the C library has behind those for single
/// precision.
const HARMLESS: [&str; 19] = [
    "fabs",
    "copysign",
    "minnum",
    "maxnum",
    "minimum",
    "maximum",
    "minimumnum",
    "maximumnum",
    "fmin",
    "fmax",
    "fdim",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "nearbyint",
    "round",
    "roundeven",
    "canonicalize",
];

/// Functions that return the float next to the exact result: to fold them changes no bit.
const EXACT: [&str; 7] = ["sqrt", "fma", "fmuladd", "ldexp", "scalbn", "fmod", "remainder"];

/// The attribute of a call that is `nobuiltin` only while passes run.
const FOR_NOW: &str = "pullback-builtin";

impl Module {
    /// Say of each call of a float function that the run-time library computes it, always: no optimiser folds or
    /// rewrites it. For modules that are not optimised themselves.
    pub fn keep_float_calls(&mut self) {
        for (call, name) in self.float_calls() {
            if !EXACT.contains(&name.as_str()) {
                self.set_builtin(call, false);
            }
        }
    }

    /// No pass rewrites a call of a float function, until [`Module::give_float_calls_back`].
    pub(crate) fn take_float_calls(&self) {
        for (call, _) in self.float_calls().into_iter().filter(|(call, _)| !self.is_kept(*call)) {
            self.set_builtin(call, false);
            let attribute = self.new_string_attribute(FOR_NOW, "");
            llvm!(self.api(), LLVMAddCallSiteAttribute(call, FUNCTION_INDEX, attribute));
        }
    }

    /// Calls whose arguments have become constants may be folded, if they could be before [`Module::take_float_calls`].
    pub(crate) fn give_constant_float_calls_back(&self) {
        let api = self.api();
        let constant = |call: InstRef| {
            let count = llvm!(api, LLVMGetNumArgOperands(call.value()));
            (0..count).all(|i| llvm!(api, LLVMIsConstant(llvm!(api, LLVMGetOperand(call.value(), i)))) != 0)
        };
        self.give_back(constant);
    }

    /// Undo [`Module::take_float_calls`].
    pub(crate) fn give_float_calls_back(&self) {
        self.give_back(|_| true);
    }

    fn give_back(&self, pick: impl Fn(InstRef) -> bool) {
        for (call, _) in self.float_calls().into_iter().filter(|(call, _)| self.is_for_now(*call) && pick(*call)) {
            self.set_builtin(call, true);
            llvm!(
                self.api(),
                LLVMRemoveCallSiteStringAttribute(call, FUNCTION_INDEX, FOR_NOW.as_ptr().cast(), FOR_NOW.len() as u32)
            );
        }
    }

    /// Whether a call is not to be taken for one of a function that LLVM knows.
    pub(crate) fn is_kept(&self, call: InstRef) -> bool {
        self.call_attribute(call.value(), FUNCTION_INDEX, "nobuiltin").is_some()
    }

    /// Say whether LLVM may take a call for one of a function that it knows.
    pub(crate) fn set_builtin(&self, call: InstRef, known: bool) {
        let Some(kind) = self.attribute_kind("nobuiltin") else { return };
        if known {
            llvm!(self.api(), LLVMRemoveCallSiteEnumAttribute(call, FUNCTION_INDEX, kind));
        } else {
            let attribute = llvm!(self.api(), LLVMCreateEnumAttribute(self.raw_context(), kind, 0));
            llvm!(self.api(), LLVMAddCallSiteAttribute(call, FUNCTION_INDEX, attribute));
        }
    }

    fn is_for_now(&self, call: InstRef) -> bool {
        let (name, len) = (FOR_NOW.as_ptr().cast(), FOR_NOW.len() as u32);
        !llvm!(self.api(), LLVMGetCallSiteStringAttribute(call.value(), FUNCTION_INDEX, name, len)).is_null()
    }

    /// The calls of functions without a body that take and return floats, with the names of the functions, less
    /// [`HARMLESS`] ones.
    fn float_calls(&self) -> Vec<(InstRef, String)> {
        let bodies = self.raw_functions().into_iter().flat_map(|f| self.raw_body(f));
        let named = |inst: InstRef| Some((inst, self.float_function(self.called(inst.value())?)?));
        bodies.filter_map(named).collect()
    }

    /// The name of a float function: of an intrinsic the operation, of a C function the one for double precision.
    fn float_function(&self, function: ValueRef) -> Option<String> {
        if !self.is_declaration(function) {
            return None;
        }
        let api = self.api();
        let ty = llvm!(api, LLVMGlobalGetValueType(function));
        let kind = llvm!(api, LLVMGetTypeKind(llvm!(api, LLVMGetReturnType(ty))));
        if kind != type_kind::FLOAT && kind != type_kind::DOUBLE {
            return None;
        }
        let name = self.name_of(function);
        let name = match name.strip_prefix("llvm.") {
            Some(intrinsic) => intrinsic.split('.').next().unwrap_or_default(),
            None if kind == type_kind::FLOAT => name.strip_suffix('f').unwrap_or(&name),
            None => &name,
        };
        (!HARMLESS.contains(&name)).then(|| name.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use crate::{Context, Llvm, Module, NormaliseOptions, TargetOptions, normalise};
    use std::path::Path;
    use std::process::Command;

    /// A module with the function `f` of `double %x` and `i32 %n`, which returns `%r`.
    fn function(body: &str) -> Module {
        let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().unwrap();
        let llvm = Llvm::load(Path::new(String::from_utf8(sysroot.stdout).unwrap().trim())).unwrap();
        let intrinsics =
            ["sqrt", "exp", "exp2", "log", "sin", "cos"].map(|f| format!("declare double @llvm.{f}.f64(double)\n"));
        let library = ["tan", "atan", "tanh", "cbrt", "exp2", "log"].map(|f| format!("declare double @{f}(double)\n"));
        let text = format!(
            "target triple = \"x86_64-unknown-linux-gnu\"
            {}{}
            declare double @llvm.pow.f64(double, double)
            declare double @pow(double, double)
            declare float @tanhf(float)
            declare double @llvm.powi.f64.i32(double, i32)
            define double @f(double %x, i32 %n) {{
              {body}
              ret double %r
            }}",
            intrinsics.concat(),
            library.concat()
        );
        Module::parse_ir(&Context::new(&llvm), "f", &text).unwrap()
    }

    /// The float functions that are called, in order.
    fn calls(module: &Module) -> Vec<String> {
        let text = module.print();
        let body = text.split(" @f(").nth(1).unwrap().split("\n}").next().unwrap();
        let name = |line: &str| Some(line.split("call ").nth(1)?.split('@').nth(1)?.split('(').next()?.to_owned());
        body.lines().filter_map(name).collect()
    }

    /// Each of these is rewritten by LLVM's usual passes.
    #[test]
    fn calls_are_differentiated_as_they_are_written() {
        let rewritten: [(&str, &[&str]); 10] = [
            ("%r = call double @llvm.pow.f64(double %x, double 5.0e-1)", &["llvm.pow.f64"]),
            ("%r = call double @llvm.pow.f64(double %x, double 2.0)", &["llvm.pow.f64"]),
            ("%r = call double @llvm.pow.f64(double %x, double -1.0)", &["llvm.pow.f64"]),
            ("%r = call double @llvm.pow.f64(double 2.0, double %x)", &["llvm.pow.f64"]),
            ("%r = call double @pow(double %x, double 2.0)", &["pow"]),
            ("%y = sitofp i32 %n to double\n %r = call double @llvm.exp2.f64(double %y)", &["llvm.exp2.f64"]),
            ("%y = sitofp i32 %n to double\n %r = call double @exp2(double %y)", &["exp2"]),
            ("%y = fmul fast double %x, %x\n %r = call fast double @llvm.sqrt.f64(double %y)", &["llvm.sqrt.f64"]),
            ("%y = call fast double @atan(double %x)\n %r = call fast double @tan(double %y)", &["atan", "tan"]),
            (
                "%y = call fast double @llvm.exp2.f64(double %x)\n %r = call fast double @log(double %y)",
                &["llvm.exp2.f64", "log"],
            ),
        ];
        for (body, expected) in rewritten {
            let mut module = function(body);
            normalise(&mut module, &["f"], &NormaliseOptions::default()).unwrap();
            assert_eq!(calls(&module), expected, "{body}\n{}", module.print());
            assert!(!module.print().contains("nobuiltin"), "{}", module.print());
            module.run_passes("function(instcombine<no-verify-fixpoint>)", &TargetOptions::default()).unwrap();
            assert_ne!(calls(&module), expected, "{body}");
        }
    }

    const CONSTANT: [&str; 4] = [
        "%r = call double @llvm.powi.f64.i32(double 0x3FF4A3D70A3D70A4, i32 6)",
        "%r = call double @tanh(double 3.0e-1)",
        "%r = call double @llvm.sin.f64(double 3.0e-1)",
        "%y = call float @tanhf(float 0x3FD3333340000000)\n %r = fpext float %y to double",
    ];

    #[test]
    fn constants_are_folded_where_the_program_is_optimised() {
        for body in CONSTANT {
            let mut module = function(body);
            normalise(&mut module, &["f"], &NormaliseOptions::default()).unwrap();
            // A call whose result is not used may be left: it may set `errno`.
            assert!(!module.print().contains("ret double %"), "{body}");
        }
    }

    #[test]
    fn the_library_computes_constants_where_the_program_is_not_optimised() {
        for body in CONSTANT {
            let mut module = function(body);
            module.keep_float_calls();
            let expected = calls(&module);
            normalise(&mut module, &["f"], &NormaliseOptions::default()).unwrap();
            module.run_passes("default<O3>", &TargetOptions::default()).unwrap();
            assert_eq!(calls(&module), expected, "{body}");
        }
    }
}
