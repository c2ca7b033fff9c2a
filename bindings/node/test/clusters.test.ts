/** How clustered streams are: in `stats()`, and summed up for Prometheus. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Worker } from "node:worker_threads";
import {
  blocks,
  collect,
  DeclusterStream,
  Engine,
  metrics,
  pieces,
  ReasoningBudgetExceeded,
  smoothStream,
  wrap,
} from "../src/index.js";
import { all, allAndError, bytes, DONE, Hanging, settle, sse } from "./streams.js";

const TEXT = "The lease ends while the worker runs. So the queue hands the job out again. ";
const USAGE =
  'data: {"choices":[],"usage":{"completion_tokens":60,"completion_tokens_details":{"reasoning_tokens":7}}}\n\n';
const WIRE = [sse(TEXT), sse(TEXT), sse(TEXT), USAGE, DONE];
const FAST = { pace: "off" } as const;
const MS = 1_000_000n;

/** The samples of a scrape, by name and labels as they stand. */
function scrape(): Map<string, number> {
  const samples = metrics()
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
  return new Map(
    samples.map((line) => {
      const blank = line.lastIndexOf(" ");
      return [line.slice(0, blank), Number(line.slice(blank + 1))];
    }),
  );
}

function grown(before: Map<string, number>, sample: string): number {
  const now = scrape().get(sample);
  assert.ok(now !== undefined, `there is no ${sample}`);
  return now - before.get(sample)!;
}

/** However they ended. */
function streams(before: Map<string, number>): number {
  return ["complete", "failed", "truncated", "none"]
    .map((verdict) => grown(before, `decluster_streams_total{verdict="${verdict}"}`))
    .reduce((sum, count) => sum + count);
}

test("an engine tells how clustered text came, and how it left", () => {
  const engine = new Engine();
  // The log of the incident.
  for (const [ms, tokens] of [
    [0n, 67],
    [1400n, 81],
    [1405n, 12],
  ] as const) {
    engine.push(ms * MS, "reasoning", "", { tokens });
  }
  const { before, after } = engine.stats().clusters;
  assert.equal(before.events, 2);
  assert.equal(before.groups, 2);
  assert.equal(before.tokens, 160);
  assert.equal(before.seconds, 1.405);
  assert.ok(Math.abs(before.eventsPerHour! - (2 * 3600) / 1.405) < 1);
  assert.deepEqual([before.size.max, before.size.mean], [93, 80]);
  assert.ok(before.size.p50! >= 67 && before.size.p50! < 68, `${before.size.p50}`);
  // Milliseconds.
  assert.equal(before.gap.max, 1400);
  assert.equal(after.events, 0);
  engine.close();
});

test("where nothing came there are no quantiles, and no rate", () => {
  const { before, after } = new Engine().stats().clusters;
  const none = { p50: null, p95: null, max: null, mean: null };
  const wanted = { events: 0, eventsPerHour: null, groups: 0, tokens: 0, seconds: 0 };
  assert.deepEqual(before, { ...wanted, size: none, gap: none });
  assert.deepEqual(after, before);
});

test("the options say what a cluster is", () => {
  const engine = new Engine({ clusterMinTokens: 5, clusterMinGap: 50, clusterGroupGap: 10 });
  for (const ms of [0n, 60n, 65n]) engine.push(ms * MS, "output", "", { tokens: 5 });
  assert.deepEqual(engine.stats().clusters.before.events, 2);
});

test("a stream tells the same tokens on both sides as its counters do, also once it is over", async () => {
  for (const options of [FAST, { pace: "off", segment: "off" } as const]) {
    const stream = wrap(WIRE, options);
    await all(stream);
    const { clusters, tokensIn, tokensOut } = stream.stats();
    assert.ok(tokensIn > 0);
    assert.deepEqual([clusters.before.tokens, clusters.after.tokens], [tokensIn, tokensOut]);
  }
});

test("smoothStream tells it, too", async () => {
  const transform = smoothStream(FAST)();
  const parts = [TEXT, TEXT].map((text) => ({ type: "text-delta", id: "0", text }));
  await all(ReadableStream.from(parts).pipeThrough(transform));
  const { clusters, tokensIn } = transform.stats();
  assert.ok(tokensIn > 0);
  assert.deepEqual([clusters.before.tokens, clusters.after.tokens], [tokensIn, tokensIn]);
});

