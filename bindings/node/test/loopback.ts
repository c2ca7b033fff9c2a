/** A provider on loopback: it answers each request with the next script that it was given. */

import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What a provider writes; it may wait, and need not end. */
export type Script = (response: ServerResponse) => unknown;

/** One answer under way. */
export interface Exchange {
  /** Whether the connection was closed before all was written, once it is closed. */
  readonly cut: Promise<boolean>;
}

export interface Loopback {
  readonly url: string;
  /** Answers the next request that is not yet spoken for. */
  answer(script: Script | string): Exchange;
  close(): Promise<void>;
}

export async function loopback(): Promise<Loopback> {
  const scripts: ((response: ServerResponse) => void)[] = [];
  const server = createServer((request, response) => {
    request.resume();
    response.sendDate = false;
    const script = scripts.shift();
    if (script === undefined) response.writeHead(404).end("nothing is to be said");
    else script(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    answer(script) {
      const cut = new Promise<boolean>((resolve) => {
        scripts.push((response) => {
          response.on("close", () => resolve(!response.writableFinished));
          response.writeHead(200, { "content-type": "text/event-stream" });
          if (typeof script === "string") response.end(script);
          else void script(response);
        });
      });
      return { cut };
    },
    close() {
      server.closeAllConnections();
      return new Promise((resolve) => {
        server.close(() => resolve());
      });
    },
  };
}
