//! `include/decluster.h` is what the sources say. `make header` writes it anew.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use decluster::{PARAMETERS, PRESETS, PROFILES, Parameter, ParameterUnit, Preset};

#[test]
#[expect(clippy::disallowed_methods, reason = "tests may read the environment")]
fn the_header_is_what_the_sources_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../include/decluster.h");
    let header = header();
    if std::env::var_os("UPDATE_HEADER").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &header).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    let differs = committed.lines().zip(header.lines()).position(|(old, new)| old != new);
    let line = differs.unwrap_or(committed.lines().count().min(header.lines().count()));
    assert!(
        committed == header,
        "include/decluster.h:{}: {:?} instead of {:?}; `make header` writes it anew",
        line + 1,
        committed.lines().nth(line),
        header.lines().nth(line)
    );
}

fn header() -> String {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(here.join("cbindgen.toml")).unwrap();
    config.after_includes = Some(version());
    let builder = cbindgen::Builder::new().with_crate(here).with_config(config);
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    let mut text = String::from_utf8(text).unwrap();
    for (function, title) in SECTIONS {
        // The first is perhaps in the example on top.
        let place = text.rfind(&format!("{function}(")).unwrap();
        let comment = text[..place].rfind("/**").unwrap();
        let numbers = if title.contains("Parameters") { parameters() } else { String::new() };
        text.insert_str(comment, &format!("/* {title} */\n\n{numbers}"));
    }
    folded(&text)
}

/// What the functions from this one on are for.
const SECTIONS: [(&str, &str); 11] = [
    ("decluster_abi_version", "---- The library itself ----"),
    ("decluster_parameter_count", "---- Parameters ----"),
    ("decluster_config_new", "---- Settings ----"),
    ("decluster_engine_new", "---- Engine: text in, paced pieces out ----"),
    ("decluster_rewriter_new", "---- Rewriter: a provider's stream in, the same stream out ----"),
    ("decluster_segmenter_new", "---- Segmenter: text in, blocks out, no pacing ----"),
    ("decluster_sse_new", "---- Event stream decoder: bytes in, events out ----"),
    ("decluster_budget_new", "---- Budget: reasoning that several rewriters share ----"),
    ("decluster_totals_new", "---- Totals: what all streams add up to, for Prometheus ----"),
    ("decluster_prices_examples", "---- Ledger: what answers cost ----"),
    ("decluster_body_new", "---- Body: responses that were not streamed ----"),
];

/// Comments fit the page, and those of one line are written on one.
fn folded(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let indent = &line[..line.len() - line.trim_start().len()];
        if line.trim_start() != "/**" {
            out.push_str(line);
            out.push('\n');
            continue;
        }
        let body = lines.by_ref().take_while(|line| line.trim() != "*/");
        let body: Vec<&str> = body.map(|l| l.trim_start().trim_start_matches('*').trim()).collect();
        out.push_str(&comment(indent, &body.join("\n")));
    }
    out
}

/// A comment of paragraphs, which empty lines part.
fn comment(indent: &str, text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|p| p.replace('\n', " ")).collect();
    if let [one] = &paragraphs[..]
        && indent.len() + one.len() + "/**  */".len() <= WIDTH
    {
        return format!("{indent}/** {one} */\n");
    }
    let mut out = format!("{indent}/**\n");
    for (place, paragraph) in paragraphs.iter().enumerate() {
        if place > 0 {
            let _ = writeln!(out, "{indent} *");
        }
        let mut line = format!("{indent} *");
        for word in paragraph.split_whitespace() {
            if line.len() + 1 + word.len() > WIDTH {
                let _ = writeln!(out, "{line}");
                line = format!("{indent} *");
            }
            let _ = write!(line, " {word}");
        }
        let _ = writeln!(out, "{line}");
    }
    let _ = writeln!(out, "{indent} */");
    out
}

const WIDTH: usize = 100;

/// Which version the header is of.
fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "\n/**\nThe version of this header; `decluster_version()` tells that of the library.\n */\n\
         #define DECLUSTER_VERSION \"{version}\"\n"
    );
    let numbers = version.split(['.', '-']).zip(["MAJOR", "MINOR", "PATCH"]);
    for (number, name) in numbers {
        let _ = writeln!(text, "#define DECLUSTER_VERSION_{name} {number}");
    }
    text
}

/// The numbers of the parameters and of their choices, with what the table says of them.
fn parameters() -> String {
    let presets = |all: &[Preset]| {
        all.iter()
            .map(|preset| format!("`{}`: {}", preset.name, preset.doc))
            .collect::<Vec<_>>()
            .join(" ")
    };
    let about = format!(
        "The parameters, for `decluster_config_set()`.\n\nPresets, for `decluster_config_preset()`. {}\n\n\
         Profiles, for `decluster_config_profile()`. {}",
        presets(PRESETS),
        presets(PROFILES)
    );
    let mut text = format!("/**\n{about}\n */\ntypedef enum decluster_parameter {{\n");
    for (number, row) in PARAMETERS.iter().enumerate() {
        let _ = writeln!(text, "    /**\n{} {}\n     */", row.doc.trim(), bounds(row));
        let _ = writeln!(text, "    DECLUSTER_PARAMETER_{} = {number},", row.name.to_uppercase());
    }
    text.push_str("} decluster_parameter;\n\n");
    for row in PARAMETERS.iter().filter(|row| !row.unit.names().is_empty()) {
        let name = row.name;
        let _ =
            writeln!(text, "/**\nThe choices of `{name}`.\n */\ntypedef enum decluster_{name} {{");
        for (number, choice) in row.unit.names().iter().enumerate() {
            let constant = format!("{name}_{choice}").to_uppercase();
            let _ = writeln!(text, "    DECLUSTER_{constant} = {number},");
        }
        let _ = writeln!(text, "}} decluster_{name};\n");
    }
    text
}

fn bounds(row: &Parameter) -> String {
    let Parameter { min, max, default, .. } = row;
    let names = row.unit.names();
    match row.unit {
        ParameterUnit::Nanoseconds => {
            let [min, max, default] = [*min, *max, *default].map(time);
            format!("In nanoseconds: {min} to {max}, initially {default}.")
        }
        ParameterUnit::Switch => format!("0 or 1, initially {default}."),
        _ if !names.is_empty() => format!("Initially `{}`.", names[*default as usize]),
        unit if unit.name().is_empty() => format!("{min} to {max}, initially {default}."),
        unit => format!("In {}: {min} to {max}, initially {default}.", unit.name()),
    }
}

/// All times of the table are whole milliseconds.
fn time(nanoseconds: u64) -> String {
    assert_eq!(nanoseconds % 1_000_000, 0);
    let milliseconds = nanoseconds / 1_000_000;
    let seconds = milliseconds >= 1_000 && milliseconds.is_multiple_of(1_000);
    if seconds { format!("{} s", milliseconds / 1_000) } else { format!("{milliseconds} ms") }
}
