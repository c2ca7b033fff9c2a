//! Settings: the parameters by number, with their bounds.

use crate::argument;
use crate::handle::{self, Handle, Outcome, Refusal, opaque};
use crate::status::decluster_status::{self, *};
use crate::words;
use decluster::{Config, ConfigError, PARAMETERS, Parameter, ParameterUnit};
use std::ffi::{CStr, c_char};
use std::ptr;

/// Settings to make engines, rewriters, segmenters and decoders with. They copy what they need: a config may be changed or
/// freed afterwards. Values that were set are within their bounds, always.
pub struct decluster_config(Handle<Config>);

opaque!(decluster_config, Config);

/// What a parameter's number counts.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum decluster_measure {
    /// Nanoseconds.
    DECLUSTER_MEASURE_NANOSECONDS = 0,
    /// LLM tokens.
    DECLUSTER_MEASURE_TOKENS = 1,
    /// LLM tokens per second.
    DECLUSTER_MEASURE_TOKENS_PER_SECOND = 2,
    /// Thousandths of an LLM token.
    DECLUSTER_MEASURE_MILLITOKENS = 3,
    /// Thousandths: 700 is a share of 0.7.
    DECLUSTER_MEASURE_THOUSANDTHS = 4,
    /// Bytes.
    DECLUSTER_MEASURE_BYTES = 5,
    /// A plain number.
    DECLUSTER_MEASURE_COUNT = 6,
    /// A choice, which has a name: `decluster_parameter_choice()`.
    DECLUSTER_MEASURE_CHOICE = 7,
    /// 0 for no, 1 for yes.
    DECLUSTER_MEASURE_SWITCH = 8,
}

/// A parameter. The strings are static and end with a NUL.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct decluster_parameter_info {
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
    /// The value where nothing was set.
    pub initial: u64,
    /// What the number counts: a `decluster_measure`.
    pub measure: u32,
    /// Reserved: 0.
    pub reserved: u32,
    /// The name, the same in all languages.
    pub name: *const c_char,
    /// What it means.
    pub doc: *const c_char,
    /// Reserved: 0.
    pub reserved_words: [u64; 2],
}

/// How many parameters there are: their numbers are 0 to one less.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_parameter_count() -> u32 {
    PARAMETERS.len() as u32
}

/// The number of the parameter of this name (NUL-terminated), or a negative status: `NULL` or `UNKNOWN_NAME`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_parameter_find(name: *const c_char) -> i32 {
    let find = || {
        // SAFETY: the caller ends names with a NUL.
        let name = unsafe { argument::name(name, "name")? };
        let row = (0..).zip(PARAMETERS).find(|(_, row)| row.name == name);
        row.ok_or_else(|| Refusal::new(DECLUSTER_ERROR_UNKNOWN_NAME, ""))
    };
    handle::answer(find).map_or_else(|status| status as i32, |(number, _)| number)
}

/// Tells name, bounds, default and meaning of a parameter. `size` is `sizeof *info`.
///
/// Errors: `NULL`, `TOO_SMALL`, `UNKNOWN_PARAMETER`; then `info` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_parameter_describe(
    parameter: u32,
    info: *mut decluster_parameter_info,
    size: usize,
) -> decluster_status {
    let describe = || {
        argument::output(info, size)?;
        let row = parameter_of(parameter)?;
        Ok(decluster_parameter_info {
            min: row.min,
            max: row.max,
            initial: row.default,
            measure: measure_of(row.unit) as u32,
            reserved: 0,
            name: words::name(parameter as usize).as_ptr(),
            doc: words::doc(parameter as usize).as_ptr(),
            reserved_words: [0; 2],
        })
    };
    match handle::answer(describe) {
        Ok(described) => {
            // SAFETY: it is not NULL, and `size` bytes may be written.
            unsafe { info.write_unaligned(described) };
            DECLUSTER_OK
        }
        Err(status) => status,
    }
}

