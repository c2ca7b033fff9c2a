/** What `npm pack` gives: it installs into a project of its own, and works there. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { fileName, targetName, VARIABLE } from "../src/library.js";

const here = fileURLToPath(new URL("../..", import.meta.url));
const workspace = resolve(here, "..", "..");
const cargoTarget = resolve(workspace, process.env.CARGO_TARGET_DIR ?? "target");
const built = join(cargoTarget, "release", fileName());
const skip = existsSync(built) ? false : `there is no ${built}: \`make libdecluster\` builds it`;

const folder = realpathSync(mkdtempSync(join(tmpdir(), "decluster-pack-")));
after(() => rmSync(folder, { recursive: true, force: true }));

interface Ran {
  stdout: string;
  stderr: string;
  code: number;
}

/** Runs a program, without the variable that names the library. */
async function run(cwd: string, program: string, ...given: string[]): Promise<Ran> {
  const { [VARIABLE]: _, ...environment } = process.env;
  const env = { ...environment, CARGO_TARGET_DIR: cargoTarget };
  const options = { cwd, env, maxBuffer: 64 << 20 };
  try {
    return { ...(await promisify(execFile)(program, given, options)), code: 0 };
  } catch (error) {
    const { stdout = "", stderr = String(error), code = -1 } = error as Partial<Ran>;
    return { stdout, stderr, code };
  }
}

interface Packed {
  filename: string;
  files: { path: string; size: number }[];
}

/** Packs a copy of this folder, so that tests beside this one find theirs unchanged. */
async function pack(): Promise<Packed> {
  const copy = join(folder, "workspace");
  mkdirSync(join(copy, "bindings", "node"), { recursive: true });
  const link = (from: string, to: string, ...without: string[]) => {
    for (const entry of readdirSync(from)) {
      if (!without.includes(entry)) symlinkSync(join(from, entry), join(to, entry));
    }
  };
  link(workspace, copy, "bindings", "target", ".git");
  link(join(workspace, "bindings"), join(copy, "bindings"), "node");
  const own = join(copy, "bindings", "node");
  for (const entry of readdirSync(here)) {
    if (["build", "dist", "lib", "node_modules"].includes(entry) || entry.endsWith(".tgz"))
      continue;
    cpSync(join(here, entry), join(own, entry), { recursive: true });
  }
  symlinkSync(join(here, "node_modules"), join(own, "node_modules"));
  const { stdout, stderr, code } = await run(
    own,
    "npm",
    "pack",
    "--json",
    "--pack-destination",
    folder,
  );
  assert.equal(code, 0, stderr);
  const [packed] = JSON.parse(stdout) as [Packed];
  return packed;
}

/** The project that the tarball is installed into, or why it cannot be. */
async function install(packed: Packed): Promise<{ project: string; offline?: string }> {
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts"];
  const tarball = join(folder, packed.filename);
  const { code, stderr } = await run(project, "npm", "install", ...quiet, tarball);
  if (code !== 0 && /ENOTFOUND|ECONNREFUSED|EAI_AGAIN|ETIMEDOUT|ENOTCACHED|E40[34]/.test(stderr)) {
    return { project, offline: "koffi cannot be had from npm's registry" };
  }
  assert.equal(code, 0, stderr);
  for (const name of ["typescript", "@types", "@typescript", "undici-types"]) {
    symlinkSync(join(here, "node_modules", name), join(project, "node_modules", name));
  }
  return { project };
}

const CONSUMER = `import { type Piece, pieces, wrap } from "decluster";
const chunk = (content: string): string =>
  \`data: \${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\\n\\n\`;
await using stream = pieces([chunk("It took hours. "), chunk("Then it held.")], { unit: "word", maxTail: 0 });
const found: Piece[] = [];
for await (const piece of stream) found.push(piece);
const tokens: number | null = stream.tokens?.output ?? null;
const headers = { "content-type": "text/event-stream" };
const response: Response = wrap(new Response(chunk("And so on."), { headers }));
console.log(found.join(""), tokens, found[0]?.kind, (await response.text()).includes("And"));
`;

