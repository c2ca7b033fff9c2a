/**
 * What is silent for too long ends in time, on a clock that is told the time.
 *
 * Nothing is fetched here: Node's client has timers of its own.
 */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import {
  blocks,
  collect,
  type Options,
  ProviderError,
  pieces,
  Stalled,
  type Stream,
  wrap,
} from "../src/index.js";
import { all, allAndError, bytes, DONE, Hanging, said, settle, sse, timers } from "./streams.js";

const FAST: Options = { pace: "off", maxDelay: 100 };
const STOP = 'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n';

/** Runs on a clock of its own, in milliseconds: `pass` lets time go by, and everything run. */
async function onClock(run: (pass: (ms: number) => Promise<void>) => Promise<void>): Promise<void> {
  let time = 1000;
  mock.timers.enable({ apis: ["setTimeout"] });
  const clock = mock.method(performance, "now", () => time);
  try {
    await run(async (ms) => {
      for (let step = 0; step < ms; step += 10) {
        await settle();
        time += 10;
        mock.timers.tick(10);
      }
      await settle();
    });
  } finally {
    clock.mock.restore();
    mock.timers.reset();
  }
}

/** What a promise has come to, as soon as it has. */
function watched<T>(promise: Promise<T>): { value?: T; error?: unknown } {
  const state: { value?: T; error?: unknown } = {};
  promise.then(
    (value) => {
      state.value = value;
    },
    (error: unknown) => {
      state.error = error;
    },
  );
  return state;
}

const silent: Record<string, (source: Hanging<string>, options: Options) => Stream<unknown>> = {
  wrap: (source, options) => wrap(source, options),
  pieces: (source, options) => pieces(source, options),
  blocks: (source, options) => blocks(source, options),
};

function stalled(error: unknown): number {
  assert.ok(error instanceof Stalled && error instanceof ProviderError, String(error));
  return error.silence;
}

for (const [name, open] of Object.entries(silent)) {
  test(`a silent source is closed in time, and whoever waits is told: ${name}`, async () => {
    await onClock(async (pass) => {
      const source = new Hanging([sse("It took hours. ")]);
      const stream = open(source, { ...FAST, maxSilence: 5000 });
      const reading = watched(allAndError(stream));
      await pass(4900);
      assert.equal(reading.value, undefined);
      assert.ok(!source.isClosed);
      await pass(200);
      const { found, error } = reading.value!;
      const text = found.join("");
      assert.equal(name === "wrap" ? said(text) : text, "It took hours. ");
      assert.equal(stalled(error), 5000);
      assert.ok(source.isClosed);
      assert.equal((await stream.next()).done, true);
    });
  });
}

test("signs of life alone are a silence, text is none", async () => {
  await onClock(async (pass) => {
    let send!: (chunk: string) => void;
    const source = new ReadableStream<string>({
      start(controller) {
        send = (chunk) => controller.enqueue(chunk);
      },
    });
    const stream = wrap(source, { ...FAST, maxSilence: 1000 });
    const come: string[] = [];
    const read = async () => {
      for await (const chunk of stream as ReadableStream & AsyncIterable<string>) come.push(chunk);
    };
    const reading: { error?: unknown } = watched(read());
    for (let time = 0; time < 3; time++) {
      send(sse("And on. "));
      await pass(600);
    }
    assert.ok(!("error" in reading));
    for (let time = 0; time < 2; time++) {
      send(": ping\n\n");
      await pass(300);
    }
    stalled(reading.error);
    assert.equal(said(come.join("")), "And on. ".repeat(3));
  });
});

test("text that waits for its time leaves before the error", async () => {
  await onClock(async (pass) => {
    const text = "It took hours. Then it held, and nobody knew why. ".repeat(5);
    const options: Options = { pace: "fixed", rate: 1, burst: 1, maxDelay: 60_000 };
    const stream = pieces(new Hanging([sse(text)]), { ...options, maxSilence: 500 });
    const reading = watched(allAndError(stream));
    await pass(700);
    const { found, error } = reading.value!;
    assert.equal(found.map(String).join(""), text);
    stalled(error);
  });
});

test("while nobody reads, silence is none, and no timer runs", async () => {
  await onClock(async (pass) => {
    const before = timers();
    const source = new Hanging([sse("It took hours. ")]);
    const stream = pieces(source, { ...FAST, maxSilence: 1000 });
    await stream.next();
    await pass(60_000);
    assert.equal(timers(), before);
    assert.ok(!source.isClosed);
    await stream.close();
  });
});

test("a stream that is silent after its end just ends, and closes its source", async () => {
  await onClock(async (pass) => {
    const source = new Hanging([sse("Yes."), STOP, DONE]);
    const stream = pieces(source, { ...FAST, maxSilence: 1000 });
    const reading = watched(all(stream));
    await pass(1200);
    assert.equal(reading.value?.map(String).join(""), "Yes.");
    assert.equal(stream.verdict, "complete");
    assert.ok(source.isClosed);
  });
});

test("collect has no clock", async () => {
  let sends!: ReadableStreamDefaultController<Uint8Array>;
  const source = new ReadableStream<Uint8Array>({
    start(controller) {
      sends = controller;
    },
  });
  await onClock(async (pass) => {
    const answer = watched(collect(source, { maxSilence: 100 }));
    sends.enqueue(bytes(sse("Yes.")));
    await pass(1000);
    sends.enqueue(bytes(DONE));
    sends.close();
    await settle();
    assert.equal(answer.value?.output, "Yes.");
  });
});
