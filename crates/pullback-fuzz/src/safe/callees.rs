//! Functions that random statements call and the engine does not differentiate: opaque ones, and ones with rules. They
//! do what they can to what they can reach.

use super::body::{Access, Floats, Variable, Writer};
use super::types::Ty;
use crate::rng::Rng;

impl Writer {
    /// Code that is not differentiated, and does what it can.
    pub fn opaque(&mut self, pad: &str) -> String {
        if self.opaque {
            return self.touch(pad);
        }
        let Some(place) = self.find(|place| !(place.borrowed && place.writable)) else { return String::new() };
        let (ty, name) = (place.ty.name(), self.fresh());
        let (sign, access) = if place.writable { ("&mut ", Access::Write) } else { ("&", Access::Read) };
        let has_floats = place.ty.has_floats(&self.structs);
        if has_floats && self.rng.chance(50) {
            return self.write(pad);
        }
        let mut within = Writer::new(Rng::new(self.rng.bits()));
        within.structs = self.structs.clone();
        within.opaque = true;
        within.next = name * 1000;
        within.scope.push(Variable { text: "(*v)".to_owned(), ty: place.ty.clone(), access, active: false });
        let count = within.rng.between(1, 2);
        let mut body = String::new();
        for _ in 0..count {
            body += &if within.rng.chance(70) { within.write("    ") } else { within.touch("    ") };
        }
        let kind = self.rng.below(10);
        if let (Ty::Vec(of), 0..4, true) = (&place.ty, kind, place.writable) {
            // Growth by a trait's method that is called by formatting or by std::io.
            let of = of.name();
            let value = within.value(&place.ty.clone(), Floats::Computed { active: false });
            let body = body.replace("(*v)", "v");
            if kind < 2 {
                self.items += &format!(
                    "struct Shown{name}<'a>(RefCell<&'a mut Vec<{of}>>);\nimpl std::fmt::Display for Shown{name}<'_> \
                     {{\n    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{\n    let i0 = \
                     0;\n    let _ = i0;\n    let mut r = self.0.borrow_mut();\n    let v: &mut Vec<{of}> = &mut r;\n\
                     {body}\
                     \n    v.extend({value});\n    f.write_str(\"shown\")\n    }}\n}}\n"
                );
                return format!("{pad}drop(format!(\"{{}}\", Shown{name}(RefCell::new(&mut {}))));\n", place.text);
            }
            self.items += &format!(
                "struct Out{name}<'a>(&'a mut Vec<{of}>);\nimpl std::io::Write for Out{name}<'_> {{\n    \
                 fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {{\n    let i0 = 0;\n    let _ = i0;\n    \
                 let v = &mut *self.0;\n{body}\
                 \n    v.extend({value});\n    Ok(bytes.len())\n    }}\n    fn flush(&mut self) -> std::io::Result<()> \
                 {{\n        Ok(())\n    }}\n}}\n"
            );
            return format!("{pad}let _ = std::io::Write::write_all(&mut Out{name}(&mut {}), b\"out\");\n", place.text);
        }
        if has_floats {
            self.trust.derivative = false;
        }
        self.items += &format!(
            "@real #[non_differentiable]\nfn h{name}(v: {sign}{ty}) {{\n    let i0 = 0;\n    let _ = i0;\n{body}}}\n"
        );
        format!("{pad}h{name}({sign}{});\n", place.text)
    }

