// SPDX-License-Identifier: Apache-2.0
// Lines over time by uPlot, loaded when a page first shows one. The numbers are also there as a table for screen readers.
import { useEffect, useRef, useState } from "preact/hooks";
import type uPlot from "uplot";
import { useWidth } from "./scale";

export interface Line {
  name: string;
  values: (number | null)[];
}

const kColours = ["--fill-used", "--fill-borrowed", "--fill-reserved", "--fill-good", "--fill-bad"];

// A chart of lines. `times`: seconds since 1970, rising.
export function Plot({ times, lines, label, unit = "", height = 170 }: { times: number[]; lines: Line[]; label: string; unit?: string; height?: number }) {
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
          scales: { y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.1 : 1] } },
          axes: [axis, { ...axis, size: 54, values: (_, ticks) => ticks.map((tick) => `${tick}${unit}`) }],
          series: [{}, ...lines.map((line, i) => ({ label: line.name, stroke: colour(kColours[i % kColours.length]!), width: 2, points: { show: times.length < 20 } }))],
        },
        [times, ...lines.map((line) => line.values)],
        box.current,
      );
    });
    return () => {
      ended = true;
      chart?.destroy();
    };
  }, [times, lines, width, height, theme]);
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
