/**
 * The AI SDK, with one line changed: `smoothStream` comes from here.
 *
 *     OPENAI_API_KEY=... OPENAI_MODEL=... npx tsx aisdk.ts Why is the sky blue?
 *
 * OPENAI_BASE_URL names another provider. Thoughts are shown dim; they are paced, too. In a route of
 * a server the last part is `return result.toUIMessageStreamResponse()`.
 */

import process from "node:process";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import { smoothStream } from "decluster"; // was: from "ai"

const provider = createOpenAICompatible({
  name: "provider",
  baseURL: process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1",
  apiKey: process.env.OPENAI_API_KEY ?? "",
});

const result = streamText({
  model: provider(process.env.OPENAI_MODEL ?? ""),
  prompt: process.argv.slice(2).join(" "),
  experimental_transform: smoothStream(),
  onError: ({ error }) => {
    console.error(error);
    process.exitCode = 1;
  },
});

for await (const part of result.fullStream) {
  if (part.type === "text-delta") process.stdout.write(part.text);
  if (part.type === "reasoning-delta") {
    process.stdout.write(process.stdout.isTTY ? `\x1b[2m${part.text}\x1b[22m` : part.text);
  }
}
process.stdout.write("\n");
