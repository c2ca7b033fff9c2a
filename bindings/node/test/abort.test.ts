/** An abort, and every other way to leave early, ends at once and leaves nothing behind. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { getEventListeners, once } from "node:events";
import { Readable } from "node:stream";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import {
  blocks,
  collect,
  DeclusterStream,
  type Options,
  type Piece,
  pieces,
  type Stream,
  smoothStream,
  wrap,
} from "../src/index.js";
import { STATUS } from "../src/names.js";
import { type Native, native } from "../src/native.js";
import {
  bodyOf,
  bytes,
  countHandles,
  DONE,
  event,
  Hanging,
  median,
  Server,
  settle,
  sse,
  timers,
  until,
  webOf,
} from "./streams.js";

/** What the stream may take to end, in milliseconds. */
const BOUND = 100;
const TEXTS = ["It took hours to find. ", "Then it held, and nobody knew why. ", "So they asked. "];
const WIRE = TEXTS.map((text) => sse(text));
/** Text stays queued for a minute: a timer runs. */
const SLOW: Options = { pace: "fixed", rate: 1, burst: 1, maxDelay: 60_000, unit: "word" };
/** Nothing stays queued: the source is waited for. */
const FAST: Options = { pace: "off", maxDelay: 100 };

const handles = countHandles();

/** A stream under way over a source that has sent three deltas, and does not end. */
interface Running {
  read(): Promise<unknown>;
  /** Resolves when the source is told that nobody reads it any more. */
  closed: Promise<unknown>;
}

type Open = (options: Options) => Promise<Running> | Running;

/** Of each kind of source, and of each verb. */
function kinds(server: Server): Record<string, Open> {
  const gone = () => until(() => server.open === 0, "the server sees that the client is gone");
  // Looked at only after the source has been asked once.
  const later = async (running: Omit<Running, "closed">, asked: number): Promise<Running> => {
    await until(() => server.asked > asked && server.open === 1, "the server was asked");
    return { ...running, closed: lazily(gone) };
  };
  const hanging = () => new Hanging(WIRE);
  return {
    "the body of a fetch": async (options) => {
      const { asked } = server;
      const response = await fetch(server.url);
      const reader = wrap(response.body!, options).getReader();
      return later({ read: () => reader.read() }, asked);
    },
    "a Response": async (options) => {
      const { asked } = server;
      const reader = wrap(await fetch(server.url), options).body!.getReader();
      return later({ read: () => reader.read() }, asked);
    },
    "pieces of a Response": async (options) => {
      const { asked } = server;
      const stream = pieces(await fetch(server.url), options);
      return later({ read: () => stream.next() }, asked);
    },
    "a response of node:http": async (options) => {
      const { asked } = server;
      const stream = wrap(await server.get(), options);
      const iterator = stream[Symbol.asyncIterator]();
      return later({ read: () => iterator.next() }, asked);
    },
    "a Readable of lines": (options) => {
      const source = hanging();
      const iterator = wrap(Readable.from(source), options)[Symbol.asyncIterator]();
      return { read: () => iterator.next(), closed: source.closed };
    },
    "a ReadableStream of events": (options) => {
      const source = new Hanging(TEXTS.map((text) => event(text)));
      const stream = new ReadableStream<object>(
        {
          async pull(controller) {
            const { done, value } = await source.next();
            if (!done) controller.enqueue(value);
          },
          cancel: () => void source.return(),
        },
        { highWaterMark: 0 },
      );
      const reader = wrap(stream, options).getReader();
      return { read: () => reader.read(), closed: source.closed };
    },
    "an async iterable of chunks": (options) => {
      const source = hanging();
      const stream = wrap(source, options);
      return { read: () => stream.next(), closed: source.closed };
    },
    "an async iterable of events": (options) => {
      const source = new Hanging(TEXTS.map((text) => event(text)));
      const stream = wrap(source, options);
      return { read: () => stream.next(), closed: source.closed };
    },
    "blocks of an async iterable": (options) => {
      const source = hanging();
      const { unit: _, ...others } = options;
      const stream = blocks(source, others);
      return { read: () => stream.next(), closed: source.closed };
    },
    "a transform": (options) => {
      const { readable, writable } = new DeclusterStream(options);
      const reader = readable.getReader();
      const writer = writable.getWriter();
      for (const text of WIRE) writer.write(bytes(text)).catch(() => {});
      return { read: () => reader.read(), closed: writer.closed.catch(() => {}) };
    },
  };
}

