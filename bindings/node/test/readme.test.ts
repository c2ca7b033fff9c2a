/** The blocks of TypeScript in both READMEs compile, strictly, and do what the text says. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import * as decluster from "../src/index.js";
import { ANSWER, event, HOW, Provider, type Script, start, texts, WHY } from "./provider.js";

const PACKAGE = new URL("../../", import.meta.url);
/** Within this package, so that its name is found. */
const FOLDER = new URL("build/readme/", PACKAGE);
/** What the text says the reader has. */
const NAMES = `
  declare const url: string, headers: Record<string, string>, body: string, model: string, prompt: string;
  declare const messages: { role: "user"; content: string }[];
  declare const handle: (item: unknown) => void;
  declare const response: Response;
  declare const provider: (model: string) => import("ai").LanguageModel;
`;

const readmes = ["README.md", "../../README.md"].map((name) =>
  readFileSync(new URL(name, PACKAGE), "utf8"),
);
const [own, root] = readmes.map(blocks) as [string[], string[]];

before(() => {
  rmSync(FOLDER, { recursive: true, force: true });
  mkdirSync(FOLDER, { recursive: true });
  writeFileSync(new URL("names.d.ts", FOLDER), NAMES);
  [...own, ...root].forEach((block, at) => {
    writeFileSync(new URL(`block${at}.mts`, FOLDER), block);
  });
  const config = {
    extends: "../../tsconfig.json",
    compilerOptions: { rootDir: ".", outDir: ".", declaration: false },
    include: ["."],
    exclude: [],
  };
  writeFileSync(new URL("tsconfig.json", FOLDER), JSON.stringify(config));
  const tsc = fileURLToPath(new URL("node_modules/.bin/tsc", PACKAGE));
  try {
    execFileSync(tsc, ["-p", fileURLToPath(FOLDER)], { encoding: "utf8" });
  } catch (error) {
    throw new Error((error as { stdout: string }).stdout);
  }
});

after(() => rmSync(FOLDER, { recursive: true, force: true }));

for (const [which, found] of [
  ["its own README", own],
  ["the README of the project", root],
] as const) {
  test(`${which}: a response of fetch is read to its end`, async () => {
    const { items } = await run(one(found, "response = wrap(await fetch("));
    assertPaced(texts(joined(items)), WHY + HOW);
  });

  test(`${which}: the stream of the openai package is read to its end`, async () => {
    const { items } = await run(one(found, "of wrap(stream)"));
    assertPaced(said(items), WHY + HOW);
  });

  test(`${which}: the AI SDK's parts come paced, and all of them`, async () => {
    const { items } = await run(one(found, "smoothStream()"));
    const parts = items as { type: string; text?: string }[];
    const deltas = parts.filter(({ type }) => type.endsWith("-delta"));
    assertPaced(
      deltas.map((part) => part.text!),
      WHY + HOW,
    );
    assert.equal(parts.at(-1)!.type, "finish");
  });
}

test("an SDK's helper is paced below it", async () => {
  const { items } = await run(one(own, "chat.completions.stream("));
  assertPaced(said(items), WHY + HOW);
});

test("a body is piped through a transform", async () => {
  const { items } = await run(one(own, "pipeThrough"));
  assertPaced(texts(joined(items)), WHY + HOW);
});

test("pieces of output are written as they come", async (context) => {
  const written = context.mock.method(process.stdout, "write", () => true);
  await run(one(own, "process.stdout.write"));
  const out = written.mock.calls.map((call) => String(call.arguments[0]));
  written.mock.restore();
  assert.ok(out.join("").includes(HOW.slice(0, 30)));
});

test("collect gives the answer, what it cost, and how it ended", async () => {
  const { printed } = await run(one(own, "await collect(response)"));
  assert.deepEqual(printed, [[HOW, null, "complete"]]);
});

test("a budget lets what is within it through, and says what was used", async () => {
  const { items, printed } = await run(one(own, "maxReasoningTokens: 8192"), (response) => {
    start(response);
    for (let at = 0; at < 600; at += 1) response.write(event({ reasoning_content: `${WHY} ` }));
    response.end(`${event({}, "stop")}data: [DONE]\n\n`);
  });
  assert.ok(items.every((piece) => (piece as decluster.Piece).kind === "reasoning"));
  assert.match(String(printed[0]), /^gave up: about 8\d+ tokens, the limit is 8192$/);
});

test("a shared budget says what is left of it", async () => {
  const { printed } = await run(one(own, "new Budget("));
  const [[output, used, remaining]] = printed as [[string, number, number]];
  assert.equal(output, HOW);
  assert.ok(used > 15 && used < 30, `${used} tokens`);
  assert.equal(remaining, 20_000 - used);
});

