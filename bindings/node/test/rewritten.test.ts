/** The shared vectors of streams, played through what the verbs are made of (tests/vectors/README.md). */

import assert from "node:assert/strict";
import { test } from "node:test";
import { ReasoningBudgetExceeded, TooLarge } from "../src/index.js";
import { Next } from "../src/machine.js";
import type { Dialect } from "../src/names.js";
import { AT, long } from "../src/native.js";
import { Event, Piece } from "../src/outputs.js";
import { type How, Rewriter } from "../src/rewriter.js";
import type { Settings } from "../src/settings.js";
import {
  absent,
  CAPTURES,
  type Capture,
  captures,
  chunks,
  expected,
  files,
  lines,
  nameOf,
  option,
  sha256,
  VECTORS,
  words,
} from "./vectors.js";

const MODES: Record<string, How["mode"]> = {
  stream: "stream",
  pieces: "pieces",
  pieces_and_events: "pieces+events",
};

/** Its number, on an event that is pushed: a copy of the event has it, too. */
const NUMBER = Symbol("number");

/** A rewriter on a clock that the lines of a file lead. */
class Player {
  readonly out: string[] = [];
  #settings: Settings = {};
  #dialect: Dialect | undefined;
  #mode: How["mode"] = "stream";
  readonly #framing: How["framing"];
  #rewriter: Rewriter | undefined;
  /** When something is due that is not input. */
  #due = Number.POSITIVE_INFINITY;
  #isOver = false;
  readonly #pushed: unknown[] = [];

  constructor(framing: How["framing"]) {
    this.#framing = framing;
  }

  /** Takes a line that says what goes in. */
  line(line: string): void {
    const [first, second, rest] = words(line, 2);
    switch (first) {
      case "#":
        break;
      case "set":
        this.#settings = { ...this.#settings, ...option(second!, rest!) };
        break;
      case "dialect":
        this.#dialect = second as Dialect;
        break;
      case "mode":
        this.#mode = MODES[second!]!;
        break;
      case ">":
        this.#call(line, second!, rest!);
        return;
      default:
        assert.fail(`"${line}" is no kind of line`);
    }
    this.out.push(line);
  }

  set(settings: Settings, mode: How["mode"]): void {
    this.#settings = settings;
    this.#mode = mode;
  }

  #call(line: string, name: string, given: string): void {
    const [time, ...rest] = words(given, name === "push_event" ? 2 : 1) as [string, ...string[]];
    this.#goTo(Number(time));
    this.out.push(line);
    const [first, second] = rest;
    switch (name) {
      case "push":
      case "push_line":
        this.push(Number(time), unquoted(first!));
        return;
      case "push_event":
        this.push(Number(time), this.#event(first!, unquoted(second!).toString()));
        return;
      case "finish":
        this.finish(Number(time));
        return;
      case "flush":
        this.#rewriter!.flush();
        break;
      case "cancel":
        this.#rewriter!.cancel(first as "flush" | "drop");
        break;
      default:
        assert.fail(`there is no call ${name}`);
    }
    this.#take(Number(time));
  }

  push(now: number, item: unknown): void {
    this.#goTo(now).push(now, item);
    this.#fault(now);
    this.#take(now);
  }

  finish(now: number): void {
    this.#goTo(now).finish(now);
    this.#fault(now);
    this.#take(now);
  }

