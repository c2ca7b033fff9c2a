/** Where the library is looked for, and what is said where it is not, or is another one. */

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import fs, {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, mock, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { LibraryError } from "../src/index.js";
import { fileName, findLibrary, targetName, VARIABLE } from "../src/library.js";

const here = fileURLToPath(new URL("../..", import.meta.url));
const compiled = fileURLToPath(new URL("../src", import.meta.url));
const library = findLibrary();
const target = targetName();
const name = fileName();
const folder = realpathSync(mkdtempSync(join(tmpdir(), "decluster-")));
after(() => rmSync(folder, { recursive: true, force: true }));

/** What was compiled, as a package of its own at this place. */
function packageAt(...place: string[]): string {
  const root = join(folder, ...place);
  mkdirSync(join(root, "dist"), { recursive: true });
  copyFileSync(join(here, "package.json"), join(root, "package.json"));
  for (const file of readdirSync(compiled)) {
    if (file.endsWith(".js")) cpSync(join(compiled, file), join(root, "dist", file));
  }
  return root;
}

/** A project that has this package, and no library. */
function project(called: string): string {
  packageAt(called, "node_modules", "decluster");
  symlinkSync(join(here, "node_modules", "koffi"), join(folder, called, "node_modules", "koffi"));
  return join(folder, called);
}

const TRY = `import { Segmenter } from "decluster";
try { console.log(new Segmenter().push("It took hours. Then").join("")); }
catch (error) { console.log(error.name + ": " + error.message); }`;

interface Asked {
  variable?: string;
  code?: string;
  flags?: string[];
  environment?: Record<string, string>;
}

/** What a program in this folder prints. */
async function run(
  cwd: string,
  { variable, code = TRY, flags = [], environment = {} }: Asked = {},
): Promise<string> {
  const { [VARIABLE]: _, CARGO_TARGET_DIR: __, ...env } = process.env;
  if (variable !== undefined) env[VARIABLE] = variable;
  const given = [...flags, "--input-type=module", "--eval", code];
  const { stdout } = await promisify(execFile)(process.execPath, given, {
    cwd,
    env: { ...env, ...environment },
  });
  return stdout.trim();
}

const FOUND = "It took hours.";

test("without a library the error names every place, and what to do", async () => {
  const cwd = project("bare");
  const says = await run(cwd);
  assert.match(says, /^LibraryError: decluster's native library was not found for /);
  assert.ok(says.includes(target));
  assert.match(says, /- the variable DECLUSTER_LIBRARY: not set\n/);
  const own = join(cwd, "node_modules", "decluster", "lib", target, name);
  assert.ok(says.includes(`- this package: ${own}\n`));
  assert.ok(says.includes(`- the platform package decluster-${target}: not installed\n`));
  assert.match(says, /- a workspace build: not installed\n/);
  assert.match(says, /Build libdecluster from the sources \(`make libdecluster`\)/);
  assert.match(says, /serverExternalPackages: \["decluster", "koffi"\]/);
});

test("importing the package needs no library, and the second try says the same as the first", async () => {
  const cwd = project("late");
  assert.equal(await run(cwd, { code: `await import("decluster"); console.log("fine")` }), "fine");
  const twice = `import { Engine } from "decluster";
for (let time = 0; time < 2; time++) try { new Engine(); } catch (error) { console.log(error.message.split(" It was")[0]); }`;
  const [first, second] = (await run(cwd, { code: twice })).split("\n");
  assert.equal(first, second);
});

test("the variable names the library, from anywhere", async () => {
  const cwd = project("named");
  assert.equal(await run(cwd, { variable: library }), FOUND);
  copyFileSync(library, join(cwd, "here.so"));
  assert.equal(await run(cwd, { variable: "./here.so" }), FOUND);
});

test("a variable that names nothing is an error, and nothing else is tried", async () => {
  const cwd = project("wrong");
  mkdirSync(join(cwd, "node_modules", "decluster", "lib", target), { recursive: true });
  copyFileSync(library, join(cwd, "node_modules", "decluster", "lib", target, name));
  assert.equal(await run(cwd), FOUND);
  const says = await run(cwd, { variable: "/nowhere/libdecluster.so" });
  const expected =
    "LibraryError: DECLUSTER_LIBRARY names /nowhere/libdecluster.so, which does not exist";
  assert.equal(says, expected);
  assert.equal(await run(cwd, { variable: "" }), FOUND);
});

test("a file that is no library is named, with the system's reason", async () => {
  const cwd = project("text");
  const text = join(cwd, "text.so");
  writeFileSync(text, "no library");
  for (const file of [text, cwd]) {
    const says = await run(cwd, { variable: file });
    assert.ok(says.startsWith(`LibraryError: ${file} cannot be loaded: `), says);
    assert.ok(says.length > `LibraryError: ${file} cannot be loaded: `.length + 5, says);
  }
});

const cc = (() => {
  try {
    execFileSync("cc", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    return "there is no C compiler";
  }
})();

/** A library of these lines of C. */
function compile(file: string, lines: string): string {
  const source = `${file}.c`;
  writeFileSync(source, lines);
  execFileSync("cc", ["-shared", "-fPIC", "-o", file, source]);
  return file;
}

test("a library of another ABI is refused, with both versions", { skip: cc }, async () => {
  const cwd = project("abi");
  const file = compile(
    join(cwd, "other.so"),
    'unsigned decluster_abi_version(void) { return 99; }\nconst char *decluster_version(void) { return "9.8.7"; }\n',
  );
  const says = await run(cwd, { variable: file });
  assert.equal(
    says,
    `LibraryError: ${file} (version 9.8.7) has ABI version 99, this package needs 0`,
  );
});

test("a library that is too old for this package is refused with its version", {
  skip: cc,
}, async () => {
  const cwd = project("old");
  const file = compile(
    join(cwd, "old.so"),
    'unsigned decluster_abi_version(void) { return 0; }\nconst char *decluster_version(void) { return "0.0.1"; }\n',
  );
  const says = await run(cwd, { variable: file });
  assert.ok(
    says.startsWith(`LibraryError: ${file} is libdecluster 0.0.1, too old for this package: `),
    says,
  );
});

test("a library of something else is refused", { skip: cc }, async () => {
  const cwd = project("else");
  const file = compile(join(cwd, "else.so"), "int something(void) { return 5; }\n");
  const says = await run(cwd, { variable: file });
  assert.ok(says.startsWith(`LibraryError: ${file} is no libdecluster: `), says);
});

test("the library inside the package is found", async () => {
  const cwd = project("inside");
  const place = join(cwd, "node_modules", "decluster", "lib", target);
  mkdirSync(place, { recursive: true });
  copyFileSync(library, join(place, name));
  assert.equal(await run(cwd), FOUND);
});

test("the library in a platform package is found", async () => {
  const cwd = project("platform");
  const place = join(cwd, "node_modules", `decluster-${target}`);
  mkdirSync(place);
  writeFileSync(
    join(place, "package.json"),
    JSON.stringify({ name: `decluster-${target}`, version: "0.1.0" }),
  );
  const without = await run(cwd);
  assert.match(without, /platform package decluster-[a-z0-9-]+: not installed/);
  copyFileSync(library, join(place, name));
  assert.equal(await run(cwd), FOUND);
});

/** A workspace with this package in its place; `code` runs in it. */
function workspace(called: string): { root: string; code: string; own: string } {
  const own = packageAt(called, "bindings", "node");
  const root = join(folder, called);
  mkdirSync(join(root, "include"));
  writeFileSync(join(root, "include", "decluster.h"), "");
  symlinkSync(join(here, "node_modules"), join(own, "node_modules"));
  return {
    root,
    own,
    code: TRY.replace('"decluster"', JSON.stringify(join(own, "dist/index.js"))),
  };
}

test("the workspace build is found, also where cargo builds elsewhere", async () => {
  const { root, code } = workspace("workspace");
  const says = await run(root, { code });
  assert.ok(
    says.includes(
      `- the workspace (\`make libdecluster\` builds it): ${join(root, "target", "release", name)}`,
    ),
    says,
  );
  mkdirSync(join(root, "elsewhere", "release"), { recursive: true });
  copyFileSync(library, join(root, "elsewhere", "release", name));
  for (const where of ["elsewhere", join(root, "elsewhere")]) {
    assert.equal(await run(folder, { code, environment: { CARGO_TARGET_DIR: where } }), FOUND);
  }
  mkdirSync(join(root, "target", "release"), { recursive: true });
  copyFileSync(library, join(root, "target", "release", name));
  assert.equal(await run(folder, { code }), FOUND);
});

test("in a workspace what was packed before does not hide what was built since", async () => {
  const { root, code, own } = workspace("packed");
  mkdirSync(join(own, "lib", target), { recursive: true });
  writeFileSync(join(own, "lib", target, name), "of long ago");
  mkdirSync(join(root, "target", "release"), { recursive: true });
  copyFileSync(library, join(root, "target", "release", name));
  assert.equal(await run(folder, { code }), FOUND);
});

test("musl is told from what the system's ldd says, and named with a way out", () => {
  const read = fs.readFileSync;
  const says = mock.method(fs, "readFileSync", ((file: string, ...how: never[]) =>
    file === "/usr/bin/ldd"
      ? "#!/bin/sh\nexec /lib/ld-musl-x86_64.so.1 --list"
      : read(file, ...how)) as never);
  const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
  Object.defineProperty(process, "platform", { ...platform, value: "linux" });
  syncBuiltinESMExports();
  try {
    assert.equal(targetName(), `linux-${process.arch}-musl`);
    const exists = mock.method(fs, "existsSync", (file: string) => file.endsWith("package.json"));
    syncBuiltinESMExports();
    assert.throws(
      () => findLibrary({}),
      (error) => {
        assert.ok(error instanceof LibraryError);
        assert.match(error.message, /not found for linux-[a-z0-9]+-musl/);
        assert.match(error.message, /This system's C library is musl \(as in Alpine\)/);
        assert.match(error.message, /let DECLUSTER_LIBRARY name it, or use an image with glibc/);
        return true;
      },
    );
    exists.mock.restore();
  } finally {
    says.mock.restore();
    Object.defineProperty(process, "platform", platform);
    syncBuiltinESMExports();
  }
});

test("other platforms have their own names for the library", () => {
  const platform = Object.getOwnPropertyDescriptor(process, "platform")!;
  try {
    for (const [system, file] of [
      ["darwin", "libdecluster.dylib"],
      ["win32", "decluster.dll"],
    ]) {
      Object.defineProperty(process, "platform", { ...platform, value: system });
      assert.equal(fileName(), file);
      assert.equal(targetName(), `${system}-${process.arch}`);
    }
  } finally {
    Object.defineProperty(process, "platform", platform);
  }
});

for (const condition of ["edge-light", "workerd", "browser"]) {
  test(`where there are no native libraries the import says so: ${condition}`, async () => {
    const cwd = project(condition);
    const code = `await import("decluster").then(() => console.log("imported"), (error) => console.log(error.message));`;
    const says = await run(cwd, { code, flags: [`--conditions=${condition}`] });
    assert.match(says, /decluster is a native library: it runs in Node\.js \(20 or newer\)/);
    assert.match(says, /not in edge runtimes, workers of a CDN or browsers/);
    assert.match(says, /export const runtime = 'nodejs'/);
    assert.equal(await run(cwd, { code }), "imported");
  });
}
