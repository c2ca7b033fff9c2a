/** A transform of streams of the web: `body.pipeThrough(new DeclusterStream())`. */

import { Finished } from "./errors.js";
import { BREATH, type Flow } from "./flow.js";
import { refuseNoObject } from "./parameters.js";
import { lazyStream } from "./stream.js";
import { Known } from "./told.js";
import { type Options, start } from "./verbs.js";

/** What a transform of the web is: `stream.pipeThrough()` takes it. */
export interface Pair<In, Out> {
  readonly readable: ReadableStream<Out>;
  readonly writable: WritableStream<In>;
}

/** Makes the two ends of a flow that items are written into. */
export function pair<In, Out>(flow: Flow<Out>, readable: ReadableStream<Out>): Pair<In, Out> {
  let items = 0;
  let room: Promise<void> | undefined;
  let enter: (() => void) | undefined;
  let isClosed = false;
  const onRoom = () => {
    flow.onRoom = undefined;
    room = undefined;
    enter?.();
    enter = undefined;
  };
  const writable = new WritableStream<In>({
    start(controller) {
      // Whoever cancels one end, or aborts, cancels what is piped into the other.
      flow.onClosed = (reason) => {
        isClosed = true;
        controller.error(reason ?? new Finished("the stream was closed"));
        enter?.();
      };
    },
    write(item) {
      items += 1;
      if (flow.push(item)) {
        // Whoever always has something to write would let no timer ring.
        return items % BREATH === 0 ? new Promise((resolve) => setImmediate(resolve)) : undefined;
      }
      if (isClosed) return undefined;
      flow.onRoom = onRoom;
      room ??= new Promise((resolve) => {
        enter = resolve;
      });
      return room;
    },
    close() {
      flow.finish();
    },
    abort(reason) {
      flow.fail(reason);
    },
  });
  return { readable, writable };
}

/**
 * `wrap` as a transform: what is written in comes out at `readable`, re-cut and paced.
 *
 * It takes the items that `wrap` takes: bytes, strings or parsed events. More than half of
 * `maxQueueBytes` is not taken before something has been read. Both ends have the errors of `wrap`;
 * aborting `writable` lets out what was written, then errors `readable`.
 *
 * ```js
 * return new Response(response.body.pipeThrough(new DeclusterStream()));
 * ```
 */
export class DeclusterStream<T = Uint8Array> extends Known implements Pair<T, T> {
  readonly readable: ReadableStream<T>;
  readonly writable: WritableStream<T>;

  /** Throws `ConfigError` for an option that does not exist or is out of bounds. */
  constructor(options: Options = {}) {
    refuseNoObject(options, "options");
    const { rewriter, flow } = start(undefined, { mode: "stream" }, options);
    super(rewriter, flow);
    const ends = pair<T, T>(flow as Flow<T>, lazyStream(flow, false));
    this.readable = ends.readable;
    this.writable = ends.writable;
  }
}
