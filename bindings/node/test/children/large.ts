/** Says how many bytes of buffers are kept after a text of 100 MB. Needs `--expose-gc`. */

import { setImmediate } from "node:timers/promises";
import { Engine, TooLarge } from "../../src/index.js";

try {
  new Engine().push(0n, "output", "x".repeat(100_000_000));
} catch (error) {
  if (!(error instanceof TooLarge)) throw error;
}
await setImmediate();
gc!();
// Those of a text are freed in the background.
await setImmediate();
gc!();
console.log(JSON.stringify({ kept: process.memoryUsage().arrayBuffers }));