/// The name of a choice, such as `word` for number 1 of `DECLUSTER_PARAMETER_UNIT`: a static string that ends with a NUL;
/// `NULL` if there is no such parameter, or no such choice of it.
#[unsafe(no_mangle)]
pub extern "C" fn decluster_parameter_choice(parameter: u32, choice: u64) -> *const c_char {
    let find = || {
        let count = parameter_of(parameter)?.unit.names().len() as u64;
        Ok((choice < count).then(|| words::choice(parameter as usize, choice as usize)))
    };
    handle::answer(find).ok().flatten().map_or(ptr::null(), CStr::as_ptr)
}

/// Makes settings, all of them at their defaults. To be freed with `decluster_config_free()`.
///
/// Errors: `NULL`, `PANIC`; then `config` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_new(
    config: *mut *mut decluster_config,
) -> decluster_status {
    // SAFETY: the caller may only give what can be written.
    unsafe { handle::give(config, || Ok(Config::default())) }
}

/// Frees it; `NULL` is ignored.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_free(config: *mut decluster_config) {
    // SAFETY: the caller frees what it was given, once.
    unsafe { handle::free(config) };
}

/// Sets a parameter, a `decluster_parameter`, in its unit.
///
/// Errors: `UNKNOWN_PARAMETER`, `OUT_OF_BOUNDS`, and those of every call; then nothing is changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_set(
    config: *mut decluster_config,
    parameter: u32,
    value: u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle.
    unsafe {
        handle::call(config, |config| {
            let name = parameter_of(parameter)?.name;
            config.set(name, value).map_err(|error| refusal_of(&error))
        })
    }
}

/// Sets a parameter by its name, from text, as from a command line or a file of settings: `value` is a number in the
/// parameter's unit, or the name of a choice; of a time, the number may be followed by `ns`, `us`, `ms` or `s`. Both end with a
/// NUL. `decluster_config_set_text(config, "max_delay", "800ms")`
///
/// Errors: `UNKNOWN_NAME` (its message lists the parameters), `BAD_ARGUMENT` (no number and no choice), `OUT_OF_BOUNDS`, and
/// those of every call; then nothing is changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_set_text(
    config: *mut decluster_config,
    name: *const c_char,
    value: *const c_char,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and names that end with a NUL.
    unsafe {
        handle::call(config, |config| {
            let (name, value) = (argument::name(name, "name")?, argument::name(value, "value")?);
            let number = match PARAMETERS.iter().find(|row| row.name == name) {
                Some(row) => number_of(row, &value)?,
                // The table says what there is.
                None => 0,
            };
            config.set(&name, number).map_err(|error| refusal_of(&error))
        })
    }
}

/// Tells the value of a parameter, in its unit.
///
/// Errors: `UNKNOWN_PARAMETER`, and those of every call; then `value` is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_get(
    config: *const decluster_config,
    parameter: u32,
    value: *mut u64,
) -> decluster_status {
    // SAFETY: the caller passes a handle, and what can be written.
    unsafe {
        handle::tell(config, value, |config| {
            let row = parameter_of(parameter)?;
            Ok(config.get(row.name).unwrap_or(row.default))
        })
    }
}

/// Sets all parameters to those of a preset, by its name (NUL-terminated); what was set before is forgotten.
///
/// Errors: `UNKNOWN_NAME` (its message lists those that there are), and those of every call; then nothing is changed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_preset(
    config: *mut decluster_config,
    name: *const c_char,
) -> decluster_status {
    // SAFETY: as the caller's pointers are.
    unsafe { begin_with(config, name, Config::preset) }
}

/// The same with a profile, which is settings published under a name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_profile(
    config: *mut decluster_config,
    name: *const c_char,
) -> decluster_status {
    // SAFETY: as the caller's pointers are.
    unsafe { begin_with(config, name, Config::profile) }
}

/// The message of the last call on it that failed, with names and numbers, of those that take it without `const`; of a poisoned
/// handle, what the panic said and where. It ends with a NUL, is empty if none failed, and valid until the next call that takes
/// the handle without `const`: do not ask for it among the arguments of a call to which the failing one belongs, too. Of `NULL`
/// it says so.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn decluster_config_error(config: *const decluster_config) -> *const c_char {
    // SAFETY: the caller passes a handle.
    unsafe { handle::message(config) }
}

