/**
 * A stream in the event loop: its source, its engine, those who wait for it, and one timer.
 *
 * Nothing is read before the first item is asked for. From then on the source is read while the
 * engine wants input, also while nobody asks: a paced text must be here before it is due. The timer
 * runs only while somebody waits.
 */

import { inspect } from "node:util";
import { type Machine, Next } from "./machine.js";
import { Queue } from "./queue.js";
import { listen, unlisten } from "./signals.js";
import type { Source } from "./source.js";

/** How long closing a stream waits for its source, in milliseconds: it returns within 100. */
const CLOSE_WITHIN = 80;
/** Items that a source may have at hand before timers and others get their turn: a burst, not more. */
export const BREATH = 64;

/** Who waits for an item. */
export interface Waiter<T> {
  resolve(result: IteratorResult<T, undefined>): void;
  reject(error: unknown): void;
  /** What must not be collected before: a stream that nobody holds is closed. */
  readonly holds?: object | undefined;
}

export class Flow<T> {
  readonly #machine: Machine<T>;
  /** Undefined where items are pushed. */
  readonly #source: Source | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #waiters = new Queue<Waiter<T>>();
  #timer: NodeJS.Timeout | undefined;
  /** When the timer rings. */
  #ringsAt = Number.POSITIVE_INFINITY;
  #started = false;
  /** A read is under way, or will be. */
  #reading = false;
  #items = 0;
  /** When the items of this turn arrived, as long as it lasts. */
  #turn: number | undefined;
  /** No item is taken any more. */
  #sourceEnded = false;
  /** The source itself said that it is at its end, or failed: there is nothing to close. */
  #sourceDone = false;
  /** Everything was given, or the stream was closed. */
  #over = false;
  /** What whoever asks next is told in place of the end. */
  #failed: { error: unknown } | undefined;
  #closing: Promise<void> | undefined;
  /** The source was stopped, perhaps by itself: nothing is given until that is known. */
  #stopping = false;
  /** Called when more input is wanted; for those who push. */
  onRoom: (() => void) | undefined;
  #onClosed: ((reason: unknown) => void) | undefined;
  #closedFor: { reason: unknown } | undefined;
  /** Called once, when the stream is over. */
  onOver: (() => void) | undefined;

