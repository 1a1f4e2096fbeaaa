// SPDX-License-Identifier: Apache-2.0
// Answers of the console's API (docs/spec/dashboard.md B5). Times are RFC 3339 texts; absent values are missing keys.

export interface Named {
  ns?: string;
  name: string;
  uid?: string;
  resourceVersion?: string;
  archived?: boolean;
}

export interface Listed<Row> {
  items: Row[];
  total: number;
  continue?: string;
  resourceVersion?: string;
  now?: string;
  partial?: boolean;
  unavailable?: string[];
}

export interface Feature {
  name: string;
  present: boolean;
  reason?: string;
}

export interface Session {
  user?: string;
  groups?: string[];
  auth: "none" | "token" | "proxy";
  readOnly: boolean;
  csrf?: string;
  expires?: string;
  version?: string;
  namespaces?: string[];
  jobsNamespace?: string;
  embedded?: boolean;
  features?: Feature[];
  kubectlContext?: string;
}

export interface Job extends Named {
  archived: boolean;
  phase: string;
  displayName?: string;
  project?: string;
  preset?: string;
  owner?: string;
  cluster?: string;
  requestedCluster?: string;
  hardware?: { gpuType?: string; gpuCount?: number; text?: string };
  exclusive?: boolean;
  lockOnly?: boolean;
  priority?: string;
  pipeline?: string;
  queuePosition?: number;
  step?: string;
  stepSince?: string;
  progress?: { done: number; total: number };
  message?: string;
  created?: string;
  started?: string;
  completed?: string;
  waitSeconds?: number;
  runSeconds?: number;
  trigger?: string;
  schedule?: string;
  labels?: Record<string, string>;
  links?: Record<string, string>;
  pullRequest?: string;
  shutdown?: string;
  slots?: number; // of its cluster; on its own page
}

export interface Allowed {
  allowed: boolean;
  why?: string;
}

export interface Condition {
  type: string;
  status: string;
  reason?: string;
  message?: string;
  at?: string;
}

export interface PhaseSpan {
  phase: string;
  from: string;
  to?: string;
  seconds?: number;
}

export interface Container {
  name: string;
  init?: boolean;
  state: string;
  reason?: string;
  exitCode?: number;
  restarts?: number;
  started?: string;
  finished?: string;
  ready?: boolean;
  logs?: boolean;
}

export interface Pod extends Named {
  phase: string;
  reason?: string;
  node?: string;
  created?: string;
  task?: string;
  resources?: Record<string, string>;
  mig?: string[];
  zone?: string;
  containers?: Container[];
}

export interface EventRow {
  last?: string;
  count?: number;
  type?: string;
  reason?: string;
  object?: string;
  message?: string;
}

export interface Related {
  kind: string;
  apiVersion?: string;
  ns?: string;
  name: string;
  uid?: string;
  state?: string;
}

export interface Tree extends Related {
  message?: string;
  created?: string;
  deployed?: boolean;
  current?: boolean;
  podSets?: { name?: string; expected?: number; seen?: number }[];
  children?: Tree[];
}

export type Manifest = Record<string, unknown>;

export interface JobDetail {
  job: Job;
  object?: Manifest;
  description?: { events?: EventRow[]; why?: string };
  phases?: PhaseSpan[];
  conditions?: Condition[];
  lock?: { cluster: string; holder?: string; expires?: string };
  pods?: Pod[];
  related?: Related[];
  archive?: { entries?: { uid: string; phase?: string; created?: string; completed?: string }[] };
  actions?: Record<string, Allowed>;
}

export interface Step {
  name: string;
  container?: string;
  state: string;
  exitCode?: number;
  started?: string;
  completed?: string;
  reason?: string;
}

export interface PipelineTask {
  name: string;
  taskRun?: string;
  state: string;
  reason?: string;
  message?: string;
  after?: string[];
  finally?: boolean;
  started?: string;
  completed?: string;
  retries?: number;
  pod?: string;
  results?: { name: string; value: unknown }[];
  steps?: Step[];
  tail?: string[];
}

export interface Pipeline {
  run?: string;
  state?: string;
  started?: string;
  completed?: string;
  parameters?: { name: string; value: unknown }[];
  results?: { name: string; value: unknown }[];
  tasks?: PipelineTask[];
}

