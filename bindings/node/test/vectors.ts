/** The shared vectors as tests read them (tests/vectors/README.md). */

import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { MEASURE } from "../src/names.js";
import { native } from "../src/native.js";
import { parameters } from "../src/parameters.js";
import type { Settings } from "../src/settings.js";

/** The repository. */
export const ROOT: URL = new URL("../../../../", import.meta.url);
export const VECTORS: URL = new URL("tests/vectors/", ROOT);
/** What lies beside the repository, where somebody has it. */
export const SHARED: URL = new URL("../shared/", ROOT);

/** Why a test that needs this folder is skipped; false if it is there. */
export function absent(folder: URL): string | false {
  return !existsSync(folder) && `${fileURLToPath(folder)} is absent`;
}

/** The lines of a file that ends with one. */
export function lines(file: URL): string[] {
  const text = readFileSync(file, "utf8");
  return text.slice(0, -1).split("\n");
}

/** The files of a folder with this extension, in order. */
export function files(folder: URL, extension: string): URL[] {
  const names = readdirSync(folder).filter((name) => name.endsWith(extension));
  return names.sort().map((name) => new URL(name, folder));
}

export function nameOf(file: URL): string {
  return file.pathname.slice(file.pathname.lastIndexOf("/") + 1);
}

/** The text between the quotes that it begins and ends with. */
export function unquoted(text: string): string {
  if (text.length < 2 || !text.startsWith('"') || !text.endsWith('"')) {
    throw new Error(`a text stands between quotes: ${text}`);
  }
  return text.slice(1, -1).replace(/\\(.)/g, (_, sign: string) => {
    const character = { n: "\n", r: "\r", "\\": "\\" }[sign];
    if (character === undefined) throw new Error(`there is no escape \\${sign}`);
    return character;
  });
}

/** A line of words, and the rest of it after `count` of them. */
export function words(line: string, count: number): string[] {
  const found: string[] = [];
  let rest = line;
  for (; found.length < count; ) {
    const at = rest.indexOf(" ");
    if (at < 0) break;
    found.push(rest.slice(0, at));
    rest = rest.slice(at + 1);
  }
  return [...found, rest];
}

let measures: Map<string, (typeof MEASURE)[number]> | undefined;

/** What a parameter counts in the library's table. */
function measureOf(name: string): (typeof MEASURE)[number] {
  measures ??= new Map(
    parameters().map((parameter, number) => {
      const info = new Uint32Array(16);
      native().parameter_describe(number, info, info.byteLength);
      return [parameter.name, MEASURE[info[6]!]!];
    }),
  );
  const measure = measures.get(name);
  if (measure === undefined) throw new Error(`there is no parameter ${name}`);
  return measure;
}

/** A parameter that a line sets in the unit of the table, as an option. */
export function option(name: string, value: string): Settings {
  const camel = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
  const number = Number(value);
  const found = parameters().find((parameter) => parameter.name === camel);
  switch (measureOf(camel)) {
    case "nanoseconds":
      return { [camel]: number / 1e6 };
    case "millitokens":
    case "thousandths":
      return { [camel]: number / 1e3 };
    case "choice":
      return { [camel]: found!.choices[number]! };
    case "switch":
      return { [camel]: number === 1 };
    default:
      return { [camel]: number };
  }
}

/** Of a file of hashes: what was played, how, and the hash of what came out. */
export function expected(name: string): { what: string; how: string; digest: string }[] {
  return lines(new URL(name, VECTORS)).map((line) => {
    const [what, how, digest] = line.split(" ") as [string, string, string];
    return { what, how, digest };
  });
}

export function sha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}

/** When how many tokens arrive. */
export type Arrivals = (readonly [at: bigint, tokens: number])[];

/** The traces that somebody made up, by name. */
export function madeTraces(): Map<string, Arrivals> {
  return new Map(
    lines(new URL("schedules/traces.txt", VECTORS)).map((line) => {
      const [name, ...arrivals] = line.split(" ");
      return [
        name!,
        arrivals.map((arrival) => {
          const [at, tokens] = arrival.split(":");
          return [BigInt(at!), Number(tokens)] as const;
        }),
      ];
    }),
  );
}

