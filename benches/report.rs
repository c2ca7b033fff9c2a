//! Where a report goes: to standard output, or into a file between its markers.

#![allow(clippy::disallowed_macros, reason = "a program that prints its report")]

use std::path::Path;
use std::{env, fs};

/// Where recorded traces are, if anywhere.
pub(crate) const RECORDED: &str = "../shared/traces";

/// Does what the arguments say of the report `name`: nothing prints it, `--write FILE` puts it there, but not without what
/// was recorded.
///
/// # Errors
/// What is wrong with the arguments or the file.
pub(crate) fn deliver(name: &str, report: &str) -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (None, _) => print!("{report}"),
        (Some("--write"), Some(_)) if !Path::new(RECORDED).is_dir() => {
            return Err(format!(
                "{RECORDED} is not there: the tables would lose what was recorded"
            )
            .into());
        }
        (Some("--write"), Some(file)) => {
            let (begin, end) = (format!("<!-- {name}: begin -->"), format!("<!-- {name}: end -->"));
            let old = fs::read_to_string(&file)?;
            let parts = (old.split_once(&begin), old.split_once(&end));
            let (Some((before, _)), Some((_, after))) = parts else {
                return Err(format!("{file} has no lines {begin} and {end}").into());
            };
            fs::write(&file, format!("{before}{begin}\n\n{report}\n{end}{after}"))?;
        }
        _ => return Err(format!("usage: {name} [--write FILE]").into()),
    }
    Ok(())
}
