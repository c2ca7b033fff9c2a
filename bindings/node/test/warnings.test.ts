/** Warnings: a stream that is not what it should be does not pass in silence. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { collect, type Options, pieces, wrap } from "../src/index.js";
import { all, warnings } from "./support.js";

const EVENT = 'data: {"choices":[{"index":0,"delta":{"content":"Hi there."}}]}\n\n';
const ERROR = 'data: {"error":{"message":"over capacity","code":503}}\n\n';

function reading(items: string[], options: Options = {}): () => Promise<unknown> {
  return () => all(wrap(items, { pace: "off", ...options }));
}

test("a stream that is recognised is not warned of", async () => {
  assert.deepEqual(await warnings(reading([EVENT, EVENT, "data: [DONE]\n\n"])), []);
});

test("a stream of no known dialect is warned of once, and passes", async () => {
  const unknown = Array.from({ length: 6 }, () => 'data: {"speech":"Hi"}\n\n');
  let passed: unknown;
  const told = await warnings(async () => {
    passed = await all(wrap(unknown));
  });
  assert.equal(told.length, 1);
  assert.match(told[0]!, /does not recognise this stream.*it passes as it is, unpaced/s);
  assert.equal((passed as string[]).join(""), unknown.join(""));
});

test("a body that is no stream is warned of, with what it says", async () => {
  const body = ['{"answer":', "42}"];
  const told = await warnings(() => all(pieces(body)));
  assert.equal(told.length, 1);
  assert.match(told[0]!, /this is no stream: .*is JSON.*stream: true/);
});

test("a body in which nothing is found is warned of", async () => {
  const told = await warnings(() => all(pieces([gzipSync(EVENT)])));
  assert.equal(told.length, 1);
  assert.match(told[0]!, /this is no stream: .*is it compressed/);
});

test("a stream that is left early is not warned of", async () => {
  const told = await warnings(async () => {
    const stream = pieces([EVENT]);
    await stream.close();
    assert.deepEqual(await all(stream), []);
  });
  assert.deepEqual(told, []);
});

test("an error that the pieces do not show is warned of", async () => {
  const told = await warnings(() => all(pieces([EVENT, ERROR], { pace: "off" })));
  assert.deepEqual(told, ["the provider reported an error: over capacity (.error has all of it)"]);
});

test("an error that is among the items is not warned of", async () => {
  assert.deepEqual(await warnings(reading([EVENT, ERROR])), []);
  const shown = () => all(pieces([EVENT, ERROR], { pace: "off", events: true }));
  assert.deepEqual(await warnings(shown), []);
});

test("bare texts and collected streams are not warned of", async () => {
  assert.deepEqual(await warnings(reading(["Hi", " there"], { framing: "text" })), []);
  assert.deepEqual(await warnings(() => collect(["nothing known\n"])), []);
});
