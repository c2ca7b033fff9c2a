//! Models of other pacers: the published rule of each, on a virtual clock, from a trace to a schedule.
//!
//! A model is the rule and nothing else. It knows no rendering, no slow event loop and no markup, so the real
//! thing does as well at best. Rules that count characters or words see [`CHARS`] characters a token and
//! [`WORD`] characters a word. The stream ends with its last arrival, and every model knows that at once.

mod drain;
mod fixed;
mod rate;
mod screen;

use crate::trace::{Tokens, Trace};

pub use fixed::token_bucket;

/// Characters of a token of English prose, as most tokenizers cut it.
pub const CHARS: f64 = 4.3;
/// Characters of a word with the blank behind it, as Vercel's rule cut the text of the field's comparison.
pub const WORD: f64 = 5.9;

/// Another pacer.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    /// What it is called.
    pub name: &'static str,
    /// Where its rule is described.
    pub source: &'static str,
    /// Its rule.
    pub pace: fn(&Trace) -> Vec<Tokens>,
}

/// All peers: first those of a fixed cadence, then those that drain their backlog, then those that follow a
/// rate.
pub const PEERS: &[Peer] = &[
    Peer {
        name: "pass-through",
        source: "what LiteLLM, Streamlit, Chainlit and most workers do",
        pace: |trace| trace.arrivals.clone(),
    },
    Peer {
        name: "token bucket 230/32",
        source: "the classic limiter: 230 tokens a second, bursts of 32",
        pace: |trace| token_bucket(trace, 230.0, 32),
    },
    Peer {
        name: "Andes 5/s",
        source: "arXiv 2404.16283, the buffer at the client, for a reader of 5 tokens a second",
        pace: |trace| token_bucket(trace, 5.0, 1),
    },
    Peer {
        name: "Vercel smoothStream",
        source: "vercel/ai packages/ai/src/generate-text/smooth-stream.ts",
        pace: fixed::vercel,
    },
    Peer { name: "Ant Design X", source: "ant-design/x useTyping", pace: fixed::ant_design_x },
    Peer {
        name: "NextChat",
        source: "ChatGPTNextWeb/NextChat animateResponseText",
        pace: drain::nextchat,
    },
    Peer {
        name: "lobe-chat",
        source: "lobehub/lobe-chat createSmoothMessage",
        pace: drain::lobe_chat,
    },
    Peer {
        name: "LibreChat agents",
        source: "LibreChat-AI/agents src/llm/stream/smoother.ts (#389)",
        pace: drain::librechat,
    },
    Peer {
        name: "assistant-ui useSmooth",
        source: "assistant-ui/assistant-ui packages/react/src/utils/smooth/useSmooth.tsx",
        pace: drain::assistant_ui,
    },
    Peer {
        name: "Cherry Studio v1",
        source: "CherryHQ/cherry-studio useSmoothStream.ts, before 2026-09",
        pace: drain::cherry_v1,
    },
    Peer {
        name: "term-llm",
        source: "SamSaffron/term-llm internal/ui/smooth_buffer.go",
        pace: drain::term_llm,
    },
    Peer {
        name: "Codex TUI (lines)",
        source: "openai/codex AdaptiveChunkingPolicy of the TUI",
        pace: drain::codex,
    },
    Peer { name: "HF chat-ui", source: "huggingface/chat-ui #2329", pace: rate::chat_ui },
    Peer { name: "coder mux", source: "coder/mux SmoothTextEngine", pace: rate::mux },
    Peer {
        name: "llm-ui throttle",
        source: "llm-ui-kit/llm-ui packages/react/src/throttle/basic.ts",
        pace: rate::llm_ui,
    },
    Peer {
        name: "Cherry Studio v2",
        source: "CherryHQ/cherry-studio useSmoothStream.ts, since 2026-09, after a wait of a second",
        pace: |trace| rate::cherry_v2(trace, 1.0),
    },
    Peer {
        name: "Cherry Studio v2, no wait",
        source: "the same when the first text comes within a quarter of a second",
        pace: |trace| rate::cherry_v2(trace, 0.0),
    },
];

#[cfg(test)]
mod tests;
