/** Puts into this folder what the packed package needs besides its sources: `npm pack` runs it. */

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdirSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const workspace = resolve(here, "..", "..");
const run = (command, args, cwd) => execFileSync(command, args, { cwd, stdio: ["ignore", 2, 2] });

for (const folder of ["dist", "lib"]) rmSync(join(here, folder), { recursive: true, force: true });
run("npm", ["run", "--silent", "build"], here);
run("make", ["--silent", "libdecluster"], workspace);

const { fileName, targetName } = await import("./dist/library.js");
const library = join(here, "lib", targetName());
mkdirSync(library, { recursive: true });
const built = join(resolve(workspace, process.env.CARGO_TARGET_DIR ?? "target"), "release");
copyFileSync(join(built, fileName()), join(library, fileName()));
for (const license of ["LICENSE-MIT", "LICENSE-APACHE"]) {
  copyFileSync(join(workspace, license), join(here, license));
}
