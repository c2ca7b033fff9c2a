/**
 * The openai package, with one line changed: the stream that comes back is of its own class.
 *
 *     OPENAI_API_KEY=... OPENAI_MODEL=... npx tsx openai.ts Why is the sky blue?
 *
 * OPENAI_BASE_URL names another provider. Likewise `responses.create()`, and `messages.create()` of
 * `@anthropic-ai/sdk`.
 */

import process from "node:process";
import { wrap } from "decluster";
import OpenAI from "openai";

const client = new OpenAI();
const stream = await client.chat.completions.create({
  model: process.env.OPENAI_MODEL ?? "",
  messages: [{ role: "user", content: process.argv.slice(2).join(" ") }],
  stream: true,
});
// was: of stream
for await (const chunk of wrap(stream)) {
  process.stdout.write(chunk.choices[0]?.delta.content ?? "");
}
process.stdout.write("\n");
