// How the benches in Node say where they ran, and put their tables into a file.

import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";

/** Date, machine and versions: figures mean little without. */
export function head() {
  const version = (name) => {
    const file = new URL(`node_modules/${name}/package.json`, import.meta.url);
    return `${name} ${JSON.parse(readFileSync(file, "utf8")).version}`;
  };
  const packages = ["ai", "@librechat/agents"].map(version).join(", ");
  const date = new Date().toISOString().slice(0, 10);
  const machine = `${cpus()[0].model}, ${cpus().length} processors`;
  return `${date}, ${machine}, Node ${process.versions.node}, ${packages}.`;
}

/** A table in Markdown; all columns but the first are numbers. */
export function table(title, rows) {
  const lines = [[...title], title.map((_, i) => (i === 0 ? "---" : "---:")), ...rows];
  return lines.map((cells) => `| ${cells.join(" | ")} |`).join("\n");
}

/** Puts a report between two markers of a file. */
export function writeBetween(path, name, report) {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const text = readFileSync(path, "utf8");
  const from = text.indexOf(begin);
  const to = text.indexOf(end, from);
  if (from < 0 || to < 0) throw new Error(`${path} has no markers ${begin} … ${end}`);
  writeFileSync(path, `${text.slice(0, from + begin.length)}\n\n${report}\n\n${text.slice(to)}`);
}

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};