export interface Quota {
  flavor: string;
  resource: string;
  shortResource?: string;
  nominal: string;
  used: string;
  reserved: string;
  borrowed: string;
  lent: string;
  nominalNumber?: number;
  usedNumber?: number;
  reservedNumber?: number;
}

export interface QueueView {
  partial?: boolean;
  now?: string;
  clusterQueues?: { name: string; cohort?: string; active: boolean; inactiveReason?: string; strategy?: string; waiting: number; admitted: number; quotas?: Quota[] }[];
  localQueues?: { ns: string; name: string; clusterQueue?: string; waiting: number; admitted: number; active: boolean }[];
  matrix?: { rows?: string[]; columns?: string[]; cells?: { row: string; column: string; used: number; total: number; locked?: boolean }[] };
}

export interface Workload extends Named {
  state: string;
  queue?: string;
  clusterQueue?: string;
  position?: number;
  priority?: number;
  owner?: string;
  job?: string;
  requests?: string;
  reason?: string;
  says?: string;
  created?: string;
  admitted?: string;
  finished?: string;
}

export interface Lock {
  ns?: string;
  cluster: string;
  state: string;
  holder?: string;
  since?: string;
  expires?: string;
  job?: string;
  waitsFor?: string[]; // "namespace/name" of jobs
  blocks?: string[];
}

export interface Cluster extends Named {
  state: string;
  managed?: boolean;
  gpus?: { type: string; total: number; used: number }[];
  slots?: { total: number; used: number };
  details?: string;
  lock?: Lock;
  runningJobs?: number;
  nextJob?: string;
  nextJobNs?: string;
  lastProbe?: string;
  failures?: number;
  serverVersion?: string;
  nodes?: number;
  owner?: string;
  cordoned?: boolean;
  troubles?: string[];
  created?: string;
}

export interface ClusterDetail {
  partial?: boolean;
  cluster: Cluster;
  object?: Manifest;
  description?: { events?: EventRow[]; why?: string };
  conditions?: Condition[];
  hardware?: { at: string; gpus: number; byType?: Record<string, number> }[];
  nodes?: { name: string; ready: boolean; schedulable?: boolean; gpu?: string; allocatable?: number }[];
  jobs?: Job[];
  quota?: { resource: string; quota: string; discovered: string; differs: boolean }[];
  actions?: Record<string, Allowed>;
}

export interface Lane {
  cluster: string;
  bars?: { job: string; ns?: string; phase: string; from: string; to?: string; owner?: string; outcome?: string }[];
  locks?: { holder?: string; from: string; to?: string }[];
}

export interface Project {
  name: string;
  cluster?: string;
  presets?: string[];
  configKeys?: string[];
}

export interface FormView {
  schema?: Manifest;
  projects?: Project[];
  pipelines?: string[];
  clusters?: { name: string; state?: string; freeGpus?: Record<string, number>; locked?: boolean }[];
  priorities?: string[];
  owner?: string;
  templates?: { name: string; object: Manifest }[];
}

export interface Schedule extends Named {
  state: string;
  project?: string;
  preset?: string;
  pipeline?: string;
  cluster?: string;
  owner?: string;
  schedule: string;
  timeZone?: string;
  words?: string;
  next?: string[];
  lastRun?: string;
  successRate?: number;
  overlap?: string;
  resolver?: string;
  pausedUntil?: string;
  managed?: boolean;
}

export interface AppWrapper extends Named {
  phase: string;
  user?: string;
  queue?: string;
  components?: { ready: number; total: number };
  pods?: { running?: number; succeeded?: number; failed?: number; expected?: number };
  retries?: number;
  created?: string;
  conditions?: Condition[];
  text?: string;
  suspended?: boolean;
}

export interface NodeRow extends Named {
  state: string;
  roles?: string[];
  gpus?: string;
  gpuList?: { resource: string; type?: string; used: number; total: number; shared?: boolean }[];
  numaPolicy?: string;
  pods?: number;
  pressure?: string[];
  taints?: string[];
  emulated?: boolean;
  failed?: boolean;
  created?: string;
}

export interface Problem {
  severity: "error" | "warning";
  object?: { kind: string; ns?: string; name: string };
  since?: string;
  text: string;
  action?: string;
}
