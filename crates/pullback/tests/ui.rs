//! The text of every error that an attribute or derive can give, beside the code that gives it.

#[test]
fn wrong_use_is_told_at_the_word_with_the_way_out() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
