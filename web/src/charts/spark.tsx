// SPDX-License-Identifier: Apache-2.0
// Small pictures of numbers: bars beside a figure, and a grid of percentages.

// A row of bars; `bad` is the part of each that failed.
export function Spark({ values, label }: { values: { value: number; bad?: number }[]; label: string }) {
  const most = Math.max(1, ...values.map((one) => one.value));
  const width = 100 / Math.max(1, values.length);
  return (
    <svg class="spark" viewBox="0 0 100 24" preserveAspectRatio="none" role="img" aria-label={label}>
      <title>{label}</title>
      {values.map((one, i) => {
        const high = (22 * one.value) / most;
        const bad = (22 * (one.bad ?? 0)) / most;
        return (
          <g key={i}>
            <rect class="spark-good" x={i * width + width * 0.1} width={width * 0.8} y={24 - high} height={Math.max(0, high - bad)} />
            <rect class="spark-bad" x={i * width + width * 0.1} width={width * 0.8} y={24 - bad} height={bad} />
          </g>
        );
      })}
    </svg>
  );
}

// A grid of percentages: one row for each name, one column for each hour.
export function Heat({ rows, columns, value, label }: { rows: string[]; columns: string[]; value: (row: string, column: string) => number | undefined; label: string }) {
  return (
    <div class="heat" tabIndex={0} role="region" aria-label={label}>
      <table aria-label={label}>
        <thead>
          <tr>
            <td />
            {columns.map((column) => (
              <th scope="col">{column}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              <th scope="row">{row}</th>
              {columns.map((column) => {
                const percent = value(row, column);
                const step = percent === undefined ? "none" : String(Math.min(5, Math.ceil(percent / 20)));
                return (
                  <td class={`heat-${step}`} title={`${row}, ${column}: ${percent === undefined ? "no data" : `${Math.round(percent)} %`}`}>
                    {percent === undefined ? "" : Math.round(percent)}
                  </td>
                );
              })}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