  constructor(machine: Machine<T>, source: Source | undefined, signal: AbortSignal | undefined) {
    this.#machine = machine;
    this.#source = source;
    this.#signal = signal;
    source?.lock?.();
    if (signal?.aborted) this.#abort();
    else if (signal !== undefined) listen(signal, this.#abort);
    source?.stopped?.addEventListener("abort", this.#stop);
  }

  /** Called when what is pushed will not be taken any more, though its source has not ended. */
  set onClosed(call: (reason: unknown) => void) {
    this.#onClosed = call;
    if (this.#closedFor !== undefined) call(this.#closedFor.reason);
  }

  /** The next item, once it is due. Several may wait; they are served in order. Until then holds `holds`. */
  next(holds?: object): Promise<IteratorResult<T, undefined>> {
    this.#start();
    if (this.#waiters.length === 0 && !this.#stopping) {
      // What is there is given at once, without anyone who waits.
      try {
        const found = this.#look();
        if (found !== undefined) return Promise.resolve(found);
      } catch (error) {
        return Promise.reject(error);
      }
    }
    return new Promise((resolve, reject) => {
      this.#waiters.push({ resolve, reject, holds });
    });
  }

  /** The same for one who is called, perhaps at once, and needs no promise. */
  ask(waiter: Waiter<T>): void {
    this.#start();
    this.#waiters.push(waiter);
    if (this.#waiters.length === 1) this.#serve();
  }

  /** Takes in an item, where items are pushed; says whether more is wanted now. */
  push(item: unknown): boolean {
    if (this.#over) return false;
    this.#take(item);
    return this.#wantsInput();
  }

  /** The source ended. */
  finish(): void {
    if (this.#sourceEnded) return;
    this.#sourceEnded = this.#sourceDone = true;
    try {
      this.#machine.finish(now());
    } catch (error) {
      this.#failWith(error);
      return;
    }
    this.#serve();
  }

  /** The source failed: what arrived before is due at once, then comes this error. */
  fail(error: unknown): void {
    if (this.#sourceEnded) return;
    this.#sourceEnded = this.#sourceDone = true;
    this.#failWith(error);
  }

  /** Stops pacing what is queued at present. */
  flush(): void {
    if (this.#over) return;
    this.#machine.flush();
    this.#serve();
  }

  /** Ends the stream and closes its source; what is queued is dropped. Resolves within 100 ms. */
  close(reason?: unknown): Promise<void> {
    if (!this.#over) {
      this.#failed = undefined;
      this.#forget();
      this.#serve();
    }
    this.#closing ??= this.#closeSource(reason);
    return inTime(this.#closing);
  }

  readonly #abort = (): void => {
    const reason: unknown = this.#signal?.reason;
    if (!this.#over) this.#drop(reason);
  };

  /** Whoever aborts does not want what is queued. */
  #drop(reason: unknown): void {
    this.#failed = { error: reason };
    this.#forget();
    this.#serve();
    this.#closing ??= this.#closeSource(reason);
  }

  /** What is queued is dropped, and that is the end. */
  #forget(): void {
    try {
      this.#machine.cancel("drop");
    } catch {
      // Of a library that has failed there is nothing to drop.
    }
    this.#end();
  }

  /** The source was stopped: nobody wants the rest, but its end is no error. */
  readonly #stop = (): void => {
    if (this.#over || this.#failed !== undefined) return;
    if (this.#signal?.aborted) {
      // The same signal stops both; whoever gave it to us as well wants its reason.
      this.#abort();
      return;
    }
    if (!this.#reading) {
      void this.close();
      return;
    }
    // A source that fails stops itself, and tells of its error a moment later.
    this.#stopping = true;
    setImmediate(() => {
      this.#stopping = false;
      if (this.#failed === undefined) void this.close();
      this.#serve();
    });
  };

  /** What is due: an item or the end; nothing if that must be waited for. Throws what the stream ends with. */
  #look(): IteratorResult<T, undefined> | undefined {
    if (!this.#over) {
      const machine = this.#machine;
      const at = now();
      let next: Next;
      try {
        next = machine.poll(at);
      } catch (error) {
        this.#closing ??= this.#closeSource(error);
        if (this.#failed === undefined) {
          this.#breakOff(error);
          return this.#look();
        }
        // What came before cannot be had any more.
        next = Next.FINISHED;
      }
      switch (next) {
        case Next.READY: {
          const found = { done: false as const, value: machine.take() };
          this.#resume();
          return found;
        }
        case Next.WAIT:
          this.#ringAt(machine.at, at);
          this.#resume();
          return undefined;
        case Next.NEED_INPUT:
          this.#resume();
          return undefined;
        case Next.FINISHED: {
          const { fault } = machine;
          if (fault !== undefined) this.#failed ??= { error: fault };
          this.#end();
          // It may have ended itself, with a fault or without: over its budget, or after a silence.
          this.#closing ??= this.#closeSource(fault);
        }
      }
    }
    if (this.#failed !== undefined) {
      const { error } = this.#failed;
      this.#failed = undefined;
      throw error;
    }
    return DONE;
  }

  /** Gives those who wait what is due. */
  #serve(): void {
    while (this.#waiters.length > 0 && !this.#stopping) {
      let found: IteratorResult<T, undefined> | undefined;
      try {
        found = this.#look();
      } catch (error) {
        this.#waiters.shift()!.reject(error);
        continue;
      }
      if (found === undefined) return;
      this.#waiters.shift()!.resolve(found);
    }
    this.#unring();
  }

  #start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#read();
  }

  #ringAt(at: number, from: number): void {
    if (at >= this.#ringsAt) {
      // It rings too early then, finds nothing, and is set anew.
      return;
    }
    clearTimeout(this.#timer);
    this.#ringsAt = at;
    this.#timer = setTimeout(this.#ring, Math.ceil((at - from) / 1e6));
  }

  #unring(): void {
    if (this.#timer === undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#ringsAt = Number.POSITIVE_INFINITY;
  }

  readonly #ring = (): void => {
    this.#timer = undefined;
    this.#ringsAt = Number.POSITIVE_INFINITY;
    this.#serve();
  };

  #read(): void {
    if (this.#source === undefined || this.#reading || this.#sourceEnded || this.#over) return;
    this.#reading = true;
    this.#items += 1;
    // A source that always has something at hand would let no timer ring.
    if (this.#items % BREATH === 0) setImmediate(this.#readNow);
    else this.#readNow();
  }

  readonly #readNow = (): void => {
    if (this.#over) return;
    try {
      this.#source!.next().then(this.#onItem, this.#onError);
    } catch (error) {
      this.#onError(error);
    }
  };

  readonly #onItem = (result: IteratorResult<unknown>): void => {
    this.#reading = false;
    if (this.#over) return;
    let done: boolean | undefined;
    let value: unknown;
    try {
      ({ done = false, value } = result);
    } catch (error) {
      // It is no result at all, or throws when it is looked at.
      this.#onError(error);
      return;
    }
    if (done) {
      this.finish();
      return;
    }
    this.#take(value);
    this.#resume();
  };

  readonly #onError = (error: unknown): void => {
    this.#reading = false;
    if (this.#over || this.#sourceEnded) return;
    if (isAbort(error)) this.#drop(error);
    else this.fail(error);
  };

  #take(item: unknown): void {
    try {
      // A burst comes item by item within one turn, and is looked at once.
      if (this.#turn === undefined) {
        this.#turn = now();
        process.nextTick(this.#settle);
      }
      this.#machine.push(this.#turn, item);
    } catch (error) {
      this.#refused(error);
      return;
    }
    // So that the provider stops, and its bill with it.
    const { fault } = this.#machine;
    if (fault !== undefined) this.#closing ??= this.#closeSource(fault);
  }

  /** Does what is to be done once a turn's items are in. */
  readonly #settle = (): void => {
    const turn = this.#turn;
    this.#turn = undefined;
    if (this.#over || turn === undefined) return;
    try {
      this.#machine.settle(turn);
    } catch (error) {
      this.#refused(error);
    }
    this.#serve();
    this.#resume();
  };

  /** An item is none, or does not fit. */
  #refused(error: unknown): void {
    // An event whose getter closes the stream comes too late, and is no error.
    if (this.#over) return;
    this.#closing ??= this.#closeSource(error);
    this.#failWith(error);
  }

  #failWith(error: unknown): void {
    this.#breakOff(error);
    this.#serve();
  }

  /** Lets out what came before an error, which comes then. */
  #breakOff(error: unknown): void {
    this.#failed = { error };
    try {
      this.#machine.cancel("flush");
    } catch {
      this.#end();
    }
  }

  #wantsInput(): boolean {
    return !this.#sourceEnded && !this.#over && this.#machine.wantsInput();
  }

  /** Reads on, or lets those who push go on, if there is room. */
  #resume(): void {
    if (this.#source === undefined) {
      if (this.onRoom !== undefined && this.#wantsInput()) this.onRoom();
    } else if (this.#started && !this.#reading && this.#wantsInput()) {
      this.#read();
    }
  }

  #end(): void {
    this.#over = true;
    this.#unring();
    if (this.#signal !== undefined) unlisten(this.#signal, this.#abort);
    this.#source?.stopped?.removeEventListener("abort", this.#stop);
    this.#machine.free();
    this.onOver?.();
  }

  async #closeSource(reason: unknown): Promise<void> {
    this.#sourceEnded = true;
    // To close a source may be to stop it.
    this.#source?.stopped?.removeEventListener("abort", this.#stop);
    if (this.#sourceDone) return;
    this.#sourceDone = true;
    if (this.#source === undefined) {
      this.#closedFor = { reason };
      this.#onClosed?.(reason);
      return;
    }
    try {
      await this.#source.close(reason);
    } catch (error) {
      // `fetch` was given the same signal, and has ended it.
      if (error === reason) return;
      // The stream itself is complete: a source that fails to close loses nothing of it.
      const told = error instanceof Error ? String(error) : inspect(error);
      process.emitWarning(`closing the source failed: ${told}`, "DeclusterWarning");
    }
  }
}

/**
 * Whether somebody has aborted the source, as by the signal that `fetch` was given. What Node's streams
 * call so, where a connection breaks, is no `DOMException`.
 */
function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === "AbortError";
}

/** Waits for a source that closes, but not for one that does not. */
async function inTime(closing: Promise<void>): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, CLOSE_WITHIN);
  });
  await Promise.race([closing, enough]);
  clearTimeout(timer);
}

/** Nanoseconds of `performance.now()`, whole. */
export function now(): number {
  return Math.floor(performance.now() * 1e6);
}

const DONE = { done: true, value: undefined } as const;
