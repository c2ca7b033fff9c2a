/** Usage in one meaning for all providers, of responses that were not streamed. */

import { types } from "node:util";
import { BodyError } from "./errors.js";
import { named, type Tokens } from "./fields.js";
import { type Dialect, STATUS } from "./names.js";
import { give, given, native } from "./native.js";
import { refusal } from "./refusal.js";
import { isResponse } from "./source.js";

/** What a finished response says. The texts are those of choice 0. */
export interface Usage extends Tokens {
  readonly reasoningText: string;
  readonly outputText: string;
  /** Reasoning that only the provider can read, as it must be sent back. */
  readonly encrypted: readonly string[];
  /** The provider's own usage object. */
  readonly raw: unknown;
  /** As the provider names it. */
  readonly model: string | null;
  /** Null where only the usage or the error could be told. */
  readonly dialect: Dialect | null;
  /** The provider's own word for why it stopped. */
  readonly finish: string | null;
  /** The error that the response reports. */
  readonly error: unknown;
}

/**
 * What a finished (not streamed) response cost and says, whatever the provider.
 *
 * `body` is JSON as a string or bytes, what `JSON.parse` made of it, or the response object of an SDK. A
 * response that reports an error is read: see `error`.
 *
 * Throws `BodyError` for what is no response, and `TypeError` for what must be awaited or read first.
 *
 * ```js
 * const { input, output } = usage(await client.messages.create({ model, max_tokens, messages }));
 * ```
 */
export function usage(body: unknown): Usage {
  const bytes = bodyOf(body);
  const lib = native();
  const { status, handle } = give((to) => lib.body_new(to));
  if (status !== STATUS.OK) throw refusal(status, "no body can be read");
  try {
    const json = given((text, length) => lib.body_read(handle, bytes, bytes.length, text, length));
    if (typeof json === "string") return named(JSON.parse(json) as Members) as unknown as Usage;
    const says = lib.body_error(handle);
    throw json === STATUS.UNREADABLE ? new BodyError(says ?? "") : refusal(json, says);
  } finally {
    lib.body_free(handle);
  }
}

type Members = Record<string, unknown>;

/** The JSON that a response is. */
export function bodyOf(body: unknown): Uint8Array {
  if (typeof body === "string") return Buffer.from(body);
  if (types.isUint8Array(body)) return body;
  if (types.isAnyArrayBuffer(body)) return new Uint8Array(body);
  refuse(body);
  let json: string | undefined;
  try {
    json = JSON.stringify(body, plain);
  } catch (error) {
    // It holds itself, or nests too deeply.
    throw new BodyError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  if (json === undefined) throw new TypeError(`a ${typeof body} is no response: ${WHAT}`);
  return Buffer.from(json);
}

function refuse(body: unknown): void {
  if (types.isPromise(body)) {
    throw new TypeError("a promise is no response yet: await it, and give what it resolves to");
  }
  if (isResponse(body)) {
    throw new TypeError("the body of a Response must be read first: give await response.text()");
  }
}

/** What JSON does not know: numbers of any size, and bytes, which the wire has in base64. */
function plain(this: unknown, key: string, value: unknown): unknown {
  const own = (this as Record<string, unknown>)[key];
  if (types.isUint8Array(own)) return Buffer.from(own).toString("base64");
  return typeof value === "bigint" ? Number(value) : value;
}

const WHAT = "it is JSON, or an object that an SDK gives";
