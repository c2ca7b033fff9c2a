/** The parameters: the library's own table, in the units of JavaScript. */

import { ConfigError } from "./errors.js";
import { MEASURE, STATUS } from "./names.js";
import { cString, give, type Handle, native } from "./native.js";
import type { Settings } from "./settings.js";

/** One row of the table of parameters. */
export interface Parameter {
  /** The option's name. */
  readonly name: keyof Settings;
  /** What its numbers count; of names and switches, what kind they are. */
  readonly unit:
    | "milliseconds"
    | "tokens"
    | "tokens/s"
    | "ratio"
    | "bytes"
    | "count"
    | "choice"
    | "boolean";
  /** The least value; of names and switches there is none. */
  readonly min: number | undefined;
  /** The largest value; of names and switches there is none. */
  readonly max: number | undefined;
  /** What holds unless it is given. */
  readonly default: number | string | boolean;
  /** The names that are taken; empty for numbers. */
  readonly choices: readonly string[];
  /** What it means. */
  readonly doc: string;
}

/** A row, and how its values become the library's. */
interface Row extends Parameter {
  readonly number: number;
  /** How many of the table's units make one of ours; undefined for whole numbers. */
  readonly scale: number | undefined;
}

let table: Map<string, Row> | undefined;

/** All parameters, with bounds, defaults and meaning. */
export function parameters(): readonly Parameter[] {
  return [...rows().values()].map(({ number: _number, scale: _scale, ...parameter }) => parameter);
}

function rows(): Map<string, Row> {
  if (table === undefined) {
    const read = Array.from({ length: native().parameter_count() }, (_, number) => row(number));
    table = new Map(read.map((row) => [row.name, row]));
  }
  return table;
}

function row(number: number): Row {
  const info = new BigUint64Array(8);
  native().parameter_describe(number, info, info.byteLength);
  const [min, max, initial] = [Number(info[0]), Number(info[1]), Number(info[2])];
  const measure = MEASURE[new Uint32Array(info.buffer)[6]!]!;
  const scale = SCALES[measure];
  const name = (at: number) => native().parameter_choice(number, at) ?? "";
  const isChoice = measure === "choice";
  const isSwitch = measure === "switch";
  const choices = isChoice ? Array.from({ length: max + 1 }, (_, at) => name(at)) : [];
  const isNumber = !isChoice && !isSwitch;
  const value = (inTable: number) => inTable / (scale ?? 1);
  return {
    number,
    scale,
    name: camel(cString(Number(info[4]))) as keyof Settings,
    unit: UNITS[measure],
    min: isNumber ? value(min) : undefined,
    max: isNumber ? value(max) : undefined,
    default: isChoice ? name(initial) : isSwitch ? initial === 1 : value(initial),
    choices,
    doc: cString(Number(info[5]))
      .trim()
      .replace(/`[a-z_]+`/g, camel),
  };
}

/** Throws `TypeError` for settings or options that are none. */
export function refuseNoObject(given: unknown, name: string): void {
  if (typeof given === "object" && given !== null && !Array.isArray(given)) return;
  const kind = given === null ? "null" : Array.isArray(given) ? "an array" : `a ${typeof given}`;
  throw new TypeError(`${name} are an object such as { unit: "word" }, not ${kind}`);
}

/** A config of the library: `preset` or `profile` to begin with, single parameters over it. */
export function withConfig<T>(settings: Settings, use: (config: Handle) => T): T {
  refuseNoObject(settings, "settings");
  const { status, handle } = give((to) => native().config_new(to));
  if (status !== STATUS.OK) throw new ConfigError(`no settings can be made (${status})`);
  try {
    begin(handle, settings);
    for (const [name, value] of Object.entries(settings)) {
      if (name === "preset" || name === "profile" || value === undefined) continue;
      const row = rows().get(name);
      if (row === undefined) throw new ConfigError(unknown(name));
      // What is left out, or said to be nothing, is as it was.
      if (value !== null) set(handle, row, value);
    }
    return use(handle);
  } finally {
    native().config_free(handle);
  }
}

