// SPDX-License-Identifier: Apache-2.0
// The table of all pages: their addresses, places in the navigation, keys and the systems they need.
import type { ComponentType } from "preact";
import { AppWrapperPage } from "./devices/appwrapper";
import { AppWrappersPage } from "./devices/appwrappers";
import { MigPage } from "./devices/mig";
import { NumaPage } from "./devices/numa";
import { ClusterPage } from "./fleet/cluster";
import { ClustersPage } from "./fleet/clusters";
import { GpusPage } from "./fleet/gpus";
import { LocksPage } from "./fleet/locks";
import { NodePage } from "./fleet/node";
import { NodesPage } from "./fleet/nodes";
import { WhatIfPage } from "./fleet/whatif";
import { InsightsPage } from "./history/insights";
import { OverviewPage } from "./history/overview";
import { SystemPage } from "./history/system";
import { ComparePage } from "./jobs/compare";
import { JobPage } from "./jobs/job";
import { JobsPage } from "./jobs/jobs";
import { QueuePage } from "./queue/queue";
import { WorkloadPage } from "./queue/workload";
import { RunsPage } from "./submit/runs";
import { SchedulesPage } from "./submit/schedules";
import { SubmitPage } from "./submit/submit";

export interface Page {
  id: string;
  path: string; // `*` stands for one name
  title: string;
  navTitle?: string;
  nav?: string; // group of the navigation; absent: reached by links
  parent?: string; // the page that the navigation marks
  key?: string; // of "g key"
  feature?: string; // of the session
  Body: ComponentType<{ args: string[] }>;
}

export const pages: Page[] = [
  { id: "overview", path: "/", title: "Overview", nav: "Work", key: "o", Body: OverviewPage },
  { id: "jobs", path: "/jobs", title: "Jobs", nav: "Work", key: "j", feature: "jobs", Body: JobsPage },
  { id: "job", path: "/jobs/*", title: "Job", parent: "jobs", feature: "jobs", Body: JobPage },
  { id: "compare", path: "/compare", title: "Compare jobs", parent: "jobs", feature: "jobs", Body: ComparePage },
  { id: "queue", path: "/queue", title: "Queue", nav: "Work", key: "q", feature: "queue", Body: QueuePage },
  { id: "workload", path: "/workloads/*/*", title: "Workload", parent: "queue", feature: "queue", Body: WorkloadPage },
  { id: "submit", path: "/submit", title: "Submit a job", navTitle: "Submit", nav: "Work", key: "s", feature: "jobs", Body: SubmitPage },
  { id: "schedules", path: "/schedules", title: "Schedules", nav: "Work", key: "e", feature: "schedules", Body: SchedulesPage },
  { id: "runs", path: "/schedules/*/runs", title: "Runs of a schedule", parent: "schedules", feature: "schedules", Body: RunsPage },
  { id: "clusters", path: "/clusters", title: "Clusters", nav: "Fleet", key: "c", feature: "clusters", Body: ClustersPage },
  { id: "cluster", path: "/clusters/*", title: "Cluster", parent: "clusters", feature: "clusters", Body: ClusterPage },
  { id: "locks", path: "/locks", title: "Locks", nav: "Fleet", key: "l", feature: "clusters", Body: LocksPage },
  { id: "gpus", path: "/gpus", title: "GPU hours", nav: "Fleet", key: "u", feature: "jobs", Body: GpusPage },
  { id: "whatif", path: "/whatif", title: "What if", nav: "Fleet", key: "w", feature: "queue", Body: WhatIfPage },
  { id: "nodes", path: "/nodes", title: "Nodes", nav: "Fleet", key: "n", feature: "nodes", Body: NodesPage },
  { id: "node", path: "/nodes/*", title: "Node", parent: "nodes", feature: "nodes", Body: NodePage },
  { id: "mig", path: "/mig", title: "Slices of GPUs", navTitle: "Slices", nav: "Devices", key: "m", feature: "mig", Body: MigPage },
  { id: "numa", path: "/numa", title: "NUMA zones", navTitle: "Zones", nav: "Devices", key: "z", feature: "numa", Body: NumaPage },
  { id: "appwrappers", path: "/appwrappers", title: "AppWrappers", nav: "Devices", key: "a", feature: "appwrappers", Body: AppWrappersPage },
  { id: "appwrapper", path: "/appwrappers/*/*", title: "AppWrapper", parent: "appwrappers", feature: "appwrappers", Body: AppWrapperPage },
  { id: "insights", path: "/insights", title: "Insights", nav: "Console", key: "i", Body: InsightsPage },
  { id: "system", path: "/system", title: "System", nav: "Console", key: "y", Body: SystemPage },
];

// Returns the page of a path with the names in it.
export function findPage(path: string): { page: Page; args: string[] } | undefined {
  const parts = path.split("/");
  for (const page of pages) {
    const pattern = page.path.split("/");
    if (pattern.length !== parts.length) continue;
    const args: string[] = [];
    const fits = pattern.every((part, i) => {
      if (part !== "*") return part === parts[i];
      try {
        args.push(decodeURIComponent(parts[i]!));
      } catch {
        return false;
      }
      return parts[i] !== "";
    });
    if (fits) return { page, args };
  }
  return undefined;
}