test("a stream counts once, when it is over", async () => {
  const before = scrape();
  const stream = wrap(WIRE, FAST);
  await stream.next();
  assert.equal(streams(before), 0);
  await all(stream);
  await stream.close();
  assert.equal(streams(before), 1);
  const stats = stream.stats();
  for (const [stage, cased] of [
    ["in", "In"],
    ["out", "Out"],
  ] as const) {
    const labels = `{stage="${stage}"}`;
    assert.equal(grown(before, `decluster_tokens_total${labels}`), stats[`tokens${cased}`]);
    assert.equal(grown(before, `decluster_text_bytes_total${labels}`), stats[`bytes${cased}`]);
  }
  assert.equal(grown(before, "decluster_pieces_total"), stats.pieces);
  assert.equal(grown(before, "decluster_reasoning_tokens_total"), 7);
  for (const stage of ["before", "after"] as const) {
    const { groups, tokens } = stats.clusters[stage];
    assert.equal(grown(before, `decluster_group_tokens_count{stage="${stage}"}`), groups);
    assert.equal(grown(before, `decluster_group_tokens_sum{stage="${stage}"}`), tokens);
  }
});

const over: Record<string, () => Promise<unknown>> = {
  "pieces, finished": () => all(pieces(WIRE, FAST)),
  "blocks, finished": () => all(blocks(WIRE, FAST)),
  "a transform, finished": () =>
    all(ReadableStream.from(WIRE.map(bytes)).pipeThrough(new DeclusterStream(FAST))),
  failed: () =>
    allAndError(
      wrap(
        (function* () {
          yield WIRE[0]!;
          throw new Error("reset");
        })(),
        FAST,
      ),
    ),
  closed: async () => {
    const stream = pieces(new Hanging(WIRE), FAST);
    await stream.next();
    await stream.close();
  },
  aborted: async () => {
    const controller = new AbortController();
    const stream = pieces(new Hanging(WIRE), { ...FAST, signal: controller.signal });
    await stream.next();
    controller.abort();
  },
  "a Response, left early": async () => {
    const headers = { "content-type": "text/event-stream" };
    const body = ReadableStream.from([bytes(WIRE[0]!)]);
    for await (const _ of wrap(new Response(body, { headers }), FAST).body!) break;
  },
};

for (const [name, run] of Object.entries(over)) {
  test(`a stream counts once, however it ends: ${name}`, async () => {
    const before = scrape();
    await run();
    assert.equal(streams(before), 1);
  });
}

test("a budget that is exceeded counts, whether it is an error or not", async () => {
  const before = scrape();
  const source = () => [sse(TEXT.repeat(20), "reasoning_content"), DONE];
  const options = { ...FAST, maxReasoningTokens: 20 };
  await assert.rejects(all(pieces(source(), options)), ReasoningBudgetExceeded);
  await all(pieces(source(), { ...options, overBudget: "event" }));
  assert.equal(grown(before, "decluster_reasoning_budget_exceeded_total"), 2);
});

test("what is collected, and a response that is no stream, does not count", async () => {
  const before = metrics();
  await collect(WIRE);
  wrap(new Response("not found", { status: 404 }));
  await settle();
  assert.equal(metrics(), before);
});

test("each thread has sums of its own", async () => {
  await all(wrap(WIRE, FAST));
  const here = scrape().get('decluster_streams_total{verdict="complete"}')!;
  assert.ok(here > 0);
  const index = new URL("../src/index.js", import.meta.url).href;
  const code = `import(${JSON.stringify(index)}).then(({ metrics }) =>
    require("node:worker_threads").parentPort.postMessage(metrics()))`;
  const worker = new Worker(code, { eval: true });
  const [there] = (await new Promise((resolve, reject) => {
    worker.once("message", (text) => resolve([text]));
    worker.once("error", reject);
  })) as [string];
  assert.match(there, /decluster_streams_total\{verdict="complete"\} 0\n/);
});
