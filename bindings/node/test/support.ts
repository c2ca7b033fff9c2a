/** What several tests need. */

/** All items, in order. */
export async function all<T>(items: AsyncIterable<T> | Iterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
