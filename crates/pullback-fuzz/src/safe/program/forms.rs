//! The functions that take derivatives: by attribute in either mode, or by functions of functions.

use super::arguments::{Activity, Argument, Owners, Pass, Returned};
use super::{Function, World};
use crate::safe::body::Trust;
use crate::safe::types::Ty;

impl World {
    fn reverse_is_possible(&self, function: &Function) -> bool {
        let writable = |argument: &Argument| {
            argument.activity != Activity::Duplicated || (argument.ty.is_writable() && argument.pass != Pass::Content)
        };
        matches!(function.returned, Returned::Value(Ty::Float) | Returned::Nothing)
            && self.arguments.iter().all(writable)
    }

    /// The attribute that asks for the derivative `df0` of `f0`.
    fn attribute(&self, function: &Function, mode: &str) -> String {
        let words = self.arguments.iter().map(|argument| match argument.activity {
            Activity::Const => "Const",
            _ if mode == "Forward" => "Dual",
            Activity::Duplicated => "Duplicated",
            Activity::Active => "Active",
        });
        let result = if mode == "Forward" { "Dual" } else { "Active" };
        let result = if function.returned == Returned::Nothing { None } else { Some(result) };
        let words: Vec<_> = words.chain(result).collect();
        format!("@real #[autodiff(df{}, {mode}, {})]\n", function.number, words.join(", "))
    }

    fn compared(&self, trust: Trust) -> String {
        let tolerance = if self.single { "1e-2" } else { "1e-7" };
        format!("Compared {{ derivative: {}, after: {}, tolerance: {tolerance} }}", trust.derivative, trust.after)
    }

    /// Whether a shared value is owned by an argument that the function may exchange it in, and by one that is moved
    /// in: a cotangent that is given of it is of what the function leaves in its place, or of the value itself.
    fn has_two_roles(&self) -> bool {
        let owns = |argument: &Argument, share: &Ty| {
            argument.activity == Activity::Duplicated && argument.ty.any(&self.writer.structs, &|ty| ty == share)
        };
        let is_owned = |share: &Ty, stays: bool| self.arguments.iter().any(|a| a.stays() == stays && owns(a, share));
        self.shares.iter().any(|(share, _)| is_owned(share, true) && is_owned(share, false))
    }

    fn unpack(&self, prefix: &str) -> String {
        let fields: String = (0..self.arguments.len()).map(|k| format!("a{k}: mut {prefix}{k}, ")).collect();
        format!("World {{ {fields}}}")
    }

    fn begin(&self) -> String {
        format!(
            "    reset_shared(&[{}]);\n    inputs(Inputs::Primal, 0);\n    let s = shares();\n    let {} = \
             world(&s);\n",
            self.shared,
            self.unpack("a")
        )
    }

    /// What can be read afterwards, apart from what has shadows.
    fn after(&self) -> String {
        let mut names: Vec<String> = Vec::new();
        if self.functional {
            names.push("&a0".to_owned());
        } else {
            names.extend((0..self.arguments.len()).filter(|k| self.arguments[*k].stays()).map(|k| format!("&a{k}")));
        }
        names.extend((0..self.shares.len()).map(|k| format!("&s.{k}")));
        format!("eye(&[{}])", names.join(", "))
    }

    fn of_kind(&self, prefix: &str, is: impl Fn(&Argument) -> bool) -> Vec<String> {
        let kinds = self.arguments.iter().enumerate().filter(|(_, argument)| is(argument));
        kinds.map(|(k, _)| format!("&{prefix}{k}")).collect()
    }

    /// What the oracle does for a function.
    pub(super) fn outcome(&self, function: &Function) -> String {
        let given: Vec<_> =
            self.arguments.iter().enumerate().map(|(k, argument)| argument.given(&format!("a{k}"))).collect();
        let shadowed = self.of_kind("a", |argument| {
            argument.activity == Activity::Duplicated && (argument.stays() || self.functional)
        });
        format!(
            "fn outcome{number}(fuse: usize) -> Expected {{\n{}    let end = caught(fuse, \
             Box::new(|| alone(&{path}({}))));\n    let ticks = ticks();\n    Expected::new(end, ticks, {}, \
             eye(&[{}]))\n}}\n",
            self.begin(),
            given.join(", "),
            self.after(),
            shadowed.join(", "),
            path = self.path(function, "f"),
            number = function.number,
        )
    }

    /// An attribute, and a function that takes a derivative.
    pub(super) fn form(&mut self, function: &Function) -> (String, String) {
        if self.functional {
            let forms = self.functional_forms(function);
            return (String::new(), self.writer.rng.pick(&forms).clone());
        }
        if self.reverse_is_possible(function) && self.writer.rng.chance(60) {
            (self.attribute(function, "Reverse"), self.reverse(function))
        } else {
            (self.attribute(function, "Forward"), self.forward(function))
        }
    }

