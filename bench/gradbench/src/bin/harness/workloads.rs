//! What is timed: an input for each eval, of numbers that look random, always the same.

use pullback_measure::Noise;
use serde_json::{Value, json};

/// An eval at one size: the names of its primal, if it has one, and of its derivative, and their input.
pub struct Workload {
    pub eval: &'static str,
    pub size: &'static str,
    pub primal: Option<&'static str>,
    pub derivative: &'static str,
    pub input: Value,
}

const OBJECTIVE: [&str; 2] = ["objective", "jacobian"];
const PRIMAL: [&str; 2] = ["primal", "gradient"];
const COST: [&str; 2] = ["cost", "dir"];
/// The modes of `particle` and `saddle`, the outer one first.
const MODES: [&str; 4] = ["rr", "ff", "fr", "rf"];

/// All of them, at the sizes of GradBench that take milliseconds.
pub fn all() -> Vec<Workload> {
    let mut noise = Noise::new();
    let mut workloads = Vec::new();
    let mut add = |eval, size, [primal, derivative]: [&'static str; 2], input| {
        workloads.push(Workload { eval, size, primal: Some(primal), derivative, input });
    };
    add("gmm", "32, 50, 1000", OBJECTIVE, gmm(&mut noise, &[32, 50, 1000]));
    add("gmm", "64, 100, 1000", OBJECTIVE, gmm(&mut noise, &[64, 100, 1000]));
    add("ba", "10", OBJECTIVE, ba(&mut noise, &[1197, 126_327, 563_734]));
    add("lstm", "6, 8192", OBJECTIVE, lstm(&mut noise, &[6, 8192]));
    add("ht", "7 big", OBJECTIVE, ht(&mut noise, &[10_000, 3200]));
    add("det", "10", PRIMAL, det(&mut noise, &[10]));
    add("ode", "100000, 10", PRIMAL, ode(&mut noise, &[100_000, 10]));
    add("llsq", "16392, 128", PRIMAL, llsq(&mut noise, &[16_392, 128]));
    add("lse", "640000", PRIMAL, lse(&mut noise, &[640_000]));
    add("kmeans", "100, 10000, 16", COST, kmeans(&mut noise, &[100, 10_000, 16]));
    for derivative in MODES {
        let input = particle(&mut noise, &[10]);
        workloads.push(Workload { eval: "particle", size: derivative, primal: None, derivative, input });
    }
    for derivative in MODES {
        let input = saddle(&mut noise, &[10]);
        workloads.push(Workload { eval: "saddle", size: derivative, primal: None, derivative, input });
    }
    workloads
}

/// An eval at growing sizes.
pub struct Growing {
    pub eval: &'static str,
    pub primal: Option<&'static str>,
    pub derivative: &'static str,
    /// What work is counted in.
    pub unit: &'static str,
    pub work: fn(&[usize]) -> usize,
    pub sizes: &'static [&'static [usize]],
    pub input: fn(&mut Noise, &[usize]) -> Value,
}

/// The evals that have a size, at sizes of GradBench. `particle` and `saddle` have one size there, which is their
/// smallest here.
pub fn growing() -> Vec<Growing> {
    type Work = fn(&[usize]) -> usize;
    let eval = |eval, [primal, derivative]: [&'static str; 2], unit, work: Work, sizes, input| Growing {
        eval,
        primal: Some(primal),
        derivative,
        unit,
        work,
        sizes,
        input,
    };
    let product: Work = |size| size.iter().product();
    let steps: &[&[usize]] = &[&[10], &[20], &[40], &[80], &[160]];
    let mut all = vec![
        eval(
            "gmm",
            OBJECTIVE,
            "d² × k × points",
            |size| size[0] * size.iter().product::<usize>(),
            &[&[10, 25, 1000], &[20, 25, 1000], &[32, 25, 1000], &[64, 25, 1000], &[64, 100, 1000]],
            gmm,
        ),
        eval(
            "ba",
            OBJECTIVE,
            "observations",
            |size| size[2],
            &[&[49, 7776, 31_843], &[372, 47_423, 204_472], &[1197, 126_327, 563_734], &[356, 226_730, 1_255_268]],
            ba,
        ),
        eval(
            "lstm",
            OBJECTIVE,
            "layers × characters",
            product,
            &[&[2, 1024], &[2, 4096], &[4, 4096], &[4, 8192], &[6, 8192]],
            lstm,
        ),
        eval(
            "ht",
            OBJECTIVE,
            "points",
            |size| size[1],
            &[&[544, 1600], &[544, 6400], &[544, 12_800], &[544, 25_600], &[544, 51_200]],
            ht,
        ),
        eval("det", PRIMAL, "terms", |size| terms(size[0]), &[&[6], &[7], &[8], &[9], &[10]], det),
        eval(
            "ode",
            PRIMAL,
            "components × steps",
            product,
            &[&[1000, 1], &[1000, 10], &[10_000, 10], &[10_000, 100], &[100_000, 100]],
            ode,
        ),
        eval(
            "llsq",
            PRIMAL,
            "points × powers",
            product,
            &[&[256, 128], &[1024, 128], &[4096, 128], &[16_392, 128]],
            llsq,
        ),
        eval("lse", PRIMAL, "terms", product, &[&[5000], &[20_000], &[80_000], &[320_000], &[1_280_000]], lse),
        eval(
            "kmeans",
            COST,
            "k × points × d",
            product,
            &[&[10, 1000, 8], &[10, 10_000, 8], &[10, 10_000, 16], &[100, 10_000, 16], &[1000, 10_000, 16]],
            kmeans,
        ),
    ];
    for derivative in MODES {
        let (eval, unit) = ("particle", "steps per unit of time");
        all.push(Growing { eval, primal: None, derivative, unit, work: product, sizes: steps, input: particle });
    }
    for derivative in MODES {
        let (eval, unit, work): (_, _, Work) = ("saddle", "outer × inner steps", |size| size[0] * size[0]);
        all.push(Growing { eval, primal: None, derivative, unit, work, sizes: steps, input: saddle });
    }
    all
}

