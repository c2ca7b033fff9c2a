/**
 * A route of Next.js that relays a provider's stream to the browser, paced: App Router, Node runtime.
 *
 * Needs the settings of `next.config.ts`, and OPENAI_API_KEY in the environment. OPENAI_BASE_URL
 * names another provider. The browser sends what it would send to the provider. Whoever can reach
 * this route uses your key: ask who they are.
 */

import { wrap } from "decluster";

// decluster is a native library: the edge runtime has none.
export const runtime = "nodejs";
// Nothing of it is known before it is asked for.
export const dynamic = "force-dynamic";

const BASE_URL = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1";

export async function POST(request: Request): Promise<Response> {
  let upstream: Response;
  try {
    upstream = await fetch(`${BASE_URL}/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${process.env.OPENAI_API_KEY}`,
        "content-type": "application/json",
        // A compressed stream comes in lumps.
        "accept-encoding": "identity",
      },
      body: await request.text(),
      // Whoever leaves ends the provider's answer, and its bill.
      signal: request.signal,
    });
  } catch (error) {
    return Response.json({ error: { message: `no provider: ${error}` } }, { status: 502 });
  }
  // An error, or an answer that was not to be streamed, comes back as the provider said it.
  const paced = wrap(upstream);
  return new Response(paced.body, {
    status: paced.status,
    // Of the provider's headers no other: length and encoding are no longer true.
    headers: {
      "content-type": paced.headers.get("content-type") ?? "application/json",
      // Nothing between here and the browser may keep it, compress it, or (nginx) collect it.
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}
