//! The contract, number by number: if one of these changes, so does [`VERSION`].

use super::*;
use core::mem::offset_of;

/// The offsets of fields, in order, and the size of a structure.
macro_rules! bytes_of {
    ($structure:ty: $($field:ident),*) => {
        [$(offset_of!($structure, $field),)* size_of::<$structure>()]
    };
}

/// As `docs/architecture.md` has them.
#[test]
#[cfg(target_pointer_width = "64")]
fn structures_lie_as_the_driver_reads_them() {
    assert_eq!(VERSION, 3);
    assert_eq!([Slice::<u8>::POINTER, Slice::<u8>::LENGTH, size_of::<Slice<u8>>(), size_of::<Str>()], [0, 8, 16, 16]);
    assert_eq!(
        bytes_of!(Request: version, mode, width, flags, name, file, line, column, args),
        [0, 4, 8, 12, 16, 32, 48, 52, 56, 72]
    );
    assert_eq!(bytes_of!(Arg: name, activity, flags, layout), [0, 16, 20, 24, 32]);
    assert_eq!(bytes_of!(Layout: size, align, fields, name), [0, 8, 16, 32, 48]);
    assert_eq!(bytes_of!(Field: offset, kind, flags, count, layout), [0, 8, 12, 16, 24, 32]);
    assert_eq!(
        bytes_of!(RuleEntry: version, kind, target, wrapper, name, file, line, column),
        [0, 4, 8, 16, 24, 40, 56, 60, 64]
    );
    assert_eq!(
        bytes_of!(Rule: version, flags, name, args, primal, augmented, view, pullback, tangent),
        [0, 4, 8, 24, 40, 48, 56, 64, 72, 120]
    );
    assert_eq!(bytes_of!(Rule: closure, viewed, owning), [80, 96, 112, 120]);
    assert_eq!(bytes_of!(Kept: size, align), [0, 8, 16]);
}

#[test]
fn numbers_mean_what_they_meant() {
    assert_eq!([Mode::Forward, Mode::Reverse].map(|mode| mode as u32), [0, 1]);
    let activities = [Activity::Const, Activity::Duplicated, Activity::DuplicatedNoNeed];
    assert_eq!(activities.map(|activity| activity as u32), [0, 1, 2]);
    let kinds = [
        Kind::F32,
        Kind::F64,
        Kind::Pointer,
        Kind::Inactive,
        Kind::Nested,
        Kind::Opaque,
        Kind::Payload,
        Kind::Unknown,
        Kind::Cell,
        Kind::Owners,
    ];
    assert_eq!(kinds.map(|kind| kind as u32), [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
    let kinds = [RuleKind::Forward, RuleKind::Reverse, RuleKind::NonDifferentiable, RuleKind::OptOut];
    assert_eq!(kinds.map(|kind| kind as u32), [0, 1, 2, 3]);
    let flags = [Request::STRONG_ZERO, Request::RUNTIME_ACTIVITY, Request::SPLIT, Request::SEEDS, Arg::BY_VALUE];
    assert_eq!(flags, [1, 2, 4, 8, 1]);
    let flags =
        [Field::SINGLE, Field::DROPPED, Field::OPTIONAL, Field::SHARED, Field::AGAIN, Field::STAYS, Field::BORROWS];
    assert_eq!(flags, [1, 2, 4, 8, 16, 32, 64]);
    assert_eq!([Rule::BORROWS, Rule::ONCE, Rule::DROPS, RuleEntry::DEFAULT], [1, 2, 4, 256]);
}

#[test]
fn what_a_number_stands_for_is_found_or_an_error() {
    assert_eq!((0..3).map(Mode::try_from).filter_map(Result::ok).count(), 2);
    assert_eq!(Mode::try_from(1), Ok(Mode::Reverse));
    assert_eq!(Mode::try_from(2), Err(UnknownNumber { what: "mode", number: 2 }));
    assert_eq!(Activity::try_from(2), Ok(Activity::DuplicatedNoNeed));
    assert_eq!(Activity::try_from(3), Err(UnknownNumber { what: "activity", number: 3 }));
    assert_eq!(Kind::try_from(10), Ok(Kind::Owners));
    assert!([0, 11, u32::MAX].map(Kind::try_from).iter().all(Result::is_err));
    assert_eq!(RuleKind::try_from(3), Ok(RuleKind::OptOut));
    assert!(RuleKind::try_from(3 | RuleEntry::DEFAULT).is_err());
}

#[test]
fn a_request_gives_back_what_it_was_made_of() {
    fn layout() -> &'static Layout {
        const { &Layout::new::<f64>("f64", const { &[Field::f64(0)] }) }
    }
    static REQUEST: Request = Request::new(
        Mode::Reverse,
        2,
        Request::STRONG_ZERO,
        "f",
        ("lib.rs", 3, 5),
        &[Arg::new("x", Activity::Duplicated, layout).by_value()],
    );
    assert_eq!((REQUEST.version, REQUEST.mode, REQUEST.width, REQUEST.flags), (VERSION, Mode::Reverse, 2, 1));
    assert_eq!((REQUEST.name.get(), REQUEST.file.get(), REQUEST.line, REQUEST.column), ("f", "lib.rs", 3, 5));
    let [arg] = REQUEST.args.get() else { panic!("it has one argument") };
    assert_eq!((arg.name.get(), arg.activity, arg.flags), ("x", Activity::Duplicated, Arg::BY_VALUE));
    let layout = (arg.layout)();
    assert_eq!((layout.name.get(), layout.size, layout.align), ("f64", 8, 8));
    let [field] = layout.fields.get() else { panic!("it has one field") };
    assert_eq!((field.offset, field.kind, field.count, field.layout.is_none()), (0, Kind::F64, 1, true));
}