/// How many products a determinant is made of.
fn terms(ell: usize) -> usize {
    if ell == 2 { 2 } else { ell * (1 + terms(ell - 1)) }
}

/// Dimension, components, points.
fn gmm(noise: &mut Noise, size: &[usize]) -> Value {
    let (d, k, n) = (size[0], size[1], size[2]);
    json!({
        "d": d, "k": k, "n": n, "m": 0, "gamma": 1.0,
        "x": noise.rows(n, d), "alpha": noise.list(k), "mu": noise.rows(k, d),
        "q": noise.rows(k, d), "l": noise.rows(k, d * (d - 1) / 2),
    })
}

/// Cameras, points, observations.
fn ba(_: &mut Noise, size: &[usize]) -> Value {
    json!({
        "n": size[0], "m": size[1], "p": size[2], "w": 0.4, "x": [0.5, 1.5, 6.0], "feat": [270.0, 300.0],
        "cam": [0.3, -0.2, 0.5, 1.0, -1.0, 0.5, 900.0, 320.0, 240.0, -0.1, 0.02],
    })
}

/// Layers, characters.
fn lstm(noise: &mut Noise, size: &[usize]) -> Value {
    let (layers, characters, bits) = (size[0], size[1], 14);
    let character = |noise: &mut Noise| (0..bits).map(|_| noise.number().round()).collect::<Vec<f64>>();
    json!({
        "main_params": noise.rows(2 * layers, 4 * bits), "extra_params": noise.rows(3, bits),
        "state": noise.rows(2 * layers, bits),
        "sequence": (0..characters).map(|_| character(noise)).collect::<Vec<_>>(),
    })
}

/// Vertices, points. A hand with four bones that move each vertex, as models have.
fn ht(noise: &mut Noise, size: &[usize]) -> Value {
    let (vertices, points, bones) = (size[0], size[1], 22);
    let triangles = 2 * vertices;
    let transform = |noise: &mut Noise| {
        let mut rows = noise.rows(3, 4);
        rows.push(vec![0.0, 0.0, 0.0, 1.0]);
        rows
    };
    let transforms = |noise: &mut Noise| (0..bones).map(|_| transform(noise)).collect::<Vec<_>>();
    let position = |noise: &mut Noise| [noise.number(), noise.number(), noise.number(), 1.0];
    let weights = |noise: &mut Noise| {
        let mut weights = vec![0.0; bones];
        (0..4).for_each(|_| weights[noise.below(bones)] += 0.25);
        weights
    };
    let triangle = |noise: &mut Noise| [0; 3].map(|_| noise.below(vertices));
    json!({
        "theta": noise.list(26),
        "us": noise.rows(points, 2),
        "data": {
            "correspondences": (0..points).map(|_| noise.below(triangles)).collect::<Vec<_>>(),
            "points": noise.rows(points, 3),
            "model": {
                "bone_count": bones,
                "bone_names": (0..bones).map(|bone| format!("bone{bone}")).collect::<Vec<_>>(),
                // The forearm, the wrist, and five fingers of four bones that hang on it.
                "parents": (0..bones).map(|bone| match bone {
                    0 => -1,
                    bone if bone % 4 == 1 => 0,
                    bone => bone as i64 - 1,
                }).collect::<Vec<_>>(),
                "base_relatives": transforms(noise),
                "inverse_base_absolutes": transforms(noise),
                "base_positions": (0..vertices).map(|_| position(noise)).collect::<Vec<_>>(),
                "weights": (0..vertices).map(|_| weights(noise)).collect::<Vec<_>>(),
                "triangles": (0..triangles).map(|_| triangle(noise)).collect::<Vec<_>>(),
                "is_mirrored": false,
            },
        },
    })
}

fn det(noise: &mut Noise, size: &[usize]) -> Value {
    let ell = size[0];
    json!({ "A": noise.list(ell * ell), "ell": ell })
}

/// Components, steps.
fn ode(noise: &mut Noise, size: &[usize]) -> Value {
    json!({ "x": noise.list(size[0]), "s": size[1] })
}

/// Points, powers.
fn llsq(noise: &mut Noise, size: &[usize]) -> Value {
    json!({ "x": noise.list(size[1]), "n": size[0] })
}

fn lse(noise: &mut Noise, size: &[usize]) -> Value {
    json!({ "x": noise.list(size[0]) })
}

/// Centroids, points, dimension.
fn kmeans(noise: &mut Noise, size: &[usize]) -> Value {
    let (k, n, d) = (size[0], size[1], size[2]);
    let points = noise.rows(n, d);
    json!({ "centroids": points[n - k..], "points": points })
}

/// Steps in the unit of time.
fn particle(_: &mut Noise, size: &[usize]) -> Value {
    json!({ "w": 0.0, "dt": 1.0 / size[0] as f64 })
}

/// Steps before they get longer.
fn saddle(_: &mut Noise, size: &[usize]) -> Value {
    json!({ "start": [1.0, 1.0], "patience": size[0] })
}
