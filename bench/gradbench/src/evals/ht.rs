//! `ht`: hand tracking, how far a posed model of a hand is from measured points.

use crate::protocol::{Eval, evaluate};
use pullback::autodiff;
use serde::{Deserialize, Deserializer};

pub const EVAL: Eval = Eval {
    name: "ht",
    functions: &[
        ("objective", |input| evaluate(input, errors, |_, errors| errors.into_iter().flatten().collect::<Vec<f64>>())),
        ("jacobian", |input| {
            evaluate(input, jacobian, |input, columns| {
                let rows = 0..3 * input.data.points.len();
                rows.map(|row| columns.iter().map(|column| column[row / 3][row % 3]).collect())
                    .collect::<Vec<Vec<f64>>>()
            })
        }),
    ],
};

type Vector = [f64; 3];
/// Homogeneous coordinates.
type Position = [f64; 4];
/// A transform of homogeneous coordinates, as columns.
type Transform = [Position; 4];

/// Rotation and translation of the hand, then four angles for each finger.
const PARAMETERS: usize = 26;
type Pose = [f64; PARAMETERS];

#[derive(Deserialize)]
struct Input {
    theta: Pose,
    /// Where on its triangle each point is, if that is not fixed.
    us: Vec<[f64; 2]>,
    data: Data,
}

#[derive(Deserialize)]
struct Data {
    model: Model,
    /// The triangle of each point, or its vertex.
    correspondences: Vec<usize>,
    points: Vec<Vector>,
}

#[derive(Deserialize)]
struct Model {
    /// The bone that each bone hangs on, which comes before it; −1 if there is none.
    parents: Vec<i64>,
    #[serde(deserialize_with = "from_rows")]
    base_relatives: Vec<Transform>,
    #[serde(deserialize_with = "from_rows")]
    inverse_base_absolutes: Vec<Transform>,
    base_positions: Vec<Position>,
    /// The bones that move each vertex, and how much.
    #[serde(deserialize_with = "without_zeros")]
    weights: Vec<Vec<(usize, f64)>>,
    triangles: Vec<[usize; 3]>,
    is_mirrored: bool,
}

/// Transforms that are given as rows.
fn from_rows<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Transform>, D::Error> {
    let transposed = |rows: &Transform| std::array::from_fn(|j| std::array::from_fn(|i| rows[i][j]));
    Ok(Vec::<Transform>::deserialize(input)?.iter().map(transposed).collect())
}

/// Rows that are given with zeros: most bones do not move a vertex.
fn without_zeros<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<Vec<(usize, f64)>>, D::Error> {
    let nonzeros = |row: Vec<f64>| row.into_iter().enumerate().filter(|(_, weight)| *weight != 0.0).collect();
    Ok(Vec::<Vec<f64>>::deserialize(input)?.into_iter().map(nonzeros).collect())
}

/// How far each point is from its place on the hand.
#[autodiff(d_theta, Forward(26), Dual, Const, Const, Dual)]
#[autodiff(d_us, Forward(2), Const, Dual, Const, Dual)]
fn objective(theta: &Pose, us: &[[f64; 2]], data: &Data, errors: &mut [Vector]) {
    let vertices = posed_vertices(&data.model, theta);
    let measured = errors.iter_mut().zip(&data.points).zip(&data.correspondences);
    if us.is_empty() {
        for ((error, point), &vertex) in measured {
            *error = minus(*point, vertices[vertex]);
        }
    } else {
        for (((error, point), &triangle), [u, v]) in measured.zip(us) {
            let [a, b, c] = data.model.triangles[triangle].map(|vertex| vertices[vertex]);
            let place = std::array::from_fn(|i| u * a[i] + v * b[i] + (1.0 - u - v) * c[i]);
            *error = minus(*point, place);
        }
    }
}

fn minus(a: Vector, b: Vector) -> Vector {
    std::array::from_fn(|i| a[i] - b[i])
}

/// Where the vertices of the hand are.
fn posed_vertices(model: &Model, theta: &Pose) -> Vec<Vector> {
    let transforms = bone_transforms(model, theta);
    let global = global_transform(theta, model.is_mirrored);
    let vertices = model.base_positions.iter().zip(&model.weights).map(|(base, weights)| {
        let mut position = [0.0; 4];
        for (bone, weight) in weights {
            let moved = apply(&transforms[*bone], base);
            for (position, moved) in position.iter_mut().zip(moved) {
                *position += weight * moved;
            }
        }
        let [x, y, z, _] = position;
        let [x, y, z, _] = apply(&global, &[x, y, z, 1.0]);
        [x, y, z]
    });
    vertices.collect()
}

