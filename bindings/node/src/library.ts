/** Where libdecluster lies. */

import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { LibraryError } from "./errors.js";

/** A variable that names the library's file. */
export const VARIABLE = "DECLUSTER_LIBRARY";

/**
 * The library's file: that which the variable names, or was built in the workspace that this package
 * is part of, or came with this package or with a platform package.
 */
export function findLibrary(environment: NodeJS.ProcessEnv = process.env): string {
  const named = environment[VARIABLE];
  if (named) {
    if (existsSync(named)) return resolve(named);
    throw new LibraryError(`${VARIABLE} names ${named}, which does not exist`);
  }
  const target = targetName();
  const tried: string[] = [];
  for (const place of places(target, environment)) {
    if (typeof place.file === "string" && existsSync(place.file)) return place.file;
    tried.push(`- ${place.what}: ${place.file ?? "not installed"}`);
  }
  throw new LibraryError(
    `decluster's native library was not found for ${target}. It was looked for in\n` +
      `- the variable ${VARIABLE}: not set\n${tried.join("\n")}\n${advice(target)}`,
  );
}

/** This platform, as packages with native parts name it. */
export function targetName(): string {
  const { platform, arch } = process;
  if (platform !== "linux") return `${platform}-${arch}`;
  return `${platform}-${arch}-${isMusl() ? "musl" : "gnu"}`;
}

interface Place {
  what: string;
  file: string | undefined;
}

function places(target: string, environment: NodeJS.ProcessEnv): Place[] {
  const root = packageRoot();
  const name = fileName();
  const found: Place[] = [
    { what: "this package", file: join(root, "lib", target, name) },
    { what: `the platform package decluster-${target}`, file: inPackage(target, name) },
  ];
  const workspace = join(root, "..", "..");
  if (existsSync(join(workspace, "include", "decluster.h"))) {
    const built = environment.CARGO_TARGET_DIR ?? "target";
    const file = join(resolve(workspace, built), "release", name);
    // First, as what was packed here before may be older.
    found.unshift({ what: "the workspace (`make libdecluster` builds it)", file });
  } else {
    found.push({ what: "a workspace build", file: undefined });
  }
  return found;
}

/** Where this module lies. Throws where a bundler has left nothing of that. */
export function moduleUrl(): string {
  // As CommonJS a bundle has no `import.meta`.
  const url: string | undefined = import.meta.url;
  if (!url) throw new LibraryError(`a bundler has moved this package. ${OUTSIDE}`);
  return url;
}

function inPackage(target: string, name: string): string | undefined {
  try {
    return createRequire(moduleUrl()).resolve(`decluster-${target}/${name}`);
  } catch {
    return undefined;
  }
}

/** The folder of this package, whether this is its `dist` or what its tests compile to. */
function packageRoot(): string {
  let folder = dirname(fileURLToPath(moduleUrl()));
  while (!existsSync(join(folder, "package.json"))) {
    const above = dirname(folder);
    // A bundler has put this file elsewhere.
    if (above === folder) return dirname(fileURLToPath(moduleUrl()));
    folder = above;
  }
  return folder;
}

/** The name of the library on this platform. */
export function fileName(): string {
  if (process.platform === "win32") return "decluster.dll";
  return process.platform === "darwin" ? "libdecluster.dylib" : "libdecluster.so";
}

function advice(target: string): string {
  if (target.endsWith("-musl")) {
    return (
      "This system's C library is musl (as in Alpine), for which there is no built library yet: " +
      `build libdecluster there (\`make libdecluster\`) and let ${VARIABLE} name it, ` +
      "or use an image with glibc (node:20-slim)."
    );
  }
  return (
    `If a bundler has moved this package, ${OUTSIDE} Build libdecluster from the sources ` +
    `(\`make libdecluster\`) where there is none for this platform, and let ${VARIABLE} name it.`
  );
}

const OUTSIDE =
  "keep decluster and koffi out of the bundle (esbuild: --external:decluster --external:koffi; " +
  'Next.js: serverExternalPackages: ["decluster", "koffi"]).';

/** Whether the C library is musl: its `ldd` is a script or a link that says so. */
function isMusl(): boolean {
  try {
    return readFileSync("/usr/bin/ldd", "latin1").includes("musl");
  } catch {
    return existsSync("/etc/alpine-release");
  }
}
