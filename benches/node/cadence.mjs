// What smoothing gives: the cadence of what a reader sees, in real time, beside `smoothStream` of
// the npm package ai and the smoother of @librechat/agents. `make bench-node` runs it and writes
// its tables into benches/README.md.
//
// Everybody runs in one process and at once: a delta is given to all of them in the same turn of the
// event loop, so all have the same arrivals, and whatever makes this loop late makes it late for
// all. So few streams leave it idle nearly all the time; how late it was is said below the tables.
// What CPU each needs is not this bench's matter.
//
// A piece is what a reader gets in one part. Gaps are those between pieces; dead time is the share of
// the time from the first piece to the last that lies in gaps over 400 ms. The lag of a character is
// the time from its arrival until a reader has it; the tail is from the last arrival to the last
// piece. A stream is ended together with its last delta.

import { monitorEventLoopDelay } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { direct, iterables, transforms } from "./contestants.mjs";
import { bursts, even } from "./inputs.mjs";
import { head, table, writeBetween } from "./report.mjs";

const DEAD_MS = 400;
const SEED = 7;
const EVEN = { seconds: 20, rate: 50 };
const BURSTS_S = 40;
const NAMES = {
  "ai, 10 ms": "ai, 10 ms a word (its default)",
  "ai, delay null": "ai, delay null",
  "librechat, 25 ms": "librechat, 25 ms (its default)",
  decluster: "**decluster** (its default)",
  "decluster, word": '**decluster**, `unit: "word"`',
};
// Each where it is at home.
const CONTESTANTS = [
  ["direct", direct],
  ...Object.entries(NAMES).map(([contestant, name]) => [
    name,
    (contestant.startsWith("librechat") ? iterables : transforms)[contestant],
  ]),
];

/** Plays deltas to all contestants at once; when they came, and who had which pieces when. */
async function play(deltas) {
  const runs = CONTESTANTS.map(([name, open]) => {
    const stream = open();
    const pieces = [];
    const read = stream.read(({ text }) => {
      if (text) pieces.push({ at: performance.now(), text });
    });
    return { name, stream, pieces, read };
  });
  const arrivals = [];
  const began = performance.now();
  while (arrivals.length < deltas.length) {
    const now = performance.now();
    while (deltas[arrivals.length]?.at <= now - began) {
      const { text } = deltas[arrivals.length];
      arrivals.push({ at: performance.now(), text });
      for (const { stream } of runs) stream.push(text);
    }
    // A millisecond is the least that a timer waits for.
    if (arrivals.length < deltas.length) {
      await new Promise((resolve) => setTimeout(resolve, deltas[arrivals.length].at - now + began));
    }
  }
  for (const { stream } of runs) stream.end();
  await Promise.all(runs.map(({ read }) => read));
  return { arrivals, runs };
}

/** Of each character when it came, or went. */
const characters = (timed) =>
  timed.flatMap(({ at, text }) => Array.from({ length: text.length }, () => at));

function row({ name, pieces }, arrivals) {
  const text = (timed) => timed.map((one) => one.text).join("");
  if (text(pieces) !== text(arrivals)) throw new Error(`${name} loses text`);
  const came = characters(arrivals);
  const lags = characters(pieces).map((at, i) => at - came[i]);
  const gaps = pieces
    .slice(1)
    .map(({ at }, i) => at - pieces[i].at)
    .sort((a, b) => a - b);
  const dead = gaps.filter((gap) => gap > DEAD_MS);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const [first, last] = [pieces[0].at, pieces.at(-1).at];
  return [
    name,
    pieces.length,
    (came.length / pieces.length).toFixed(1),
    Math.round(gaps[Math.ceil(gaps.length * 0.95) - 1]),
    Math.round(gaps.at(-1)),
    dead.length,
    ((100 * sum(dead)) / (last - first)).toFixed(1),
    Math.round(sum(lags) / lags.length),
    Math.round(lags.reduce((most, lag) => Math.max(most, lag))),
    Math.round(last - arrivals.at(-1).at),
  ];
}

const COLUMNS = [
  "pieces",
  "characters each",
  "gaps, ms: p95",
  "most",
  `over ${DEAD_MS} ms`,
  "dead time, %",
  "lag, ms: mean",
  "most",
  "tail, ms",
];

const { values: options } = parseArgs({ options: { write: { type: "string" } } });
const inputs = {
  "Bursts, a frame each": bursts({ seed: SEED, seconds: BURSTS_S, frames: true }),
  "Bursts, a delta a token": bursts({ seed: SEED, seconds: BURSTS_S, frames: false }),
  [`Even, ${EVEN.rate} tokens/s`]: even({ seed: SEED, ...EVEN }),
};
await play(even({ seed: 0, seconds: 2, rate: EVEN.rate })); // Compiles what is called most.
const late = monitorEventLoopDelay({ resolution: 1 });
late.enable();
const played = [];
for (const deltas of Object.values(inputs)) played.push(await play(deltas));
late.disable();
const tables = Object.keys(inputs).map((input, i) => {
  const { arrivals, runs } = played[i];
  const size = `${arrivals.length} deltas`;
  return table(
    [`${input} (${size})`, ...COLUMNS],
    runs.map((run) => row(run, arrivals)),
  );
});
const ms = (ns) => (ns / 1e6).toFixed(1);
const report = [
  head(),
  ...tables,
  `The event loop's timers were late by ${ms(late.percentile(50) - 1e6)} ms (median), ${ms(late.percentile(99) - 1e6)} ms (p99) and ${ms(late.max - 1e6)} ms at most.`,
].join("\n\n");
console.log(report);
if (options.write) writeBetween(options.write, "node-cadence", report);
