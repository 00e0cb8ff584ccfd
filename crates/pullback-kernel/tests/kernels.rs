//! Functions with `#[kernel]`, called from Rust.

use pullback_kernel::error::ShapeError;
use pullback_kernel::{Error, Tensor, Value, kernel};

/// Adds.
#[kernel]
fn add(x: f32, y: f32) -> f32 {
    x + y
}

#[test]
fn a_value_and_an_array() {
    assert_eq!(add.call(10.0, 20.0).unwrap().item(), 30.0);
    assert_eq!(add.call(&[10.0, 20.0, 30.0], 20.0).unwrap().as_slice(), [30.0, 40.0, 50.0]);
    assert_eq!(add.call(&[10.0, 20.0, 30.0], &[40.0, 50.0, 60.0]).unwrap().as_slice(), [50.0, 70.0, 90.0]);
    let rows = Tensor::new([2, 3], [10.0, 20.0, 30.0, 40.0, 50.0, 60.0]);
    assert_eq!(
        add.call(&rows, &vec![1.0, 2.0, 3.0]).unwrap(),
        Tensor::new([2, 3], [11.0, 22.0, 33.0, 41.0, 52.0, 63.0])
    );
    // The function is still one.
    assert_eq!(add(1.0, 2.0), 3.0);
}

#[test]
fn shapes_that_do_not_go_together_are_told() {
    let error = add.call(&[10.0, 20.0, 30.0], &[40.0, 50.0, 60.0, 70.0]).unwrap_err();
    assert_eq!(error.to_string(), "`x` has shape (3,), `y` has shape (4,)");
    let rows = Tensor::<f32>::zeros([2, 3]);
    assert!(add.strict(true).call(&rows, &[1.0, 2.0, 3.0]).is_err());
    assert!(add.strict(true).call(&rows, 1.0).is_ok());
    let error = add.map("z", &[0]).call(&rows, 1.0).unwrap_err();
    assert_eq!(error.to_string(), "`add` has no parameter `z`: it has `x`, `y`");
}

#[test]
fn axes_of_arguments_are_mapped() {
    let table = add.map("x", &[0]).map("y", &[1]).call(&[1.0, 2.0], &[10.0, 20.0, 30.0]).unwrap();
    assert_eq!(table, Tensor::new([2, 3], [11.0, 21.0, 31.0, 12.0, 22.0, 32.0]));
}

#[test]
fn results_go_to_an_array_that_is_there() {
    let mut sums = Tensor::zeros([3]);
    add.call_into(&mut sums, &[1.0, 2.0, 3.0], 1.0).unwrap();
    assert_eq!(sums.as_slice(), [2.0, 3.0, 4.0]);
    let error = add.call_into(&mut [0.0; 4], &[1.0, 2.0, 3.0], 1.0).unwrap_err();
    assert!(matches!(&error, Error::Shape(error) if matches!(**error, ShapeError::Written { .. })), "{error}");
}

#[derive(Value, Clone, Copy, PartialEq, Debug)]
struct Ray {
    at: [f32; 3],
    towards: [f32; 3],
    steps: u8,
}

/// What does not fit a parameter is found at its place, and it is changed.
#[kernel]
fn walk(ray: &mut Ray, by: f32) {
    for (at, towards) in ray.at.iter_mut().zip(ray.towards) {
        *at += by * towards;
    }
    ray.steps += 1;
}

#[test]
fn structs_are_changed_where_they_lie() {
    let ray = Ray { at: [0.0; 3], towards: [1.0, 0.0, -1.0], steps: 0 };
    let mut rays = vec![ray; 1000];
    let by: Vec<f32> = (0..1000).map(|i| i as f32).collect();
    walk.call(&mut rays, &by).unwrap();
    walk.call(&mut rays, 0.5).unwrap();
    for (i, ray) in rays.iter().enumerate() {
        let way = i as f32 + 0.5;
        assert_eq!(*ray, Ray { at: [way, 0.0, -way], towards: [1.0, 0.0, -1.0], steps: 2 });
    }
    // One ray is not walked for each of several ways.
    let mut one = ray;
    let error = walk.call(&mut one, &by).unwrap_err();
    assert!(error.to_string().starts_with("`ray` has shape (), and is written once for each of (1000,)"), "{error}");
    assert_eq!(one, ray);
}

#[kernel]
fn pick(index: u32, of: [f32; 4]) -> f32 {
    of[index as usize]
}

#[test]
fn a_panic_is_an_error_with_the_element() {
    let error = pick.call(&[0, 1, 9, 12], [1.0, 2.0, 3.0, 4.0]).unwrap_err();
    assert!(matches!(&error, Error::Panic { element: 2, message } if message.contains("index is 9")), "{error}");
    assert_eq!(pick.call(&[3, 0], [1.0, 2.0, 3.0, 4.0]).unwrap().as_slice(), [4.0, 1.0]);
}

#[test]
fn many_elements_are_computed_on_all_threads() {
    let count = 1 << 20;
    let x: Vec<f32> = (0..count).map(|i| i as f32).collect();
    let all = add.call(&x, &x).unwrap();
    assert!(all.as_slice().iter().zip(&x).all(|(sum, x)| *sum == x + x));
    assert_eq!(add.threads(1).call(&x, &x).unwrap(), all);
    assert_eq!(add.tile(7).call(&x, &x).unwrap(), all);
}

#[test]
fn no_elements_are_none() {
    assert_eq!(add.call(&[], 1.0).unwrap().shape()[..], [0]);
}

#[cfg(feature = "ndarray")]
#[test]
fn arrays_of_ndarray_are_arguments_however_they_lie() {
    use ndarray::{Array2, array, s};
    let x = Array2::from_shape_fn((4, 6), |(row, column)| (row * 10 + column) as f32);
    let part = x.slice(s![..;-1, 1..;2]);
    let sums = add.call(&part.t(), &array![100.0, 200.0, 300.0, 400.0]).unwrap();
    for ((column, row), x) in part.t().indexed_iter() {
        assert_eq!(sums[[column, row]], x + 100.0 * (row + 1) as f32);
    }
    let mut result = Array2::zeros((6, 4));
    add.call_into(&mut result.view_mut().reversed_axes(), &x, 1.0).unwrap();
    assert_eq!(result.t(), &x + 1.0);
}
