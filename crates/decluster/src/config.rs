//! Every parameter, once: name, unit, bounds, default and meaning. All languages read this table.
//!
//! A [`Config`] that exists is valid: values are checked one by one when they are set, so building an
//! engine cannot fail.

use crate::segment::SegmentConfig;
use alloc::string::{String, ToString};
use core::fmt;
use core::time::Duration;

macro_rules! parameters {
    ($($(#[doc = $doc:literal])+ $name:ident: $unit:ident = $default:expr, $min:expr, $max:expr;)+) => {
        /// The settings of one engine. Built from [`Config::default`] and [`Config::with`].
        ///
        /// ```
        /// use decluster::Config;
        /// let config = Config::default().with("max_delay", 800_000_000)?.with("unit", 1)?;
        /// assert_eq!(config.get("max_delay"), Some(800_000_000));
        /// # Ok::<(), decluster::ConfigError>(())
        /// ```
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct Config {
            $(pub(crate) $name: u64,)+
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }

        /// The parameters, in a fixed order; the place in this table is a parameter's number in C.
        pub const PARAMETERS: &[Parameter] = &[
            $(Parameter {
                name: stringify!($name),
                unit: ParameterUnit::$unit,
                min: $min,
                max: $max,
                default: $default,
                doc: concat!($($doc),+),
            },)+
        ];

        impl Config {
            fn slot(&mut self, name: &str) -> Option<&mut u64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)+
                    _ => None,
                }
            }

            /// The value of a parameter in its table's unit; `None` if there is no such parameter.
            pub fn get(&self, name: &str) -> Option<u64> {
                match name {
                    $(stringify!($name) => Some(self.$name),)+
                    _ => None,
                }
            }
        }
    };
}

