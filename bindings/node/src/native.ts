/**
 * libdecluster, as functions; `include/decluster.h` is their documentation.
 *
 * Handles and addresses are numbers: an address has 48 bits, which a number holds exactly. What a
 * poll writes goes into one buffer of this thread, and texts are copied into one other.
 */

import { createRequire } from "node:module";
import { endianness } from "node:os";
import { LibraryError } from "./errors.js";
import { findLibrary, moduleUrl } from "./library.js";
import { ABI_VERSION, STATUS } from "./names.js";

/** A handle of the library; 0 is none. */
export type Handle = number;
type Time = number | bigint;

const H = "uint64_t";
const U32 = "uint32_t";
const U64 = "uint64_t";
const POINTER = "void *";
const SIZE = "size_t";
const TEXT = "str";
const STATUS_ = "int32_t";

/** Of each function what it returns and what it takes. */
export const FUNCTIONS = {
  abi_version: [U32, []],
  version: [TEXT, []],
  copy: [STATUS_, [U64, SIZE, POINTER, SIZE]],
  parameter_count: [U32, []],
  parameter_describe: [STATUS_, [U32, POINTER, SIZE]],
  parameter_choice: [TEXT, [U32, U64]],
  config_new: [STATUS_, [POINTER]],
  config_free: ["void", [H]],
  config_set: [STATUS_, [H, U32, U64]],
  config_preset: [STATUS_, [H, TEXT]],
  config_profile: [STATUS_, [H, TEXT]],
  config_error: [TEXT, [H]],
  engine_new: [STATUS_, [H, U64, POINTER]],
  engine_free: ["void", [H]],
  engine_push: [STATUS_, [H, U64, U32, U32, POINTER, SIZE, U32]],
  engine_mark: [STATUS_, [H, U64, U64, U32]],
  engine_end_block: [STATUS_, [H, U64]],
  engine_begin_attempt: [STATUS_, [H, U64]],
  engine_finish: [STATUS_, [H, U64]],
  engine_flush: [STATUS_, [H]],
  engine_cancel: [STATUS_, [H, U32]],
  engine_poll: [STATUS_, [H, U64, POINTER, SIZE]],
  engine_wants_input: [STATUS_, [H]],
  engine_stats: [STATUS_, [H, POINTER, SIZE]],
  engine_clusters: [STATUS_, [H, U32, POINTER, SIZE]],
  engine_error: [TEXT, [H]],
  rewriter_new: [STATUS_, [H, U32, U32, U64, POINTER]],
  rewriter_free: ["void", [H]],
  rewriter_share_budget: [STATUS_, [H, H]],
  rewriter_push: [STATUS_, [H, U64, POINTER, SIZE]],
  rewriter_push_line: [STATUS_, [H, U64, POINTER, SIZE]],
  rewriter_push_item: [STATUS_, [H, U64, POINTER, SIZE]],
  rewriter_push_event: [STATUS_, [H, U64, POINTER, SIZE, POINTER, SIZE]],
  rewriter_finish: [STATUS_, [H, U64]],
  rewriter_flush: [STATUS_, [H]],
  rewriter_cancel: [STATUS_, [H, U32]],
  rewriter_poll: [STATUS_, [H, U64, POINTER, SIZE]],
  rewriter_wants_input: [STATUS_, [H]],
  rewriter_framing: [STATUS_, [H]],
  rewriter_stats: [STATUS_, [H, POINTER, SIZE]],
  rewriter_clusters: [STATUS_, [H, U32, POINTER, SIZE]],
  rewriter_answer: [STATUS_, [H, POINTER, POINTER]],
  rewriter_error: [TEXT, [H]],
  segmenter_new: [STATUS_, [H, POINTER]],
  segmenter_free: ["void", [H]],
  segmenter_push: [STATUS_, [H, POINTER, SIZE]],
  segmenter_finish: [STATUS_, [H]],
  segmenter_flush: [STATUS_, [H]],
  segmenter_poll: [STATUS_, [H, POINTER, SIZE]],
  segmenter_pending: [STATUS_, [H, POINTER, POINTER]],
  segmenter_error: [TEXT, [H]],
  budget_new: [STATUS_, [U64, POINTER]],
  budget_free: ["void", [H]],
  budget_used: [STATUS_, [H, POINTER]],
  body_new: [STATUS_, [POINTER]],
  body_free: ["void", [H]],
  body_read: [STATUS_, [H, POINTER, SIZE, POINTER, POINTER]],
  body_error: [TEXT, [H]],
  prices_examples: [TEXT, []],
  ledger_new: [STATUS_, [POINTER]],
  ledger_free: ["void", [H]],
  ledger_set_prices: [STATUS_, [H, POINTER, SIZE, TEXT, TEXT]],
  ledger_add_tokens: [STATUS_, [H, TEXT, TEXT, POINTER, SIZE, U32, POINTER, POINTER]],
  ledger_add_rewriter: [STATUS_, [H, H, TEXT, TEXT, U32, POINTER, POINTER]],
  ledger_merge: [STATUS_, [H, H]],
  ledger_json: [STATUS_, [H, POINTER, POINTER]],
  ledger_error: [TEXT, [H]],
  totals_new: [STATUS_, [POINTER]],
  totals_add: [STATUS_, [H, H]],
  totals_text: [STATUS_, [H, POINTER, SIZE, POINTER]],
} as const;

