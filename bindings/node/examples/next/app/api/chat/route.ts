/**
 * A route of Next.js (App Router) that relays a provider's stream to the browser, paced.
 *
 * Needs the settings in `next.config.ts`, and OPENAI_API_KEY in the environment; OPENAI_BASE_URL
 * names another provider. The browser sends what it would send to the provider. Whoever can reach
 * this route uses your key: ask who they are.
 */

import { wrap } from "decluster";

// decluster is a native library: in the edge runtime there is none.
export const runtime = "nodejs";
export const dynamic = "force-dynamic";
// Seconds, where the host sets a limit (Vercel): a model thinks long.
export const maxDuration = 300;

export async function POST(request: Request): Promise<Response> {
  const { OPENAI_API_KEY, OPENAI_BASE_URL = "https://api.openai.com/v1" } = process.env;
  let upstream: Response;
  try {
    upstream = await fetch(`${OPENAI_BASE_URL}/chat/completions`, {
      method: "POST",
      headers: {
        authorization: `Bearer ${OPENAI_API_KEY}`,
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

  // An error, or an answer that was not to be streamed, comes back as it is.
  const paced = wrap(upstream);
  return new Response(paced.body && endingWithErrors(paced.body), {
    status: paced.status,
    headers: {
      // Of the provider's headers no other: length and encoding are no longer true.
      "content-type": paced.headers.get("content-type") ?? "application/json",
      // Nothing between here and the browser may keep it, compress it, or (nginx) collect it.
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    },
  });
}

/**
 * The same stream; if it fails, its last event is an error as the provider would send it. A stream
 * that fails makes Next.js cut the connection, and what it has not sent yet is lost.
 */
function endingWithErrors(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) controller.close();
        else controller.enqueue(value);
      } catch (error) {
        const event = { error: { message: `the provider's stream broke off: ${error}` } };
        // Half an event may stand before it, which the empty line ends.
        controller.enqueue(new TextEncoder().encode(`\n\ndata: ${JSON.stringify(event)}\n\n`));
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
