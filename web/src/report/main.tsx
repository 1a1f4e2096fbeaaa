// SPDX-License-Identifier: Apache-2.0
// Shows the report of `athanor simulate --html`: one file with its data, this script and its styles inside.
import { render } from "preact";
import { Comparison, type Report } from "./comparison";
import "../style/tokens.css";
import "../style/base.css";
import "../style/table.css";
import "../style/charts.css";
import "../style/pages.css";
import "./report.css";

const { trace, fleets } = JSON.parse(document.getElementById("report")!.textContent!) as { trace: string; fleets: Report[] };
render(
  <main class="report">
    <h1>{trace}</h1>
    <p class="dim">
      {fleets[0]?.jobs ?? 0} jobs in virtual time{fleets.length > 1 && ", once on each of two fleets"}. Waiting is the time from a job's submission to its admission to a cluster, and from each eviction to the next admission.
    </p>
    <Comparison reports={fleets} />
  </main>,
  document.getElementById("app")!,
);
