//! Runs a program under valgrind's callgrind, which counts instructions.

use std::ffi::OsStr;
use std::path::Path;
use std::process::Command;
use std::{error, fs};

/// Counts what the functions of this name do in a command, and gives what the command printed. The counts are in `file`,
/// or with `--dump-after` among `options` in `file` with a number behind it for each call.
pub(crate) fn run(
    function: &str,
    options: &[&str],
    file: &Path,
    command: &[impl AsRef<OsStr>],
) -> Result<String, Box<dyn error::Error>> {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--quiet"])
        .arg(format!("--toggle-collect={function}"))
        .args(options)
        .arg(format!("--callgrind-out-file={}", file.display()))
        .args(command)
        .output()
        .map_err(|error| {
            format!("valgrind, which is needed to count instructions, does not start: {error}")
        })?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("valgrind: {}: {said}", output.status).into());
    }
    Ok(String::from_utf8(output.stdout)?)
}

/// The total of one of its files.
pub(crate) fn summary(file: &Path) -> Result<f64, Box<dyn error::Error>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let line = text.lines().find_map(|line| line.strip_prefix("summary: "));
    let total: f64 = line.ok_or("callgrind wrote no summary")?.trim().parse()?;
    if total > 0.0 { Ok(total) } else { Err("callgrind counted nothing".into()) }
}
