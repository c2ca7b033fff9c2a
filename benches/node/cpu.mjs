// What smoothing costs: CPU for each delta, beside `smoothStream` of the npm package ai and the
// smoother of @librechat/agents. `make bench-node` runs it and writes its tables into
// benches/README.md. It ends with 1 where decluster is not below both of them, or not linear.
//
// Two kinds of input come in real time, as pacing with its timers does its work only there: many
// streams at once, so that there is CPU to measure, with their phases spread evenly. The third, text
// without blanks, is pushed as fast as it is taken, and read to its end.
//
// Every figure is of a process of its own, which is at work for a while before it is measured. All
// contestants take turns, round after round, so that what disturbs one disturbs all. Net figures are
// without what is measured of somebody in the same place who does nothing: that is what source,
// reader, timers and the place itself cost.

import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { iterables, transforms } from "./contestants.mjs";
import { bursts, even, unbroken } from "./inputs.mjs";
import { head, median, table, writeBetween } from "./report.mjs";

const ROUNDS = 5;

const PLACES = { "web streams": transforms, "async iterables": iterables };
const OURS = "decluster";
// Who is to be beaten, in each place where he is.
const THEIRS = ["ai, delay null", "librechat, 25 ms"];
// Are there for comparison, in real time.
const ASIDE = ["ai, 10 ms", "decluster, word"];

const WARM_MS = 2_000;
const MEASURED_MS = 3_000;
// Longer than what is measured, by more than a silence.
const SECONDS = 8;
const RATE = 50;
// There are so many different ones; streams share them.
const SCHEDULES = 16;
// So many streams that the process is at work for about half of the time: to wake one that idles
// costs more than what is to be measured. Their phases are spread over the period: that of the
// deltas, or a silence's mean length.
const LIVE = {
  "even, a token a delta": {
    streams: 500,
    period: 1_000 / RATE,
    deltas: (seed) => even({ seed, seconds: SECONDS, rate: RATE }),
  },
  "bursts, a token a delta": {
    streams: 500,
    period: 1_250,
    deltas: (seed) => bursts({ seed, seconds: SECONDS, frames: false }),
  },
  "bursts, a frame each": {
    streams: 2_000,
    period: 1_250,
    deltas: (seed) => bursts({ seed, seconds: SECONDS, frames: true }),
  },
};

const LENGTHS = [1_000, 2_000, 4_000, 10_000, 100_000];
// Of all streams of a length together, if less is not enough CPU to be measured. Who needs more than
// the last figure for one stream is measured once, and not with longer ones.
const CHARACTERS = 400_000;
const ENOUGH_US = 4_000_000;
const PATIENCE_US = 5_000_000;
// Deltas that are pushed in one turn of the event loop, so that the source's own queue stays short.
const TURN = 64;
// How much dearer a delta may be in the longest text than in the next, where cost is linear.
const LINEAR = 1.5;

const OPENINGS = 3_000;

const KINDS = {
  /** CPU in us for each delta that came meanwhile, and how many parts went out for it. */
  async live(open, input) {
    const { streams: count, period, deltas } = LIVE[input];
    const schedules = Array.from({ length: SCHEDULES }, (_, i) => deltas(i));
    const streams = Array.from({ length: count }, open);
    const { at, who } = inOrder(
      streams.map((_, i) => [schedules[i % SCHEDULES], (i * period) / count]),
    );
    const pushed = new Uint32Array(count);
    const push = (stream) => {
      streams[stream].push(schedules[stream % SCHEDULES][pushed[stream]++].text);
    };
    let out = 0;
    for (const stream of streams) {
      stream.read(() => {
        out += 1;
      });
    }
    let next = 0;
    const began = performance.now();
    const feedUntil = async (end) => {
      for (let now = 0; now < end; ) {
        // The event loop turns every millisecond for everybody, whoever has timers of his own.
        await new Promise((resolve) => setTimeout(resolve, 1));
        now = performance.now() - began;
        for (; at[next] <= now; next++) push(who[next]);
      }
    };
    await feedUntil(WARM_MS);
    const before = { next, out, cpu: process.cpuUsage() };
    await feedUntil(WARM_MS + MEASURED_MS);
    const cpu = microseconds(process.cpuUsage(before.cpu));
    const came = next - before.next;
    return { cost: cpu / came, out: (out - before.out) / came };
  },

  /** CPU in us for each delta of a text without blanks. */
  async unbroken(open, length) {
    await readThrough(open, 20, unbroken({ seed: 1, length: 800 }));
    const deltas = unbroken({ seed: 2, length });
    const one = await readThrough(open, 1, deltas);
    if (one > PATIENCE_US) return { cost: one / deltas.length, tooSlow: true };
    const streams = Math.min(CHARACTERS / length, Math.ceil(ENOUGH_US / one));
    return { cost: (await readThrough(open, streams, deltas)) / streams / deltas.length };
  },

  /** CPU in us for a stream with one delta, opened and read to its end. */
  async opening(open) {
    await readThrough(open, OPENINGS, ["A delta."]);
    return { cost: (await readThrough(open, OPENINGS, ["A delta."])) / OPENINGS };
  },
};