test("the packed tarball", { skip }, async (t) => {
  const packed = await pack();

  await t.test("holds what was compiled, the library, the examples and the licences", () => {
    const paths = packed.files.map(({ path }) => path);
    assert.equal(packed.filename, "decluster-0.1.0.tgz");
    for (const path of [
      "package.json",
      "dist/index.js",
      "dist/index.d.ts",
      "dist/edge.js",
      "README.md",
      "examples/next/app/api/chat/route.ts",
      "LICENSE-MIT",
      "LICENSE-APACHE",
      `lib/${targetName()}/${fileName()}`,
    ]) {
      assert.ok(paths.includes(path), `${path} is missing`);
    }
    const others = paths.filter(
      (path) => !/^(dist|lib|examples)\/|^(package\.json|README\.md|LICENSE-)/.test(path),
    );
    assert.deepEqual(others, []);
    const compiled = paths.filter((path) => !path.startsWith("examples/"));
    assert.ok(compiled.every((path) => !/\.test\.|\.ts$(?<!\.d\.ts)|\.map$/.test(path)));
    assert.equal(paths.filter((path) => path.startsWith("lib/")).length, 1);
  });

  const { project, offline } = await install(packed);
  const needs = { skip: offline ?? false };

  await t.test("runs with the library that it brings", needs, async () => {
    const code = `import { Segmenter } from "decluster"; console.log(new Segmenter().push("It took hours. Then").join(""));`;
    const { stdout, stderr } = await run(
      project,
      process.execPath,
      "--input-type=module",
      "--eval",
      code,
    );
    assert.equal(stdout, "It took hours.\n", stderr);
  });

  const tsc = join(project, "node_modules", "typescript", "bin", "tsc");
  const check = async (called: string, source: string, lib: string[]): Promise<Ran> => {
    const where = join(project, called);
    mkdirSync(where, { recursive: true });
    writeFileSync(join(where, "consumer.ts"), source);
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      target: "es2022",
      module: "nodenext",
      types: ["node"],
      lib,
      outDir: "out",
    };
    writeFileSync(
      join(where, "tsconfig.json"),
      JSON.stringify({ compilerOptions, files: ["consumer.ts"] }),
    );
    return run(project, process.execPath, tsc, "-p", where);
  };

  for (const [called, lib] of [
    ["node", ["es2023", "esnext.disposable"]],
    ["dom", ["es2023", "esnext.disposable", "dom", "dom.iterable", "dom.asynciterable"]],
  ] as const) {
    await t.test(
      `a ten-line consumer is right for tsc --strict, and runs: ${called}`,
      needs,
      async () => {
        assert.ok(CONSUMER.trim().split("\n").length <= 11);
        const { code, stdout, stderr } = await check(called, CONSUMER, [...lib]);
        assert.equal(code, 0, stdout + stderr);
        const ran = await run(
          project,
          process.execPath,
          join(project, called, "out", "consumer.js"),
        );
        assert.equal(ran.stdout, "It took hours. Then it held. null output true\n", ran.stderr);
      },
    );

    await t.test(`the types refuse what the package refuses: ${called}`, needs, async () => {
      const wrong = CONSUMER.replace('unit: "word"', 'unit: "sentence"');
      const { code, stdout } = await check(`${called}-wrong`, wrong, [...lib]);
      assert.notEqual(code, 0);
      assert.match(stdout, /consumer\.ts\(4,.*"sentence"/s);
      const misspelt = CONSUMER.replace("maxTail", "maxTale");
      const { code: second, stdout: says } = await check(`${called}-misspelt`, misspelt, [...lib]);
      assert.notEqual(second, 0);
      assert.match(says, /maxTale/);
    });
  }

  await t.test("the types need no library of their own beyond es2022", needs, async () => {
    const plain = CONSUMER.replace("await using", "const");
    for (const [called, lib] of [
      ["es2022", ["es2022"]],
      ["es2022-dom", ["es2022", "dom"]],
    ] as const) {
      const { code, stdout, stderr } = await check(called, plain, [...lib]);
      assert.equal(code, 0, stdout + stderr);
    }
  });

  await t.test(
    "is there for require() where Node can load modules so, else Node says what to do",
    needs,
    async () => {
      const code = `const { Segmenter } = require("decluster"); console.log(new Segmenter().push("It took hours. Then").join(""));`;
      const { stdout, stderr } = await run(
        project,
        process.execPath,
        "--input-type=commonjs",
        "--eval",
        code,
      );
      const can = (process.features as { require_module?: boolean }).require_module === true;
      if (can) assert.equal(stdout, "It took hours.\n");
      else assert.match(stderr, /ERR_REQUIRE_ESM/);
      t.diagnostic(
        `require("decluster") ${can ? "works" : "is refused"} in Node ${process.version}`,
      );
    },
  );
});
