//! A virtual clock that leaps, and a consumer that does as it is told.

#![allow(clippy::expect_used, reason = "a test may panic")]

use decluster::{Boundary, Config, Delta, Engine, Event, Kind, Nanos, Output, PushError};

/// One thing that happens to an engine, `after` the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// Time since the step before.
    pub after: Nanos,
    /// What happens.
    pub input: Input,
}

/// What can happen to an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A delta with text.
    Text(Kind, u32, String),
    /// A delta that is only a token count.
    Count(Kind, u32, u32),
    /// A mark; its id is the number of the step.
    Mark {
        /// Whether it hurries.
        hurry: bool,
    },
    /// The block ends.
    EndBlock,
    /// What is queued is not paced.
    Flush,
}

/// What came out, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// When.
    pub at: Nanos,
    /// What.
    pub what: What,
}

/// What can come out of an engine.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "as in `decluster::Piece`")]
pub enum What {
    /// A piece.
    Piece {
        text: String,
        kind: Kind,
        index: u32,
        seq: u64,
        block: u64,
        part: u32,
        boundary: Boundary,
        ends_block: bool,
        tokens: u32,
        origin: u64,
        arrived: Nanos,
    },
    /// A mark.
    Mark(u64),
    /// A restart.
    Restarted(u32),
}

/// Drives an engine on a virtual clock and checks at every step that `Wait` is kept in both directions.
#[derive(Debug)]
pub struct Driver {
    /// The engine.
    pub engine: Engine,
    /// The virtual clock.
    pub now: Nanos,
    /// All that came out.
    pub out: Vec<Released>,
    /// How often the engine was polled.
    pub polls: u64,
    /// The consumer comes this much later than it was told.
    pub late: Nanos,
}

impl Driver {
    /// A driver whose clock starts at `now`.
    pub fn new(config: &Config, now: Nanos) -> Self {
        Self { engine: Engine::new(config, now), now, out: Vec::new(), polls: 0, late: Nanos::ZERO }
    }

    /// Runs a whole script, then finishes; the finish comes 1 ms after the last step.
    ///
    /// # Panics
    /// If the engine breaks its word, or never ends.
    pub fn run(config: &Config, script: &[Step]) -> Self {
        let mut driver = Self::new(config, Nanos::from_secs(1));
        for (number, step) in script.iter().enumerate() {
            driver.advance(driver.now.after(step.after));
            driver.feed(number as u64, &step.input).expect("the script fits the engine");
        }
        driver.advance(driver.now.after(Nanos::from_millis(1)));
        driver.finish();
        driver
    }

    /// Gives one input to the engine, at the present time.
    ///
    /// # Errors
    /// As the engine.
    pub fn feed(&mut self, number: u64, input: &Input) -> Result<(), PushError> {
        let now = self.now;
        match input {
            Input::Text(kind, index, text) => {
                self.engine.push(now, Delta { kind: *kind, index: *index, text, tokens: None })
            }
            Input::Count(kind, index, tokens) => {
                let tokens = Some(*tokens);
                self.engine.push(now, Delta { kind: *kind, index: *index, text: "", tokens })
            }
            Input::Mark { hurry } => self.engine.mark(now, number, *hurry),
            Input::EndBlock => {
                self.engine.end_block(now);
                Ok(())
            }
            Input::Flush => {
                self.engine.flush();
                Ok(())
            }
        }
    }

    /// Finishes and takes everything that is left.
    ///
    /// # Panics
    /// If the engine does not end.
    pub fn finish(&mut self) {
        self.engine.finish(self.now);
        self.advance(Nanos::MAX);
        assert_eq!(self.engine.poll(self.now), Output::Finished, "it was finished and drained");
    }

    /// Leaps from release to release until nothing more is due before `until`, then to `until`.
    ///
    /// # Panics
    /// If the engine breaks its word, or polls lead nowhere.
    pub fn advance(&mut self, until: Nanos) {
        let mut promised = false;
        loop {
            self.polls += 1;
            assert!(self.polls < 2_000_000, "polling leads nowhere");
            match take(&mut self.engine, self.now) {
                Taken::Out(what) => {
                    promised = false;
                    self.out.push(Released { at: self.now, what });
                }
                Taken::Wait(at) => {
                    assert!(at > self.now, "Wait({at}) at {} is no wait", self.now);
                    assert!(!promised, "nothing came at the time that Wait gave");
                    let due = at.after(self.late);
                    if due > until {
                        break;
                    }
                    // Never early: just before it, the answer is the same.
                    let before = Nanos((at.0 - 1).max(self.now.0));
                    assert_eq!(self.engine.poll(before), Output::Wait(at), "early or changed");
                    self.now = due;
                    promised = true;
                }
                Taken::Nothing => {
                    assert!(!promised, "nothing came at the time that Wait gave");
                    break;
                }
            }
        }
        if until < Nanos::MAX {
            self.now = self.now.max(until);
        }
    }

    /// All text of one choice and kind, as it came out.
    pub fn text(&self, of: u32, which: Kind) -> String {
        let mut all = String::new();
        for released in &self.out {
            if let What::Piece { text, kind, index, .. } = &released.what
                && (*index, *kind) == (of, which)
            {
                all.push_str(text);
            }
        }
        all
    }

    /// The blocks of one choice, put together again from their parts; a token count gives empty ones.
    ///
    /// # Panics
    /// If parts are not numbered as they should be.
    pub fn blocks(&self, of: u32) -> Vec<(Kind, String)> {
        let mut blocks: Vec<(Kind, String)> = Vec::new();
        let mut next = (0, 0);
        for released in &self.out {
            let What::Piece { text, kind, index, block, part, .. } = &released.what else {
                continue;
            };
            if *index != of {
                continue;
            }
            if *part == 0 {
                assert_eq!(*block, blocks.len() as u64, "blocks are numbered without gaps");
                blocks.push((*kind, text.clone()));
            } else {
                assert_eq!((*block, *part), next, "parts are numbered without gaps");
                let (last, all) = blocks.last_mut().expect("part 0 came before");
                assert_eq!(last, kind, "a block is of one kind");
                all.push_str(text);
            }
            next = (*block, part + 1);
        }
        blocks
    }
}

enum Taken {
    Out(What),
    Wait(Nanos),
    Nothing,
}

fn take(engine: &mut Engine, now: Nanos) -> Taken {
    match engine.poll(now) {
        Output::Piece(p) => Taken::Out(What::Piece {
            text: p.text.to_owned(),
            kind: p.kind,
            index: p.index,
            seq: p.seq,
            block: p.block,
            part: p.part,
            boundary: p.boundary,
            ends_block: p.ends_block,
            tokens: p.tokens,
            origin: p.origin,
            arrived: p.arrived,
        }),
        Output::Mark(id) => Taken::Out(What::Mark(id)),
        Output::Event(Event::Restarted { attempt }) => Taken::Out(What::Restarted(attempt)),
        Output::Wait(at) => Taken::Wait(at),
        _ => Taken::Nothing,
    }
}