  /** Takes all that is due later. */
  rest(): void {
    while (this.#due < Number.POSITIVE_INFINITY) this.#take(this.#due);
    this.#rewriter!.free();
  }

  /** Takes what is due before this time. */
  #goTo(now: number): Rewriter {
    this.#rewriter ??= new Rewriter(now, {
      mode: this.#mode,
      framing: this.#framing,
      dialect: this.#dialect,
      settings: this.#settings,
      watch: undefined,
    });
    while (this.#due < now) this.#take(this.#due);
    return this.#rewriter;
  }

  #take(now: number): void {
    this.#due = Number.POSITIVE_INFINITY;
    const rewriter = this.#rewriter!;
    while (!this.#isOver) {
      const found = rewriter.poll(now);
      this.#fault(now);
      switch (found) {
        case Next.NEED_INPUT:
          return;
        case Next.WAIT:
          assert.ok(rewriter.at > now, `a wait until ${rewriter.at} is none`);
          this.#due = rewriter.at;
          return;
        case Next.READY:
          this.out.push(this.#described(now, rewriter.take()));
          break;
        case Next.FINISHED: {
          const { dialect, verdict } = rewriter.fields();
          this.out.push(`< finished ${now} ${dialect ?? "-"} ${verdict ?? "-"}`);
          this.#isOver = true;
        }
      }
    }
  }

  #told: Error | undefined;

  #fault(now: number): void {
    const { fault } = this.#rewriter!;
    if (fault === undefined || fault === this.#told) return;
    this.#told = fault;
    let name = "too_many_choices";
    if (fault instanceof TooLarge) name = "too_large";
    if (fault instanceof ReasoningBudgetExceeded) name = "reasoning_budget_exceeded";
    this.out.push(`< fault ${now} ${name}`);
  }

  #event(name: string, data: string): unknown {
    const event = { ...JSON.parse(data), [NUMBER]: this.#pushed.length };
    const item = name === "-" ? event : [name, event];
    this.#pushed.push(item);
    return item;
  }

  #described(now: number, item: unknown): string {
    if (item instanceof Uint8Array) {
      // A line comes without its end where lines without ends went in.
      const bytes = this.#framing === "lines" ? Buffer.concat([item, NEWLINE]) : item;
      return `< bytes ${now} ${quoted(bytes)}`;
    }
    if (item instanceof Piece) {
      const { kind, index, seq, block, part, boundary, endsBlock, tokens, origin } = item;
      return (
        `< piece ${now} ${kind} ${index} ${seq} ${block} ${part} ${boundary} ` +
        `${Number(endsBlock)} ${tokens} ${origin} ${item.arrivedNs} ${quoted(Buffer.from(item.text))}`
      );
    }
    if (item instanceof Event) {
      if (item.attempt !== undefined) return `< ${item.name} ${now} ${item.attempt}`;
      if (item.index !== undefined) return `< ${item.name} ${now} ${item.index}`;
      return `< event ${now} ${quoted(Buffer.from(item.name))} ${quoted(Buffer.from(item.data!))}`;
    }
    const [name, event] = (Array.isArray(item) ? item : ["message", item]) as [string, object];
    const number = (event as Record<symbol, unknown>)[NUMBER] as number;
    const isChanged = item !== this.#pushed[number];
    const label = quoted(Buffer.from(name));
    const data = quoted(Buffer.from(JSON.stringify(event)));
    // Which events will not come any more stands in no item: it is what the rewriter forgets by.
    return `< object ${now} ${number} ${Number(isChanged)} ${long(AT.DONE)} ${label} ${data}`;
  }
}

const NEWLINE = Buffer.from("\n");

/** Bytes as a text of ASCII. */
function quoted(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("latin1");
  return `"${text.replace(/[^ -[\]-~]/g, escaped)}"`;
}

function escaped(character: string): string {
  const named = { "\n": "\\n", "\r": "\\r", "\\": "\\\\" }[character];
  return named ?? `\\x${character.charCodeAt(0).toString(16).padStart(2, "0")}`;
}

function unquoted(text: string): Buffer {
  assert.match(text, /^".*"$/);
  const named: Record<string, string> = { n: "\n", r: "\r", "\\": "\\" };
  const undone = text.slice(1, -1).replace(/\\(x..|.)/g, (_, sign: string) => {
    const character = named[sign];
    return character ?? String.fromCharCode(Number.parseInt(sign.slice(1), 16));
  });
  return Buffer.from(undone, "latin1");
}

const streams = files(new URL("rewriter/", VECTORS), ".txt").filter(
  (file) => nameOf(file) !== "recorded.txt",
);

test("there are as many files of streams as others have", () => {
  assert.ok(streams.length >= 30);
});

for (const file of streams) {
  const wanted = lines(file);
  const has = (call: string) => wanted.some((line) => line.startsWith(`> ${call} `));
  const skip = has("stop_pacing") && "no verb stops pacing for good";
  test(`rewriter/${nameOf(file)} gives what it gives in Rust`, { skip }, () => {
    // Events that were parsed already have no framing.
    const player = new Player(has("push_event") ? undefined : has("push_line") ? "lines" : "bytes");
    for (const line of wanted) if (!line.startsWith("< ")) player.line(line);
    player.rest();
    assert.deepEqual(player.out, wanted);
  });
}

const HOW: Record<string, [Settings, How["mode"]]> = {
  block: [{ unit: "block" }, "stream"],
  word: [{ unit: "word" }, "stream"],
  pieces: [{ unit: "block" }, "pieces+events"],
};

test("recorded streams are rewritten as in Rust", { skip: absent(CAPTURES) }, () => {
  const wanted = new Map<string, string>(
    expected("rewriter/recorded.txt").map(({ what, how, digest }) => [`${what} ${how}`, digest]),
  );
  const found = new Map<string, string>(
    captures().flatMap((capture) =>
      Object.keys(HOW).map((how) => [`${capture.name} ${how}`, hashed(capture, how)] as const),
    ),
  );
  assert.deepEqual(new Set(found.keys()), new Set(wanted.keys()));
  assert.deepEqual(
    [...wanted].filter(([name, digest]) => found.get(name) !== digest),
    [],
  );
});

function hashed({ data }: Capture, how: string): string {
  const player = new Player("bytes");
  player.set(...HOW[how]!);
  let now = 0;
  for (const { at, bytes } of chunks(data)) {
    now = at;
    player.push(now, bytes);
  }
  player.finish(now);
  player.rest();
  return sha256(player.out.map((line) => `${line}\n`).join(""));
}