/** All deltas of all streams in order: when each is due, and of which stream it is. */
function inOrder(streams) {
  const due = streams.flatMap(([schedule, phase], who) =>
    schedule.map(({ at }) => [at + phase, who]),
  );
  due.sort(([a], [b]) => a - b);
  // Without objects, which would be the garbage collector's business all the time.
  return { at: Float64Array.from(due, ([at]) => at), who: Uint32Array.from(due, ([, who]) => who) };
}

/** Pushes all deltas into so many streams, and reads these to their ends: CPU in us. */
async function readThrough(open, streams, deltas) {
  const { length } = deltas.join("");
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: streams }, async () => {
      const stream = open();
      let came = 0;
      const read = stream.read(({ text }) => {
        came += text?.length ?? 0;
      });
      for (const [i, text] of deltas.entries()) {
        stream.push(text);
        if (i % TURN === TURN - 1) await new Promise(setImmediate);
      }
      stream.end();
      await read;
      if (came !== length) throw new Error("text is lost");
    }),
  );
  return microseconds(process.cpuUsage(before));
}

const microseconds = ({ user, system }) => user + system;

/** Measures in a process of its own. */
function measure(what) {
  const args = [fileURLToPath(import.meta.url), "--measure", JSON.stringify(what)];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

/** What was measured in all rounds. */
class Results {
  #all = new Map();

  add(kind, place, name, input, measured) {
    const key = JSON.stringify([kind, place, name, input]);
    this.#all.set(key, [...(this.#all.get(key) ?? []), measured]);
  }

  all(kind, place, name, input) {
    return this.#all.get(JSON.stringify([kind, place, name, input])) ?? [];
  }

  /** The median; undefined where nothing was measured. */
  of(kind, place, name, input, what = "cost") {
    const measured = this.all(kind, place, name, input).map((one) => one[what]);
    return measured.length > 0 ? median(measured) : undefined;
  }

  /** Without what doing nothing costs in that place. */
  net(kind, place, name, input) {
    const [nobody] = Object.keys(PLACES[place]);
    return this.of(kind, place, name, input) - this.of(kind, place, nobody, input);
  }
}

const INPUTS = [
  ...Object.keys(LIVE).map((input) => ["live", input]),
  ...LENGTHS.map((length) => ["unbroken", length]),
  ["opening", ""],
];

function measureAll(rounds) {
  const results = new Results();
  for (let round = 1; round <= rounds; round++) {
    for (const [kind, input] of INPUTS) {
      for (const [place, contestants] of Object.entries(PLACES)) {
        for (const name of Object.keys(contestants)) {
          if (kind !== "live" && ASIDE.includes(name)) continue;
          const shorter = kind === "unbroken" ? LENGTHS.filter((length) => length <= input) : [];
          const known = shorter.flatMap((length) => results.all(kind, place, name, length));
          if (known.some(({ tooSlow }) => tooSlow)) continue;
          const measured = measure([kind, place, name, input]);
          results.add(kind, place, name, input, measured);
          console.error(round, kind, input, place, name, us(measured.cost));
        }
      }
    }
  }
  return results;
}

const us = (value) => value.toFixed(value < 100 ? 1 : 0);

/** Each cell has the figure and, in brackets, the net one. */
function tablesOf(results, place) {
  const names = Object.keys(PLACES[place]);
  const cell = (kind, name, input) => {
    const cost = results.of(kind, place, name, input);
    if (cost === undefined) return "";
    return name === names[0]
      ? us(cost)
      : `${us(cost)} (${us(results.net(kind, place, name, input))})`;
  };
  const each = (kind, input) => names.map((name) => cell(kind, name, input));
  const out = (input) =>
    names.map((name) => results.of("live", place, name, input, "out").toFixed(2));
  const inputs = Object.keys(LIVE);
  return [
    table(
      [`${place}: us a delta`, ...names],
      [
        ...inputs.map((input) => [input, ...each("live", input)]),
        ...LENGTHS.map((length) => [
          `${characters(length)} without blanks`,
          ...each("unbroken", length),
        ]),
        ["exponent of the text's length", ...names.map((name) => exponent(results, place, name))],
        ["us to open a stream and read its one delta", ...each("opening", "")],
        ...inputs.map((input) => [`parts out for a delta: ${input}`, ...out(input)]),
      ],
    ),
  ];
}

const characters = (length) => `${length.toLocaleString("en")} characters`;

/**
 * A whole text costs its length to the power of this, by the two longest that were measured: in short
 * ones it shows what opening a stream costs.
 */
function exponent(results, place, name) {
  const cost = (length) => results.of("unbroken", place, name, length);
  const measured = LENGTHS.filter(cost);
  if (measured.length < 2) return "";
  const [shorter, longest] = measured.slice(-2);
  return (1 + Math.log(cost(longest) / cost(shorter)) / Math.log(longest / shorter)).toFixed(2);
}

/** What of theirs decluster costs; and which of the claims do not hold. */
function judge(results) {
  const rows = [];
  const failures = [];
  for (const [place, contestants] of Object.entries(PLACES)) {
    for (const theirs of THEIRS.filter((name) => name in contestants)) {
      const ratios = INPUTS.filter(([kind]) => kind !== "opening").map(([kind, input]) => {
        if (results.of(kind, place, theirs, input) === undefined) return "";
        const gross = results.of(kind, place, OURS, input) / results.of(kind, place, theirs, input);
        // In one place the net figures lack the same, so they have the same order.
        if (!(gross < 1)) failures.push(`${place}, ${input}: not below ${theirs}`);
        const net = results.net(kind, place, OURS, input) / results.net(kind, place, theirs, input);
        return `${gross.toFixed(2)} (${net.toFixed(2)})`;
      });
      rows.push([`${place}: times ${theirs}`, ...ratios]);
    }
    const cost = (length) => results.of("unbroken", place, OURS, length);
    const growth = cost(LENGTHS.at(-1)) / cost(LENGTHS.at(-2));
    if (!(growth < LINEAR)) {
      failures.push(`${place}: a delta costs ${growth.toFixed(2)} times as much in a long text`);
    }
  }
  const title = [...Object.keys(LIVE), ...LENGTHS.map((length) => `${characters(length)}`)];
  return { ratios: table(["decluster", ...title], rows), failures };
}

const { values: options } = parseArgs({
  options: {
    write: { type: "string" },
    rounds: { type: "string", default: String(ROUNDS) },
    measure: { type: "string" },
  },
});
if (options.measure) {
  const [kind, place, name, input] = JSON.parse(options.measure);
  console.log(JSON.stringify(await KINDS[kind](PLACES[place][name], input)));
  process.exit(0); // Live streams have no end.
}
const results = measureAll(Number(options.rounds));
const { ratios, failures } = judge(results);
const tables = Object.keys(PLACES).flatMap((place) => tablesOf(results, place));
const report = [`${head()} Medians of ${options.rounds} rounds.`, ...tables, ratios].join("\n\n");
console.log(report);
if (options.write) writeBetween(options.write, "node-cpu", report);
for (const failure of failures) console.error(failure);
process.exitCode = failures.length > 0 ? 1 : 0;
