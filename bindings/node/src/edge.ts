/**
 * What runtimes without native libraries get in place of this package: an error that says so.
 *
 * It has the names of the package, since bundlers look for these first: their own error would only
 * say that `wrap` is not there.
 */

function refuse(): Record<string, never> {
  throw new Error(
    "decluster is a native library: it runs in Node.js (20 or newer), not in edge runtimes, workers " +
      "of a CDN or browsers (for which jest's jsdom stands: say `testEnvironment: 'node'`). In a Next.js " +
      "route say `export const runtime = 'nodejs'`.",
  );
}

export const {
  Block,
  BodyError,
  Budget,
  CallerError,
  ConfigError,
  DeclusterError,
  DeclusterStream,
  Engine,
  Event,
  FINISHED,
  Finished,
  Full,
  Ledger,
  LibraryError,
  Mark,
  NEED_INPUT,
  Piece,
  ProviderError,
  ReasoningBudgetExceeded,
  Segmenter,
  Stalled,
  TooLarge,
  UnknownModel,
  Wait,
  blocks,
  collect,
  examplePrices,
  metrics,
  parameters,
  pieces,
  smoothStream,
  usage,
  wrap,
} = refuse();
