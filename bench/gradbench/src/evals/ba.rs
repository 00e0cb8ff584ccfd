//! `ba`: bundle adjustment, and its sparse Jacobian.

use crate::protocol::{Eval, evaluate};
use pullback::autodiff;
use serde::Deserialize;
use serde_json::json;

pub const EVAL: Eval = Eval {
    name: "ba",
    functions: &[
        ("objective", |input| {
            evaluate(input, objective, |_, errors| {
                json!({
                    "reproj_error": { "elements": errors.reprojection[0], "repeated": errors.reprojection.len() },
                    "w_err": { "element": errors.weight[0], "repeated": errors.weight.len() },
                })
            })
        }),
        ("jacobian", |input| {
            evaluate(
                input,
                jacobian,
                |_, jacobian| json!({ "rows": ends(&jacobian.rows), "cols": ends(&jacobian.columns), "vals": ends(&jacobian.values) }),
            )
        }),
    ],
};

/// What is reported of a long list: its beginning and its last element.
fn ends<T: Copy>(list: &[T]) -> Vec<T> {
    list[..30].iter().chain(list.last()).copied().collect()
}

/// Three rotation angles, three coordinates of the centre, the focal length, the principal point, two coefficients of
/// distortion.
type Camera = [f64; 11];
type Point = [f64; 3];
type Pixel = [f64; 2];

#[derive(Deserialize)]
#[serde(from = "Repeated")]
struct Problem {
    cameras: Vec<Camera>,
    points: Vec<Point>,
    observations: Vec<Observation>,
}

struct Observation {
    camera: usize,
    point: usize,
    weight: f64,
    seen: Pixel,
}

/// A problem as it is sent: one of each kind, and how many there are.
#[derive(Deserialize)]
struct Repeated {
    n: usize,
    m: usize,
    p: usize,
    cam: Camera,
    x: Point,
    w: f64,
    feat: Pixel,
}

impl From<Repeated> for Problem {
    fn from(Repeated { n, m, p, cam, x, w, feat }: Repeated) -> Self {
        let observation = |i| Observation { camera: i % n, point: i % m, weight: w, seen: feat };
        Problem { cameras: vec![cam; n], points: vec![x; m], observations: (0..p).map(observation).collect() }
    }
}

struct Errors {
    reprojection: Vec<Pixel>,
    weight: Vec<f64>,
}

fn objective(problem: &Problem) -> Errors {
    let Problem { cameras, points, observations } = problem;
    let reprojection = observations.iter().map(|o| {
        let mut error = [0.0; 2];
        reprojection_error(&cameras[o.camera], &points[o.point], &o.weight, &o.seen, &mut error);
        error
    });
    Errors {
        reprojection: reprojection.collect(),
        weight: observations.iter().map(|o| weight_error(o.weight)).collect(),
    }
}

#[autodiff(d_reprojection_error, Reverse(2), Duplicated, Duplicated, Duplicated, Const, DuplicatedOnly)]
fn reprojection_error(camera: &Camera, point: &Point, weight: &f64, seen: &Pixel, error: &mut Pixel) {
    let projected = project(camera, point);
    *error = [weight * (projected[0] - seen[0]), weight * (projected[1] - seen[1])];
}

#[autodiff(d_weight_error, Reverse, Active, ActiveOnly)]
fn weight_error(weight: f64) -> f64 {
    1.0 - weight * weight
}

fn project(&[r0, r1, r2, c0, c1, c2, focal, u0, v0, k1, k2]: &Camera, point: &Point) -> Pixel {
    let [x, y, z] = rotate([r0, r1, r2], [point[0] - c0, point[1] - c1, point[2] - c2]);
    let (x, y) = (x / z, y / z);
    let rho = x * x + y * y;
    let distortion = 1.0 + k1 * rho + k2 * rho * rho;
    [focal * distortion * x + u0, focal * distortion * y + v0]
}

/// Rotate by the angle |r| around the axis `r`.
fn rotate(r: Point, x: Point) -> Point {
    let squared_angle = dot(r, r);
    if squared_angle == 0.0 {
        let turned = cross(r, x);
        return std::array::from_fn(|i| x[i] + turned[i]);
    }
    let angle = squared_angle.sqrt();
    let (sin, cos) = angle.sin_cos();
    let axis = r.map(|r| r / angle);
    let turned = cross(axis, x);
    let along = dot(axis, x) * (1.0 - cos);
    std::array::from_fn(|i| x[i] * cos + turned[i] * sin + axis[i] * along)
}

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// A sparse matrix, row by row: where each row begins, and column and value of each entry.
struct Sparse {
    rows: Vec<u32>,
    columns: Vec<u32>,
    values: Vec<f64>,
}

impl Sparse {
    fn with_capacity(rows: usize, entries: usize) -> Self {
        let mut starts = Vec::with_capacity(rows + 1);
        starts.push(0);
        Sparse { rows: starts, columns: Vec::with_capacity(entries), values: Vec::with_capacity(entries) }
    }

    /// A row that is made of dense blocks, each with its first column.
    fn push_row<const N: usize>(&mut self, blocks: [(usize, &[f64]); N]) {
        for (column, values) in blocks {
            self.columns.extend((column..column + values.len()).map(|column| column as u32));
            self.values.extend_from_slice(values);
        }
        self.rows.push(self.values.len() as u32);
    }
}

/// Two rows for each observation: by its camera, its point and its weight. Then one for each weight.
fn jacobian(problem: &Problem) -> Sparse {
    let Problem { cameras, points, observations } = problem;
    let mut jacobian = Sparse::with_capacity(3 * observations.len(), 31 * observations.len());
    let first_point = 11 * cameras.len();
    let first_weight = first_point + 3 * points.len();
    for (i, o) in observations.iter().enumerate() {
        let (camera, point) = (&cameras[o.camera], &points[o.point]);
        let ([mut camera_0, mut camera_1], [mut point_0, mut point_1]) = ([[0.0; 11]; 2], [[0.0; 3]; 2]);
        let [mut weight_0, mut weight_1] = [0.0; 2];
        let (mut error, mut seed_0, mut seed_1) = ([0.0; 2], [1.0, 0.0], [0.0, 1.0]);
        d_reprojection_error(
            camera,
            [&mut camera_0, &mut camera_1],
            point,
            [&mut point_0, &mut point_1],
            &o.weight,
            [&mut weight_0, &mut weight_1],
            &o.seen,
            &mut error,
            [&mut seed_0, &mut seed_1],
        );
        for (camera, point, weight) in [(camera_0, point_0, weight_0), (camera_1, point_1, weight_1)] {
            let (camera_column, point_column) = (11 * o.camera, first_point + 3 * o.point);
            jacobian.push_row([(camera_column, &camera), (point_column, &point), (first_weight + i, &[weight])]);
        }
    }
    for (i, o) in observations.iter().enumerate() {
        jacobian.push_row([(first_weight + i, &[d_weight_error(o.weight)])]);
    }
    jacobian
}