/** A promise that is made when somebody waits for it. */
function lazily<T>(make: () => Promise<T>): Promise<T> {
  // biome-ignore lint/suspicious/noThenProperty: it stands for a promise.
  return { then: (...told) => make().then(...told) } as Promise<T>;
}

/** Reads until a read has to wait, for the source or for a time. */
async function readUntilWaiting(
  { read }: Running,
  what: "source" | "time",
  timersBefore: number,
): Promise<{ reading: Promise<unknown> }> {
  for (;;) {
    let isSettled = false;
    const reading = read().finally(() => {
      isSettled = true;
    });
    reading.catch(() => {});
    const waits = () => timers() > timersBefore === (what === "time");
    await settle();
    await until(() => isSettled || waits(), `a read waits for ${what}`);
    await settle();
    if (!isSettled && waits()) return { reading };
    await reading;
  }
}

/** Ends what runs, three times; says how long it takes until the read and the source end. */
async function timed(
  open: () => Promise<{ end: () => void; ended: Promise<unknown>; closed: Promise<unknown> }>,
): Promise<void> {
  const reads: number[] = [];
  const sources: number[] = [];
  for (let time = 0; time < 3; time++) {
    const { end, ended, closed } = await open();
    const start = performance.now();
    end();
    await ended;
    reads.push(performance.now() - start);
    await closed;
    sources.push(performance.now() - start);
    await settle();
  }
  assert.ok(median(reads) < BOUND, `the read ends after ${reads} ms`);
  assert.ok(median(sources) < BOUND, `the source is closed after ${sources} ms`);
}

const holding = () =>
  Server.start((response) => {
    for (const text of WIRE) response.write(text);
  });

const names = Object.keys(kinds({} as Server));

for (const name of names) {
  for (const what of ["source", "time"] as const) {
    // Whole blocks wait for no time here: none is complete that is not due.
    const options = what === "time" ? SLOW : FAST;
    if (what === "time" && name.startsWith("blocks")) continue;
    test(`an abort ends a read that waits for its ${what}: ${name}`, async () => {
      await using server = await holding();
      const open = kinds(server)[name]!;
      const before = timers();
      const handlesBefore = handles();
      await timed(async () => {
        const controller = new AbortController();
        const reason = new Error("enough");
        const running = await open({ ...options, signal: controller.signal });
        const { reading } = await readUntilWaiting(running, what, before);
        return {
          end: () => {
            controller.abort(reason);
            assert.equal(timers(), before, "no timer runs after the abort");
            assert.equal(getEventListeners(controller.signal, "abort").length, 0);
          },
          ended: assert.rejects(reading, (error) => error === reason),
          closed: running.closed,
        };
      });
      assert.equal(handles(), handlesBefore);
    });
  }

  test(`an abort while nobody reads closes the source, and the next read says why: ${name}`, async () => {
    await using server = await holding();
    const open = kinds(server)[name]!;
    const before = timers();
    const handlesBefore = handles();
    await timed(async () => {
      const controller = new AbortController();
      const reason = new Error("enough");
      const running = await open({ ...FAST, signal: controller.signal });
      // A whole block comes with the source's end alone.
      if (!name.startsWith("blocks")) await running.read();
      else running.read().catch(() => {});
      await until(() => timers() === before, "no time is waited for");
      return {
        end: () => controller.abort(reason),
        ended: name.startsWith("blocks")
          ? Promise.resolve()
          : (async () => {
              await once(controller.signal, "abort");
              await assert.rejects(running.read(), (error) => error === reason);
            })(),
        closed: running.closed,
      };
    });
    assert.equal(timers(), before);
    assert.equal(handles(), handlesBefore);
  });

  test(`with a signal that is aborted already nothing is read: ${name}`, async () => {
    await using server = await holding();
    const reason = new Error("before");
    const signal = AbortSignal.abort(reason);
    const handlesBefore = handles();
    const running = await kinds(server)[name]!({ ...FAST, signal });
    await assert.rejects(running.read(), (error) => error === reason);
    await running.closed;
    assert.equal(handles(), handlesBefore);
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });
}

