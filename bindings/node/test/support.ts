/** What several tests need. */

/** All items, in order. */
export async function all<T>(items: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** What is warned of meanwhile. */
export async function warnings(run: () => Promise<unknown>): Promise<string[]> {
  const told: string[] = [];
  const listener = ({ message }: Error): void => void told.push(message);
  process.on("warning", listener);
  try {
    await run();
    // Node tells of them in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
  } finally {
    process.off("warning", listener);
  }
  return told;
}