parameters! {
    /// What is released at once: `block` whole semantic blocks, cut at a word only against a stall or a deadline;
    /// `word` a word or two (`quantum`); `whole` complete blocks only, even beyond `max_delay`.
    unit: Unit = 0, 0, 2;
    /// How releases are timed: `adaptive` learns the stream's silences; `fixed` is a token bucket of `rate` and
    /// `burst`, under the bound of `max_delay`; `off` releases text as soon as its block or word is complete.
    pace: Pace = 0, 0, 2;
    /// Where blocks end: `semantic` at sentences, lines and clauses, near `target`; `off` makes each delta a
    /// block, cut nowhere and held for no half character; `sentences` at sentences and lines alone.
    segment: Segment = 0, 0, 2;
    /// Tokens per block that the segmenter aims at, on average. Has no effect with `segment = sentences`.
    target: MilliTokens = 12_400, 4_000, 64_000;
    /// The most that text is delayed, while the caller polls when told: every byte leaves within this time of its
    /// arrival. `max_rate` and `unit = whole` come before it.
    max_delay: Nanoseconds = 1_500_000_000, 100_000_000, 60_000_000_000;
    /// How long the first text may wait for the end of its first word.
    first_hold: Nanoseconds = 45_000_000, 0, 1_000_000_000;
    /// How long text may still take once a tool call or the end is queued behind it.
    max_tail: Nanoseconds = 300_000_000, 0, 10_000_000_000;
    /// The longest silence a reader should see while there are words to show: then a block is cut at a word.
    max_gap: Nanoseconds = 240_000_000, 20_000_000, 10_000_000_000;
    /// `max_gap` for `unit = word`, where it takes no more than a word to end a silence.
    word_gap: Nanoseconds = 195_000_000, 20_000_000, 10_000_000_000;
    /// When a block is cut to end a silence, this share of the queued text leaves, two tokens at least.
    cut_part: Thousandths = 700, 0, 1_000;
    /// How long a character that may still grow (an accent, an emoji sequence) is held at the end of the text. It
    /// can only be lowered.
    grapheme_hold: Nanoseconds = 100_000_000, 0, 100_000_000;
    /// Tokens per second of `pace = fixed`. Deadlines come before it: for a hard limit there is `max_rate`.
    rate: TokensPerSecond = 240, 1, 1_000_000;
    /// Tokens that `pace = fixed` lets through at once after a silence.
    burst: Tokens = 32, 1, 1_000_000;
    /// The most tokens per second that are released, for readers who want no more; 0 sets no limit. It comes
    /// before `max_delay` and `max_tail`. Intake pauses (`wants_input`) while more is queued than can be read
    /// within half of `max_delay`, so that a caller who heeds it is late with nothing.
    max_rate: TokensPerSecond = 0, 0, 1_000_000;
    /// How much time a piece of words holds: short enough to look continuous, long enough to be worth an event.
    quantum: Nanoseconds = 33_000_000, 5_000_000, 1_000_000_000;
    /// The most tokens of a piece of words, unless a single one that cannot be cut has more.
    piece_max: MilliTokens = 12_000, 1_000, 1_000_000;
    /// In `word`, at most `cluster_burst` + `cluster_rate` x mean rate x w tokens leave in any time w, unless a
    /// deadline or a tail asks for more.
    cluster_burst: MilliTokens = 12_000, 4_000, 1_000_000;
    /// How much of the mean rate may leave in the long run, on top of `cluster_burst`.
    cluster_rate: Thousandths = 1_500, 1_000, 1_000_000;
    /// Arrivals within this time of a group's first belong to it: beyond the jitter of networks, below any
    /// pause that a reader could notice.
    group_gap: Nanoseconds = 30_000_000, 1_000_000, 1_000_000_000;
    /// The silence expected next, the *horizon*, is this quantile of the last 24 silences that were longer than
    /// the present one has lasted, weighted by their time.
    silence_quantile: Thousandths = 850, 50, 1_000;
    /// Once a silence outlasts every one that is remembered, it is expected to last this many times what it has
    /// already.
    late_part: Thousandths = 4_000, 1_000, 10_000;
    /// The shortest horizon.
    horizon_min: Nanoseconds = 10_000_000, 1_000_000, 1_000_000_000;
    /// Up to this horizon `horizon_part_word` or `horizon_part_block` holds.
    silence_short: Nanoseconds = 250_000_000, 1_000_000, 60_000_000_000;
    /// From this horizon on `horizon_part_long` holds; in between the part changes in proportion.
    silence_long: Nanoseconds = 750_000_000, 1_000_000, 60_000_000_000;
    /// In `word`, the queue is planned to be gone after this part of a short horizon. Less means less delay, and
    /// less text left when a silence lasts.
    horizon_part_word: Thousandths = 550, 50, 4_000;
    /// The same in `block`, for a short horizon.
    horizon_part_block: Thousandths = 320, 50, 4_000;
    /// The same in both, for a long horizon.
    horizon_part_long: Thousandths = 390, 50, 4_000;
    /// What is kept back in `word`, to drip word by word through a silence that is longer than expected.
    reserve_word: MilliTokens = 4_000, 0, 1_000_000;
    /// What is kept back in `block`, where the next block must be complete to go.
    reserve_block: MilliTokens = 12_500, 0, 1_000_000;
    /// Either reserve is at most this much time of the mean rate, lest slow streams be delayed for it.
    reserve_time: Nanoseconds = 180_000_000, 0, 60_000_000_000;
    /// From this horizon on the whole reserve is kept, below it less, in proportion.
    reserve_silence: Nanoseconds = 35_000_000, 1_000_000, 10_000_000_000;
    /// The most that the rate may be, in mean rates, unless a deadline or a tail asks for more.
    rate_cap: Thousandths = 4_000, 1_000, 1_000_000;
    /// How fast a tail goes, in mean rates, if `max_tail` asks for no more.
    drain: Thousandths = 2_000, 100, 100_000;
    /// The silence to expect after a first group of `prior_tokens`, before any was seen; after a smaller group
    /// less, in proportion.
    prior_silence: Nanoseconds = 1_400_000_000, 0, 60_000_000_000;
    /// The size of the first group after which `prior_silence` is expected.
    prior_tokens: MilliTokens = 80_000, 1_000, 10_000_000;
    /// The mean rate to expect of a stream of which nothing is known.
    rate_first: TokensPerSecond = 150, 1, 1_000_000;
    /// Time over which the mean rate forgets.
    rate_memory: Nanoseconds = 4_000_000_000, 100_000_000, 600_000_000_000;
    /// Time after which the measured mean rate is trusted alone.
    rate_trust: Nanoseconds = 2_000_000_000, 1_000_000, 60_000_000_000;
    /// After this many arrival groups the measured mean rate is trusted alone, even before `rate_trust`.
    rate_trust_groups: Count = 16, 1, 24;
    /// Plans aim this much before a deadline, since a piece leaves as a whole.
    deadline_margin: Nanoseconds = 30_000_000, 0, 50_000_000;
    /// Bytes that may be queued. Intake should pause at half of it (`wants_input`) and resumes at a quarter;
    /// beyond it a delta is refused as a whole.
    max_queue_bytes: Bytes = 4_194_304, 65_536, 1_073_741_824;
    /// Bytes of a single event or delta; a larger one is an error.
    max_event_bytes: Bytes = 16_777_216, 1_024, 1_073_741_824;
    /// Choices (`n`) that one stream may interleave.
    max_choices: Count = 128, 1, 4_096;
    /// The most reasoning of a stream that is let through, in tokens; 0 sets no limit. The provider's running count holds
    /// where it has one, else text is estimated. What is within the limit leaves at once when it is exceeded, the piece that
    /// exceeds it is the last, and the stream ends, by default with an error, so that the source is closed. Reasoning that
    /// neither is sent nor counted while the stream runs is checked at the end, by the final usage; `max_silence` bounds
    /// its time. An engine driven by hand lets everything through.
    max_reasoning_tokens: Tokens = 0, 0, 1_000_000_000;
    /// Which tags in visible text hold reasoning: `common` are `<think>` and `<thinking>`; `all` adds
    /// `<thought>`, `<reasoning>`, `<seed:think>`, `◁think▷`, `[THINK]` and the channels of gpt-oss; `off` takes
    /// tags for text. Once a stream has sent reasoning in a field of its own, tags are text.
    think_tags: ThinkTags = 0, 0, 2;
    /// Visible text begins as reasoning, since the prompt's template holds the opening tag.
    starts_inside: Switch = 0, 0, 1;
    /// A tag opens reasoning also after visible text. Answers that mention tags are then misread.
    think_reopens: Switch = 0, 0, 1;
    /// Where reasoning comes in a field of its own, what stands between tags is a copy of it and is left out of
    /// pieces.
    think_copies: Switch = 0, 0, 1;
    /// When no event has come in full for so long, comments and pings aside, the stream ends with an error, after all that had come;
    /// 0 sets no limit. Time in which no input is wanted, or nobody polls, does not count. Collecting a stream has no clock
    /// and takes no notice of it.
    max_silence: Nanoseconds = 0, 0, 86_400_000_000_000;
    /// What a stream does when it exceeds `max_reasoning_tokens` or a budget that it shares: `raise` ends it with an
    /// error; `event` without one, and where events are given, one says so.
    over_budget: OverBudget = 0, 0, 1;
    /// A cluster is a group of arrivals of at least so many tokens, next to a silence of `cluster_min_gap`. This and the
    /// next two say what is counted as clustering (`stats`); pacing does not depend on them.
    cluster_min_tokens: Tokens = 40, 1, 1_000_000;
    /// The shortest silence that makes a large group beside it a cluster.
    cluster_min_gap: Nanoseconds = 1_000_000_000, 1_000_000, 3_600_000_000_000;
    /// Arrivals no later than this after the first of a group belong to it.
    cluster_group_gap: Nanoseconds = 30_000_000, 0, 3_600_000_000_000;
}