    fn second_world(&self, name: &str, kind: &str, aliased: bool) -> String {
        let capacities = if self.capacities && kind != "Primal" { self.seed | 1 } else { 0 };
        let shares = if aliased { "s.clone()" } else { "shares()" };
        let end = match self.owners {
            Owners::Same => String::new(),
            Owners::Fewer => format!("    drop({name}s);\n"),
            Owners::More => format!("    let {name}more = {name}s.clone();\n"),
        };
        format!(
            "    inputs(Inputs::{kind}, {capacities});\n    let {name}s = {shares};\n    let {} = world(&{name}s);\n\
             {end}",
            self.unpack(name)
        )
    }

    fn reverse(&self, function: &Function) -> String {
        let mut given = Vec::new();
        let mut outputs = Vec::new();
        for (k, argument) in self.arguments.iter().enumerate() {
            given.push(argument.given(&format!("a{k}")));
            match argument.activity {
                Activity::Duplicated => given.push(argument.shadow(&format!("d{k}"))),
                Activity::Active => outputs.push(format!("g{k}")),
                Activity::Const => {}
            }
        }
        let active: Vec<_> = outputs.iter().map(|name| format!("&{name}")).collect();
        let mut value = "";
        if function.returned != Returned::Nothing {
            outputs.push("value".to_owned());
            value = "&value";
        }
        let pattern = if outputs.len() == 1 { outputs[0].clone() } else { format!("({})", outputs.join(", ")) };
        let duplicated = |prefix: &str| self.of_kind(prefix, |argument| argument.activity == Activity::Duplicated);
        let tangents: Vec<_> = duplicated("t")
            .into_iter()
            .chain(self.of_kind("t", |argument| argument.activity == Activity::Active))
            .collect();
        let shadows = duplicated("d").join(", ");
        // What others own, too, is neither.
        let stays = |prefix: &str, stays: bool| {
            let names = self.of_kind(prefix, |argument| {
                let has_owners = || argument.ty.any(&self.writer.structs, &|ty| matches!(ty, Ty::Rc(_)));
                argument.activity == Activity::Duplicated && argument.stays() == stays && (stays || !has_owners())
            });
            names.join(", ")
        };
        let call = format!(
            "    let before = eye(&[{shadows}]);\n    let kept = eye(&[{}]);\n    let moved = (eye(&[{}]), \
             eye(&[{}]));\n    let end = caught(fuse, Box::new(|| {{\n        let {pattern} = {}({});\n        \
             (eye(&[{value}]), eye(&[{}]))\n    }}));\n",
            stays("d", true),
            stays("d", false),
            stays("t", false),
            self.path(function, "df"),
            given.join(", "),
            active.join(", "),
        );
        let compared = self.compared(function.trust);
        let compared_given =
            self.compared(Trust { after: function.trust.after && !self.has_two_roles(), ..function.trust });
        format!(
            "fn form{}(fuse: usize, expected: &Expected) {{\n{begin}{zero}{tangent}{call}    \
             judge_reverse(\"reverse\", &end, &{}, (&before, &eye(&[{shadows}])), &eye(&[{tangents}]), expected, \
             {compared});\n    {{\n{begin}{}{tangent}{call}    let given = Given {{ shadows: (before, \
             eye(&[{shadows}])), kept, moved }};\n    judge_cotangents(\"reverse with cotangents\", &end, &given, \
             &eye(&[{tangents}]), expected, {compared_given});\n    }}\n}}\n",
            function.number,
            self.after(),
            self.second_world("d", "Tangent", self.aliased),
            begin = self.begin(),
            zero = self.second_world("d", "Zero", self.aliased),
            tangent = self.second_world("t", "Tangent", false),
            tangents = tangents.join(", "),
        )
    }

    fn forward(&self, function: &Function) -> String {
        let (number, path) = (function.number, self.path(function, "df"));
        let mut given = Vec::new();
        for (k, argument) in self.arguments.iter().enumerate() {
            given.push(argument.given(&format!("a{k}")));
            if argument.activity != Activity::Const {
                given.push(argument.given(&format!("d{k}")));
            }
        }
        let given = given.join(", ");
        let call = if function.returned == Returned::Nothing {
            format!("{path}({given});\n        (eye(&[]), eye(&[]))")
        } else {
            format!("let (y, dy) = {path}({given});\n        (eye(&[&y]), eye(&[&dy]))")
        };
        let begin = self.begin() + &self.second_world("d", "Tangent", self.aliased);
        if function.outlived {
            return format!(
                "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}    let end = caught(fuse, \
                 Box::new(|| {{\n        let (y, dy) = {{\n            let mut d0 = d0;\n            \
                 {path}({given})\n        }};\n        (eye(&[&y]), eye(&[&dy]))\n    }}));\n    wrong(\"a tangent \
                 lives longer than its shadow\");\n}}\n"
            );
        }
        let shadows = self.of_kind("d", |argument| argument.activity == Activity::Duplicated && argument.stays());
        format!(
            "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}    let end = caught(fuse, \
             Box::new(|| {{\n        {call}\n    }}));\n    judge_forward(\"forward\", &end, &{}, &eye(&[{}]), \
             expected, {});\n}}\n",
            self.after(),
            shadows.join(", "),
            self.compared(function.trust),
        )
    }