function begin(config: Handle, { preset, profile }: Settings): void {
  if (preset != null && profile != null) {
    throw new ConfigError("preset and profile exclude each other: give one");
  }
  const named = preset ?? profile;
  if (named == null) return;
  if (typeof named !== "string") {
    throw new TypeError(`${preset != null ? "preset" : "profile"} takes a name`);
  }
  const lib = native();
  const set = preset != null ? lib.config_preset : lib.config_profile;
  if (set(config, named) !== STATUS.OK) throw new ConfigError(lib.config_error(config) ?? "");
}

function set(config: Handle, row: Row, value: unknown): void {
  const number = inTable(row, value);
  if (number === undefined || native().config_set(config, row.number, number) !== STATUS.OK) {
    const bounds = `${row.min} to ${row.max} ${row.unit}`;
    throw new ConfigError(`${row.name} = ${String(value)} is out of bounds: ${bounds}`);
  }
}

/** A value in the unit of the table; undefined if that cannot hold it. */
function inTable(row: Row, value: unknown): number | undefined {
  if (row.unit === "choice") {
    const number = row.choices.indexOf(value as string);
    if (number >= 0) return number;
    const said = typeof value === "string" ? JSON.stringify(value) : typeof value;
    throw new ConfigError(`${row.name} is one of ${row.choices.join(", ")}, not ${said}`);
  }
  if (row.unit === "boolean") {
    if (typeof value !== "boolean") throw new TypeError(`${row.name} takes true or false`);
    return Number(value);
  }
  const whole = row.scale === undefined;
  if (typeof value !== "number" || (whole && !Number.isInteger(value))) {
    throw new TypeError(`${row.name} takes a ${whole ? "whole number" : "number"} (${row.unit})`);
  }
  const scaled = Math.round(value * (row.scale ?? 1));
  return scaled >= 0 && scaled <= Number.MAX_SAFE_INTEGER ? scaled : undefined;
}

function unknown(name: string): string {
  if (name === "delayInMs" || name === "chunking") {
    return `there is no ${name}: decluster learns the pace, and cuts by unit (${rows().get("unit")?.choices.join(", ")})`;
  }
  const names = [...rows().keys()];
  const near = names
    .map((known) => ({ known, edits: distance(camel(name).toLowerCase(), known.toLowerCase()) }))
    .sort((a, b) => a.edits - b.edits)[0]!;
  const meant =
    near.edits <= 2 ? `; did you mean ${near.known}?` : `; there are ${names.join(", ")}`;
  return `there is no option ${name}${meant}`;
}

/** How many letters must be put in, taken out or changed. */
function distance(from: string, to: string): number {
  let above = Array.from({ length: to.length + 1 }, (_, at) => at);
  // Names are short; of one that is not, the beginning tells enough.
  for (const [at, letter] of [...from.slice(0, 40)].entries()) {
    const here = [at + 1];
    for (let j = 1; j <= to.length; j++) {
      const changed = above[j - 1]! + Number(letter !== to[j - 1]);
      here.push(Math.min(changed, above[j]! + 1, here[j - 1]! + 1));
    }
    above = here;
  }
  return above[to.length]!;
}

/** `max_delay` as `maxDelay`. */
export function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

const SCALES: Partial<Record<(typeof MEASURE)[number], number>> = {
  nanoseconds: 1e6,
  millitokens: 1e3,
  thousandths: 1e3,
};

const UNITS: Record<(typeof MEASURE)[number], Parameter["unit"]> = {
  nanoseconds: "milliseconds",
  tokens: "tokens",
  tokens_per_second: "tokens/s",
  millitokens: "tokens",
  thousandths: "ratio",
  bytes: "bytes",
  count: "count",
  choice: "choice",
  switch: "boolean",
};
