//! A stream read to its end without pacing: what a batch job wants of it.

use crate::budget::{Budget, ReasoningBudgetExceeded};
use crate::config::Config;
use crate::delta::Kind;
use crate::frames::Frames;
use crate::segment::{SegmentConfig, Segmenter};
use crate::sse::TooLarge;
use crate::wire::{Answer, Dialect, Part, Reader, Reading};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

/// Puts the texts of a stream together.
///
/// ```
/// use decluster::{Collector, Config};
/// let mut collector = Collector::new(&Config::default(), None);
/// collector.push(b"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\n")?;
/// collector.finish()?;
/// assert_eq!(collector.text(0).map(|text| text.output.as_str()), Some("Hi"));
/// # Ok::<(), decluster::CollectorError>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    decoder: Frames,
    reader: Reader,
    texts: Vec<Collected>,
    budget: Budget,
    /// Counts reasoning where that is limited.
    counter: Option<Segmenter>,
}

/// Why a collector refused. What came before is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CollectorError {
    /// An event exceeds `max_event_bytes`.
    TooLarge(TooLarge),
    /// More reasoning came than `max_reasoning_tokens` allows; told once, the caller should stop reading.
    ReasoningBudgetExceeded(ReasoningBudgetExceeded),
}

/// All text of one choice.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Collected {
    /// The choice.
    pub index: u32,
    /// Its reasoning.
    pub reasoning: String,
    /// Its output.
    pub output: String,
}

impl Collector {
    /// A collector for one stream; `None` tells the dialect from the first event. Of `config` only
    /// `max_event_bytes`, `max_reasoning_tokens` and what is said of tags count. The texts themselves are not bounded.
    pub fn new(config: &Config, dialect: Option<Dialect>) -> Self {
        Self {
            decoder: Frames::new(config.max_event_bytes as usize),
            reader: Reader::new(dialect).with_think(config.think()),
            texts: Vec::new(),
            budget: Budget::new(config.max_reasoning_tokens),
            counter: (config.max_reasoning_tokens > 0)
                .then(|| Segmenter::new(SegmentConfig::default())),
        }
    }

    /// Takes in bytes of the stream, cut anywhere.
    ///
    /// # Errors
    /// [`CollectorError`]; what came before is kept.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), CollectorError> {
        self.decoder.push(bytes);
        self.pump()
    }

    /// Takes in one line, with or without its terminator.
    ///
    /// # Errors
    /// As [`Collector::push`].
    pub fn push_line(&mut self, line: &[u8]) -> Result<(), CollectorError> {
        self.decoder.push_line(line);
        self.pump()
    }

    /// Takes in an event that was parsed already: its name, empty if it has none, and its data as JSON. A stream
    /// comes either as events or as bytes and lines; what is of the other kind is not taken.
    ///
    /// # Errors
    /// As [`Collector::push`].
    pub fn push_event(&mut self, name: &str, data: &str) -> Result<(), CollectorError> {
        self.decoder.push_event(name, data);
        self.pump()
    }

    /// The stream is at its end: settles the verdict.
    ///
    /// # Errors
    /// As [`Collector::push`].
    pub fn finish(&mut self) -> Result<(), CollectorError> {
        self.decoder.finish();
        let pumped = self.pump();
        let reading = self.reader.finish();
        take(&mut self.texts, &reading);
        pumped?;
        let blocks = self.counter.as_mut().map(Segmenter::finish).unwrap_or_default();
        self.budget.spend(blocks.iter().map(|block| block.tokens).sum());
        self.check()
    }

    /// The texts so far, one for each choice that had any, in the order the choices began.
    pub fn texts(&self) -> &[Collected] {
        &self.texts
    }

    /// The text of one choice.
    pub fn text(&self, index: u32) -> Option<&Collected> {
        self.texts.iter().find(|text| text.index == index)
    }

    /// What else the stream amounts to.
    pub fn answer(&self) -> &Answer {
        self.reader.answer()
    }

    /// The dialect, once it is known.
    pub fn dialect(&self) -> Option<Dialect> {
        self.reader.dialect()
    }

    fn pump(&mut self) -> Result<(), CollectorError> {
        while let Some(frame) = self.decoder.poll().map_err(CollectorError::TooLarge)? {
            let reading = self.reader.read(&frame);
            take(&mut self.texts, &reading);
            if let Some(counter) = &mut self.counter {
                for text in reading.texts.iter().filter(|text| text.kind == Kind::Reasoning) {
                    let blocks = counter.push(&text.text);
                    self.budget.spend(blocks.iter().map(|block| block.tokens).sum());
                    self.budget.spend(text.tokens.unwrap_or_default());
                }
                self.check()?;
            }
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), CollectorError> {
        let exceeded = self.budget.exceeded().map(CollectorError::ReasoningBudgetExceeded);
        exceeded.map_or(Ok(()), Err)
    }
}

impl fmt::Display for CollectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLarge(error) => error.fmt(f),
            Self::ReasoningBudgetExceeded(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for CollectorError {}

fn take(texts: &mut Vec<Collected>, reading: &Reading<'_>) {
    if reading.restart {
        texts.clear();
    }
    for text in reading.texts.iter().filter(|text| text.part != Part::Tag) {
        let place = texts.iter().position(|t| t.index == text.index);
        let place = place.unwrap_or_else(|| {
            texts.push(Collected { index: text.index, ..Collected::default() });
            texts.len() - 1
        });
        let collected = &mut texts[place];
        match (text.part, text.kind) {
            (Part::Turn, _) => {
                collected.reasoning.push_str(&core::mem::take(&mut collected.output));
            }
            (_, Kind::Reasoning) => collected.reasoning.push_str(&text.text),
            (_, Kind::Output) => collected.output.push_str(&text.text),
        }
    }
}
