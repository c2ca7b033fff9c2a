/**
 * Parsed events: to JSON for the engine, and what it changed back into copies.
 *
 * A copy has the same prototype and members but for those on the changed path, so what an SDK keeps
 * besides (getters, symbols, what JSON cannot say) stays.
 */

/** The event as JSON; `null` where it holds itself or cannot be said. */
export function dump(event: object): string {
  // With a function that looks at each member it takes half as long again, so only where it must be.
  return inJson(event, undefined) ?? inJson(event, plain) ?? "null";
}

function inJson(event: object, by: typeof plain | undefined): string | undefined {
  try {
    return JSON.stringify(event, by);
  } catch {
    return undefined;
  }
}

/** `JSON.stringify` refuses a bigint; what cannot be said stands as null. */
function plain(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? null : value;
}

/** A copy of the item, an event or `[name, event]`, whose event says what `json` says. */
export function changed(item: unknown, json: string): unknown {
  const said: unknown = JSON.parse(json);
  if (Array.isArray(item)) return [item[0], merge(item[1], said)];
  return merge(item, said);
}

/** `own` with what `said` says; where both say the same, `own` itself. */
function merge(own: unknown, said: unknown): unknown {
  if (Array.isArray(own) && Array.isArray(said) && own.length === said.length) {
    const members = own.map((member, at) => merge(member, said[at]));
    return members.some((member, at) => member !== own[at]) ? members : own;
  }
  if (isRecord(own) && isRecord(said) && !hasJson(own)) return mergeRecord(own, said);
  // What JSON cannot hold was left out or null (a bigint perhaps a text, where a program says how),
  // and nothing was written in its place.
  if (typeof own === "bigint" || (said === null && isUnsayable(own))) return own;
  if (hasJson(own) && JSON.stringify(own) === JSON.stringify(said)) return own;
  return said;
}

function mergeRecord(own: Members, said: Members): Members {
  const changes: [string, unknown][] = [];
  const gone: string[] = [];
  for (const key of Object.keys(own)) {
    const member = own[key];
    if (Object.hasOwn(said, key)) {
      const merged = merge(member, said[key]);
      if (merged !== member) changes.push([key, merged]);
    } else if (isSaid(member)) {
      gone.push(key);
    }
  }
  for (const key of Object.keys(said)) {
    if (!Object.hasOwn(own, key)) changes.push([key, said[key]]);
  }
  if (changes.length === 0 && gone.length === 0) return own;
  // Of an object that is frozen, members can neither be changed nor deleted, not even in a copy.
  const members = Object.getOwnPropertyDescriptors(own) as PropertyDescriptorMap;
  for (const key of gone) delete members[key];
  for (const [key, value] of changes) {
    // Also what is called __proto__ is a member.
    define(members, key, { value, writable: true, enumerable: true, configurable: true });
  }
  return Object.create(Object.getPrototypeOf(own) as object | null, members) as Members;
}

function define(members: PropertyDescriptorMap, key: string, value: PropertyDescriptor): void {
  Object.defineProperty(members, key, {
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}

/** Whether it stands as null in JSON, though it is something else. */
function isUnsayable(value: unknown): boolean {
  return typeof value === "number" ? !Number.isFinite(value) : !isSaid(value);
}

type Members = Record<string, unknown>;

function isRecord(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether it says itself what it is in JSON, as dates do. */
function hasJson(value: unknown): boolean {
  return isRecord(value) && typeof value.toJSON === "function";
}

/** Whether JSON says a member of this value. */
function isSaid(value: unknown): boolean {
  return value !== undefined && typeof value !== "function" && typeof value !== "symbol";
}
