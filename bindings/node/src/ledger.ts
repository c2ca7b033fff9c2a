/** What streams and responses cost: a ledger that adds up. */

import { ConfigError, Full, UnknownModel } from "./errors.js";
import { named, readTokens, TOKENS, TOKENS_SIZE, type Tokens } from "./fields.js";
import { STATUS } from "./names.js";
import { encode, give, given, type Handle, isWellFormed, native } from "./native.js";
import { refuseNoObject } from "./parameters.js";
import { refusal } from "./refusal.js";

/** What models cost, as JSON or TOML has it: in units of `currency` per million tokens. */
export interface PriceTable {
  /** `USD` unless it is named. */
  currency?: string;
  /** Of models without their own. */
  as_of?: string;
  /** Of models without their own. */
  source?: string;
  models: Record<
    string,
    {
      /** Of input that was neither read from a cache nor written to one. */
      prompt: number | string;
      /** Of input that was read from a cache; else as `prompt`. */
      cached?: number | string;
      /** Of input that was written to a cache; else as `prompt`. */
      cache_write?: number | string;
      /** Of reasoning; else as `output`. */
      reasoning?: number | string;
      /** Of output. */
      output: number | string;
      /** Other names of the model. */
      aliases?: readonly string[];
      /** From when the price is. */
      as_of?: string;
      /** Where it is from. */
      source?: string;
    }
  >;
}

/**
 * What an answer cost, or several did, part by part. No token is in two parts.
 *
 * The amounts are decimal numbers as strings, exact unless one would have more than 28 digits: a number
 * of JavaScript is binary, and cannot hold 0.1.
 */
export interface Cost {
  /** Of the input that was neither read from a cache nor written to one. */
  readonly prompt: string;
  /** Of the input that was read from a cache. */
  readonly cached: string;
  /** Of the input that was written to a cache. */
  readonly cacheWrite: string;
  /** Of the reasoning. 0 where the provider does not count it: then it is in `output`. */
  readonly reasoning: string;
  /** Of the output without reasoning. */
  readonly output: string;
  /** Of all of these. */
  readonly total: string;
  /** What they are in. */
  readonly currency: string;
}

/** Answers added up: those of a model and a key, of one of the two, or all. */
export interface LedgerEntry {
  /** By its name in the price table where that has it; null without one, and for several. */
  readonly model: string | null;
  /** Null if none was given, and for several. */
  readonly key: string | null;
  /** All answers. */
  readonly streams: number;
  /** Of these, those without usage: nothing is known of what they cost. */
  readonly unreported: number;
  /** Of these, those with usage whose model has no price; none without a price table. */
  readonly unpriced: number;
  /** The sums of the counts; null where no answer had the count. */
  readonly tokens: Tokens;
  /** Of how many the provider said what they cost: `tokens.costPicodollars` is the sum. */
  readonly costsTold: number;
  /** By the price table, without `unreported` and `unpriced`. Null without a price table. */
  readonly cost: Cost | null;
}

/** Of what answers are told apart by. */
export interface Names {
  /** The model; else as the answer names it. */
  model?: string | null | undefined;
  /** A customer, a job, whatever you name. */
  key?: string | null | undefined;
}

/** What a ledger adds: a stream that is over, an `Answer`, a `Usage` or tokens. */
export type Costly = (Partial<Tokens> | { readonly tokens: Tokens | null }) & {
  readonly model?: string | null;
};

/**
 * Adds up what answers cost, by model and by key: a customer, a job, whatever you name.
 *
 * The verbs do it by themselves: `wrap(source, { ledger })`. Finished responses are added with
 * `add(usage(body))`. Without prices tokens are counted and no cost. At most 10,000 pairs of model and
 * key, each of at most 256 bytes.
 *
 * ```js
 * const ledger = new Ledger(examplePrices(), { currency: "CNY", rate: "7.1" });
 * const cost = ledger.add({ input: 1000, output: 500 }, { model: "gpt-4.1", key: "search" });
 * console.log(cost.total, ledger.byKey()[0].key); // 0.0497 search
 * ```
 */
export class Ledger {
  readonly #handle: Handle;
  /** What costs are in; null without prices. */
  readonly currency: string | null;
  /** Models of which it was said that they have no price. */
  readonly #missed = new Set<string | null>();

