//! A user's project: files in a directory of their own, outside the repository, and cargo with the driver in it.

#![allow(dead_code, reason = "each file of tests uses its own part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A project in a temporary directory.
pub struct Project {
    root: PathBuf,
    _dir: tempfile::TempDir,
}

impl Project {
    /// A project of these files: `(path, contents)`. In a manifest, `PULLBACK` stands for the dependency on this
    /// repository's `pullback`.
    pub fn new(files: &[(&str, &str)]) -> Self {
        Self::in_directory("project", files)
    }

    /// A project in a directory of this name.
    pub fn in_directory(name: &str, files: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let root = dir.path().join(name);
        std::fs::create_dir_all(&root).unwrap();
        let library = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("pullback");
        let dependency = format!("pullback = {{ path = {library:?} }}");
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text.replace("PULLBACK", &dependency)).unwrap();
        }
        Project { root, _dir: dir }
    }

    /// A file or directory of the project.
    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Add a program: a shell script.
    pub fn script(&self, path: &str, text: &str) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::write(self.path(path), format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(self.path(path), std::fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// What the projects are built into: one directory for all, so that `pullback` is compiled once.
    pub fn target(&self) -> PathBuf {
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects")
    }

    /// `cargo <args>` in the project, with the driver installed. A word with spaces in it cannot be given.
    pub fn cargo(&self, args: &str) -> Run {
        self.cargo_with(args, &[])
    }

    /// `cargo <args>` with these variables set.
    pub fn cargo_with(&self, args: &str, variables: &[(&str, &str)]) -> Run {
        let output = self.command(args, variables).output().expect("cargo starts");
        Run { output, dir: self.root.clone() }
    }

    /// `cargo <args>` with these variables set, not started yet.
    pub fn command(&self, args: &str, variables: &[(&str, &str)]) -> Command {
        let driver = Path::new(env!("CARGO_BIN_EXE_cargo-pullback"));
        let mut path = vec![driver.parent().unwrap().to_owned()];
        path.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
        let mut command = Command::new("cargo");
        command.current_dir(&self.root).args(args.split_whitespace());
        // What cargo has set for this test is not for the project.
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if (name.starts_with("CARGO") && name != "CARGO_HOME") || name.starts_with("RUSTC") || name == "RUSTDOC" {
                command.env_remove(name);
            }
        }
        command.env_remove("RUSTFLAGS").env_remove("RUST_BACKTRACE");
        command.env("PATH", std::env::join_paths(path).unwrap());
        command.env("CARGO_TARGET_DIR", self.target()).env("CARGO_TERM_COLOR", "never");
        command.envs(variables.iter().copied());
        command
    }
}

/// A run of cargo that has ended.
pub struct Run {
    output: Output,
    dir: PathBuf,
}

impl Run {
    /// What it has written, if it succeeded.
    #[track_caller]
    pub fn stdout(&self) -> String {
        let text = String::from_utf8_lossy(&self.output.stdout).into_owned();
        assert!(self.output.status.success(), "cargo has failed\n{text}\n{}", self.stderr());
        text
    }

    /// What it has written, if it failed.
    #[track_caller]
    pub fn failed_stdout(&self) -> String {
        assert!(!self.output.status.success(), "cargo has succeeded");
        String::from_utf8_lossy(&self.output.stdout).into_owned()
    }

    /// What it has complained of, if it failed.
    #[track_caller]
    pub fn failure(&self) -> String {
        assert!(!self.output.status.success(), "cargo has succeeded");
        self.stderr()
    }

    /// What it has said, without the project's place.
    pub fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.output.stderr).replace(&self.dir.display().to_string(), "PROJECT")
    }
}
