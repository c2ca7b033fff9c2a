import type { NextConfig } from "next";
const config: NextConfig = {
  serverExternalPackages: ["decluster", "koffi"],
};
export default config;
