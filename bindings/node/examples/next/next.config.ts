/** What a native package needs in Next.js (15 or newer). */

export default {
  // They load native libraries, which cannot go into a bundle.
  serverExternalPackages: ["decluster", "koffi"],
  // For `output: "standalone"` and Vercel: Next.js copies what it sees imported, and does not see
  // the libraries.
  outputFileTracingIncludes: {
    "/*": ["./node_modules/decluster/lib/**/*", "./node_modules/@koromix/koffi-*/**/*.node"],
  },
};