test("collect rejects with the reason of the signal", async () => {
  const handlesBefore = handles();
  await timed(async () => {
    const source = new Hanging(WIRE);
    const controller = new AbortController();
    const reason = new Error("enough");
    const answer = collect(source, { signal: controller.signal });
    answer.catch(() => {});
    await until(() => source.pulled === WIRE.length + 1, "all that there is was read");
    return {
      end: () => controller.abort(reason),
      ended: assert.rejects(answer, (error) => error === reason),
      closed: source.closed,
    };
  });
  assert.equal(handles(), handlesBefore);
});

test("an abort after the end changes nothing, and no listener is left on the signal", async () => {
  const controller = new AbortController();
  const { signal } = controller;
  const stream = pieces([...WIRE, DONE], { ...FAST, signal });
  let text = "";
  for await (const piece of stream) text += piece;
  assert.equal(getEventListeners(signal, "abort").length, 0);
  controller.abort(new Error("late"));
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
  assert.equal(text, TEXTS.join(""));
  assert.equal(stream.verdict, "complete");
});

test("a source that is waited for, but cannot be interrupted, keeps no read waiting", async () => {
  const handlesBefore = handles();
  await timed(async () => {
    let wake!: () => void;
    const asleep = new Promise<void>((resolve) => {
      wake = resolve;
    });
    let isClosed = false;
    async function* source() {
      try {
        yield* WIRE;
        await asleep;
      } finally {
        isClosed = true;
      }
    }
    const controller = new AbortController();
    const reason = new Error("enough");
    const stream = wrap(source(), { ...FAST, signal: controller.signal });
    const { reading } = await readUntilWaiting(
      { read: () => stream.next(), closed: asleep },
      "source",
      timers(),
    );
    return {
      end: () => controller.abort(reason),
      ended: assert.rejects(reading, (error) => error === reason),
      // A generator hears of it where it wakes up.
      closed: lazily(async () => {
        assert.ok(!isClosed);
        wake();
        await settle();
        assert.ok(isClosed);
      }),
    };
  });
  assert.equal(handles(), handlesBefore);
});

test("a sync iterable is closed, too", async () => {
  let isClosed = false;
  function* source() {
    try {
      for (let at = 0; ; at++) yield sse(`word${at} `);
    } finally {
      isClosed = true;
    }
  }
  const controller = new AbortController();
  const stream = wrap(source(), { ...SLOW, signal: controller.signal });
  await stream.next();
  const reading = stream.next();
  reading.catch(() => {});
  await settle();
  controller.abort("enough");
  await assert.rejects(reading, (reason) => reason === "enough");
  assert.ok(isClosed);
});

test("a generator that aborts its own stream is closed, too, without a warning", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  const controller = new AbortController();
  let isClosed = false;
  function* source() {
    try {
      controller.abort("enough");
      yield WIRE[0]!;
    } finally {
      isClosed = true;
    }
  }
  const stream = wrap(source(), { signal: controller.signal });
  await assert.rejects(stream.next(), (reason) => reason === "enough");
  await settle();
  process.off("warning", onWarning);
  assert.ok(isClosed);
  assert.deepEqual(warnings, []);
});

test("of several reads the first is told the reason, and the others the end", async () => {
  const controller = new AbortController();
  const stream = wrap(new Hanging([]), { signal: controller.signal });
  const reads = [stream.next(), stream.next(), stream.next()];
  controller.abort("enough");
  const told = await Promise.allSettled(reads);
  assert.deepEqual(told[0], { status: "rejected", reason: "enough" });
  for (const one of told.slice(1)) {
    assert.deepEqual(one, { status: "fulfilled", value: { done: true, value: undefined } });
  }
});

