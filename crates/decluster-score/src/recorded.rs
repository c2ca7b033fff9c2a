//! Recorded traces and texts, read from folders beside the project where somebody has them.

use crate::trace::Trace;
use decluster::Nanos;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Streams of a file that were used for tuning; the rest are held out.
pub const TUNING: usize = 12;

/// The traces of every `*.jsonl` file in a folder, in the order of their names: streams of 60 tokens and more, cut
/// at 40 s. Each is named `FILE:LINE`.
///
/// # Errors
/// What cannot be read, or is no trace, by name.
pub fn traces(folder: &Path) -> io::Result<Vec<Vec<Trace>>> {
    let file = |path: &PathBuf| {
        let group = path.file_name().unwrap_or_default().to_string_lossy();
        let lines = fs::read_to_string(path)?;
        let read = |(number, line): (usize, &str)| {
            let name = format!("{group}:{}", number + 1);
            let trace = Trace::from_json(&name, &group, line);
            trace.map_err(|e| io::Error::new(ErrorKind::InvalidData, format!("{name}: {e}")))
        };
        let mut traces = lines.lines().enumerate().map(read).collect::<io::Result<Vec<_>>>()?;
        traces = traces.into_iter().map(|trace| trace.until(LONGEST)).collect();
        traces.retain(|trace| trace.tokens() >= FEWEST);
        Ok(traces)
    };
    files(folder, "jsonl")?.iter().map(file).collect()
}

/// The `*.txt` files of a folder, in the order of their names.
///
/// # Errors
/// What cannot be read.
pub fn texts(folder: &Path) -> io::Result<Vec<String>> {
    files(folder, "txt")?.iter().map(fs::read_to_string).collect()
}

fn files(folder: &Path, extension: &str) -> io::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder)?.map(|entry| entry.map(|e| e.path()));
    let mut files = entries.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension().is_some_and(|e| e == extension));
    files.sort();
    Ok(files)
}

/// Streams with fewer tokens say nothing about pacing.
const FEWEST: u64 = 60;
/// Where streams are cut: one has a silence of minutes.
const LONGEST: Nanos = Nanos::from_secs(40);