/// One row of [`PARAMETERS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Parameter {
    /// The name, the same in every language.
    pub name: &'static str,
    /// What the number counts.
    pub unit: ParameterUnit,
    /// The least value.
    pub min: u64,
    /// The greatest value.
    pub max: u64,
    /// The value when nothing is said.
    pub default: u64,
    /// What it means.
    pub doc: &'static str,
}

/// What a parameter's number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParameterUnit {
    /// Nanoseconds. Python takes and gives seconds.
    Nanoseconds,
    /// LLM tokens.
    Tokens,
    /// LLM tokens per second.
    TokensPerSecond,
    /// Thousandths of a token. Python takes and gives tokens.
    MilliTokens,
    /// A ratio in thousandths. Python takes and gives the ratio.
    Thousandths,
    /// Bytes.
    Bytes,
    /// A plain number.
    Count,
    /// A name out of `block`, `word`, `whole`, by its number.
    Unit,
    /// A name out of `adaptive`, `fixed`, `off`, by its number.
    Pace,
    /// A name out of `semantic`, `off`, `sentences`, by its number.
    Segment,
    /// A name out of `common`, `all`, `off`, by its number.
    ThinkTags,
    /// `raise` or `event`, by its number.
    OverBudget,
    /// 0 for no, 1 for yes. Python takes and gives a bool.
    Switch,
}

