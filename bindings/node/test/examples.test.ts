/** The examples do what they say, against a provider on loopback. */

import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import {
  ANSWER,
  BROKEN,
  ENDLESS,
  event,
  HOW,
  Provider,
  payloads,
  REFUSAL,
  REFUSED,
  type Script,
  soon,
  start,
  texts,
  WHY,
} from "./provider.js";

const EXAMPLES = new URL("../examples/", import.meta.url);
/** Where nobody listens: the port is one that no server may take. */
const NOWHERE = "http://127.0.0.1:1";

before(() => {
  // The examples import the package by its name.
  assert.match(import.meta.resolve("decluster"), /\/build\/src\/index\.js$/, "use npm test");
});

describe("read.ts", () => {
  test("shows all of the text, in more parts than it came in", async () => {
    await using provider = await Provider.start(ANSWER);
    const program = run("read.js", provider.environment, "Why", "so?");
    let parts = 0;
    program.stdout.on("data", () => {
      parts += 1;
    });
    assert.deepEqual(await ended(program), { code: 0, out: `${WHY}${HOW}\n`, err: "" });
    assert.ok(parts > 2, `${parts} parts`);
    const { body, headers } = await provider.first();
    assert.deepEqual(body.messages, [{ role: "user", content: "Why so?" }]);
    assert.equal(headers.authorization, "Bearer k");
  });

  test("ends the provider's answer with Ctrl-C, and says nothing of it", async () => {
    await using provider = await Provider.start(ENDLESS);
    const program = run("read.js", provider.environment, "Why?");
    const done = ended(program);
    const { over } = await provider.first();
    await once(program.stdout, "data");
    program.kill("SIGINT");
    assert.equal(await soon(over), false);
    const { code, out, err } = await done;
    assert.deepEqual({ code, err }, { code: 0, err: "" });
    assert.ok(`${HOW} `.repeat(1000).startsWith(out.slice(0, -1)));
  });

  test("says why a provider refuses", async () => {
    await using provider = await Provider.start(REFUSED);
    const { code, err } = await ended(run("read.js", provider.environment, "Why?"));
    assert.equal(code, 1);
    assert.match(err, /401: .*no such key/);
  });

  test("shows what came before the connection broke, and fails", async () => {
    await using provider = await Provider.start(BROKEN);
    const { code, out, err } = await ended(run("read.js", provider.environment, "Why?"));
    assert.deepEqual({ code, out }, { code: 1, out: WHY + HOW });
    assert.match(err, /terminated/);
  });

  test("says that an answer which only stops is not all of it", async () => {
    await using provider = await Provider.start((response) => {
      start(response);
      response.end(event({ content: HOW }));
    });
    const { code, out, err } = await ended(run("read.js", provider.environment, "Why?"));
    assert.deepEqual({ code, out }, { code: 1, out: `${HOW}\n` });
    assert.match(err, /not all of it/);
  });
});

test("openai.ts shows what the model says", async () => {
  await using provider = await Provider.start(ANSWER);
  const shown = await ended(run("openai.js", provider.environment, "Why?"));
  assert.deepEqual(shown, { code: 0, out: `${HOW}\n`, err: "" });
});

describe("aisdk.ts", () => {
  test("shows thoughts and what is said, in more parts than they came in", async () => {
    await using provider = await Provider.start(ANSWER);
    const program = run("aisdk.js", provider.environment, "Why?");
    let parts = 0;
    program.stdout.on("data", () => {
      parts += 1;
    });
    assert.deepEqual(await ended(program), { code: 0, out: `${WHY}${HOW}\n`, err: "" });
    assert.ok(parts > 2, `${parts} parts`);
  });

  test("says why a provider refuses", async () => {
    await using provider = await Provider.start(REFUSED);
    const { code, err } = await ended(run("aisdk.js", provider.environment, "Why?"));
    assert.equal(code, 1);
    assert.match(err, /no such key/);
  });
});