type Returned = { [TEXT]: string | null; [STATUS_]: number; [U32]: number; void: undefined };
type Taken = {
  [U64]: Time;
  [U32]: number;
  [SIZE]: number;
  [TEXT]: string | null;
  [POINTER]: ArrayBufferView;
};
type Types<T extends readonly (keyof Taken)[]> = { -readonly [K in keyof T]: Taken[T[K]] };

export type Native = {
  [N in keyof typeof FUNCTIONS]: (
    ...given: Types<(typeof FUNCTIONS)[N][1]>
  ) => Returned[(typeof FUNCTIONS)[N][0]];
};

/** The functions of koffi that are used. It is loaded late, so that importing this package cannot fail. */
interface Koffi {
  load(file: string): {
    func(
      name: string,
      returned: string,
      taken: readonly string[],
    ): (...given: unknown[]) => unknown;
  };
  decode(address: number, type: string, length: number): unknown;
}

let koffi: Koffi | undefined;
let loaded: Native | undefined;

/**
 * The library, loaded at the first call.
 *
 * Throws `LibraryError` where it is not to be found, or is another one.
 */
export function native(): Native {
  loaded ??= load();
  return loaded;
}

function load(): Native {
  if (endianness() !== "LE") throw new LibraryError("decluster needs a little-endian processor");
  const file = findLibrary();
  const reason = (error: unknown) => (error instanceof Error ? error.message : String(error));
  let library: ReturnType<Koffi["load"]>;
  try {
    moduleUrl();
    // In these words tools that collect what a program needs find koffi.
    const require = createRequire(import.meta.url);
    koffi = require("koffi") as Koffi;
  } catch (error) {
    throw new LibraryError(`koffi, which loads ${file}, is not to be had: ${reason(error)}`, {
      cause: error,
    });
  }
  try {
    library = koffi.load(file);
  } catch (error) {
    throw new LibraryError(`${file} cannot be loaded: ${reason(error)}`, { cause: error });
  }
  const bind = (name: keyof Native) => {
    const [returned, taken] = FUNCTIONS[name];
    return library.func(`decluster_${name}`, returned, taken);
  };
  let version = "";
  try {
    const abi = (bind("abi_version") as Native["abi_version"])();
    version = (bind("version") as Native["version"])() ?? "";
    if (abi !== ABI_VERSION) {
      throw new LibraryError(
        `${file} (version ${version}) has ABI version ${abi}, this package needs ${ABI_VERSION}`,
      );
    }
    const names = Object.keys(FUNCTIONS) as (keyof Native)[];
    return Object.fromEntries(names.map((name) => [name, bind(name)])) as unknown as Native;
  } catch (error) {
    if (error instanceof LibraryError) throw error;
    const what = version
      ? `is libdecluster ${version}, too old for this package`
      : "is no libdecluster";
    throw new LibraryError(`${file} ${what}: ${reason(error)}`, { cause: error });
  }
}

/** `sizeof (decluster_output)`. */
export const OUTPUT_SIZE = 192;
/** What the last poll wrote, as 32-bit words: field at byte n is word n / 4. */
export const out: Uint32Array<ArrayBuffer> = new Uint32Array(OUTPUT_SIZE / 4);
const longs = new BigUint64Array(out.buffer);

