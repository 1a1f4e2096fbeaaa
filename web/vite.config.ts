// SPDX-License-Identifier: Apache-2.0
// Build settings: relative addresses below <base>, nothing inlined (the page's policy is default-src 'self').
import { defineConfig } from "vitest/config";

export default defineConfig({
  base: "./",
  build: {
    target: "es2022",
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    sourcemap: false,
    chunkSizeWarningLimit: 300,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  server: { proxy: { "/api": process.env.CONSOLE ?? "http://127.0.0.1:8000" } },
  test: { environment: "happy-dom", include: ["test/**/*.test.{ts,tsx}"] },
});