/** The recorded ones that are long enough, by file and line. */
export function recordedTraces(): Map<string, Arrivals> {
  const found = new Map<string, Arrivals>();
  for (const file of files(new URL("traces/", SHARED), ".jsonl")) {
    for (const [number, line] of lines(file).entries()) {
      const arrivals = recorded(line);
      const tokens = arrivals.reduce((sum, [, count]) => sum + count, 0);
      if (tokens >= 60) found.set(`${nameOf(file)}:${number + 1}`, arrivals);
    }
  }
  return found;
}

/** A line of a trace file, with time counted from the first token, cut after 40 s. */
function recorded(line: string): Arrivals {
  const trace = JSON.parse(line) as { t_ms: number[]; tokens: number[] };
  const start = trace.t_ms[0]!;
  const arrivals = trace.t_ms
    .map((ms, n) => [Math.floor(((ms - start) / 1e3) * 1e9 + 0.5), trace.tokens[n]!] as const)
    .filter(([, tokens]) => tokens > 0);
  const first = arrivals[0]![0];
  return arrivals
    .filter(([at]) => at - first <= 40e9)
    .map(([at, tokens]) => [BigInt(at - first), tokens] as const);
}

/** A recorded stream: its name, its bytes, and what a right decoder gets from them. */
export interface Capture {
  name: string;
  extension: "sse" | "ndjson" | "json";
  data: Buffer<ArrayBuffer>;
  expect: Expectation;
  /** The sizes of the chunks in which it came to who recorded it. */
  lengths: number[] | undefined;
}

export interface Digest {
  sha256: string;
  chars: number;
}

/** What `*.expect.json` says. */
export interface Expectation {
  dialect: string;
  events: number;
  comments: number;
  reasoning: Digest;
  output: Digest;
  reasoning_tokens: number | null;
  usage: unknown;
  finish: string | number | null;
  terminated: boolean;
  tool_calls: number;
  tools: { name: string; arguments: Digest }[];
  error: unknown;
  error_field_line?: unknown;
  /** All of the visible text where a part of it is reasoning, between tags. */
  content_raw?: Digest;
  restarted?: boolean;
  by_choice?: Record<
    string,
    { reasoning: Digest; output: Digest; finish: string | null; tool_calls: number }
  >;
}

export const CAPTURES: URL = new URL("captures/", SHARED);

/** All recorded streams. */
export function captures(): Capture[] {
  const end = ".expect.json";
  const folders = readdirSync(CAPTURES, { withFileTypes: true }).filter((entry) =>
    entry.isDirectory(),
  );
  return folders
    .map(({ name }) => name)
    .sort()
    .flatMap((folder) =>
      files(new URL(`${folder}/`, CAPTURES), end).map((file) => {
        const stem = nameOf(file).slice(0, -end.length);
        const beside = (extension: string) => new URL(`${stem}.${extension}`, file);
        const extension = (["sse", "ndjson", "json"] as const).find((one) =>
          existsSync(beside(one)),
        )!;
        const chunks = beside("chunks.json");
        return {
          name: `${folder}/${stem}`,
          extension,
          data: readFileSync(beside(extension)) as Buffer<ArrayBuffer>,
          expect: JSON.parse(readFileSync(file, "utf8")) as Expectation,
          lengths: existsSync(chunks)
            ? (JSON.parse(readFileSync(chunks, "utf8")) as { lengths: number[] }).lengths
            : undefined,
        };
      }),
    );
}

const SIZES = [3_000, 40, 700, 1_500, 9, 5_000, 300];
const GAPS_MS = [0, 2, 1, 900, 30, 0, 4, 250, 1, 1_700, 3];

/** In what parts a recorded stream is played, and the nanosecond at which each comes. */
export function chunks(data: Uint8Array): { at: number; bytes: Uint8Array }[] {
  const found: { at: number; bytes: Uint8Array }[] = [];
  let at = 0;
  let start = 0;
  for (let n = 0; start < data.length; n++) {
    const end = start + SIZES[n % SIZES.length]!;
    at += GAPS_MS[n % GAPS_MS.length]! * 1e6;
    found.push({ at, bytes: data.subarray(start, end) });
    start = end;
  }
  return found;
}
