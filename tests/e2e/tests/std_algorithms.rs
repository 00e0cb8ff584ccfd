//! The algorithms of slices, vectors and iterators that an ordinary program reaches for, each on data that depends on the inputs.

pullback_e2e::differentiated! {
    fn sort_tuple_vec(x) {
        let mut v: Vec<(usize, f64, bool)> = x.iter().enumerate().map(|(i, a)| (i, a.sin(), i % 2 == 0)).collect();
        v.sort_by(|a, b| a.1.total_cmp(&b.1));
        v.sort_unstable_by_key(|t| t.2);
        v.reverse();
        v.iter().enumerate().map(|(r, (i, s, b))| s * (r * 3 + i) as f64 * if *b { 2.0 } else { 1.0 }).sum()
    } at [3.0, 1.0, 2.0, 0.5];
}
