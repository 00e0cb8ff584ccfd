//! Layouts against real memory, zero shadows, and what the check of a shadow says.

mod names;

use super::*;

use crate::abi::Kind;
use pullback_macros::Differentiable;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

/// What a layout says lies where, nested ones unfolded: `(offset, kind)`, with the length of inactive and opaque bytes.
fn flat<T: Differentiable + ?Sized>() -> Vec<(usize, Kind, usize)> {
    fn unfold(layout: &Layout, base: usize, into: &mut Vec<(usize, Kind, usize)>) {
        for field in layout.fields.get() {
            let at = base + field.offset;
            match field.kind {
                Kind::Nested => {
                    let nested = field.layout.unwrap()();
                    for index in 0..field.count {
                        unfold(nested, at + index * nested.size, into);
                    }
                }
                Kind::Payload => {}
                kind => into.push((at, kind, field.count)),
            }
        }
    }
    let mut fields = Vec::new();
    unfold(layout_of::<T>(), 0, &mut fields);
    fields.sort_by_key(|field| field.0);
    fields
}

/// The word at a byte offset of a value.
fn word<T>(value: &T, offset: usize) -> usize {
    assert!(offset + 8 <= size_of::<T>());
    // SAFETY: in bounds; callers ask for words that are initialised.
    unsafe { (&raw const *value).cast::<u8>().add(offset).cast::<usize>().read() }
}

fn pointer_offset<T: Differentiable>() -> usize {
    flat::<T>().iter().find(|field| field.1 == Kind::Pointer).unwrap().0
}

#[test]
fn scalars_and_arrays() {
    assert_eq!(flat::<f32>(), [(0, Kind::F32, 1)]);
    assert_eq!(flat::<[f64; 3]>(), [(0, Kind::F64, 1), (8, Kind::F64, 1), (16, Kind::F64, 1)]);
    assert_eq!(flat::<u16>(), [(0, Kind::Inactive, 2)]);
    assert_eq!(flat::<[f32]>(), flat::<f32>());
    assert_eq!((layout_of::<f32>().size, layout_of::<f64>().align), (4, 8));
}

#[test]
fn tuples_lie_where_rustc_puts_them() {
    let tuple = (1u8, 2.0f64, 3.0f32);
    let offset = |field: *const u8| field.addr() - (&raw const tuple).addr();
    let mut expected = vec![
        (offset((&raw const tuple.0).cast()), Kind::Inactive, 1),
        (offset((&raw const tuple.1).cast()), Kind::F64, 1),
        (offset((&raw const tuple.2).cast()), Kind::F32, 1),
    ];
    expected.sort_by_key(|field| field.0);
    assert_eq!(flat::<(u8, f64, f32)>(), expected);
}

#[test]
fn a_slice_reference_is_address_and_length() {
    let values = [1.0, 2.0, 3.0];
    let slice = &values[..];
    assert_eq!(flat::<&[f64]>(), [(0, Kind::Pointer, 1), (8, Kind::Inactive, 8)]);
    assert_eq!((word(&slice, 0), word(&slice, 8)), (values.as_ptr().addr(), 3));
    assert_eq!(flat::<&mut f64>(), [(0, Kind::Pointer, 1)]);
    assert_eq!(flat::<Box<[f64]>>(), flat::<&[f64]>());
}

#[test]
fn a_vec_is_three_words_with_its_pointer_where_the_layout_says() {
    let vec = vec![1.0, 2.0];
    assert_eq!(word(&vec, pointer_offset::<Vec<f64>>()), vec.as_ptr().addr());
    assert_eq!(flat::<Vec<f64>>().iter().filter(|field| field.1 == Kind::Inactive).count(), 2);
    let string = String::from("text");
    assert_eq!(word(&string, pointer_offset::<String>()), string.as_ptr().addr());
}

#[test]
fn counted_values_follow_their_counts() {
    let (rc, arc) = (Rc::new(2.5f64), Arc::new([1.0f32; 4]));
    let field = layout_of::<Rc<f64>>().fields.get()[0];
    let value = field.layout.unwrap()().fields.get()[2];
    assert_eq!(word(&rc, 0) + value.offset, Rc::as_ptr(&rc).addr());
    let field = layout_of::<Arc<[f32; 4]>>().fields.get()[0];
    let value = field.layout.unwrap()().fields.get()[2];
    assert_eq!(word(&arc, 0) + value.offset, Arc::as_ptr(&arc).addr());
}

