/** What runtimes without native libraries get in place of this package: an error that says so. */

throw new Error(
  "decluster is a native library: it runs in Node.js (20 or newer), not in edge runtimes, workers " +
    "of a CDN or browsers. In a Next.js route say `export const runtime = 'nodejs'`.",
);
