// SPDX-License-Identifier: Apache-2.0
// Lines over time by uPlot, loaded when a page first shows one. The numbers are also there as a table for screen readers.
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { span } from "../core/time";
import { useWidth } from "./scale";

export interface Line {
  name: string;
  values: (number | null)[];
}

const kColours = ["--fill-used", "--fill-borrowed", "--fill-reserved", "--fill-good", "--fill-bad"];

// Formats a length of time on an axis: "0", "90 min", "6 h", "3 d".
function lengthText(seconds: number): string {
  if (seconds === 0) return "0";
  return seconds % 86400 === 0 ? `${seconds / 86400} d` : seconds % 3600 === 0 ? `${seconds / 3600} h` : `${Math.round(seconds / 60)} min`;
}

const kLengths = [60, 300, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400, 2 * 86400, 7 * 86400, 14 * 86400, 28 * 86400];

// A chart of lines. `times`: seconds since 1970, or since a start where `elapsed`, rising. `stepped`: a value holds until the next.
export function Plot({ times, lines, label, unit = "", height = 170, elapsed = false, stepped = false }: { times: number[]; lines: Line[]; label: string; unit?: string; height?: number; elapsed?: boolean; stepped?: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const width = useWidth(box);
  const [theme, setTheme] = useState(0);
  useEffect(() => {
    const observer = new MutationObserver(() => setTheme((n) => n + 1));
    observer.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
    return () => observer.disconnect();
  }, []);
  useEffect(() => {
    let chart: uPlot | undefined;
    let ended = false;
    void Promise.all([import("uplot"), import("uplot/dist/uPlot.min.css")]).then(([library]) => {
      if (ended || !box.current) return;
      const style = getComputedStyle(document.documentElement);
      const colour = (name: string) => style.getPropertyValue(name).trim();
      const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 } };
      chart = new library.default(
        {
          width,
          height,
          cursor: { points: { size: 6 } },
          scales: { x: { time: !elapsed }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
          axes: [elapsed ? { ...axis, incrs: kLengths, values: (_: uPlot, ticks: number[]) => ticks.map(lengthText) } : axis, { ...axis, size: 54, values: (_, ticks) => ticks.map((tick) => `${tick}${unit}`) }],
          series: [elapsed ? { label: "After", value: (_: uPlot, at: number | null) => (at === null ? "–" : span(at * 1000)) } : {}, ...lines.map((line, i) => ({ label: line.name, spanGaps: elapsed, ...(stepped ? { paths: library.default.paths.stepped!({ align: 1 }) } : {}), stroke: colour(kColours[i % kColours.length]!), width: 2, points: { show: times.length < 20 } }))],
        },
        [times, ...lines.map((line) => line.values)],
        box.current,
      );
    });
    return () => {
      ended = true;
      chart?.destroy();
    };
  }, [times, lines, width, height, theme, elapsed, stepped]);
  return (
    <figure class="plot" aria-label={label}>
      <div ref={box} aria-hidden="true" />
      <table class="visually-hidden" aria-label={label}>
        <tbody>
          {lines.map((line) => (
            <tr>
              <th scope="row">{line.name}</th>
              <td>
                {line.values.slice(-5).map((value) => `${value ?? "none"}${unit}`).join(", ")} (the last values)
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