impl ParameterUnit {
    /// What the numbers of the table count, in words; empty where they are plain numbers or stand for names.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "nanoseconds",
            Self::Tokens => "tokens",
            Self::TokensPerSecond => "tokens per second",
            Self::MilliTokens => "thousandths of a token",
            Self::Thousandths => "thousandths",
            Self::Bytes => "bytes",
            Self::Count
            | Self::Unit
            | Self::Pace
            | Self::Segment
            | Self::ThinkTags
            | Self::OverBudget
            | Self::Switch => "",
        }
    }

    /// The names that the numbers 0, 1, … stand for; empty where the number is a quantity.
    pub const fn names(self) -> &'static [&'static str] {
        match self {
            Self::Unit => &["block", "word", "whole"],
            Self::Pace => &["adaptive", "fixed", "off"],
            Self::Segment => &["semantic", "off", "sentences"],
            Self::ThinkTags => &["common", "all", "off"],
            Self::OverBudget => &["raise", "event"],
            _ => &[],
        }
    }
}

/// Named settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Preset {
    /// The name, the same in every language.
    pub name: &'static str,
    /// Parameters that differ from their defaults, in the units of the table.
    pub values: &'static [(&'static str, u64)],
    /// What it is for.
    pub doc: &'static str,
}

/// The presets of [`Config::preset`]: one knob from little delay to little variation.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "balanced",
        values: &[],
        doc: "The default: bridges the silences that can be bridged and adds little to streams that flow.",
    },
    Preset {
        name: "steady",
        values: &[
            ("max_tail", 800_000_000),
            ("drain", 1_100),
            ("horizon_part_word", 1_000),
            ("horizon_part_block", 700),
            ("horizon_part_long", 800),
            ("reserve_word", 5_000),
            ("cluster_rate", 1_300),
            ("rate_cap", 2_000),
        ],
        doc: "The least variation and the fewest stalls, for about 100 ms more of delay and a tail of 800 ms.",
    },
    Preset {
        name: "snappy",
        values: &[
            ("horizon_part_word", 250),
            ("horizon_part_block", 150),
            ("horizon_part_long", 180),
            ("reserve_word", 1_500),
            ("reserve_block", 5_000),
            ("cluster_rate", 2_500),
        ],
        doc: "About half the delay: long silences stay visible more often.",
    },
];

/// The profiles of [`Config::profile`]: settings published under a name.
pub const PROFILES: &[Preset] = &[Preset {
    name: "codex-low-latency",
    values: &[("first_hold", 45_000_000)],
    doc: "First text within 45 ms of its arrival, then balanced: the defaults, under the published name.",
}];

impl Config {
    /// The settings of one of [`PRESETS`].
    ///
    /// # Errors
    /// [`ConfigError::Name`] lists the names there are.
    pub fn preset(name: &str) -> Result<Self, ConfigError> {
        Self::named("preset", PRESETS, name)
    }

    /// The settings of one of [`PROFILES`].
    ///
    /// # Errors
    /// [`ConfigError::Name`] lists the names there are.
    pub fn profile(name: &str) -> Result<Self, ConfigError> {
        Self::named("profile", PROFILES, name)
    }

    fn named(what: &'static str, all: &'static [Preset], name: &str) -> Result<Self, ConfigError> {
        let Some(preset) = all.iter().find(|p| p.name == name) else {
            return Err(ConfigError::Name { what, all, name: name.to_string() });
        };
        preset
            .values
            .iter()
            .try_fold(Self::default(), |config, (name, value)| config.with(name, *value))
    }

    /// The same settings with one parameter changed, in the unit of its table row.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such parameter or the value is out of its bounds.
    pub fn with(mut self, name: &str, value: u64) -> Result<Self, ConfigError> {
        self.set(name, value)?;
        Ok(self)
    }

    /// The same settings with one parameter of a closed set changed, by name: `unit`, `pace`, `segment`.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such parameter, or the choice is none of its names.
    pub fn with_choice(self, name: &str, choice: &str) -> Result<Self, ConfigError> {
        let parameter = parameter(name)?;
        let number = parameter.unit.names().iter().position(|n| *n == choice);
        match number {
            Some(number) => self.with(name, number as u64),
            None => Err(ConfigError::Choice { parameter, choice: choice.to_string() }),
        }
    }

    /// The same settings with one time changed: `max_delay`, `first_hold`, `max_tail`, and the like.
    ///
    /// # Errors
    /// [`ConfigError`] if there is no such parameter or the value is out of its bounds.
    pub fn with_duration(self, name: &str, value: Duration) -> Result<Self, ConfigError> {
        self.with(name, crate::Nanos::from(value).0)
    }

    /// What the segmenter is to do; nothing if `segment` is `off`.
    pub fn segmenting(&self) -> Option<SegmentConfig> {
        let tenths = u32::try_from(self.target / 100).unwrap_or(u32::MAX);
        // The bounds of the table are the segmenter's own.
        let config = SegmentConfig::default().target_tenths_of_token(tenths).unwrap_or_default();
        (self.segment != 1).then(|| config.sentences(self.segment == 2))
    }

