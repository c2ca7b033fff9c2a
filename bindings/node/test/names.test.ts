/** What this package knows by heart of the C library, compared with its header. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { TOKENS, TOKENS_SIZE } from "../src/fields.js";
import { TEXT_MAX } from "../src/metrics.js";
import * as names from "../src/names.js";
import { AT, FUNCTIONS, OUTPUT_SIZE } from "../src/native.js";
import { camel } from "../src/parameters.js";
import { readStats } from "../src/stats.js";
import { ROOT } from "./vectors.js";

const header = readFileSync(new URL("include/decluster.h", ROOT), "utf8");
/** Without comments and blanks at line ends. */
const code = header.replace(/\/\*.*?\*\//gs, "").replace(/\/\/.*/g, "");

/** The numbers of an enum by their names, without what all of them begin with. */
function numbers(name: string, prefix = `DECLUSTER_${name.toUpperCase()}_`): Map<string, number> {
  const body = code.match(new RegExp(`typedef enum decluster_${name} {([^}]*)}`))?.[1];
  assert.ok(body, `the header has no decluster_${name}`);
  const found = [...body.matchAll(/(\w+) = (-?\d+),/g)];
  assert.equal(found.length, body.split("=").length - 1);
  return new Map(found.map(([, key, value]) => [key!.replace(prefix, ""), Number(value)]));
}

/** Where the fields of a struct stand with pointers of 64 bits, and where it ends. */
function layout(name: string): { fields: Map<string, number>; size: number } {
  const body = code.match(new RegExp(`typedef struct decluster_${name} {([^}]*)}`))?.[1];
  assert.ok(body, `the header has no decluster_${name}`);
  const fields = new Map<string, number>();
  let size = 0;
  for (const line of body.split(";").slice(0, -1)) {
    const field = line.trim().match(/^(uint32_t|uint64_t|int64_t|size_t|const char \*) ?(\w+)/);
    assert.ok(field, `${line} is no field`);
    const [, type, key] = field;
    const bytes = type === "uint32_t" ? 4 : 8;
    size = Math.ceil(size / bytes) * bytes;
    fields.set(key!, size);
    size += bytes * Number(line.match(/\[(\d+)\]/)?.[1] ?? 1);
  }
  return { fields, size };
}

/** Of each function what it returns, and the types and names of what it takes. */
function functions(): Map<string, { returned: string; taken: { type: string; name: string }[] }> {
  const found = code.matchAll(/^([\w ]+[ *])decluster_(\w+)\(([^)]*)\);/gm);
  return new Map(
    [...found].map(([, returned, name, list]) => {
      const each = list === "void" ? [] : list!.split(",");
      const taken = each.map((one) => {
        const [, type, name] = one.trim().match(/^(.*?)(\w+)$/s)!;
        return { type: type!.trim(), name: name! };
      });
      return [name!, { returned: returned!.trim(), taken }];
    }),
  );
}

const RETURNS: Record<string, string> = {
  void: "void",
  uint32_t: "uint32_t",
  int32_t: "int32_t",
  "enum decluster_status": "int32_t",
  "const char *": "str",
};

/** How a parameter is to be passed; text is a pointer with a length, or else ends with a NUL. */
function passed(type: string, next: string | undefined): string {
  if (
    /^(const )?struct decluster_(config|engine|rewriter|segmenter|budget|totals|ledger|body) \*$/.test(
      type,
    )
  ) {
    return "uint64_t";
  }
  if (type === "const char *") return next?.endsWith("length") ? "void *" : "str";
  return type.endsWith("*") ? "void *" : type;
}

test("the functions are those of the header", () => {
  const declared = functions();
  for (const [name, [returned, taken]] of Object.entries(FUNCTIONS)) {
    const function_ = declared.get(name);
    assert.ok(function_, `the header has no decluster_${name}()`);
    const wanted = function_.taken.map(({ type }, at) =>
      passed(type, function_.taken[at + 1]?.name),
    );
    // It takes the address of a text of the library, which is a number here.
    if (name === "copy") wanted[0] = "uint64_t";
    assert.deepEqual([returned, taken], [RETURNS[function_.returned], wanted], name);
  }
});

test("the fields of an output stand where the header says", () => {
  const { fields, size } = layout("output");
  const found = Object.entries(AT).map(([key, word]) => [key, word * 4]);
  const wanted = Object.keys(AT).map((key) => {
    const name = key.toLowerCase();
    return [key, fields.get(name) ?? fields.get(`${name}_ns`)];
  });
  assert.deepEqual(found, wanted);
  assert.equal(OUTPUT_SIZE, size);
});

