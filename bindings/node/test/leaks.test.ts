/** Memory does not grow with the streams that were; what nobody holds is closed, and nothing else. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** Megabytes by which 9,000 streams may let the process grow. */
const BOUND = 20;

/** What a script says that may ask for a garbage collection. */
async function run<T>(name: string, ...given: string[]): Promise<T> {
  const script = fileURLToPath(new URL(`./children/${name}.js`, import.meta.url));
  const how = ["--expose-gc", "--no-warnings", script, ...given];
  const { stdout } = await promisify(execFile)(process.execPath, how, { timeout: 300_000 });
  return JSON.parse(stdout) as T;
}

interface Grown {
  warm: number;
  end: number;
  handles: number;
  openSources: number;
  listeners: number;
}

test("10,000 streams, ended in every way, leave no memory, handle, source or listener", async (t) => {
  const { warm, end, ...left } = await run<Grown>("leaks");
  t.diagnostic(`${warm.toFixed(1)} MB after 1,000 streams, ${end.toFixed(1)} MB after 10,000`);
  assert.ok(end - warm < BOUND, `it grew by ${end - warm} MB`);
  assert.deepEqual(left, { handles: 0, openSources: 0, listeners: 0, kept: 0 });
});

test("a leak would be seen: streams that are kept and not closed exceed the bound", async (t) => {
  const { warm, end, handles } = await run<Grown>("leaks", "leak");
  t.diagnostic(`${warm.toFixed(1)} MB after 1,000 streams, ${end.toFixed(1)} MB after 3,000`);
  assert.ok(end - warm > BOUND, `it grew by ${end - warm} MB`);
  assert.ok(handles >= 3_000);
});

test("streams, engines, segmenters, budgets and ledgers that nobody holds are closed, and so are sources", async () => {
  const { before, handles, left } = await run<{ before: number; handles: number; left: string[] }>(
    "abandoned",
  );
  assert.ok(before > 0);
  assert.deepEqual({ handles, left }, { handles: 0, left: [] });
});

test("a stream of which only one end is held goes on", async () => {
  const { cases, failed } = await run<{ cases: number; failed: string[] }>("held");
  assert.deepEqual(failed, []);
  assert.ok(cases > 0);
});

test("a large text leaves no buffer behind", async () => {
  const { kept } = await run<{ kept: number }>("large");
  assert.ok(kept < 1_000_000, `${kept} bytes are kept`);
});