/// A copy of the settings; the defaults where `config` is `NULL`.
///
/// # Safety
/// `config` is `NULL` or a handle.
pub(crate) unsafe fn settings(config: *const decluster_config) -> Outcome<Config> {
    if config.is_null() {
        return Ok(Config::default());
    }
    // SAFETY: the caller says so.
    unsafe { handle::look(config, Config::clone) }.map_err(|status| Refusal::new(status, ""))
}

/// # Safety
/// The pointers are `NULL` or what they say.
unsafe fn begin_with(
    config: *mut decluster_config,
    name: *const c_char,
    begin: impl FnOnce(&str) -> Result<Config, ConfigError>,
) -> decluster_status {
    // SAFETY: the caller says so.
    unsafe {
        handle::call(config, |config| {
            let name = argument::name(name, "name")?;
            *config = begin(&name).map_err(|error| refusal_of(&error))?;
            Ok(())
        })
    }
}

fn parameter_of(number: u32) -> Outcome<&'static Parameter> {
    PARAMETERS.get(number as usize).ok_or_else(|| {
        let message = format!("no parameter {number}; there are 0 to {}", PARAMETERS.len() - 1);
        Refusal::new(DECLUSTER_ERROR_UNKNOWN_PARAMETER, message)
    })
}

fn refusal_of(error: &ConfigError) -> Refusal {
    let status = match error {
        ConfigError::Bounds { .. } => DECLUSTER_ERROR_OUT_OF_BOUNDS,
        ConfigError::Name { .. } | ConfigError::Unknown { .. } => DECLUSTER_ERROR_UNKNOWN_NAME,
        _ => DECLUSTER_ERROR_BAD_ARGUMENT,
    };
    Refusal::new(status, error.to_string())
}

/// What a text says of a parameter.
fn number_of(row: &Parameter, text: &str) -> Outcome<u64> {
    let choices = row.unit.names();
    if let Some((number, _)) = (0..).zip(choices).find(|(_, choice)| **choice == text) {
        return Ok(number);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_lowercase());
    let scale = match &text[digits.len()..] {
        "" => Some(1),
        unit if row.unit == ParameterUnit::Nanoseconds => {
            TIMES.iter().find(|(name, _)| *name == unit).map(|(_, scale)| *scale)
        }
        _ => None,
    };
    match scale {
        Some(scale) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // What is more than can be written is out of bounds, too.
            Ok(digits.parse::<u64>().unwrap_or(u64::MAX).saturating_mul(scale))
        }
        _ => {
            let expected = match row.unit {
                ParameterUnit::Nanoseconds => {
                    "no number of nanoseconds, nor one with ns, us, ms or s behind it".to_owned()
                }
                _ if choices.is_empty() => "no number".to_owned(),
                _ => format!("none of: {}", choices.join(" ")),
            };
            let message = format!("{} = {text:?} is {expected}", row.name);
            Err(Refusal::new(DECLUSTER_ERROR_BAD_ARGUMENT, message))
        }
    }
}

const TIMES: [(&str, u64); 4] = [("ns", 1), ("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000)];

const fn measure_of(unit: ParameterUnit) -> decluster_measure {
    use decluster_measure::*;
    match unit {
        ParameterUnit::Nanoseconds => DECLUSTER_MEASURE_NANOSECONDS,
        ParameterUnit::Tokens => DECLUSTER_MEASURE_TOKENS,
        ParameterUnit::TokensPerSecond => DECLUSTER_MEASURE_TOKENS_PER_SECOND,
        ParameterUnit::MilliTokens => DECLUSTER_MEASURE_MILLITOKENS,
        ParameterUnit::Thousandths => DECLUSTER_MEASURE_THOUSANDTHS,
        ParameterUnit::Bytes => DECLUSTER_MEASURE_BYTES,
        ParameterUnit::Switch => DECLUSTER_MEASURE_SWITCH,
        unit if !unit.names().is_empty() => DECLUSTER_MEASURE_CHOICE,
        _ => DECLUSTER_MEASURE_COUNT,
    }
}
