/**
 * What signals end. A server has one signal for all its streams, so each signal gets one listener: Node
 * warns of more than ten, and searches all of them for each that is added or removed.
 */

interface Listening {
  readonly calls: Set<() => void>;
  readonly onAbort: () => void;
}

const listening = new WeakMap<AbortSignal, Listening>();

/** Calls this when the signal is aborted. */
export function listen(signal: AbortSignal, call: () => void): void {
  let found = listening.get(signal);
  if (found === undefined) {
    const calls = new Set<() => void>();
    const onAbort = () => {
      for (const each of calls) each();
    };
    found = { calls, onAbort };
    listening.set(signal, found);
  }
  if (found.calls.size === 0) signal.addEventListener("abort", found.onAbort);
  found.calls.add(call);
}

/** Calls it no more. */
export function unlisten(signal: AbortSignal, call: () => void): void {
  const found = listening.get(signal);
  if (found?.calls.delete(call) && found.calls.size === 0) {
    signal.removeEventListener("abort", found.onAbort);
  }
}
