/**
 * Relays a provider's stream to browsers, paced, and keeps the key on the server.
 *
 *     OPENAI_API_KEY=... npx tsx relay.ts
 *
 *     curl -N localhost:8000 -H 'content-type: application/json' \
 *         -d '{"model": "...", "stream": true, "messages": [{"role": "user", "content": "Hello"}]}'
 *
 * OPENAI_BASE_URL names another provider, PORT another port. `relay` takes the request and the
 * response of node:http; Express and Connect hand on the same. Whoever can reach it uses your key:
 * ask who they are.
 */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import process from "node:process";
import { text } from "node:stream/consumers";
import { wrap } from "decluster";

const BASE_URL = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1";

async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  // Whoever leaves ends the provider's answer, and its bill.
  const gone = new AbortController();
  response.once("close", () => gone.abort());

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
      body: await text(request),
      signal: gone.signal,
    });
  } catch (error) {
    response.writeHead(502, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: { message: `no provider: ${error}` } }));
    return;
  }

  // An error, or an answer that was not to be streamed, comes back as it is.
  const paced = wrap(upstream);
  response.writeHead(paced.status, {
    // Of the provider's headers no other: length and encoding are no longer true.
    "content-type": paced.headers.get("content-type") ?? "application/json",
    // Nothing between here and the browser may keep it, compress it, or (nginx) collect it.
    "cache-control": "no-cache, no-transform",
    "x-accel-buffering": "no",
  });
  // Now, and not with the first text.
  response.flushHeaders();

  try {
    for await (const bytes of paced.body ?? []) {
      // A reader that is slow makes the provider wait.
      if (!response.write(bytes)) await once(response, "drain", { signal: gone.signal });
    }
    response.end();
  } catch (error) {
    // The status is out: the error goes where the provider's own would come, after all text. (And
    // after half an event, maybe, which the empty line ends.)
    const event = { error: { message: `the provider's stream broke off: ${error}` } };
    if (!gone.signal.aborted) response.end(`\n\ndata: ${JSON.stringify(event)}\n\n`);
  }
}

const server = createServer(relay);
server.listen(Number(process.env.PORT ?? 8000), () => {
  console.log(`http://localhost:${(server.address() as AddressInfo).port}`);
});
