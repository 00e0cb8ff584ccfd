//! Arrays of the crate `ndarray` that a function makes of its arguments: views, broadcasting, reductions.

use ndarray::*;

/// Three rows.
fn rows(x: &[f64]) -> Array2<f64> {
    Array2::from_shape_vec((3, x.len() / 3), x.to_vec()).unwrap()
}

const POINT: [f64; 12] = [1.3, 1.9, 2.2, 2.1, 1.6, 0.9, 0.5, 0.4, 0.8, 1.4, 2.0, 2.3];

pullback_e2e::differentiated! {
    fn sliced(x) {
        let a = rows(x);
        let b = a.slice(s![.., 1..;2]);
        (&b * &b).sum()
    } at POINT;

    fn reversed(x) {
        let a = rows(x);
        let b = a.slice(s![..;-1, ..]);
        (&b * &a).sum()
    } at POINT;

    fn zipped(x) {
        let a = rows(x);
        let mut o = Array2::zeros(a.raw_dim());
        Zip::from(&mut o).and(&a).for_each(|o, &a| *o = f64::sin(a) * a);
        o.sum()
    } at POINT;

    fn azipped(x) {
        let a = rows(x);
        let b = a.t().to_owned();
        let c = b.t();
        let mut o = Array2::zeros(a.raw_dim());
        azip!((o in &mut o, &a in &a, &c in &c) *o = a * c);
        o.product()
    } at POINT;

    fn windowed(x) {
        let a = Array1::from(x.to_vec());
        a.windows(3).into_iter().map(|w| w.product()).sum()
    } at POINT;

    fn windowed2(x) {
        let a = rows(x);
        a.windows((2, 2)).into_iter().map(|w| w[[0, 0]] * w[[1, 1]]).sum()
    } at POINT;

    fn concatenated(x) {
        let a = rows(x);
        let b = concatenate![Axis(0), a, a];
        b.map(|v| v * v).sum()
    } at POINT;

    fn stacked(x) {
        let a = rows(x);
        let b = stack![Axis(0), a, a];
        (b.sum_axis(Axis(0)) * a).sum()
    } at POINT;

    fn mapped(x) {
        let a = rows(x);
        a.map_axis(Axis(0), |c| c.dot(&c).sqrt()).sum()
    } at POINT;

    fn folded(x) {
        let a = rows(x);
        a.fold_axis(Axis(1), 1.0, |p, v| p * v).sum()
    } at POINT;

    fn reshaped(x) {
        let a = rows(x).into_shape_with_order((2, 6)).unwrap();
        a.dot(&a.t()).diag().sum()
    } at POINT;

    fn outer_product(x) {
        let a = Array1::from(x.to_vec());
        let o = &a.view().insert_axis(Axis(1)) * &a.view().insert_axis(Axis(0));
        o.mapv(|v| v.ln()).sum()
    } at POINT;

    fn assigned(x) {
        let a = rows(x);
        let mut b = Array2::zeros((3, 8));
        b.slice_mut(s![.., ..4]).assign(&a);
        b.slice_mut(s![.., 4..]).assign(&(&a * 2.0));
        b.row_mut(1).mapv_inplace(|v| v * v);
        b.sum()
    } at POINT;

    fn softmax(x) {
        let a = rows(x);
        let mx = a.fold_axis(Axis(1), f64::NEG_INFINITY, |m, v| m.max(*v)).insert_axis(Axis(1));
        let e = (&a - &mx).mapv(f64::exp);
        let s = e.sum_axis(Axis(1)).insert_axis(Axis(1));
        let p = e / s;
        p[[0, 0]] * p[[1, 2]]
    } at POINT;

    fn statistics(x) {
        let a = rows(x);
        a.var_axis(Axis(0), 1.0).sum() + a.std(0.0)
    } at POINT;

    fn selected(x) {
        let a = rows(x);
        a.select(Axis(1), &[2, 0, 2]).map(|v| v * v * v).sum()
    } at POINT;

    fn neighbours(x) {
        let a = rows(x);
        a.rows().into_iter().zip(a.rows().into_iter().skip(1)).map(|(r, s)| r.dot(&s)).sum()
    } at POINT;

    fn chunks(x) {
        let a = rows(x);
        a.exact_chunks((1, 2)).into_iter().map(|c| c[[0, 0]] / c[[0, 1]]).sum()
    } at POINT;

    fn quadratic_form(x) {
        let a = rows(x);
        let g = a.t().dot(&a) + Array2::<f64>::eye(4);
        let v = Array1::from(x[..4].to_vec());
        v.dot(&g.dot(&v))
    } at POINT;

    fn scaled(x) {
        let mut a = rows(x);
        a *= 2.0;
        let b = a.clone();
        a += &b;
        a.scaled_add(0.5, &b);
        a.sum().powi(2)
    } at POINT;

    fn cumulative(x) {
        let mut a = rows(x);
        a.accumulate_axis_inplace(Axis(1), |p, c| *c *= *p);
        a.sum()
    } at POINT;

    fn permuted(x) {
        let a = Array3::from_shape_vec((2, 3, 2), x.to_vec()).unwrap().permuted_axes([2, 0, 1]);
        let b = a.as_standard_layout().into_owned();
        (&b.index_axis(Axis(0), 0) * &b.index_axis(Axis(0), 1)).sum()
    } at POINT;

    fn halves(x) {
        let a = Array1::from(x.to_vec());
        let h = a.len() / 2;
        let (l, r) = a.view().split_at(Axis(0), h);
        (&l - &r).mapv(|v| v.abs()).sum() + l.dot(&r)
    } at POINT;
}