    /// A function with a rule, which does what it can.
    pub fn ruled(&mut self, pad: &str) -> String {
        if self.opaque {
            return self.touch(pad);
        }
        let name = self.fresh();
        let effect = |writer: &mut Self, chance: usize| {
            if writer.rng.chance(chance) { format!("poke({}); ", writer.rng.below(6)) } else { String::new() }
        };
        let ticking = |writer: &mut Self, chance: usize| if writer.rng.chance(chance) { "tick(); " } else { "" };
        let forward = effect(self, 40);
        let mut backward = effect(self, 40);
        let dropped = effect(self, 40);
        if !backward.is_empty() || !dropped.is_empty() {
            self.trust.after = false;
        }
        backward += ticking(self, 25);
        let on_drop =
            format!("{dropped}{}", if self.rng.chance(20) { "if !std::thread::panicking() { tick(); }" } else { "" });
        let first = ticking(self, 25);
        let guarded = self.rng.chance(50);
        let vectors = self.find(|place| place.ty == Ty::Float.vec() && !(place.borrowed && place.writable));
        let scale = self.float(true, 0);
        let k = self.rng.between(1, 3);
        match vectors {
            Some(vector) if self.rng.chance(70) => {
                let guard = if guarded { format!("let guard = Guard{name}(v);\n    ") } else { String::new() };
                let held = if guarded { "let _ = &guard; " } else { "" };
                let guard_type = if guarded {
                    format!(
                        "@real struct Guard{name}<'a>(&'a [F]);\n@real impl Drop for Guard{name}<'_> {{ fn drop(&mut \
                         self) {{ eye(&[&self.0]); {on_drop} }} }}\n"
                    )
                } else {
                    String::new()
                };
                let memory = if self.rng.chance(30) { "_: Memory, " } else { "" };
                self.items += &format!(
                    "fn h{name}(v: &[F], a: F) -> F {{\n    {first}{forward}let mut s = c(0.0);\n    for w in v {{ s \
                     += *w * a; }}\n    s\n}}\n{guard_type}\
                     @real #[rrule(for = h{name})]\n\
                     @real fn h{name}_rrule<'a>({memory}v: &'a [F], a: F) -> (F, impl Fn(F, \
                     &mut [F]) -> F + use<'a>) {{\n\
                     @real     {guard_}let value = h{name}(v, a);\n\
                     @real     (value, move |dy, dv: &mut [F]| {{ {held}{backward}let mut da = 0.0; \
                     for (d, w) in dv.iter_mut().zip(v) {{ *d += dy * a; da += dy * *w; }} da }})\n@real }}\n",
                    guard_ = guard.replace("\n    ", " "),
                );
                if self.rng.chance(40) {
                    self.items += &format!(
                        "@real #[frule(for = h{name})]\n@real fn h{name}_frule(v: &[F], dv: &[F], a: F, da: F) -> (F, \
                         F) {{ (h{name}(v, a), v.iter().zip(dv).map(|(v, dv)| *dv * a + *v * da).sum()) }}\n"
                    );
                }
                format!("{pad}let t{name} = {scale};\n{pad}acc += h{name}(&{}[..], t{name});\n", vector.text)
            }
            _ => {
                let guard_type = if guarded {
                    format!(
                        "@real struct Guard{name}(Vec<usize>);\n@real impl Drop for Guard{name} {{ fn drop(&mut self) \
                         {{ eye(&[&self.0]); {on_drop} }} }}\n"
                    )
                } else {
                    String::new()
                };
                let (guard, held) = if guarded {
                    (format!("let guard = Guard{name}(vec![{k}]); "), "let _ = &guard; ")
                } else {
                    (String::new(), "")
                };
                self.items += &format!(
                    "fn h{name}(a: F, n: usize) -> F {{\n    {first}{forward}a * a * c((n % 3) as f64)\n}}\n\
                     {guard_type}\
                     @real #[rrule(for = h{name})]\n\
                     @real fn h{name}_rrule(a: F, n: usize) -> (F, impl Fn(F) -> (F, NoTangent)) {{\n\
                     @real     {guard}let value = h{name}(a, n);\n\
                     @real     (value, move |dy| {{ {held}{backward}(dy * 2.0 * a * c((n % 3) as f64), \
                     NoTangent) }})\n@real }}\n"
                );
                let number = self.number();
                format!("{pad}let t{name} = ({scale}, {number});\n{pad}acc += h{name}(t{name}.0, t{name}.1);\n")
            }
        }
    }
}
