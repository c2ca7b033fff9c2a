/** Runtimes without native libraries are told so. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as decluster from "../src/index.js";

const EDGE = new URL("../src/edge.js", import.meta.url);

test("an edge runtime is told what this package needs", async () => {
  await assert.rejects(import(EDGE.href), /native library.*runtime = 'nodejs'/);
});

test("a bundler finds every name there, so that it comes to that error", () => {
  const [, names] = /export const \{([^}]*)\}/.exec(readFileSync(EDGE, "utf8"))!;
  const there = names!.split(",").map((name) => name.trim());
  assert.deepEqual(there.filter(Boolean).sort(), Object.keys(decluster).sort());
});