test("whoever writes into a transform is told the reason, also while it waits for room", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const { writable } = new DeclusterStream({ signal: controller.signal, maxQueueBytes: 65_536 });
  const writer = writable.getWriter();
  let accepted = 0;
  let told: unknown;
  const writing = (async () => {
    try {
      for (;;) {
        await writer.write(bytes(sse("word ".repeat(200))));
        accepted += 1;
      }
    } catch (error) {
      told = error;
    }
  })();
  let seen = -1;
  while (seen !== accepted) {
    seen = accepted;
    await settle();
  }
  controller.abort(reason);
  await writing;
  assert.equal(told, reason);
});

test("a writer of a transform that was aborted before is told the reason", async () => {
  const reason = new Error("before");
  const { readable, writable } = new DeclusterStream({ signal: AbortSignal.abort(reason) });
  await assert.rejects(webOf([bytes(WIRE[0]!)]).pipeTo(writable), (error) => error === reason);
  await assert.rejects(readable.getReader().read(), (error) => error === reason);
});

/** A stream that is left early, over a source that hangs. */
interface Leaving {
  leave: () => Promise<unknown>;
  source: { closed: Promise<void> };
}

/** Every way to leave, once one item was read. */
const leaves: Record<string, () => Promise<Leaving>> = {
  "close()": async () => {
    const source = new Hanging(WIRE);
    const stream = wrap(source, FAST);
    await stream.next();
    return { leave: () => stream.close(), source };
  },
  "return()": async () => {
    const source = new Hanging(WIRE);
    const stream = pieces(source, FAST);
    await stream.next();
    return { leave: () => stream.return(), source };
  },
  "break in a for await": async () => {
    const source = new Hanging(WIRE);
    const leave = async () => {
      for await (const _ of pieces(source, FAST)) break;
    };
    return { leave, source };
  },
  "an error in a for await": async () => {
    const source = new Hanging(WIRE);
    const leave = async () => {
      const reading = (async () => {
        for await (const _ of pieces(source, FAST)) throw new Error("mine");
      })();
      await assert.rejects(reading, /mine/);
    };
    return { leave, source };
  },
  "await using": async () => {
    const source = new Hanging(WIRE);
    const leave = async () => {
      await using stream = pieces(source, FAST);
      await stream.next();
    };
    return { leave, source };
  },
  "reader.cancel()": async () => {
    const source = new Hanging(WIRE);
    const reader = wrap(ReadableStream.from(source), FAST).getReader();
    await reader.read();
    return { leave: () => reader.cancel(), source };
  },
  "cancel() while a read waits": async () => {
    const source = new Hanging([]);
    const reader = wrap(ReadableStream.from(source), FAST).getReader();
    const reading = reader.read();
    await settle();
    const leave = async () => {
      await reader.cancel();
      assert.deepEqual(await reading, { done: true, value: undefined });
    };
    return { leave, source };
  },
  "close() of a ReadableStream": async () => {
    const source = new Hanging(WIRE);
    const stream = wrap(ReadableStream.from(source), FAST);
    await stream.getReader().read();
    return { leave: () => stream.close(), source };
  },
  "readable.destroy()": async () => {
    const source = new Hanging(WIRE);
    const stream = wrap(Readable.from(source), FAST);
    await stream[Symbol.asyncIterator]().next();
    const leave = async () => {
      let hasEnded = false;
      stream.on("end", () => {
        hasEnded = true;
      });
      stream.destroy();
      await once(stream, "close");
      assert.ok(!hasEnded, "what was destroyed has no end");
    };
    return { leave, source };
  },
  "break in a for await over a Readable": async () => {
    const source = new Hanging(WIRE);
    const leave = async () => {
      for await (const _ of wrap(Readable.from(source), FAST)) break;
    };
    return { leave, source };
  },
  "cancelling what a transform gives": async () => {
    const source = new Hanging(WIRE.map(bytes));
    const stream = ReadableStream.from(source).pipeThrough(new DeclusterStream(FAST));
    const reader = stream.getReader();
    await reader.read();
    return { leave: () => reader.cancel(), source };
  },
  "close() of a transform": async () => {
    const source = new Hanging(WIRE.map(bytes));
    const transform = new DeclusterStream(FAST);
    await ReadableStream.from(source).pipeThrough(transform).getReader().read();
    return { leave: () => transform.close(), source };
  },
  "cancelling a smoothStream": async () => {
    const parts = TEXTS.map((text) => ({ type: "text-delta", id: "0", text }));
    const source = new Hanging<object>(parts);
    const stream = ReadableStream.from(source).pipeThrough(smoothStream(FAST)());
    const reader = stream.getReader();
    await reader.read();
    return { leave: () => reader.cancel(), source };
  },
};

