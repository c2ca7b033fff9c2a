/** Reasoning that several streams may use between them. */

import { ConfigError } from "./errors.js";
import { STATUS } from "./names.js";
import { give, type Handle, native } from "./native.js";
import { refusal } from "./refusal.js";

/**
 * Tokens of reasoning that several streams may use between them, all together: `budget` of the verbs.
 *
 * Once it is used up none of them gives out more, so over all of them at most one piece exceeds it.
 *
 * ```js
 * const budget = new Budget(20_000);
 * const answers = await Promise.all(sources.map((source) => collect(source, { budget })));
 * ```
 */
export class Budget {
  readonly #handle: Handle;
  /** The limit. */
  readonly limit: number;

  /** A budget of so many tokens. Throws `ConfigError` for what is no whole number from 0 to 2^53 - 1. */
  constructor(maxReasoningTokens: number) {
    if (!Number.isSafeInteger(maxReasoningTokens) || maxReasoningTokens < 0) {
      throw new ConfigError(
        `a budget is a whole number of tokens, from 0 to 2^53 - 1, not ${String(maxReasoningTokens)}`,
      );
    }
    this.limit = maxReasoningTokens;
    const { status, handle } = give((to) => native().budget_new(maxReasoningTokens, to));
    if (status !== STATUS.OK) throw refusal(status, "no budget can be made");
    this.#handle = handle;
    registry.register(this, this.#handle);
  }

  /** Tokens that were charged so far, over all streams. */
  get used(): number {
    native().budget_used(this.#handle, used);
    return Number(used[0]);
  }

  /** What is left of it; 0 once it is exceeded. */
  get remaining(): number {
    return Math.max(0, this.limit - this.used);
  }

  /** @internal Has a rewriter charge it. */
  share(rewriter: Handle): number {
    return native().rewriter_share_budget(rewriter, this.#handle);
  }
}

const used = new BigUint64Array(1);
const registry = new FinalizationRegistry<Handle>((handle) => native().budget_free(handle));
