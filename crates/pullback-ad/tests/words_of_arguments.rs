//! Words in the memory of arguments: a layout says what the variants of an enum hold, not where, and nothing of what is
//! behind their pointers.

use pullback_ad::request::{Activity, Argument, Field, FieldKind, Layout, Layouts, Mode, Request};
use pullback_ad::{Error, ErrorKind};
use pullback_ir::interp::{Interp, Val};
use pullback_ir::{Module, parse_module};

/// `enum E { Leaf(f64), P(&f64), Node(Box<E>) }`: what is in a `Node` is copied, and then looked at. It is `2·x` for
/// `Leaf(x)`, and `3·x` for `P(&x)`.
const COPIED: &str = "
declare @alloc(i64, i64) -> ptr
declare @dealloc(ptr, i64, i64)
fn @f(v0: ptr, v1: ptr) {
b0:
  v2 = load i64 v0
  v3 = ptradd v0, 8:i64
  v10 = alloc 16:i64, 8:i64, @alloc
  v11 = ptradd v10, 8:i64
  v4 = icmp eq v2, 2:i64
  branch v4, b1, b2
b1:
  v5 = load ptr v3
  v6 = load i64 v5
  v7 = ptradd v5, 8:i64
  v8 = load TYPE v7
  store v10, v6
  store v11, v8
  jump b3
b2:
  store v10, 0:i64
  store v11, 1.0f64
  jump b3
b3:
  v20 = load i64 v10
  v21 = icmp eq v20, 0:i64
  branch v21, b4, b5
b4:
  v22 = load f64 v11
  v23 = fmul v22, 2.0f64
  jump b6(v23)
b5:
  v24 = load ptr v11
  v25 = load f64 v24
  v26 = fmul v25, 3.0f64
  jump b6(v26)
b6(v27: f64):
  store v1, v27
  dealloc v10, 16:i64, 8:i64, @dealloc
  return
}
";

fn derivative(text: &str, mode: Mode) -> Result<Module, Error> {
    let mut module = parse_module(text).unwrap();
    let mut layouts = Layouts::default();
    let of = |name: &str, kind| Layout { name: name.to_owned(), size: 8, fields: vec![Field { offset: 0, kind }] };
    let float = layouts.add(of("f64", FieldKind::F64));
    let reference = layouts.add(of("&f64", FieldKind::Reference(float)));
    let node = layouts.add(Layout::default());
    let boxed = layouts.add(of("Box", FieldKind::Pointer(Some(node))));
    let kinds = [
        (0, FieldKind::Opaque(16)),
        (0, FieldKind::Payload(float)),
        (1, FieldKind::Payload(reference)),
        (2, FieldKind::Payload(boxed)),
    ];
    let fields = kinds.into_iter().map(|(offset, kind)| Field { offset, kind }).collect();
    layouts.set(node, Layout { name: "E".to_owned(), size: 16, fields });
    let args = vec![Argument::new("e", Activity::Duplicated, node), Argument::result(Activity::Duplicated, float)];
    let primal = module.find("f").unwrap();
    pullback_ad::differentiate(&mut module, primal, &Request::new(mode, args, layouts), "d")?;
    Ok(module)
}

/// The tangent of `Node(Leaf(x))` or `Node(P(&x))`.
fn tangent(module: &Module, tag: u64) -> f64 {
    let mut interp = Interp::new(module);
    let mut node = |tag: u64, payload: u64, tangent: u64| {
        [payload, tangent].map(|word| {
            let bytes: Vec<u8> = [tag, word].iter().flat_map(|word| word.to_le_bytes()).collect();
            interp.alloc_bytes(&bytes).unwrap()
        })
    };
    let [leaf, d_leaf] = node(0, 5f64.to_bits(), 1f64.to_bits());
    let (inner, d_inner) = if tag == 0 {
        (leaf, d_leaf)
    } else {
        let [reference, d_reference] = node(1, leaf + 8, d_leaf + 8);
        (reference, d_reference)
    };
    let [outer, d_outer] = node(2, inner, d_inner);
    let [out, d_out] = [0.0, 0.0].map(|v| interp.alloc_f64s(&[v]).unwrap());
    interp.call(module.find("d").unwrap(), &[outer, d_outer, out, d_out].map(Val::Ptr)).unwrap();
    assert_eq!(interp.leaks(), []);
    interp.read_f64s(d_out, 1).unwrap()[0]
}

/// Whatever the optimiser moves it as, a payload that lies behind the pointer of a variant is what it is.
#[test]
fn behind_the_pointer_of_a_variant() {
    for ty in ["i64", "f64", "ptr"] {
        let program = COPIED.replace("TYPE", ty);
        let module = derivative(&program, Mode::Forward).unwrap();
        assert_eq!([tangent(&module, 0), tangent(&module, 1)], [2.0, 3.0], "{ty}");
        // In reverse mode a shadow there may be a cotangent of the caller's.
        assert_eq!(derivative(&program, Mode::Reverse).unwrap_err().kind, ErrorKind::UnknownType, "{ty}");
    }
}