for (const [name, open] of Object.entries(leaves)) {
  test(`leaving early closes the source: ${name}`, async () => {
    const before = timers();
    const handlesBefore = handles();
    await timed(async () => {
      const { leave, source } = await open();
      let ended!: Promise<unknown>;
      const end = () => {
        ended = leave();
      };
      return { end, ended: lazily(() => ended), closed: source.closed };
    });
    assert.equal(timers(), before);
    assert.equal(handles(), handlesBefore);
  });
}

test("leaving a response of fetch ends its connection", async () => {
  await using server = await holding();
  const response = wrap(await fetch(server.url), FAST);
  for await (const _ of response.body!) break;
  await until(() => server.open === 0, "the server sees that the client is gone");
});

test("close() waits for no source that does not close", async () => {
  const never = new Promise<never>(() => {});
  for (const isWaitedFor of [false, true]) {
    const times: number[] = [];
    for (let time = 0; time < 3; time++) {
      const items = WIRE.values();
      const source = {
        next: () => {
          const { done, value } = items.next();
          return done ? never : Promise.resolve({ done: false as const, value });
        },
        return: () => never,
        [Symbol.asyncIterator]() {
          return this;
        },
      };
      const stream = wrap(source, FAST);
      await stream.next();
      if (isWaitedFor) stream.next().catch(() => {});
      const start = performance.now();
      await stream.close();
      times.push(performance.now() - start);
      // A second one has nothing more to do.
      await stream.close();
    }
    assert.ok(median(times) < BOUND, `close() takes ${times} ms`);
  }
});

test("a source that fails to close is warned of, whatever it says, and nothing is lost", async () => {
  for (const [error, says] of [
    [new Error("cannot close"), /closing the source failed: Error: cannot close$/],
    [Object.create(null), /closing the source failed: \[Object: null prototype\]/],
  ] as const) {
    const source = {
      next: () => Promise.resolve({ done: false as const, value: WIRE[0]! }),
      return: () => Promise.reject(error),
      [Symbol.asyncIterator]() {
        return this;
      },
    };
    const warned = once(process, "warning");
    const stream = wrap(source, FAST);
    await stream.next();
    await stream.close();
    const [warning] = (await warned) as [Error];
    assert.match(warning.message, says);
    assert.equal(warning.name, "DeclusterWarning");
  }
});

