/** The example of Next.js, built and served for real, from the packed package. */

import assert from "node:assert/strict";
import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import { ANSWER, BROKEN, ENDLESS, HOW, Provider, payloads, soon, texts, WHY } from "./provider.js";

const HERE = fileURLToPath(new URL("../..", import.meta.url));
const ROUTE = "app/api/chat/route.ts";
const PROJECT = {
  private: true,
  dependencies: { next: "16.4.6", react: "19.3.1", "react-dom": "19.3.1" },
  // What Next.js wants for a project in TypeScript.
  devDependencies: { typescript: "^5", "@types/node": "^20", "@types/react": "^19" },
};
const BUNDLERS = ["--turbopack", "--webpack"];

const skip =
  process.env.SLOW === "1" ? false : "installs and builds Next.js for minutes: npm run test:next";

describe("Next.js", { skip }, () => {
  let folder: string;
  let project: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "decluster-next-"));
    project = join(folder, "project");
    await cp(join(HERE, "examples", "next"), project, { recursive: true });
    await writeFile(join(project, "package.json"), JSON.stringify(PROJECT));
    const packed = run("npm", ["pack", "--silent", "--pack-destination", folder], HERE).trim();
    const quietly = ["--no-audit", "--no-fund", "--silent"];
    run("npm", ["install", ...quietly, join(folder, packed)], project);
  });

  after(() => rm(folder, { recursive: true, force: true }));

  for (const bundler of BUNDLERS) {
    describe(`built with ${bundler.slice(2)}`, () => {
      before(async () => {
        await configured("");
        build(bundler);
      });

      const starting = () => ["node_modules/next/dist/bin/next", "start"];

      test("the route relays a valid stream in smaller parts, uncompressed", async () => {
        await using provider = await Provider.start(ANSWER);
        await using app = await App.start(project, starting(), provider);
        await relays(app);
      });

      test("the provider's answer ends when the browser leaves", async () => {
        await using provider = await Provider.start(ENDLESS);
        await using app = await App.start(project, starting(), provider);
        const gone = new AbortController();
        const response = await app.ask(gone.signal);
        await response.body!.getReader().read();
        gone.abort();
        assert.equal(await soon((await provider.first()).over), false);
      });

      test("the browser has all text that came before the connection broke, and an error", async () => {
        await using provider = await Provider.start(BROKEN);
        await using app = await App.start(project, starting(), provider);
        const told = await (await app.ask()).text();
        assert.equal(texts(told).join(""), WHY + HOW);
        assert.match(payloads(told).at(-1)!.error!.message, /broke off/);
      });
    });

    test(`what ${bundler.slice(2)} puts into a standalone folder runs elsewhere`, async () => {
      await configured('output: "standalone",');
      build(bundler);
      const elsewhere = join(folder, `elsewhere${bundler}`);
      await rename(join(project, ".next", "standalone"), elsewhere);
      await using provider = await Provider.start(ANSWER);
      await using app = await App.start(elsewhere, ["server.js"], provider);
      await relays(app);
    });

    test(`${bundler.slice(2)} says why it cannot build a route for the edge runtime`, async () => {
      await configured("");
      const route = join(project, ROUTE);
      const written = await readFile(route, "utf8");
      await writeFile(route, written.replace('runtime = "nodejs"', 'runtime = "edge"'));
      try {
        assert.throws(() => build(bundler), /decluster is a native library: .*runtime = 'nodejs'/);
      } finally {
        await writeFile(route, written);
      }
    });
  }

  test("turbopack names what it cannot bundle, and that decluster wants it", async () => {
    await writeFile(join(project, "next.config.ts"), "export default {};");
    assert.throws(
      () => build("--turbopack"),
      /koffi\.node \(node addon\)[\s\S]*decluster\/dist\/native\.js/,
    );
  });

  /** Gives the project the configuration of the example, and more. */
  async function configured(more: string): Promise<void> {
    const written = await readFile(join(HERE, "examples", "next", "next.config.ts"), "utf8");
    const config = written.replace("export default {", `export default { ${more}`);
    await writeFile(join(project, "next.config.ts"), config);
  }

  function build(bundler: string): void {
    run(process.execPath, ["node_modules/next/dist/bin/next", "build", bundler], project);
  }
});

async function relays(app: App): Promise<void> {
  const response = await app.ask();
  assert.equal(response.status, 200);
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(response.headers.get("cache-control"), "no-cache, no-transform");
  assert.equal(response.headers.get("content-encoding"), null);
  const told = await response.text();
  assert.equal(texts(told).join(""), WHY + HOW);
  assert.ok(texts(told).length > 2);
}

/** A server of Next.js. */
class App implements AsyncDisposable {
  private constructor(
    readonly server: ChildProcess,
    readonly url: string,
  ) {}

  static async start(folder: string, program: string[], provider: Provider): Promise<App> {
    const port = await freePort();
    const server = spawn(process.execPath, program, {
      cwd: folder,
      env: {
        ...environment(),
        ...provider.environment,
        PORT: String(port),
        HOSTNAME: "127.0.0.1",
      },
      stdio: ["ignore", "pipe", "inherit"],
    });
    await new Promise<void>((resolve, reject) => {
      server.stdout.on("data", (said) => {
        if (String(said).includes("Ready")) resolve();
      });
      server.once("close", () => reject(new Error("the server did not start")));
    });
    return new App(server, `http://127.0.0.1:${port}/api/chat`);
  }

  ask(signal: AbortSignal | null = null): Promise<Response> {
    const headers = { "content-type": "application/json", "accept-encoding": "gzip" };
    const body = JSON.stringify({ model: "m", stream: true });
    return fetch(this.url, { method: "POST", headers, body, signal });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const gone = once(this.server, "close");
    this.server.kill();
    await gone;
  }
}

/** As a user's shell has it: not that of these tests, in which the library is named. */
function environment(): NodeJS.ProcessEnv {
  const { DECLUSTER_LIBRARY: _, NODE_OPTIONS: __, NODE_TEST_CONTEXT: ___, ...rest } = process.env;
  return { ...rest, NEXT_TELEMETRY_DISABLED: "1" };
}

function run(program: string, given: string[], folder: string): string {
  try {
    return execFileSync(program, given, {
      cwd: folder,
      env: environment(),
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    throw new Error(`${program} ${given.join(" ")}:\n${stdout}${stderr}`);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}