/** Words of `decluster_output` that have 32 bits. */
export const AT = {
  TYPE: 0,
  WANTS_INPUT: 1,
  KIND: 2,
  INDEX: 3,
  PART: 4,
  BOUNDARY: 5,
  ENDS_BLOCK: 6,
  TOKENS: 7,
  SEQ: 8,
  BLOCK: 10,
  ORIGIN: 12,
  ARRIVED: 14,
  AT: 16,
  NUMBER: 18,
  DONE: 20,
  CHANGED: 24,
  TEXT: 28,
  TEXT_LENGTH: 30,
  NAME: 32,
  NAME_LENGTH: 34,
} as const;

/** A field of 64 bits as a number: exact below 2^53. */
export function long(at: number): number {
  return wordPair(out, at);
}

/** A field of 64 bits. */
export function bigLong(at: number): bigint {
  return longs[at >> 1]!;
}

/** A pair of 32-bit words as a number: exact below 2^53. */
export function wordPair(words: Uint32Array, at: number): number {
  return words[at]! + words[at + 1]! * 2 ** 32;
}

/** Texts on their way out. */
let outgoing = Buffer.allocUnsafeSlow(1 << 14);

/** The text of the last output. */
export function outText(): string {
  return textAt(long(AT.TEXT), long(AT.TEXT_LENGTH));
}

/** The name in the last output. */
export function outName(): string {
  return textAt(long(AT.NAME), long(AT.NAME_LENGTH));
}

/** The text of the last output as bytes of their own. */
export function outBytes(): Uint8Array<ArrayBuffer> {
  const length = long(AT.TEXT_LENGTH);
  const bytes = new Uint8Array(length);
  if (length > 0) copy(long(AT.TEXT), length, bytes);
  return bytes;
}

/** A static text that ends with a NUL. */
export function cString(address: number): string {
  native();
  return koffi!.decode(address, "char", -1) as string;
}

/** Text that belongs to a handle. */
export function textAt(address: number, length: number): string {
  if (length === 0) return "";
  if (length > KEPT) {
    const bytes = Buffer.allocUnsafeSlow(length);
    copy(address, length, bytes);
    return bytes.toString("utf8");
  }
  if (length > outgoing.length) outgoing = Buffer.allocUnsafeSlow(KEPT);
  copy(address, length, outgoing);
  return outgoing.toString("utf8", 0, length);
}

function copy(address: number, length: number, to: Uint8Array): void {
  const status = native().copy(address, length, to, to.length);
  if (status !== STATUS.OK) throw new LibraryError(`a text cannot be copied (${status})`);
}

/** Whether a text can be UTF-8: it holds no half of a character. */
export function isWellFormed(text: string): boolean {
  // Of ES2024, and in all of Node 20.
  return (text as unknown as { isWellFormed(): boolean }).isWellFormed();
}

/** Text on its way in: `bytes` until the next call, of which `length` count. */
interface Encoded {
  bytes: Uint8Array;
  length: number;
}

let incoming = Buffer.allocUnsafeSlow(1 << 14);
const encoded: Encoded = { bytes: incoming, length: 0 };

/** UTF-8 of a text, in a buffer that the next call uses again. Halves of characters become U+FFFD. */
export function encode(text: string): Encoded {
  // A UTF-16 unit takes three bytes at most.
  const most = text.length * 3;
  if (most > KEPT) {
    const bytes = Buffer.from(text);
    return { bytes, length: bytes.length };
  }
  if (most > incoming.length) incoming = Buffer.allocUnsafeSlow(KEPT);
  encoded.bytes = incoming;
  encoded.length = incoming.write(text, 0, "utf8");
  return encoded;
}

/** Bytes that are kept between calls, for each direction; longer texts take their own. */
const KEPT = 1 << 18;

const made = new Uint32Array(2);

/** What a `_new()` function gave; `status` is its status. */
export function give(make: (to: Uint32Array) => number): { status: number; handle: Handle } {
  made.fill(0);
  const status = make(made);
  return { status, handle: wordPair(made, 0) };
}

const pointer = new Uint32Array(2);
const size = new Uint32Array(2);

/** Text that a function gives as a pointer and a length. */
export function given(ask: (pointer: Uint32Array, length: Uint32Array) => number): string | number {
  const status = ask(pointer, size);
  return status === STATUS.OK ? textAt(wordPair(pointer, 0), wordPair(size, 0)) : status;
}