/// What each bone does to a vertex that hangs on it.
fn bone_transforms(model: &Model, theta: &Pose) -> Vec<Transform> {
    let mut absolutes: Vec<Transform> = Vec::with_capacity(model.parents.len());
    for (bone, (parent, base)) in model.parents.iter().zip(&model.base_relatives).enumerate() {
        let relative = match joint(bone, theta) {
            Some([x, z]) => multiply(base, &rotation_xz(x, z)),
            None => *base,
        };
        absolutes.push(match usize::try_from(*parent) {
            Ok(parent) => multiply(&absolutes[parent], &relative),
            Err(_) => relative,
        });
    }
    absolutes.iter().zip(&model.inverse_base_absolutes).map(|(absolute, inverse)| multiply(absolute, inverse)).collect()
}

/// The angles of a bone's joint, around x and z. The bones of the wrist and of the forearm have none, nor has the first
/// one of each finger.
fn joint(bone: usize, theta: &Pose) -> Option<[f64; 2]> {
    let in_fingers = bone.checked_sub(1)?;
    let [a, b, c, d] = theta[6..].as_chunks().0.get(in_fingers / 4)?;
    match in_fingers % 4 {
        1 => Some([*a, *b]),
        2 => Some([*c, 0.0]),
        3 => Some([*d, 0.0]),
        _ => None,
    }
}

/// A rotation around x, then around z.
fn rotation_xz(x: f64, z: f64) -> Transform {
    let ((sin_x, cos_x), (sin_z, cos_z)) = (x.sin_cos(), z.sin_cos());
    [
        [cos_z, sin_z, 0.0, 0.0],
        [-sin_z * cos_x, cos_z * cos_x, sin_x, 0.0],
        [sin_z * sin_x, -cos_z * sin_x, cos_x, 0.0],
        [0.0, 0.0, 0.0, 1.0],
    ]
}

/// Where the hand is: the first parameters are a rotation, by angle and axis, and a translation. Some hands are
/// mirrored before.
fn global_transform(&[x, y, z, tx, ty, tz, ..]: &Pose, is_mirrored: bool) -> Transform {
    let norm = (x * x + y * y + z * z).sqrt();
    let mut columns = if norm < 1e-4 {
        [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]]
    } else {
        let [x, y, z] = [x / norm, y / norm, z / norm];
        let (s, c) = norm.sin_cos();
        let t = 1.0 - c;
        [
            [x * x * t + c, x * y * t + z * s, x * z * t - y * s, 0.0],
            [x * y * t - z * s, y * y * t + c, y * z * t + x * s, 0.0],
            [x * z * t + y * s, y * z * t - x * s, z * z * t + c, 0.0],
        ]
    };
    if is_mirrored {
        columns[0] = columns[0].map(|v| -v);
    }
    let [a, b, c] = columns;
    [a, b, c, [tx, ty, tz, 1.0]]
}

fn multiply(a: &Transform, b: &Transform) -> Transform {
    b.map(|column| apply(a, &column))
}

fn apply(transform: &Transform, position: &Position) -> Position {
    let [a, b, c, d] = transform;
    let [x, y, z, w] = position;
    std::array::from_fn(|i| a[i] * x + b[i] * y + c[i] * z + d[i] * w)
}

fn errors(input: &Input) -> Vec<Vector> {
    let mut errors = vec![[0.0; 3]; input.data.points.len()];
    objective(&input.theta, &input.us, &input.data, &mut errors);
    errors
}

/// The columns of the Jacobian. A point depends on no other point's place on its triangle, so that all of these share
/// two columns.
fn jacobian(input: &Input) -> Vec<Vec<Vector>> {
    let Input { theta, us, data } = input;
    let zeros = || vec![[0.0; 3]; data.points.len()];
    let mut columns = Vec::new();
    if !us.is_empty() {
        let [mut du, mut dv] = [zeros(), zeros()];
        let directions = [vec![[1.0, 0.0]; us.len()], vec![[0.0, 1.0]; us.len()]];
        d_us(theta, us, directions.each_ref().map(Vec::as_slice), data, &mut zeros(), [&mut du, &mut dv]);
        columns.extend([du, dv]);
    }
    let directions: [Pose; PARAMETERS] = std::array::from_fn(|i| std::array::from_fn(|j| f64::from(i == j)));
    let mut by_theta: [Vec<Vector>; PARAMETERS] = std::array::from_fn(|_| zeros());
    d_theta(theta, directions.each_ref(), us, data, &mut zeros(), by_theta.each_mut().map(Vec::as_mut_slice));
    columns.extend(by_theta);
    columns
}