#[test]
fn an_option_with_a_niche_is_its_content() {
    assert_eq!(flat::<Option<Box<f64>>>(), flat::<Box<f64>>());
    assert_eq!(flat::<Option<f64>>(), [(0, Kind::Opaque, 16)]);
    let some = Some(Box::new(1.0));
    assert_eq!(word(&some, 0), (&raw const **some.as_ref().unwrap()).addr());
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
struct Layer {
    inputs: u32,
    rows: Vec<Vec<f64>>,
    bias: (f32, f64),
    #[pullback(skip)]
    label: &'static str,
}

#[derive(Differentiable, Clone, PartialEq, Debug)]
enum List {
    Nil,
    Cons(f64, Box<List>),
    Named { value: f64, next: Option<Box<List>> },
}

fn layer() -> Layer {
    Layer { inputs: 3, rows: vec![vec![1.0; 10]; 4], bias: (1.0, 2.0), label: "first" }
}

fn cons(value: f64, rest: List) -> List {
    List::Cons(value, Box::new(rest))
}

#[test]
fn a_derived_struct_lies_where_rustc_puts_it() {
    let layer = layer();
    let offset = |field: *const u8| field.addr() - (&raw const layer).addr();
    let fields = flat::<Layer>();
    assert!(fields.contains(&(offset((&raw const layer.inputs).cast()), Kind::Inactive, 4)));
    assert!(fields.contains(&(offset((&raw const layer.bias.0).cast()), Kind::F32, 1)));
    assert!(fields.contains(&(offset((&raw const layer.bias.1).cast()), Kind::F64, 1)));
    assert!(fields.contains(&(offset((&raw const layer.label).cast()), Kind::Unknown, 16)));
    assert_eq!(layout_of::<Layer>().name.get(), "Layer");
}

#[test]
fn an_enum_is_opaque() {
    assert_eq!(flat::<List>(), [(0, Kind::Opaque, size_of::<List>())]);
}

#[test]
fn zero_shadows_have_zero_floats_and_all_else_as_it_was() {
    let zero = Layer { rows: vec![vec![0.0; 10]; 4], bias: (0.0, 0.0), ..layer() };
    assert_eq!(make_zero(&layer()), zero);
    let list = cons(1.0, List::Named { value: 2.0, next: Some(Box::new(cons(3.0, List::Nil))) });
    let zero = cons(0.0, List::Named { value: 0.0, next: Some(Box::new(cons(0.0, List::Nil))) });
    assert_eq!(make_zero(&list), zero);
    assert_eq!(make_zero(&Ok::<_, String>((1.5, 'c', true))), Ok((0.0, 'c', true)));
    assert_eq!(make_zero(&[Some(1.0), None][..]), [Some(0.0), None]);
    assert_eq!(make_zero(&(1.0..2.0)), 0.0..0.0);
    assert_eq!(make_zero("text"), "text");
}

#[test]
fn zero_shadows_keep_capacity() {
    let mut vec = Vec::with_capacity(17);
    vec.push(1.0);
    assert!(make_zero(&vec).capacity() >= 17);
}

#[test]
fn zero_shadows_share_what_the_primal_shares() {
    let cell = Rc::new(Cell::new(1.0));
    let values = vec![cell.clone(), Rc::new(Cell::new(2.0)), cell];
    let zero = make_zero(&values);
    assert!(Rc::ptr_eq(&zero[0], &zero[2]) && !Rc::ptr_eq(&zero[0], &zero[1]));
    assert_eq!(Rc::strong_count(&zero[0]), 2);
    assert_eq!(zero[0].get(), 0.0);
    assert!(!Rc::ptr_eq(&zero[0], &values[0]));
}

/// What the check says about `shadow` as the shadow of the argument `name`.
fn complaint<T: Differentiable>(name: &str, primal: &T, shadow: &T) -> String {
    primal.check_shadow(shadow, &Path::argument(name)).unwrap_err().to_string()
}

#[test]
fn a_fitting_shadow_passes() {
    let primal = layer();
    assert_eq!(primal.check_shadow(&make_zero(&primal), &Path::argument("layer")), Ok(()));
    assert_eq!([1.0][..].check_shadow(&[0.0][..], &Path::argument("x")), Ok(()));
}

#[test]
fn a_wrong_length_is_told_with_its_path() {
    let mut shadow = make_zero(&layer());
    shadow.rows[3].truncate(7);
    assert_eq!(
        complaint("layer", &&layer(), &&shadow),
        "shadow of argument `layer` does not fit: `layer.rows[3]` has length 10, its shadow has length 7\n\
         help: `pullback::make_zero` makes a shadow that fits"
    );
    assert!(complaint("x", &&[1.0; 3][..], &&[1.0; 1][..]).contains("`x` has length 3, its shadow has length 1"));
    assert!(complaint("p", &(1.0, vec![1.0]), &(1.0, vec![])).contains("`p.1` has length 1, its shadow has length 0"));
}

#[test]
fn a_wrong_variant_is_told_with_both_names() {
    let primal = cons(1.0, cons(2.0, List::Nil));
    assert!(
        complaint("list", &primal, &cons(0.0, List::Nil)).contains("`list.Cons.1` is `Cons`, its shadow is `Nil`"),
        "{}",
        complaint("list", &primal, &cons(0.0, List::Nil))
    );
    assert!(complaint("o", &Some(1.0), &None).contains("`o` is `Some`, its shadow is `None`"));
    assert!(complaint("r", &Ok::<_, ()>(vec![1.0]), &Ok(vec![])).contains("`r.Ok` has length 1"));
}

#[test]
fn a_vec_that_can_grow_needs_room_in_its_shadow() {
    let mut primal = Vec::with_capacity(8);
    primal.push(1.0);
    let shadow = vec![0.0];
    assert!(complaint("v", &primal, &shadow).contains("`v` has capacity 8, its shadow has capacity 1"));
    let through_a_reference = <&Vec<f64>>::check_shadow(&&primal, &&shadow, &Path::argument("v"));
    assert_eq!(through_a_reference, Ok(()));
}

/// The floats of a value, and those of the shadow in the same order. A shared value is visited once.
#[derive(Default)]
struct Pairs(Vec<(f64, f64)>, Vec<*const ()>);

impl VisitFloats for Pairs {
    unsafe fn run<F: Float>(&mut self, primal: *const F, shadow: *mut F, count: usize) {
        let read = |place: *const F, index| {
            // SAFETY: asked of the caller; a float of 4 bytes is an `f32`.
            unsafe {
                let place = place.add(index);
                if size_of::<F>() == 4 { f64::from(*place.cast::<f32>()) } else { *place.cast::<f64>() }
            }
        };
        self.0.extend((0..count).map(|index| (read(primal, index), read(shadow, index))));
    }

    fn is_new(&mut self, address: *const ()) -> bool {
        let new = !self.1.contains(&address);
        self.1.push(address);
        new
    }
}

/// What [`Differentiable::floats`] visits.
fn pairs<T: Differentiable>(primal: &T, mut shadow: T) -> Vec<(f64, f64)> {
    let mut pairs = Pairs::default();
    // SAFETY: shadows here have the shape of their primals.
    unsafe { primal.floats(&mut shadow, &mut pairs) };
    pairs.0
}

#[test]
fn floats_are_visited_with_their_shadows() {
    assert_eq!(pairs(&1.0f32, 2.0), [(1.0, 2.0)]);
    assert_eq!(pairs(&(1.0, 7u8, [2.0f32, 3.0]), (10.0, 9, [20.0, 30.0])), [(1.0, 10.0), (2.0, 20.0), (3.0, 30.0)]);
    assert_eq!(
        pairs(&vec![(1.0, Some(2.0)), (3.0, None)], vec![(4.0, Some(5.0)), (6.0, None)]),
        [(1.0, 4.0), (2.0, 5.0), (3.0, 6.0)]
    );
    assert_eq!(pairs(&Box::new([Cell::new(1.0)]), Box::new([Cell::new(2.0)])), [(1.0, 2.0)]);
    assert_eq!(pairs(&(&[1.0, 2.0][..], 3.0..4.0), (&[5.0, 6.0][..], 7.0..8.0)).len(), 4);
    assert_eq!(pairs(&Ok::<f64, f32>(1.0), Ok(2.0)), [(1.0, 2.0)]);
    assert_eq!(pairs(&("text".to_owned(), 1u64), ("other".to_owned(), 2)), []);
    let (one, other) = (Rc::new(1.0), Rc::new(2.0));
    assert_eq!(pairs(&[one.clone(), one], [other.clone(), other]), [(1.0, 2.0)]);
}

#[test]
fn of_a_shadow_only_pointers_are_read() {
    let primal = (vec![1.0, 2.0], Some(3.0));
    let mut shadow = (vec![4.0, 5.0], Some(6.0));
    // SAFETY: shorter than it is.
    unsafe { shadow.0.set_len(0) };
    assert_eq!(pairs(&primal, shadow), [(1.0, 4.0), (2.0, 5.0), (3.0, 6.0)]);
}

#[test]
fn floats_of_derived_types_are_visited() {
    #[derive(Differentiable)]
    struct Layer {
        weights: Vec<f64>,
        #[pullback(skip)]
        name: &'static str,
        activation: Activation,
    }
    #[derive(Differentiable)]
    enum Activation {
        Linear,
        Leaky { slope: f32 },
    }
    let layer = |weight, slope| Layer { weights: vec![weight], name: "x", activation: Activation::Leaky { slope } };
    assert_eq!(layer(1.0, 1.0).name, "x");
    assert_eq!(pairs(&layer(1.0, 2.0), layer(3.0, 4.0)), [(1.0, 3.0), (2.0, 4.0)]);
    assert_eq!(pairs(&Activation::Linear, Activation::Linear), []);
}

/// Cells of floats, cells of any kind.
#[test]
fn cells_are_found_behind_pointers_and_in_recursive_types() {
    use super::reach::{may_reach_cells, may_reach_float_cells};
    fn reach<T: Differentiable + ?Sized>() -> [bool; 2] {
        [may_reach_float_cells::<T>(), may_reach_cells::<T>()]
    }
    #[derive(Differentiable)]
    struct List<T> {
        value: T,
        rest: Option<Box<List<T>>>,
    }
    #[derive(Differentiable)]
    enum Tree {
        Leaf(Rc<Cell<f32>>),
        Node(Vec<Tree>),
    }
    type Deep<T> = Vec<Rc<Option<Box<(usize, Vec<T>)>>>>;
    assert_eq!([reach::<Vec<Vec<f64>>>(), reach::<Rc<Vec<f64>>>(), reach::<Deep<f64>>()], [[false; 2]; 3]);
    assert_eq!([reach::<[Cell<f64>]>(), reach::<&(usize, Cell<f32>)>(), reach::<Deep<Cell<f64>>>()], [[true; 2]; 3]);
    assert_eq!(
        [reach::<Cell<usize>>(), reach::<Rc<Cell<Option<u8>>>>(), reach::<Deep<Cell<bool>>>()],
        [[false, true]; 3]
    );
    assert_eq!([reach::<Rc<Cell<Option<f64>>>>(), reach::<List<Cell<f64>>>(), reach::<Tree>()], [[true; 2]; 3]);
    assert_eq!(reach::<List<f64>>(), [false, true]);
}

#[test]
fn plain_is_floats_and_nothing_else() {
    #[derive(Differentiable)]
    struct Point {
        _x: f64,
        _y: [f32; 3],
        #[pullback(skip)]
        _unit: (),
    }
    #[derive(Differentiable)]
    struct Counted {
        _x: f64,
        _count: u32,
    }
    #[derive(Clone)]
    struct Token;
    impl Drop for Token {
        fn drop(&mut self) {}
    }
    #[derive(Differentiable)]
    struct Held {
        _x: f64,
        #[pullback(skip)]
        _token: Token,
    }
    assert_eq!([Point::PLAIN, <[(f64, Point); 2]>::PLAIN, <[Cell<f32>]>::PLAIN, <()>::PLAIN], [true; 4]);
    let not = [Held::PLAIN, Counted::PLAIN, <(f64, u8)>::PLAIN, Option::<f64>::PLAIN, Vec::<f64>::PLAIN, <&f64>::PLAIN];
    assert_eq!(not, [false; 6]);
}

macro_rules! derived {
    ($name:ident, $ty:ident) => {
        #[derive(Differentiable, Clone, Debug, PartialEq)]
        struct $name {
            x: $ty,
            #[pullback(skip)]
            label: Option<$ty>,
        }
    };
}

derived!(FromAMacro, f64);

/// The names in what a derive writes are its own, wherever the types of fields come from.
#[test]
fn a_macro_may_write_the_type_of_a_field() {
    let value = FromAMacro { x: 3.0, label: Some(1.0) };
    assert_eq!(crate::make_zero(&value), FromAMacro { x: 0.0, label: Some(1.0) });
}