test("the sums are served as Prometheus reads them", async () => {
  await run(one(own, "response.end(metrics())"), ANSWER, async ({ server }) => {
    const metrics = server as Server;
    await new Promise<void>((resolve) => metrics.listen(0, "127.0.0.1", resolve));
    const answer = await fetch(`http://127.0.0.1:${(metrics.address() as AddressInfo).port}`);
    assert.match(answer.headers.get("content-type")!, /^text\/plain; version=0\.0\.4;/);
    assert.match(await answer.text(), /^decluster_streams_total\{verdict="complete"\} [1-9]/m);
    await new Promise((resolve) => metrics.close(resolve));
  });
});

test("a ledger says what it cost", async () => {
  const { printed } = await run(one(own, "new Ledger("));
  assert.deepEqual(printed, [["0.0024", 2, "mail"]]);
});

test("a signal for the request is one for the pieces, too", async () => {
  const { items } = await run(one(own, "AbortSignal.timeout"));
  assertPaced(items.map(String), WHY + HOW);
});

test("the route of Next.js relays a valid stream, and nothing compresses it", async () => {
  await run(one(own, "export async function POST"), ANSWER, async ({ POST }) => {
    const body = JSON.stringify({ model: "m" });
    const asked = new Request("http://localhost/", { method: "POST", body });
    const response: Response = await (POST as (request: Request) => Promise<Response>)(asked);
    assert.match(response.headers.get("cache-control")!, /no-transform/);
    assertPaced(texts(await response.text()), WHY + HOW);
  });
});

test("the configuration of Next.js is that of the example", async () => {
  const example = await import("../examples/next/next.config.js");
  await run(one(own, "// next.config.ts"), ANSWER, async (config) => {
    assert.deepEqual(config.default, example.default);
  });
});

test("the segmenter gives whole sentences", async () => {
  const { items } = await run(one(own, "new Segmenter("));
  assert.deepEqual(items, ["It took 3.5 hours, wrote Dr. Ito.", " Then it held.\n"]);
});

test("the engine gives what is due on a clock of one's own", async () => {
  const { items } = await run(one(own, "new Engine("));
  assert.equal(items.join(""), "It took hours. Then it held.");
});

test("every block is run here", () => {
  assert.deepEqual([own.length, root.length], [16, 3]);
});

test("the parameters and their defaults are those that there are", () => {
  const known = new Map(
    decluster.parameters().map((parameter) => [parameter.name as string, parameter]),
  );
  const rows = [...readmes[0]!.matchAll(/^\| `(\w+)` \| (\S+) \|/gm)];
  assert.ok(rows.length > 5);
  for (const [, name, initially] of rows) {
    assert.equal(`${known.get(name!)?.default}`, initially!.replaceAll(/[`"]/g, ""), name);
  }
});

test("the verbs that it names are there", () => {
  const verbs = [...readmes[0]!.matchAll(/^\| `(\w+)\(source\)`/gm)].map(([, name]) => name!);
  assert.deepEqual(verbs, ["wrap", "pieces", "blocks", "collect"]);
  assert.ok(verbs.every((verb) => verb in decluster));
});

let runs = 0;

type Module = Record<string, unknown>;

/** Runs a block against a provider: what it handled, and what it printed. */
async function run(
  block: string,
  script: Script = ANSWER,
  use: (module: Module) => Promise<void> = async () => {},
): Promise<{ items: unknown[]; printed: unknown[][] }> {
  await using provider = await Provider.start(script);
  const items: unknown[] = [];
  const printed: unknown[][] = [];
  const url = `${provider.url}/chat/completions`;
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ model: "m", stream: true });
  Object.assign(process.env, provider.environment);
  Object.assign(globalThis, {
    url,
    headers,
    body,
    model: "m",
    prompt: "Why?",
    messages: [{ role: "user", content: "Why?" }],
    handle: (item: unknown) => items.push(item),
    response: block.includes("(response")
      ? await fetch(url, { method: "POST", headers, body })
      : undefined,
    provider: createOpenAICompatible({ name: "provider", baseURL: provider.url }),
  });
  const { log } = console;
  console.log = (...given: unknown[]) => void printed.push(given);
  try {
    const at = [...own, ...root].indexOf(block);
    // Both READMEs may have the same block: it runs anew.
    runs += 1;
    await use((await import(new URL(`block${at}.mjs?${runs}`, FOLDER).href)) as Module);
  } finally {
    console.log = log;
  }
  return { items, printed };
}

/** The one block that has this in it. */
function one(found: string[], part: string): string {
  const [block, ...more] = found.filter((each) => each.includes(part));
  assert.ok(block !== undefined && more.length === 0, `one block has ${part}`);
  return block;
}

function blocks(readme: string): string[] {
  return [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(([, code]) => code!);
}

function assertPaced(parts: string[], whole: string): void {
  assert.equal(parts.join(""), whole);
  // It came in two.
  assert.ok(parts.length > 2, `${parts.length} parts`);
}

function joined(items: unknown[]): string {
  return Buffer.concat(items as Uint8Array[]).toString();
}

/** The texts of an SDK's chunks. */
function said(chunks: unknown[]): string[] {
  return texts(chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join(""));
}
