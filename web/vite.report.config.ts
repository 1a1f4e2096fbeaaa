// SPDX-License-Identifier: Apache-2.0
// Build settings of the report of `athanor simulate --html`: one classic script and one style sheet, which the program puts into the page.
import { defineConfig } from "vite";

export default defineConfig({
  publicDir: false,
  build: {
    target: "es2022",
    emptyOutDir: false,
    cssCodeSplit: false,
    sourcemap: false,
    modulePreload: false,
    rolldownOptions: {
      input: "src/report/main.tsx",
      transform: { define: { "import.meta": "{}" } }, // of the loader of parts, which has nothing to load here
      output: { format: "iife", entryFileNames: "report/report.js", assetFileNames: "report/report[extname]", codeSplitting: false },
    },
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
