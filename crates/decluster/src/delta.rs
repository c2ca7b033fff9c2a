//! What a provider sends, reduced to what declustering needs.

/// Which channel a text belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// The model's thinking, raw or summarised.
    Reasoning = 0,
    /// What the model says to the user; a refusal counts as output.
    Output = 1,
}

impl Kind {
    /// The name used in every language and in JSON: `reasoning` or `output`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::Output => "output",
        }
    }
}

/// One increment of a stream.
///
/// ```
/// use decluster::{Delta, Kind};
/// let delta = Delta { kind: Kind::Reasoning, index: 0, text: "First, ", tokens: None };
/// # let _ = delta;
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delta<'a> {
    /// Reasoning or output.
    pub kind: Kind,
    /// The choice it belongs to: `choices[].index` in chat completions, 0 elsewhere.
    pub index: u32,
    /// The text. May be empty, then only `tokens` counts.
    pub text: &'a str,
    /// How many LLM tokens the provider says this is. With text it is only recorded; without text it is
    /// what gets paced.
    pub tokens: Option<u32>,
}