test("one signal for fetch and for wrap ends both, without a warning", async () => {
  await using server = await holding();
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  for (const isWaitedFor of [false, true]) {
    const controller = new AbortController();
    const { signal } = controller;
    const reason = new Error("enough");
    const stream = pieces(await fetch(server.url, { signal }), { ...FAST, signal });
    await stream.next();
    const running = { read: () => stream.next(), closed: Promise.resolve() };
    const waiting = isWaitedFor ? await readUntilWaiting(running, "source", timers()) : undefined;
    controller.abort(reason);
    await assert.rejects(waiting?.reading ?? stream.next(), (error) => error === reason);
    await until(() => server.open === 0, "the server sees that the client is gone");
  }
  await settle();
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

test("one signal ends a thousand streams, without a warning", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  const before = handles();
  const controller = new AbortController();
  const { signal } = controller;
  const streams = Array.from({ length: 1_000 }, () => pieces(new Hanging(WIRE), { signal }));
  // One that has ended before is not asked any more.
  await streams.pop()!.close();
  const reason = new Error("enough");
  controller.abort(reason);
  for (const stream of streams) await assert.rejects(stream.next(), (error) => error === reason);
  assert.equal(handles(), before);
  assert.equal(getEventListeners(signal, "abort").length, 0);
  await settle();
  process.off("warning", onWarning);
  assert.deepEqual(warnings, []);
});

/** Ways to end a stream whose library has failed. */
const endings: Record<string, (stream: Stream<Piece>, ending: AbortController) => Promise<void>> = {
  reading: (stream) => assert.rejects(stream.next(), { name: "DeclusterError" }),
  closing: (stream) => stream.close(),
  aborting: (stream, ending) => {
    ending.abort();
    return assert.rejects(stream.next(), { name: "AbortError" });
  },
};

for (const [name, end] of Object.entries(endings)) {
  test(`a library that has failed keeps no stream from ending: ${name}`, async (t) => {
    const before = handles();
    const controller = new AbortController();
    const source = new Hanging(WIRE);
    const stream = pieces(source, { signal: controller.signal });
    await stream.next();
    const lib = native() as { -readonly [N in keyof Native]: Native[N] };
    for (const call of ["poll", "cancel", "answer"] as const) {
      t.mock.method(lib, `rewriter_${call}`, () => STATUS.PANIC);
    }
    await end(stream, controller);
    assert.equal((await stream.next()).done, true);
    assert.ok(source.isClosed);
    assert.throws(() => stream.usage, { name: "DeclusterError" });
    assert.equal(handles(), before);
  });
}

test("an event that ends its own stream while it is read ends it as anybody does", async () => {
  const reason = new Error("enough");
  for (const how of ["close", "abort"] as const) {
    const before = handles();
    const controller = new AbortController();
    const ending = {
      get choices(): unknown {
        if (how === "close") void stream.close();
        else controller.abort(reason);
        return [];
      },
    };
    const source = new Hanging([ending]);
    const stream: Stream<object> = wrap(source, { signal: controller.signal });
    if (how === "abort") await assert.rejects(stream.next(), (error) => error === reason);
    assert.deepEqual(await stream.next(), { done: true, value: undefined });
    assert.ok(source.isClosed);
    assert.equal(handles(), before);
  }
});

test("closing before anything was read leaves nothing, and the stream is at its end", async () => {
  const handlesBefore = handles();
  const source = new Hanging(WIRE);
  const stream = wrap(source);
  await stream.close();
  assert.ok(source.isClosed);
  assert.equal(source.pulled, 0);
  assert.deepEqual(await stream.next(), { done: true, value: undefined });
  assert.equal(handles(), handlesBefore);
  const body = bodyOf(WIRE);
  const paced = wrap(body);
  await paced.close();
  assert.equal((await paced.getReader().read()).done, true);
  assert.equal(handles(), handlesBefore);
});

test("an abort without a reason gives the platform's AbortError", async () => {
  const controller = new AbortController();
  const reading = pieces(new Hanging([]), { signal: controller.signal }).next();
  controller.abort();
  await assert.rejects(reading, { name: "AbortError" });
});

test("a signal with a time ends the stream with its TimeoutError", async () => {
  const stream = wrap(new Hanging(WIRE), { ...SLOW, signal: AbortSignal.timeout(20) });
  await assert.rejects(
    (async () => {
      for await (const _ of stream);
    })(),
    { name: "TimeoutError" },
  );
});

for (const how of ["abort", "break", "close", "destroy", "none"]) {
  test(`nothing keeps the process alive: ${how}`, async () => {
    await using server = await holding();
    const script = fileURLToPath(new URL("./children/leave.js", import.meta.url));
    const child = spawn(process.execPath, [script, how, server.url], { stdio: "inherit" });
    const kill = setTimeout(() => child.kill("SIGKILL"), 30_000);
    const [code, signal] = await once(child, "exit");
    clearTimeout(kill);
    // Who leaves a read waiting does not end by itself: the check can fail.
    if (how === "none") assert.equal(code, 7);
    else assert.deepEqual([code, signal], [0, null]);
  });
}
