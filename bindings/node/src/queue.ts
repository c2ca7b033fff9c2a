/** First in, first out; both in constant time. */
export class Queue<T> {
  #items: T[] = [];
  #first = 0;

  get length(): number {
    return this.#items.length - this.#first;
  }

  push(item: T): void {
    this.#items.push(item);
  }

  shift(): T | undefined {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first];
    this.#first += 1;
    if (this.#first === this.#items.length) this.clear();
    else if (this.#first > KEPT && this.#first * 2 > this.#items.length) {
      this.#items = this.#items.slice(this.#first);
      this.#first = 0;
    }
    return item;
  }

  first(): T | undefined {
    return this.#items[this.#first];
  }

  last(): T | undefined {
    return this.length > 0 ? this.#items.at(-1) : undefined;
  }

  clear(): void {
    if (this.#items.length > 0) this.#items = [];
    this.#first = 0;
  }
}

/** Places of items that are gone, kept until they are more than half of all. */
const KEPT = 64;
