//! What cannot be a kernel function, or an argument of one, is told where it stands. With `TRYBUILD=overwrite` what is
//! said is written down anew.

#[test]
fn what_cannot_be_is_told_where_it_stands() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