  /**
   * `prices` is a table: TOML or JSON text, or an object like it, whose numbers are taken as they are
   * written, digit by digit. With `currency` costs are in that one, of which `rate` makes one of the
   * table's: above 0, to 1,000,000, with at most 12 decimals.
   *
   * Throws `ConfigError` for what is no such table, currency or rate, with the line.
   */
  constructor(
    prices?: string | PriceTable | null,
    options: { currency?: string | undefined; rate?: string | number | undefined } = {},
  ) {
    refuseNoObject(options, "options");
    const { currency, rate, ...others } = options;
    const unknown = Object.keys(others)[0];
    if (unknown !== undefined) {
      throw new ConfigError(`a ledger has no option ${unknown}; there are currency, rate`);
    }
    if ((currency === undefined) !== (rate === undefined)) {
      throw new TypeError(
        "currency and rate go together: how many of it are one of the prices' currency",
      );
    }
    if (prices == null && currency !== undefined) {
      throw new ConfigError("a ledger without prices has no currency");
    }
    const table = prices == null ? undefined : tableOf(prices);
    const { status, handle } = give((to) => native().ledger_new(to));
    if (status !== STATUS.OK) throw refusal(status, "no ledger can be made");
    this.#handle = handle;
    registry.register(this, handle);
    if (table !== undefined) {
      const { bytes, length } = encode(table);
      const [to, by] = [name(currency, "currency"), name(rate?.toString(), "rate")];
      if (native().ledger_set_prices(handle, bytes, length, to, by) !== STATUS.OK) {
        const says = native().ledger_error(handle) ?? "";
        // The line of a text that nobody wrote says nothing.
        throw new ConfigError(typeof prices === "string" ? says : says.replace(/^line \d+: /, ""));
      }
    }
    this.currency = this.#read().currency;
  }

  /**
   * Adds an answer, and says what it cost; null is one without usage. The model is as the answer names
   * it, unless given. The cost is null without prices, and for an answer without usage.
   *
   * Throws `UnknownModel` if the model has no price, `Full`, and `ConfigError` for a name that is too
   * long; then nothing was added.
   */
  add(what: Costly | null, names: Names = {}): Cost | null {
    refuseNoObject(names, "names");
    const tokens = wordsOf(what);
    const model = name(names.model ?? what?.model, "model");
    const key = name(names.key, "key");
    const lib = native();
    return this.#enter(model, (cost, length) =>
      lib.ledger_add_tokens(this.#handle, model, key, tokens, tokens.byteLength, 0, cost, length),
    );
  }

  /** For the `ledger` of the verbs: streams under this key, and under this model if given. */
  account(names: Names = {}): Account {
    refuseNoObject(names, "names");
    return new Account(this, name(names.model, "model"), name(names.key, "key"));
  }

