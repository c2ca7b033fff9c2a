/** The streams that the verbs give back, in the form of what they were given. */

import { Readable } from "node:stream";
import type { Flow } from "./flow.js";
import type { Rewriter } from "./rewriter.js";
import type { SdkStream } from "./source.js";
import { Known, type Told, tell } from "./told.js";

/**
 * A paced stream: an async iterator, and what is known about it.
 *
 * Nothing is read before the first `next()`. Several may wait at once. Leaving a `for await` early,
 * `await using` and `close()` close the source.
 */
export class Stream<T> extends Known implements AsyncIterableIterator<T, undefined> {
  readonly #flow: Flow<T>;

  /** @internal */
  constructor(rewriter: Rewriter, flow: Flow<T>) {
    super(rewriter, flow as Flow<unknown>);
    this.#flow = flow;
    registry.register(this, flow as Flow<unknown>, flow);
    flow.onOver = over(flow);
  }

  next(): Promise<IteratorResult<T, undefined>> {
    return this.#flow.next(this);
  }

  async return(): Promise<IteratorResult<T, undefined>> {
    await this.close();
    return { done: true, value: undefined };
  }

  [Symbol.asyncIterator](): this {
    return this;
  }
}

/** Of the web, with what is known of it. */
export function webStream(flow: Flow<unknown>, known: Told, bytes: boolean): ReadableStream & Told {
  return tell(lazyStream(flow, bytes), known);
}

/** Of the web; `bytes` gives a byte stream, which readers with memory of their own can read, too. */
export function lazyStream(flow: Flow<unknown>, bytes: boolean): ReadableStream {
  const source = {
    async pull(controller: Controller) {
      const { done, value } = await flow.next();
      if (!done) {
        controller.enqueue(value);
        return;
      }
      controller.close();
      // Whoever brought memory of his own waits for it.
      controller.byobRequest?.respond(0);
    },
    cancel: (reason: unknown) => flow.close(reason),
  };
  const lazily = { highWaterMark: 0 };
  const stream = bytes
    ? new ReadableStream({ ...source, type: "bytes" }, lazily)
    : new ReadableStream(source, lazily);
  return owned(stream, flow);
}

/** What the controllers of both kinds have. */
interface Controller {
  enqueue(item: unknown): void;
  close(): void;
  readonly byobRequest?: { respond(bytes: number): void } | null;
}

/** Of Node, in the modes of the one that is read. */
export function nodeStream(flow: Flow<unknown>, known: Told, like: Readable): Readable & Told {
  const stream = new Readable({
    objectMode: like.readableObjectMode,
    // What is taken from the engine is no longer paced, and would be lost with an error.
    highWaterMark: 0,
    read() {
      flow.next().then(
        ({ done, value }) => this.push(done ? null : value),
        (error: unknown) => this.destroy(error as Error),
      );
    },
    destroy(error, done) {
      flow.close(error).then(
        () => done(error),
        () => done(error),
      );
    },
  });
  if (like.readableEncoding !== null) stream.setEncoding(like.readableEncoding);
  return owned(tell(stream, known), flow);
}

/** Of an SDK: one of its own class. */
export function sdkStream<S extends SdkStream>(stream: Stream<unknown>, like: S): S & Told {
  type Class = new (iterator: () => AsyncIterator<unknown>, controller: AbortController) => S;
  /** Who reads it: the first to ask. */
  let reader: object | undefined;
  const iterator = (): AsyncIterator<unknown> => {
    const own = {
      next() {
        reader ??= own;
        // Whoever reads it again is told by the SDK itself that this cannot be.
        return reader === own ? stream.next() : like[Symbol.asyncIterator]().next();
      },
      return: () => stream.return(),
    };
    return own;
  };
  const made = new (like.constructor as Class)(iterator, like.controller);
  return tell(made, stream);
}

/** Streams that nobody holds any more are closed. */
function owned<T extends object>(stream: T, flow: Flow<unknown>): T {
  registry.register(stream, flow, flow);
  flow.onOver = over(flow);
  return stream;
}

function over(flow: Flow<unknown>): () => void {
  return () => registry.unregister(flow);
}

const registry = new FinalizationRegistry<Flow<unknown>>((flow) => void flow.close());
