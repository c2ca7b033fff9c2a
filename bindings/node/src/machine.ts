/** What turns the items of a source into the items that come out: an engine or a rewriter, and its forms. */

/** One stream's engine, without a clock and without waiting. Times are nanoseconds as numbers. */
export interface Machine<T> {
  /** Takes in one item of the source. Throws for what is none; what ends the stream it keeps to itself. */
  push(now: number, item: unknown): void;
  /** All items of this turn are in. */
  settle(now: number): void;
  /** The source ended. */
  finish(now: number): void;
  /** Does what is to be done now; see `Next`. */
  poll(now: number): Next;
  /** After `READY`: the item. */
  take(): T;
  /** After `WAIT`: when to poll again. */
  readonly at: number;
  /** Whether the source should be read on. */
  wantsInput(): boolean;
  /** Stops pacing what is queued at present. */
  flush(): void;
  /** Ends the stream early. */
  cancel(how: "flush" | "drop"): void;
  /** What is wrong with the stream: nothing is read any more, and it ends with this. */
  readonly fault: Error | undefined;
  /** Gives back what is the library's. What is known stays to be asked. */
  free(): void;
}

/** What a poll found. */
export const Next = { READY: 0, WAIT: 1, NEED_INPUT: 2, FINISHED: 3 } as const;
export type Next = (typeof Next)[keyof typeof Next];

/** UTF-16 units that may wait for the end of a turn: so many that joining more would gain nothing. */
export const TURN_MAX = 4096;
