/** What is known of a stream, while it runs and after. */

import type { Exceeded, Fields, Tokens, ToolCall } from "./fields.js";
import type { Flow } from "./flow.js";
import type { Dialect, Verdict } from "./names.js";
import type { Rewriter } from "./rewriter.js";
import type { StreamStats } from "./stats.js";

/** What every stream of decluster has besides its items. */
export interface Told extends AsyncDisposable {
  /** Counters so far. */
  stats(): StreamStats;
  /** The dialect, once an event told it; null before, and for a stream that is not known. */
  readonly dialect: Dialect | null;
  /** The model as the provider names it, once an event told it. */
  readonly model: string | null;
  /** The provider's own usage object, once it was sent. */
  readonly usage: unknown;
  /** The usage in one meaning for all providers, once it was sent. */
  readonly tokens: Tokens | null;
  /** The tool calls so far, each put together. */
  readonly toolCalls: ToolCall[];
  /** The provider's own word for why choice 0 stopped, once it was sent. */
  readonly finish: string | null;
  /** The first error object that the provider sent in the stream. */
  readonly error: unknown;
  /** How the stream ended; null before, and where the dialect is not known. */
  readonly verdict: Verdict | null;
  /** Why, where the verdict alone does not tell. */
  readonly reason: string | null;
  /** By how much the reasoning exceeded its limit, or that of a shared budget, if it did. */
  readonly exceeded: Exceeded | null;
  /** Stops pacing what is queued at present: it comes at once. */
  flush(): void;
  /** Ends the stream and closes its source; what is queued is dropped. Resolves within 100 ms. */
  close(): Promise<void>;
}

/** The same, as a class. */
export class Known implements Told {
  readonly #rewriter: Rewriter;
  readonly #flow: Flow<unknown>;

  constructor(rewriter: Rewriter, flow: Flow<unknown>) {
    this.#rewriter = rewriter;
    this.#flow = flow;
  }

  stats(): StreamStats {
    const { dialect, events, comments, repairs, malformed } = this.#fields();
    const paced = dialect !== null;
    return { ...this.#rewriter.stats(), dialect, paced, events, comments, repairs, malformed };
  }

  get dialect(): Dialect | null {
    return this.#rewriter.isText ? null : this.#fields().dialect;
  }

  get model(): string | null {
    return this.#fields().model;
  }

  get usage(): unknown {
    return this.#fields().usage;
  }

  get tokens(): Tokens | null {
    return this.#fields().tokens;
  }

  get toolCalls(): ToolCall[] {
    return this.#fields().toolCalls;
  }

  get finish(): string | null {
    return this.#fields().finish;
  }

  get error(): unknown {
    return this.#fields().error;
  }

  get verdict(): Verdict | null {
    return this.#rewriter.isText ? null : this.#fields().verdict;
  }

  get reason(): string | null {
    return this.#fields().reason;
  }

  get exceeded(): Exceeded | null {
    return this.#fields().exceeded;
  }

  flush(): void {
    this.#flow.flush();
  }

  async close(): Promise<void> {
    await this.#flow.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #fields(): Fields {
    return this.#rewriter.fields();
  }
}

/** Gives an object what `known` has; of its own it loses nothing. */
export function tell<T extends object>(target: T, known: Told): T & Told {
  for (const key of Reflect.ownKeys(Known.prototype)) {
    if (key === "constructor" || key in target) continue;
    const { get, value } = Object.getOwnPropertyDescriptor(Known.prototype, key)!;
    const member = get
      ? { get: () => get.call(known) as unknown }
      : { value: (value as () => unknown).bind(known), writable: true };
    Object.defineProperty(target, key, { ...member, configurable: true });
  }
  return target as T & Told;
}