    fn functional_forms(&mut self, function: &Function) -> Vec<String> {
        let number = function.number;
        let at = self.arguments[0].clone();
        let sliced = at.pass == Pass::Slice;
        let of = if let Ty::Vec(of) = &at.ty { of.name() } else { String::new() };
        let type_name = if sliced { format!("[{of}]") } else { at.ty.name() };
        let point = |name: &str| if sliced { format!("&{name}0[..]") } else { format!("&{name}0") };
        let moved = if self.writer.rng.chance(60) { "move " } else { "" };
        let rest: String = (1..self.arguments.len()).map(|k| format!(", &a{k}")).collect();
        let closure = format!("{moved}|x: &{type_name}| f{number}(x{rest})");
        let (begin, after, compared) = (self.begin(), self.after(), self.compared(function.trust));
        let tangent = self.second_world("t", "Tangent", false);
        let shadow = self.second_world("d", "Tangent", self.aliased);
        let scalar = function.returned == Returned::Value(Ty::Float);
        let owned = scalar || matches!(function.returned, Returned::Value(_));
        let mut forms = Vec::new();
        forms.push(format!(
            "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{shadow}    let end = caught(fuse, \
             Box::new(|| {{\n        let (y, dy) = jvp({closure}, {}, {});\n        (eye(&[&y]), \
             eye(&[&dy]))\n    }}));\n    judge_forward(\"jvp\", &end, &{after}, &eye(&[&d0]), expected, \
             {compared});\n}}\n",
            point("a"),
            point("d"),
        ));
        if !at.ty.is_writable() || !owned {
            return forms;
        }
        if scalar {
            forms.push(format!(
                "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{tangent}    let end = caught(fuse, \
                 Box::new(|| {{\n        let (y, g) = value_and_grad({closure}, {});\n        (eye(&[&y]), \
                 eye(&[&g]))\n    }}));\n    let nothing = eye(&[]);\n    judge_reverse(\"grad\", &end, &{after}, \
                 (&nothing, &nothing), &eye(&[&t0]), expected, {compared});\n}}\n",
                point("a"),
            ));
        }
        if self.writer.rng.chance(60) {
            let seed = if scalar { "c(1.0)" } else { "make_zero(&y)" };
            let unpack: String = (0..self.shares.len()).map(|k| format!("        let s{k} = &s.{k};\n")).collect();
            let between = &self.between;
            let judged = if scalar {
                format!(
                    "judge_reverse(\"vjp\", &end, &{after}, (&nothing, &nothing), &eye(&[&t0]), expected, \
                     Compared {{ after: false, ..{compared} }});"
                )
            } else {
                "let _ = end;".to_owned()
            };
            forms.push(format!(
                "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{tangent}    let nothing = \
                 eye(&[]);\n    let end = caught(fuse, Box::new(|| {{\n        let (y, pullback) = vjp({closure}, \
                 {});\n        let first = eye(&[&pullback({seed})]);\n        let again = caught(fuse, \
                 Box::new(|| {{\n        let i0 = 0;\n{unpack}{between}        alone(&())\n        }}));\n        \
                 let again = caught(fuse, Box::new(|| alone(&pullback({seed}))));\n        let once_more = \
                 caught(usize::MAX, Box::new(|| alone(&pullback({seed}))));\n        same_again(&first, \
                 &again);\n        same_again(&first, &once_more);\n        (eye(&[&y]), \
                 first)\n    }}));\n    {judged}\n}}\n",
                point("a"),
            ));
        }
        let flat = matches!(&at.ty, Ty::Vec(of) | Ty::Array(of) if **of == Ty::Float);
        if scalar && flat && self.writer.rng.chance(30) {
            let second = if self.writer.rng.chance(50) {
                format!("hvp({closure}, {}, {})", point("a"), point("t"))
            } else {
                let inner = format!("|x: &{type_name}| f{number}(x{rest})");
                format!("grad({moved}|z: &{type_name}| grad({inner}, z).iter().sum::<F>(), {})", point("a"))
            };
            forms.push(format!(
                "fn form{number}(fuse: usize, expected: &Expected) {{\n{begin}{tangent}    let end = caught(fuse, \
                 Box::new(|| alone(&{second})));\n    let _ = eye(&[&a0, &t0]);\n}}\n"
            ));
        }
        forms
    }
}
