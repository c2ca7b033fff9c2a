//! Gives the shared library its SONAME: a program that was linked with one ABI never loads another.

#![allow(clippy::disallowed_macros, reason = "it is how a build script talks to cargo")]
#![allow(clippy::disallowed_methods, reason = "it is how cargo talks to a build script")]

use std::{env, error, fs};

fn main() -> Result<(), Box<dyn error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={VERSION}");
    let source = fs::read_to_string(VERSION)?;
    let constant = source.lines().find_map(|line| line.strip_prefix(ABI)?.strip_suffix(';'));
    let abi = constant.ok_or_else(|| format!("{VERSION} has no line {ABI:?}"))?;
    // The linkers of Apple and of Windows know no such word.
    let system = env::var("CARGO_CFG_TARGET_OS")?;
    if !["macos", "ios", "windows"].contains(&system.as_str()) {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libdecluster.so.{abi}");
    }
    Ok(())
}

const VERSION: &str = "src/version.rs";
const ABI: &str = "pub const DECLUSTER_ABI_VERSION: u32 = ";
