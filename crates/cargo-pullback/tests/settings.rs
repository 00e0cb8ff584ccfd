//! What users set: configuration files, flags, profiles, tools of their own; and what they do to a build.

mod support;

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;
use support::Project;

const MANIFEST: &str = "\
[package]
name = \"app\"
version = \"0.1.0\"
edition = \"2024\"

[dependencies]
PULLBACK
";

/// Prints the gradient of `x² · y` at (3, 2): 12 and 9.
const MAIN: &str = "\
use pullback::autodiff;

#[autodiff(df, Reverse, Active, Active, Active)]
fn f(x: f64, y: f64) -> f64 {
    x * x * y
}

fn main() {
    let (dx, dy, value) = df(3.0, 2.0);
    println!(\"{dx} {dy} {value}\");
}
";

const GRADIENT: &str = "12 9 18\n";

/// The target that rustc builds for by itself.
fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// A target, a wrapper and a linker that a configuration file names are used, in a directory with a space in its name.
#[test]
fn a_configuration_file() {
    let config = format!(
        "[build]\ntarget = \"{host}\"\nrustc-wrapper = \"./wrapper.sh\"\n\n[target.{host}]\nlinker = \"./linker.sh\"\n",
        host = host()
    );
    let files = [("Cargo.toml", MANIFEST), ("src/main.rs", MAIN), (".cargo/config.toml", config.as_str())];
    let project = Project::in_directory("my project", &files);
    // Cargo calls them in the directories of the packages.
    project.script("wrapper.sh", "echo \"$@\" >> \"$(dirname \"$0\")/wrapper.log\"\nexec \"$@\"");
    project.script("linker.sh", "echo \"$@\" >> \"$(dirname \"$0\")/linker.log\"\nexec cc \"$@\"");
    assert_eq!(project.cargo("pullback run").stdout(), GRADIENT);
    for log in ["wrapper.log", "linker.log"] {
        assert!(project.path(log).exists(), "no {log}");
    }
}

#[test]
fn profiles_and_flags() {
    let profiles = "
[profile.one]
inherits = \"release\"
opt-level = 1
codegen-units = 256
debug = 0
[profile.two]
inherits = \"release\"
opt-level = 2
codegen-units = 1
incremental = true
strip = \"symbols\"
";
    let manifest = format!("{MANIFEST}{profiles}");
    let project = Project::new(&[("Cargo.toml", &manifest), ("src/main.rs", MAIN)]);
    for profile in ["one", "two"] {
        assert_eq!(project.cargo(&format!("pullback run --profile {profile}")).stdout(), GRADIENT, "{profile}");
    }
    let has_mold = Command::new("mold").arg("--version").output().is_ok();
    if !has_mold {
        eprintln!("mold is not installed; it is not tested");
    }
    let flags = ["-Ctarget-cpu=native", "-Clink-arg=-fuse-ld=mold"];
    for flags in &flags[..if has_mold { 2 } else { 1 }] {
        assert_eq!(project.cargo_with("pullback run --release", &[("RUSTFLAGS", flags)]).stdout(), GRADIENT, "{flags}");
    }
}

/// Derivatives taken on many threads at once, of types that other derives look at, too.
#[test]
fn crates_of_others() {
    let others =
        "rayon = \"1\"\nrand = \"0.9\"\nserde = { version = \"1\", features = [\"derive\"] }\nserde_json = \"1\"\n";
    let manifest = format!("{MANIFEST}{others}");
    let main = "\
use pullback::{Differentiable, autodiff, make_zero};
use rand::{Rng, SeedableRng, rngs::StdRng};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Differentiable, Debug, PartialEq)]
struct Model {
    name: String,
    weights: Vec<f64>,
    kind: Kind,
}

#[derive(Serialize, Deserialize, Differentiable, Debug, PartialEq)]
enum Kind {
    Linear,
    Scaled { by: f64 },
}

#[autodiff(d_loss, Reverse, Duplicated, Const, Active)]
fn loss(model: &Model, x: &[f64]) -> f64 {
    let mut sum: f64 = model.weights.iter().zip(x).map(|(w, x)| w * x).sum();
    if let Kind::Scaled { by } = model.kind {
        sum *= by;
    }
    sum * sum
}

fn main() {
    let mut rng = StdRng::seed_from_u64(7);
    let data: Vec<Vec<f64>> = (0..1000).map(|n| (0..n % 50).map(|_| rng.random()).collect()).collect();
    let text = r#\"{\"name\":\"m\",\"weights\":[1.0,2.0,3.0],\"kind\":{\"Scaled\":{\"by\":2.0}}}\"#;
    let model: Model = serde_json::from_str(text).unwrap();
    let gradient = |x: &Vec<f64>| {
        let mut gradient = make_zero(&model);
        d_loss(&model, &mut gradient, x);
        gradient
    };
    let parallel: Vec<Model> = data.par_iter().map(gradient).collect();
    assert_eq!(parallel, data.iter().map(gradient).collect::<Vec<Model>>());
    let mut one = make_zero(&model);
    d_loss(&model, &mut one, &[1.0, 1.0, 1.0]);
    println!(\"{}\", serde_json::to_string(&one).unwrap());
}
";
    let project = Project::new(&[("Cargo.toml", &manifest), ("src/main.rs", main)]);
    if !project.command("fetch", &[]).output().unwrap().status.success() {
        eprintln!("rayon and rand are not at hand; nothing is tested");
        return;
    }
    let gradient = r#"{"name":"m","weights":[48.0,48.0,48.0],"kind":{"Scaled":{"by":144.0}}}"#;
    assert_eq!(project.cargo("pullback run --release").stdout(), format!("{gradient}\n"));
}

#[test]
fn death_of_a_linker_is_told() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    project.script("linker.sh", "case \"$*\" in */app-*) kill -9 $$;; *) exec cc \"$@\";; esac");
    let linker = project.path("linker.sh");
    let variable = format!("CARGO_TARGET_{}_LINKER", host().to_uppercase().replace('-', "_"));
    let failure = project.cargo_with("pullback build", &[(&variable, linker.to_str().unwrap())]).failure();
    assert!(failure.contains("linker.sh` was killed by signal 9 (kill; is there enough memory?)"), "{failure}");
}

/// After an interrupt in the middle of a link nothing half-made is taken for whole.
#[test]
fn an_interrupted_build_is_taken_up_again() {
    let project = Project::new(&[("Cargo.toml", MANIFEST), ("src/main.rs", MAIN)]);
    let linking = "touch \"$(dirname \"$0\")/linking\"; sleep 60";
    project.script("linker.sh", &format!("case \"$*\" in */app-*) {linking};; *) exec cc \"$@\";; esac"));
    let linker = project.path("linker.sh");
    let variable = format!("CARGO_TARGET_{}_LINKER", host().to_uppercase().replace('-', "_"));
    let mut command = project.command("pullback build", &[(&variable, linker.to_str().unwrap())]);
    let mut build = command.process_group(0).spawn().unwrap();
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(200));
        if project.path("linking").exists() || build.try_wait().unwrap().is_some() {
            break;
        }
    }
    assert!(project.path("linking").exists(), "the linker was not called");
    let group = format!("-{}", build.id());
    assert!(Command::new("kill").args(["-INT", "--", &group]).status().unwrap().success());
    assert!(!build.wait().unwrap().success());
    assert_eq!(project.cargo("pullback run").stdout(), GRADIENT);
}
