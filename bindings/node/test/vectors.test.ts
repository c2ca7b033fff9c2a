/** The shared vectors, replayed through `Engine` (tests/vectors/README.md). */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { Engine, Event, FINISHED, Mark, NEED_INPUT, Piece, Wait } from "../src/index.js";
import {
  type Arrivals,
  absent,
  expected,
  files,
  lines,
  madeTraces,
  nameOf,
  option,
  recordedTraces,
  SHARED,
  sha256,
  unquoted,
  VECTORS,
  words,
} from "./vectors.js";

/** An engine and its clock, led by the lines of a file. */
class Replay {
  settings: ConstructorParameters<typeof Engine>[0] = {};
  engine: Engine | undefined;
  now = 0n;

  line(line: string): void {
    const [first, second, rest] = words(line, 2);
    switch (first) {
      case "#":
        return;
      case "preset":
      case "profile":
        this.settings = { ...this.settings, [first]: second };
        return;
      case "set":
        this.settings = { ...this.settings, ...option(second!, rest!) };
        return;
      case ">":
        this.call(second!, rest!);
        return;
      case "<":
        assert.equal(this.nextOutput(), line);
        return;
      default:
        assert.fail(`"${line}" is no kind of line`);
    }
  }

  call(name: string, given: string): void {
    const [time, ...rest] = words(given, 4) as [string, ...string[]];
    if (this.engine === undefined) {
      this.engine = new Engine(this.settings);
    } else {
      const due = this.engine.poll(this.now);
      const isNothing = due === NEED_INPUT || (due instanceof Wait && due.atNs >= BigInt(time));
      assert.ok(isNothing, `${String(due)} is due before`);
    }
    const now = BigInt(time);
    this.now = now;
    const [a, b, c, text] = rest;
    switch (name) {
      case "push":
        this.engine.push(now, a as "reasoning" | "output", unquoted(text!), {
          index: Number(b),
          ...(c === "-" ? {} : { tokens: Number(c) }),
        });
        return;
      case "mark":
        this.engine.mark(now, BigInt(a!), b === "1");
        return;
      case "end_block":
        this.engine.endBlock(now);
        return;
      case "begin_attempt":
        this.engine.beginAttempt(now);
        return;
      case "finish":
        this.engine.finish(now);
        return;
      case "flush":
        this.engine.flush();
        return;
      default:
        assert.fail(`there is no call ${name}`);
    }
  }

  nextOutput(): string {
    let found = this.engine!.poll(this.now);
    if (found instanceof Wait) {
      this.now = found.atNs;
      found = this.engine!.poll(this.now);
    }
    return described(this.now, found);
  }
}

function described(now: bigint, found: ReturnType<Engine["poll"]>): string {
  if (found instanceof Piece) {
    const { kind, index, seq, block, part, boundary, endsBlock, tokens, origin } = found;
    const size = Buffer.byteLength(found.text);
    return (
      `< piece ${now} ${size} ${kind} ${index} ${seq} ${block} ${part} ` +
      `${boundary} ${Number(endsBlock)} ${tokens} ${origin}`
    );
  }
  if (found instanceof Mark) return `< mark ${now} ${found.id}`;
  if (found instanceof Event) return `< ${found.name} ${now} ${found.attempt}`;
  if (found === FINISHED) return `< finished ${now}`;
  return found === NEED_INPUT ? "nothing" : `a wait until ${found.atNs}`;
}

function play(name: string, all: string[]): void {
  const replay = new Replay();
  for (const [number, line] of all.entries()) {
    try {
      replay.line(line);
    } catch (error) {
      throw new Error(`${name}:${number + 1}: ${line}`, { cause: error });
    }
  }
  assert.equal(all.at(-1), `< finished ${replay.now}`);
  replay.engine?.close();
}

const calls = files(new URL("calls/", VECTORS), ".txt");

test("there are as many files of calls as others have", () => {
  assert.ok(calls.length >= 12);
});

for (const file of calls) {
  test(`calls/${nameOf(file)} gives what it gives in Rust`, () => {
    play(nameOf(file), lines(file));
  });
}

test("a replay complains of an output that differs", () => {
  const [file] = calls;
  const all = lines(file!);
  const number = all.findIndex((line) => line.startsWith("< piece"));
  const [lt, piece, time, size, rest] = words(all[number]!, 4);
  all[number] = `${lt} ${piece} ${time} ${Number(size) + 1} ${rest}`;
  assert.throws(() => play("it", all), { message: `it:${number + 1}: ${all[number]}` });
});

/** The tokens of one pass over the text. */
const tokens = lines(new URL("schedules/tokens.txt", VECTORS)).map(unquoted);

/** The lines of the pieces of a trace. */
function schedule(arrivals: Arrivals, unit: "block" | "word"): string {
  using engine = new Engine({ unit });
  const out: string[] = [];
  let now = 0n;
  let place = 0;
  /** Takes all that is due, and what becomes due before a time. */
  const take = (until: bigint | undefined) => {
    for (;;) {
      const found = engine.poll(now);
      if (found instanceof Piece) {
        const { text, tokens, block, part } = found;
        out.push(`${now} ${Buffer.byteLength(text)} ${tokens} ${block} ${part}\n`);
      } else if (found instanceof Wait && (until === undefined || found.atNs < until)) {
        now = found.atNs;
      } else {
        return;
      }
    }
  };
  for (const [number, [at, count]] of arrivals.entries()) {
    if (number > 0) take(at);
    now = at;
    let text = "";
    for (const end = place + count; place < end; place++) text += tokens[place % tokens.length];
    engine.push(now, "reasoning", text);
    if (number === arrivals.length - 1) engine.finish(now);
  }
  take(undefined);
  return out.join("");
}

/** Which schedules have other hashes than the file. */
function different(traces: Map<string, Arrivals>, file: string): string[] {
  const wanted = expected(file);
  assert.deepEqual(new Set(wanted.map(({ what }) => what)), new Set(traces.keys()));
  assert.equal(wanted.length, 2 * traces.size);
  return wanted
    .filter(
      ({ what, how, digest }) =>
        sha256(schedule(traces.get(what)!, how as "block" | "word")) !== digest,
    )
    .map(({ what, how }) => `${what} ${how}`);
}

test("the tokens are the text", () => {
  assert.equal(tokens.join(""), readFileSync(new URL("text.txt", VECTORS), "utf8"));
});

test("made traces have the schedules of Rust", () => {
  assert.deepEqual(different(madeTraces(), "schedules/made.txt"), []);
});

test("recorded traces have the schedules of Rust", {
  skip: absent(new URL("traces/", SHARED)),
}, () => {
  assert.deepEqual(different(recordedTraces(), "schedules/recorded.txt"), []);
});
