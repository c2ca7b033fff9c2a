// Made streams for the benches in Node: text in tokens, and when they come. Everything follows from
// a seed; the words are those of ../text.txt, as in the other benches.

import { readFileSync } from "node:fs";

// Like the tokens of the other benches: a word with the blank before it, digits, marks, line ends.
const TOKEN = / ?[^\W\d_]{1,9}| ?\d{1,3}| ?[^\w\s]{1,3}|\n{1,2}|\s|./gsu;
const TEXT = readFileSync(new URL("../text.txt", import.meta.url), "utf8");
const TOKENS = TEXT.match(TOKEN);

// What was reported of a provider under load: this many tokens within some milliseconds, then nothing.
const BURST_TOKENS = [40, 150];
const SILENCE_MS = [1_000, 1_500];
const TOKENS_PER_MS = 20;

/** Numbers from 0 to 1 that a seed decides (mulberry32). */
export function random(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Tokens without end, from a place in the text that the seed decides. */
function tokens(next) {
  let at = Math.floor(next() * TOKENS.length);
  return () => TOKENS[at++ % TOKENS.length];
}

/** A token at a time and evenly: `[{ at, text }]`, in ms. */
export function even({ seed, seconds, rate }) {
  const token = tokens(random(seed));
  return Array.from({ length: seconds * rate }, (_, i) => ({
    at: (i * 1_000) / rate,
    text: token(),
  }));
}

/** Bursts and silences for so many seconds; a burst is one frame, or deltas of a token within ms. */
export function bursts({ seed, seconds, frames }) {
  const next = random(seed);
  const token = tokens(next);
  const between = ([least, most]) => least + next() * (most - least);
  const deltas = [];
  for (let at = 0; at < seconds * 1_000; at += between(SILENCE_MS)) {
    const burst = Array.from({ length: Math.round(between(BURST_TOKENS)) }, token);
    if (frames) {
      deltas.push({ at, text: burst.join("") });
      continue;
    }
    const start = at;
    for (const [i, text] of burst.entries()) deltas.push({ at: start + i / TOKENS_PER_MS, text });
    at = deltas.at(-1).at;
  }
  return deltas;
}

const LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** What base64 looks like: so many characters, four in each delta, and no blank. */
export function unbroken({ seed, length }) {
  const next = random(seed);
  const letter = () => LETTERS[Math.floor(next() * LETTERS.length)];
  return Array.from({ length: length / 4 }, () => letter() + letter() + letter() + letter());
}