    /// What to make of tags in visible text.
    #[cfg(feature = "wire")]
    pub fn think(&self) -> crate::wire::Think {
        use crate::wire::{Tags, Think};
        Think {
            tags: match self.think_tags {
                1 => Tags::All,
                2 => Tags::Off,
                _ => Tags::Common,
            },
            starts_inside: self.starts_inside == 1,
            reopens: self.think_reopens == 1,
            drop_copy: self.think_copies == 1,
        }
    }

    /// Changes one parameter, in the unit of its table row.
    ///
    /// # Errors
    /// [`ConfigError`], and then nothing is changed.
    pub fn set(&mut self, name: &str, value: u64) -> Result<(), ConfigError> {
        let parameter = parameter(name)?;
        if value < parameter.min || value > parameter.max {
            return Err(ConfigError::Bounds { parameter, value });
        }
        if let Some(slot) = self.slot(name) {
            *slot = value;
        }
        Ok(())
    }
}

fn parameter(name: &str) -> Result<&'static Parameter, ConfigError> {
    PARAMETERS
        .iter()
        .find(|p| p.name == name)
        .ok_or_else(|| ConfigError::Unknown { name: name.to_string() })
}

/// The caller set a parameter that does not exist, or to a value it cannot have.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no parameter of this name.
    Unknown {
        /// What was asked for.
        name: String,
    },
    /// The value lies outside the bounds.
    Bounds {
        /// The parameter.
        parameter: &'static Parameter,
        /// What was asked for.
        value: u64,
    },
    /// There is no preset or profile of this name.
    Name {
        /// `preset` or `profile`.
        what: &'static str,
        /// Those that there are.
        all: &'static [Preset],
        /// What was asked for.
        name: String,
    },
    /// The parameter has no such choice.
    Choice {
        /// The parameter.
        parameter: &'static Parameter,
        /// What was asked for.
        choice: String,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown { name } => {
                write!(f, "no parameter {name:?}; there are:")?;
                PARAMETERS.iter().try_for_each(|p| write!(f, " {}", p.name))
            }
            Self::Bounds { parameter: p, value } => {
                write!(f, "{} = {value} is out of bounds: {} to {}", p.name, p.min, p.max)?;
                let unit = p.unit.name();
                if unit.is_empty() { Ok(()) } else { write!(f, " {unit}") }
            }
            Self::Name { what, all, name } => {
                write!(f, "{what} = {name:?} is none of:")?;
                all.iter().try_for_each(|p| write!(f, " {}", p.name))
            }
            Self::Choice { parameter: p, choice } => {
                write!(f, "{} = {choice:?} is none of:", p.name)?;
                p.unit.names().iter().try_for_each(|n| write!(f, " {n}"))
            }
        }
    }
}

impl core::error::Error for ConfigError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_lie_within_their_own_bounds() {
        let config = Config::default();
        for p in PARAMETERS {
            assert!((p.min..=p.max).contains(&p.default), "{}", p.name);
            assert_eq!(config.get(p.name), Some(p.default));
        }
    }

    #[test]
    fn a_refused_value_changes_nothing_and_is_named() {
        let mut config = Config::default();
        let error = config.set("max_delay", 1).unwrap_err();
        assert_eq!(config, Config::default());
        assert_eq!(
            error.to_string(),
            "max_delay = 1 is out of bounds: 100000000 to 60000000000 nanoseconds"
        );
        assert!(config.set("max_dealy", 1).unwrap_err().to_string().contains("max_delay"));
        let error = Config::default().with_choice("unit", "sentence").unwrap_err();
        assert_eq!(error.to_string(), "unit = \"sentence\" is none of: block word whole");
    }

    #[test]
    fn presets_and_profiles_exist_and_are_within_bounds() {
        for preset in PRESETS {
            let config = Config::preset(preset.name).unwrap();
            assert!(preset.values.iter().all(|(name, value)| config.get(name) == Some(*value)));
        }
        assert_eq!(Config::preset("balanced").unwrap(), Config::default());
        for profile in PROFILES {
            assert!(Config::profile(profile.name).is_ok(), "{}", profile.name);
        }
        let error = Config::preset("quick").unwrap_err().to_string();
        assert_eq!(error, "preset = \"quick\" is none of: balanced steady snappy");
    }

    #[test]
    fn a_character_is_never_held_longer_than_text_may_be() {
        let max = |name| parameter(name).unwrap();
        assert!(max("grapheme_hold").max <= max("max_delay").min);
    }
}
