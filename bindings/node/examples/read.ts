/**
 * Asks a model, and shows its answer as it is released: thoughts dim, what it says plain.
 *
 *     OPENAI_API_KEY=... OPENAI_MODEL=... npx tsx read.ts Why is the sky blue?
 *
 * Ctrl-C ends the answer, and the provider's work on it. OPENAI_BASE_URL names another provider.
 */

import process from "node:process";
import { pieces } from "decluster";

const { OPENAI_API_KEY, OPENAI_MODEL } = process.env;
const BASE_URL = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1";

const enough = new AbortController();
process.once("SIGINT", () => enough.abort());

try {
  const response = await fetch(`${BASE_URL}/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${OPENAI_API_KEY}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: OPENAI_MODEL,
      stream: true,
      messages: [{ role: "user", content: process.argv.slice(2).join(" ") }],
    }),
    signal: enough.signal,
  });
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`);

  const answer = pieces(response, { signal: enough.signal });
  for await (const piece of answer) process.stdout.write(shown(piece.text, piece.kind));
  process.stdout.write("\n");
  if (answer.verdict !== "complete") {
    console.error(`This is not all of it: ${answer.reason ?? answer.verdict}`);
    process.exitCode = 1;
  }
} catch (error) {
  if (!enough.signal.aborted) throw error;
  process.stdout.write("\n");
}

function shown(text: string, kind: "reasoning" | "output"): string {
  return kind === "reasoning" && process.stdout.isTTY ? `\x1b[2m${text}\x1b[22m` : text;
}
