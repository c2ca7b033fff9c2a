/** The type of the settings is the library's table: `UPDATE_SETTINGS=1 npm test` writes it anew. */

import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { test } from "node:test";
import { type Parameter, parameters } from "../src/index.js";

const FILE = new URL("../../src/settings.ts", import.meta.url);

test("the settings are those of the library's table", () => {
  const written = declaration();
  if (process.env.UPDATE_SETTINGS) writeFileSync(FILE, written);
  assert.equal(readFileSync(FILE, "utf8"), written);
});

function declaration(): string {
  return `${[
    "/** The parameters as options. Written from the library's table by settings.test.ts. */",
    "",
    "/**",
    " * The engine's parameters. `preset` or `profile` gives the values to begin with; the others",
    " * override them. Durations are milliseconds.",
    " */",
    "export interface Settings {",
    "  /** Named values to begin with. */",
    '  preset?: "balanced" | "steady" | "snappy" | undefined;',
    "  /** Values to begin with that were published under a name. */",
    '  profile?: "codex-low-latency" | undefined;',
    ...parameters().flatMap(member),
    "}",
  ].join("\n")}\n`;
}

function member(parameter: Parameter): string[] {
  const { name, unit, min, max, choices, doc } = parameter;
  const isNumber = min !== undefined;
  const bounds = isNumber ? `${min} to ${max} ${unit === "ratio" ? "" : unit}`.trim() : "";
  const initially = `initially ${JSON.stringify(parameter.default).replaceAll('"', "`")}.`;
  const said = `${doc} ${isNumber ? `${bounds}, ${initially}` : initially.replace("i", "I")}`;
  const type = isNumber ? "number" : choices.map((choice) => JSON.stringify(choice)).join(" | ");
  return ["  /**", ...folded(said), "   */", `  ${name}?: ${type || "boolean"} | undefined;`];
}

/** A text in lines of at most 100 columns. */
function folded(text: string): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < 100)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(`   * ${word}`);
  }
  return lines;
}
