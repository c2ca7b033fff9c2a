//! The strings of the table of parameters, each with a NUL behind it, made by the compiler: nothing to allocate, and
//! nothing to lose when the library is unloaded.

use decluster::{PARAMETERS, Parameter};
use std::ffi::CStr;

/// What a parameter is called.
pub(crate) fn name(row: usize) -> &'static CStr {
    nth(offset(row))
}

/// What it means.
pub(crate) fn doc(row: usize) -> &'static CStr {
    nth(offset(row) + 1)
}

/// What the choice of this number is called; its row must have it.
pub(crate) fn choice(row: usize, number: usize) -> &'static CStr {
    nth(offset(row) + 2 + number)
}

/// How many strings stand before those of a row.
fn offset(row: usize) -> usize {
    PARAMETERS[..row].iter().map(|row| 2 + row.unit.names().len()).sum()
}

fn nth(number: usize) -> &'static CStr {
    let mut rest = &TEXT[..];
    for _ in 0..number {
        let end = rest.iter().position(|byte| *byte == 0).map_or(rest.len(), |end| end + 1);
        rest = &rest[end..];
    }
    CStr::from_bytes_until_nul(rest).unwrap_or_default()
}

static TEXT: [u8; length()] = text();

const fn text() -> [u8; length()] {
    let (mut text, mut at, mut row) = ([0; length()], 0, 0);
    while row < PARAMETERS.len() {
        let mut part = 0;
        while part < parts(&PARAMETERS[row]) {
            let bytes = bytes(&PARAMETERS[row], part);
            let mut byte = 0;
            while byte < bytes.len() {
                text[at] = bytes[byte];
                at += 1;
                byte += 1;
            }
            at += 1;
            part += 1;
        }
        row += 1;
    }
    text
}

const fn length() -> usize {
    let (mut length, mut row) = (0, 0);
    while row < PARAMETERS.len() {
        let mut part = 0;
        while part < parts(&PARAMETERS[row]) {
            length += bytes(&PARAMETERS[row], part).len() + 1;
            part += 1;
        }
        row += 1;
    }
    length
}

/// Name, meaning, and the choices.
const fn parts(row: &Parameter) -> usize {
    2 + row.unit.names().len()
}

const fn bytes(row: &Parameter, part: usize) -> &[u8] {
    match part {
        0 => row.name.as_bytes(),
        1 => row.doc.trim_ascii().as_bytes(),
        choice => row.unit.names()[choice - 2].as_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_those_of_the_table() {
        for (number, row) in PARAMETERS.iter().enumerate() {
            assert_eq!(name(number).to_str(), Ok(row.name));
            assert_eq!(doc(number).to_str(), Ok(row.doc.trim()));
            for (place, word) in row.unit.names().iter().enumerate() {
                assert_eq!(choice(number, place).to_str(), Ok(*word));
            }
        }
    }
}