test("the counters are read in the order of the header", () => {
  const { fields, size } = layout("stats");
  const fill = (words: BigUint64Array, bytes: number) => {
    assert.equal(bytes, size);
    for (const at of words.keys()) words[at] = BigInt(at + 1) * 1_000_000n;
    return names.STATUS.OK;
  };
  const { clusters: _, ...read } = readStats(
    (_, words, bytes) => fill(words, bytes),
    (_, __, words, bytes) => fill(words, bytes),
    1,
  );
  const wanted = [...fields]
    .filter(([name]) => name !== "reserved_words")
    .map(([name, byte]) => {
      const value = (byte / 8 + 1) * 1e6;
      return name.endsWith("_ns") ? [camel(name.slice(0, -3)), value / 1e6] : [camel(name), value];
    });
  assert.deepEqual(read, Object.fromEntries(wanted));
});

test("how clustered a stream is, is read in the order of the header", () => {
  const { fields, size } = layout("clusters");
  /** What the library says on one side, by the names of the fields. */
  const side = (stage: number) =>
    new Map([...fields].map(([name, byte]) => [name, (stage + 1) * (byte / 8 + 1) * 1000]));
  const { before, after } = readStats(
    () => names.STATUS.OK,
    (_, stage, words, bytes) => {
      assert.equal(bytes, size);
      for (const [at, value] of [...side(stage).values()].entries()) words[at] = BigInt(value);
      return names.STATUS.OK;
    },
    1,
  ).clusters;
  for (const [stage, found] of [before, after].entries()) {
    const of = (name: string) => side(stage).get(name)!;
    const spread = (name: string, unit: string, count: number) => ({
      p50: of(`${name}_p50${unit}`),
      p95: of(`${name}_p95${unit}`),
      max: of(`${name}_max${unit}`),
      mean: of(`${name}_sum${unit}`) / count,
    });
    assert.deepEqual(found, {
      events: of("events"),
      eventsPerHour: of("events_per_hour") / 1e3,
      groups: of("groups"),
      tokens: of("tokens"),
      seconds: of("watched_ns") / 1e9,
      size: spread("size", "", of("groups")),
      gap: { p50: null, p95: null, max: null, mean: null },
    });
  }
});

test("tokens are written in the order of the header", () => {
  const { fields, size } = layout("tokens");
  const named = [...fields.keys()].filter((name) => name !== "reserved_words");
  assert.deepEqual(TOKENS, named.map(camel));
  assert.equal(size, TOKENS_SIZE);
});

test("the text of the sums has room", () => {
  const room = header.match(/#define DECLUSTER_TOTALS_TEXT_MAX (\d+)/)![1];
  assert.equal(TEXT_MAX, Number(room));
});

test("the version of the binary interface is that of the header", () => {
  const version = header.match(/#define DECLUSTER_ABI_VERSION (\d+)/)![1];
  assert.equal(names.ABI_VERSION, Number(version));
});

test("statuses and outputs have the numbers of the header", () => {
  const statuses = numbers("status", "DECLUSTER_ERROR_");
  statuses.set("OK", statuses.get("DECLUSTER_OK")!);
  for (const [name, number] of Object.entries(names.STATUS)) {
    assert.equal(number, statuses.get(name), name);
  }
  const types = numbers("output_type", "DECLUSTER_OUTPUT_");
  for (const [name, number] of Object.entries(names.OUTPUT)) {
    assert.equal(number, types.get(name), name);
  }
});

test("framings, modes and ways to cancel are those of the header", () => {
  assert.deepEqual(new Map(Object.entries(names.FRAMING)), numbers("framing"));
  assert.deepEqual(new Map(Object.entries(names.MODE)), numbers("mode"));
  assert.deepEqual(new Map(Object.entries(names.STAGE)), numbers("stage"));
  const ways = Object.entries(names.CANCEL).map(([name, number]) => [name.toUpperCase(), number]);
  assert.deepEqual(ways, [...numbers("cancel")]);
});

for (const [name, list] of Object.entries({
  measure: names.MEASURE,
  kind: names.KINDS,
  boundary: names.BOUNDARIES,
  dialect: names.DIALECTS,
})) {
  test(`the list of decluster_${name} is that of the header`, () => {
    const found = list.map((word, at) => [
      (word ?? "unknown").toUpperCase().replaceAll("-", "_"),
      at,
    ]);
    assert.deepEqual(found, [...numbers(name)]);
  });
}