  /** All answers together. */
  get total(): LedgerEntry {
    return entry(this.#read().total);
  }

  /** The answers of each model, in the order of their names. */
  byModel(): LedgerEntry[] {
    return this.#read().models.map(entry);
  }

  /** The answers of each key, in their order. */
  byKey(): LedgerEntry[] {
    return this.#read().keys.map(entry);
  }

  /** The answers of each pair of model and key, in the order of the models. */
  rows(): LedgerEntry[] {
    return this.#read().rows.map(entry);
  }

  /**
   * Adds all that another ledger holds. It is priced here, in this one's currency.
   *
   * Throws `Full`; then nothing was added.
   */
  merge(other: Ledger): void {
    if (!(other instanceof Ledger)) throw new TypeError("a ledger merges another Ledger");
    const status = native().ledger_merge(this.#handle, other.#handle);
    if (status !== STATUS.OK) throw this.#refusal(status, null);
  }

  /** @internal Adds a stream that is over. What it says of itself is `told`. */
  enter(
    rewriter: Handle,
    account: Account,
    told: { model: string | null; tokens: Tokens | null },
  ): void {
    const model = account.model ?? told.model;
    const add = (keep: number) =>
      this.#enter(model, (cost, length) =>
        native().ledger_add_rewriter(
          this.#handle,
          rewriter,
          account.model,
          account.key,
          keep,
          cost,
          length,
        ),
      );
    try {
      try {
        add(0);
      } catch (error) {
        if (!(error instanceof UnknownModel)) throw error;
        add(1);
        if (told.tokens === null || this.#missed.has(model)) return;
        this.#missed.add(model);
        warn(`a stream is in the ledger without its cost: ${error.message}`);
      }
    } catch (error) {
      warn(`a stream is not in the ledger: ${(error as Error).message}`);
    }
  }

  #enter(
    model: string | null,
    add: (cost: Uint32Array, length: Uint32Array) => number,
  ): Cost | null {
    const cost = given(add);
    if (typeof cost === "number") throw this.#refusal(cost, model);
    return costOf(JSON.parse(cost) as Members | null);
  }

  #refusal(status: number, model: string | null): Error {
    const says = native().ledger_error(this.#handle) ?? "";
    if (status === STATUS.UNKNOWN_NAME) return new UnknownModel(says, model);
    if (status === STATUS.LEDGER_FULL) return new Full(says);
    if (status === STATUS.BAD_ARGUMENT) return new ConfigError(says);
    return refusal(status, says);
  }

  #read(): Read {
    const json = given((text, length) => native().ledger_json(this.#handle, text, length));
    if (typeof json === "number") throw this.#refusal(json, null);
    return JSON.parse(json) as Read;
  }
}

/**
 * Where the verbs enter a stream once it is over, in whatever way: `ledger.account({ key })`.
 *
 * A model without a price breaks no stream: it is counted as `unpriced`, and a warning says so once.
 */
export class Account {
  /** What it is part of. */
  readonly ledger: Ledger;
  /** The model; else as the stream names it. */
  readonly model: string | null;
  /** What its streams are told apart by. */
  readonly key: string | null;

  /** @internal */
  constructor(ledger: Ledger, model: string | null, key: string | null) {
    this.ledger = ledger;
    this.model = model;
    this.key = key;
  }
}

/**
 * The text of a price table with the five models of the published incident report and its figures of
 * 2026-11-30: to try things with, and no provider's price list.
 */
export function examplePrices(): string {
  return native().prices_examples()!;
}

/** What a verb was given as its `ledger`. */
export function accountOf(ledger: unknown): Account | undefined {
  if (ledger == null) return undefined;
  if (ledger instanceof Account) return ledger;
  if (ledger instanceof Ledger) return ledger.account();
  throw new TypeError(`ledger is a ${typeof ledger}: give a Ledger or its account()`);
}

type Members = Record<string, unknown>;

interface Read {
  currency: string | null;
  total: Members;
  models: Members[];
  keys: Members[];
  rows: Members[];
}

function entry(members: Members): LedgerEntry {
  const tokens = readTokens(members.tokens as Members);
  return { ...named(members), tokens, cost: costOf(members.cost as Members | null) } as LedgerEntry;
}

function costOf(members: Members | null): Cost | null {
  return members === null ? null : (named(members) as unknown as Cost);
}

function tableOf(prices: unknown): string {
  if (typeof prices === "string") return prices;
  refuseNoObject(prices, "prices");
  return JSON.stringify(prices);
}

/** A name for the library, which ends with a NUL there. */
function name(given: unknown, what: string): string | null {
  if (given == null) return null;
  if (typeof given !== "string") throw new TypeError(`${what} is a string, not ${typeof given}`);
  if (given.includes("\0") || !isWellFormed(given)) {
    throw new ConfigError(`${what} holds a NUL or half a character`);
  }
  return given;
}

/** `decluster_tokens`. */
function wordsOf(what: Costly | null): BigInt64Array {
  const words = new BigInt64Array(TOKENS_SIZE / 8).fill(-1n, 0, TOKENS.length);
  if (what === null) return words;
  if (typeof what !== "object") throw new TypeError(NO_TOKENS);
  const tokens = "tokens" in what ? what.tokens : what;
  if (tokens === null) return words;
  if (typeof tokens !== "object" || !TOKENS.some((name) => name in tokens)) {
    throw new TypeError(NO_TOKENS);
  }
  for (const [at, name] of TOKENS.entries()) {
    const count = tokens[name] ?? null;
    if (count === null) continue;
    if (!Number.isInteger(count) || count < 0 || count >= 2 ** 63) {
      throw new TypeError(`${name} is a whole number, not ${String(count)}`);
    }
    words[at] = BigInt(count);
  }
  return words;
}

function warn(message: string): void {
  process.emitWarning(message, "DeclusterWarning");
}

const NO_TOKENS = "a ledger adds a stream, an Answer, a Usage or Tokens; usage() reads responses";
const registry = new FinalizationRegistry<Handle>((handle) => native().ledger_free(handle));