describe("relay.ts", () => {
  test("relays a valid stream in smaller parts, with headers against buffering", async () => {
    await using relay = await Relay.start(ANSWER);
    const answer = await relay.ask();
    assert.equal(answer.statusCode, 200);
    assert.deepEqual(own(answer), {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "transfer-encoding": "chunked",
    });
    const told = await text(answer);
    assert.equal(texts(told).join(""), WHY + HOW);
    assert.ok(texts(told).length > 2);
    assert.ok(told.endsWith("data: [DONE]\n\n"));
  });

  test("sends its own key, asks for no compression, and passes the body on", async () => {
    await using relay = await Relay.start(ANSWER);
    await text(await relay.ask({ model: "other", stream: true }));
    const { headers, body } = await relay.provider.first();
    assert.equal(headers.authorization, "Bearer k");
    assert.equal(headers["accept-encoding"], "identity");
    assert.deepEqual(body, { model: "other", stream: true });
  });

  test("gives no length and no encoding, where the provider did", async () => {
    await using relay = await Relay.start((response) => {
      const body = gzipSync(`${event({ content: HOW })}${event({}, "stop")}data: [DONE]\n\n`);
      start(response, { "content-encoding": "gzip", "content-length": String(body.length) });
      response.end(body);
    });
    const answer = await relay.ask();
    assert.equal(answer.headers["content-encoding"], undefined);
    assert.equal(answer.headers["content-length"], undefined);
    assert.equal(texts(await text(answer)).join(""), HOW);
  });

  test("sends its head before the model says anything", async () => {
    let said = () => {};
    await using relay = await Relay.start(async (response) => {
      start(response);
      response.flushHeaders();
      await new Promise<void>((resolve) => {
        said = resolve;
      });
      response.end(event({ content: HOW }));
    });
    const answer = await soon(relay.ask());
    assert.equal(answer.statusCode, 200);
    said();
    assert.equal(texts(await text(answer)).join(""), HOW);
  });

  test("ends the provider's answer when its reader leaves", async () => {
    await using relay = await Relay.start(ENDLESS);
    const answer = await relay.ask();
    await once(answer, "data");
    answer.destroy();
    assert.equal(await soon((await relay.provider.first()).over), false);
  });

  test("ends the request to the provider when its reader leaves before the answer", async () => {
    await using relay = await Relay.start(() => {});
    const asking = relay.request();
    const { over } = await relay.provider.first();
    asking.destroy();
    assert.equal(await soon(over), false);
  });

  test("lets the provider wait while its reader does", async () => {
    const enough = 64 * 2 ** 20;
    let sent = 0;
    let stuck = () => {};
    const waits = new Promise<void>((resolve) => {
      stuck = resolve;
    });
    // Text would wait for its time in any case.
    const part = event({ padding: "-".repeat(4000) });
    await using relay = await Relay.start(async (response) => {
      start(response);
      while (sent < enough && !response.destroyed) {
        sent += part.length;
        if (response.write(part)) continue;
        const timer = setTimeout(stuck, 1500);
        await once(response, "drain");
        clearTimeout(timer);
      }
      stuck();
      response.end("data: [DONE]\n\n");
    });
    const answer = await relay.ask();
    answer.pause();
    await waits;
    assert.ok(sent < enough, "the relay took in all of it");
    answer.destroy();
  });

  test("passes on what the provider refuses", async () => {
    await using relay = await Relay.start(REFUSED);
    const answer = await relay.ask();
    assert.equal(answer.statusCode, 401);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.equal(await text(answer), REFUSAL);
  });

  test("says so if there is no provider", async () => {
    await using relay = await Relay.start(ANSWER, { OPENAI_BASE_URL: NOWHERE });
    const answer = await relay.ask();
    assert.equal(answer.statusCode, 502);
    assert.match(await text(answer), /^\{"error":\{"message":"no provider: TypeError/);
  });

  test("tells of a connection that broke in an event of its own, after all text", async () => {
    await using relay = await Relay.start(BROKEN);
    const told = await text(await relay.ask());
    assert.equal(texts(told).join(""), WHY + HOW);
    assert.match(payloads(told).at(-1)!.error!.message, /broke off: .*terminated/);
  });

  test("goes on after readers that left and providers that broke off", async () => {
    let count = 0;
    await using relay = await Relay.start((response) => {
      count += 1;
      return count === 1 ? ENDLESS(response) : count === 2 ? BROKEN(response) : ANSWER(response);
    });
    const first = await relay.ask();
    await once(first, "data");
    first.destroy();
    await text(await relay.ask());
    assert.equal(texts(await text(await relay.ask())).join(""), WHY + HOW);
  });
});

describe("the route of Next.js", () => {
  test("relays a valid stream in smaller parts, with headers against buffering", async () => {
    await using provider = await Provider.start(ANSWER);
    const response = await post(provider.environment);
    assert.equal(response.status, 200);
    assert.deepEqual(Object.fromEntries(response.headers), {
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    const told = await response.text();
    assert.equal(texts(told).join(""), WHY + HOW);
    assert.ok(texts(told).length > 2);
    assert.ok(told.endsWith("data: [DONE]\n\n"));
    assert.equal((await provider.first()).headers.authorization, "Bearer k");
  });

  test("runs in Node, is asked each time, and is given time", async () => {
    const { runtime, dynamic, maxDuration } = await route();
    assert.deepEqual([runtime, dynamic, maxDuration], ["nodejs", "force-dynamic", 300]);
  });

  for (const [how, leave] of [
    ["the request is aborted", (gone: AbortController) => gone.abort()],
    ["the body is cancelled", (_: AbortController, response: Response) => response.body!.cancel()],
  ] as const) {
    test(`ends the provider's answer when ${how}`, async () => {
      await using provider = await Provider.start(ENDLESS);
      const gone = new AbortController();
      const response = await post(provider.environment, { signal: gone.signal });
      const reader = response.body!.getReader();
      await reader.read();
      reader.releaseLock();
      await leave(gone, response);
      assert.equal(await soon((await provider.first()).over), false);
    });
  }

  test("passes on what the provider refuses", async () => {
    await using provider = await Provider.start(REFUSED);
    const response = await post(provider.environment);
    assert.equal(response.status, 401);
    assert.equal(await response.text(), REFUSAL);
  });

  test("says so if there is no provider", async () => {
    const response = await post({ OPENAI_BASE_URL: NOWHERE });
    assert.equal(response.status, 502);
    assert.match(await response.text(), /no provider: TypeError/);
  });

  test("tells of a connection that broke in an event of its own, after all text", async () => {
    await using provider = await Provider.start(BROKEN);
    const told = await (await post(provider.environment)).text();
    assert.equal(texts(told).join(""), WHY + HOW);
    assert.match(payloads(told).at(-1)!.error!.message, /broke off: .*terminated/);
  });
});

/** A program among the examples. */
function run(name: string, environment: Record<string, string>, ...given: string[]) {
  const file = new URL(name, EXAMPLES).pathname;
  return spawn(process.execPath, ["--conditions=decluster-workspace", file, ...given], {
    env: { ...process.env, ...environment },
    stdio: ["ignore", "pipe", "pipe"],
  });
}

type Program = ChildProcessByStdio<null, Readable, Readable>;

async function ended(program: Program): Promise<{ code: number; out: string; err: string }> {
  const [[code], out, err] = await Promise.all([
    once(program, "close") as Promise<[number]>,
    text(program.stdout),
    text(program.stderr),
  ]);
  return { code, out, err };
}

/** The relay, with a provider behind it. */
class Relay implements AsyncDisposable {
  private constructor(
    readonly provider: Provider,
    readonly program: Program,
    readonly url: string,
  ) {}

  static async start(script: Script, environment: Record<string, string> = {}): Promise<Relay> {
    const provider = await Provider.start(script);
    const program = run("relay.js", { ...provider.environment, PORT: "0", ...environment });
    const [line] = (await once(program.stdout, "data")) as [Buffer];
    return new Relay(provider, program, String(line).trim().replace("localhost", "127.0.0.1"));
  }

  request(body: object = { stream: true }) {
    const asking = request(this.url, { method: "POST" });
    asking.on("error", () => {});
    asking.end(JSON.stringify(body));
    return asking;
  }

  async ask(body?: object): Promise<IncomingMessage> {
    const [answer] = (await once(this.request(body), "response")) as [IncomingMessage];
    return answer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.program, "close");
    const said = text(this.program.stderr);
    this.program.kill();
    const [code] = await gone;
    await this.provider[Symbol.asyncDispose]();
    // It ended by our signal, and not before.
    assert.equal(code, null, await said);
    assert.equal(await said, "");
  }
}

/** The headers that are not of HTTP itself. */
function own({ headers }: IncomingMessage): Record<string, unknown> {
  const { date: _, connection: __, "keep-alive": ___, ...rest } = headers;
  return rest;
}

async function route() {
  return await import("../examples/next/app/api/chat/route.js");
}

async function post(environment: Record<string, string>, more: RequestInit = {}) {
  Object.assign(process.env, environment);
  const { POST } = await route();
  const body = JSON.stringify({ model: "m", stream: true });
  return await POST(new Request("http://localhost/api/chat", { method: "POST", body, ...more }));
}
