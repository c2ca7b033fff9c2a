/** Leaves a stream early whose source stays open and whose text is queued; then nothing is left to do. */

import { get, type IncomingMessage } from "node:http";
import { pieces, wrap } from "../../src/index.js";

const [how, url] = process.argv.slice(2) as [string, string];
const slow = { pace: "fixed", rate: 1, burst: 1, maxDelay: 60_000, unit: "word" } as const;

switch (how) {
  case "abort": {
    const controller = new AbortController();
    const stream = pieces(await fetch(url), { ...slow, signal: controller.signal });
    await stream.next();
    setImmediate(() => controller.abort("enough"));
    await stream.next().then(
      () => process.exit(3),
      (reason) => {
        if (reason !== "enough") process.exit(4);
      },
    );
    break;
  }
  case "break":
    for await (const _ of wrap(await fetch(url), slow).body!) break;
    break;
  case "close": {
    const stream = wrap((await fetch(url)).body!, slow);
    const reader = stream.getReader();
    await reader.read();
    const reading = reader.read();
    await stream.close();
    if (!(await reading).done) process.exit(5);
    break;
  }
  case "destroy": {
    const response = await new Promise<IncomingMessage>((resolve) => get(url, resolve));
    const stream = wrap(response, slow);
    stream.once("data", () => stream.destroy());
    break;
  }
  default: {
    const stream = pieces(await fetch(url), slow);
    await stream.next();
    setTimeout(() => process.exit(7), 300);
    void stream.next();
  }
}
