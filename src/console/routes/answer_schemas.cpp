// SPDX-License-Identifier: Apache-2.0
#include "console/routes/answer_schemas.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace athanor::console {
namespace {

// clang-format off
constexpr NamedNotation kShared[] = {
    {"Action", "{allowed: flag, why?}"},
    {"Condition", "{type, status, reason: text~, message: text~, at: text~}"},
    {"Event", "{last: text~, count: whole, type: text~, reason: text~, object?, message: text~}"},
    {"Description", "{kind, namespace, name, facts: <any>, timeline: [{at: time, what, seconds?: number}],"
                    " children: [{kind, name, state, message}], events: [@Event], why}"},
    {"Phase", "{phase, from: time, to?: time, seconds: number}"},
    {"Span", "{name, state, from?: time, to?: time, seconds?: number}"},
    {"Container", "{name: text~, init: flag, state, reason?, message?, exitCode?: whole, restarts: whole,"
                  " started?, finished?, ready: flag, logs: flag}"},
    {"Pod", "{ns?, name, uid, resourceVersion, created?: time, phase: text~, reason?, node?, task?,"
            " resources: <any>, mig: [text], zone?, containers: [@Container]}"},
    {"Related", "{kind, apiVersion, ns, name, uid, state}"},
    {"Tree", "{kind, apiVersion: text~, ns, name, uid?, state: text~, message?: text~, created?, current?: flag,"
             " deployed?: flag, podSets?: [{name?, expected: whole, seen: whole}], pod?: @Pod, children: [@Tree]}"},
    {"Result", "{name: text~, value: text~}"},
    {"Step", "{name: text~, container: text~, state, exitCode?: whole, started?, completed?, reason?}"},
    {"Task", "{name, state, reason?, message?, after: [text], finally: flag, started?, completed?,"
             " retries?: whole, taskRun?, pod?, results?: [@Result], steps?: [@Step], tail?: [text]}"},
    {"Cause", "{kind, object, text, unblockedBy?, details?: {namespaceSelector: object~, labels: <text>}}"},
    {"Need", "{flavor, resource, nominal, used, available, borrowable, capacity?, wanted,"
             " holders: [{workload, clusterQueue, priority: whole, holds, owner?, person?, since?: time, notPreempted?}]}"},
    {"Explanation", "{state, text, workload?, owner?, localQueue?, clusterQueue?, causes?: [@Cause],"
                    " ahead?: [{workload, position: whole, priority: whole}], quotas?: [@Need],"
                    " preempts?: [{workload, clusterQueue, why, frees: [{flavor, resource, amount}]}],"
                    " position?: whole, estimate?: {runs: whole, earliest?: time, latest?: time},"
                    " missing?: [text], hidden?: whole, lock?: @locks}"},
    {"Quota", "{flavor, resource, shortResource, nominal, nominalNumber: number, used, usedNumber: number,"
              " reserved, reservedNumber: number, borrowed, borrowedNumber: number, lent, lentNumber: number}"},
    {"Holder", "{claim, profile, namespace, pod, container, state, start?: whole, size?: whole, share?: whole,"
               " created?, reservedFor?}"},
    {"Gpu", "{node, index: whole, name, uuid, memory, health, mode, resource, total: whole, free: whole,"
            " foreign: [{start: whole, size: whole}], holders: [@Holder], room: <whole>,"
            " placements: <[{start: whole, size: whole}]>, fragmentation: <number>, largestFree?}"},
    {"Zone", "{name, id: whole, resources: [{name, unit, capacity: number, allocatable: number, available: number,"
             " used: number, reserved: number, text}], distances: [{zone, value: whole}]}"},
    {"Free", "{profile, free: whole}"},
    {"Watch", "{kind, group, listed: flag, watching: flag, events: whole, lists: whole, objects?: whole,"
              " lagSeconds?: number, quietSeconds?: number, ns?, error?}"},
    {"Feature", "{name, present: flag, reason?}"},
    {"Session", "{user, groups: [text], auth, readOnly: flag, csrf, version, namespaces: [text], jobsNamespace,"
                " embedded: flag, features: [@Feature], expires?: time}"},
    {"Message", "{message}"},
    {"Lines", "{lines: [{n: whole, text, at?, source?}], total: whole, first: whole, complete: flag,"
              " archived: flag, sources?: [text]}"},
    // Rows of lists.
    {"jobs", "{? ns!, name!, uid!, resourceVersion, archived: flag, phase, displayName, project, preset, owner,"
             " cluster, requestedCluster, hardware: {gpuType, gpuCount: whole, text}, exclusive: flag,"
             " lockOnly: flag, priority, pipeline, queuePosition: whole, step, stepSince: time,"
             " progress: {done: whole, total: whole}, message, created: time, started: time, completed: time,"
             " waitSeconds: number, runSeconds: number, trigger, schedule, labels: <text>, links: <text>,"
             " pullRequest, shutdown, slots: whole}"},
    {"workloads", "{? ns!, name!, uid!, resourceVersion, state, queue, clusterQueue, position: whole,"
                  " priority: whole, owner, job, requests, reason, says, created: time, admitted: time,"
                  " finished: time}"},
    {"clusters", "{? ns, name!, uid!, resourceVersion, state, managed: flag,"
                 " gpus: [{type, total: whole, used: whole}], slots: {total: whole, used: whole}, details,"
                 " queues, gpuSummary, lock: @locks, runningJobs: whole, nextJob, nextJobNs, lastProbe: time,"
                 " failures: whole, serverVersion, nodes: whole, owner, ttl, cordoned: flag, troubles: [text],"
                 " created: time}"},
    {"locks", "{? ns, name, cluster, state, holder, since: time, expires: time, job, waitsFor: [text],"
              " blocks: [text]}"},
    {"appwrappers", "{? ns!, name!, uid!, resourceVersion, phase, user, queue,"
                    " components: {ready: whole, total: whole},"
                    " pods: {running: whole, succeeded: whole, failed: whole, expected: whole}, retries: whole,"
                    " conditions: [@Condition], text, suspended: flag, created: time}"},
    {"nodes", "{? name!, uid!, resourceVersion, state, roles: [text], gpus,"
              " gpuList: [{resource, type, used: whole, total: whole, shared: flag}], numaPolicy, pods: whole,"
              " pressure: [text], taints: [text], emulated: flag, failed: flag, labels: <text>~, created: time}"},
    {"schedules", "{? ns!, name!, uid!, resourceVersion, state, project, preset, pipeline, cluster, owner, schedule,"
                  " timeZone, words, next: [time], lastRun: time, successRate: number, overlap, resolver,"
                  " pausedUntil: time, managed: flag, created: time}"},
};

struct Answer {
  std::string_view route{};
  std::string_view notation{};
};
constexpr Answer kAnswers[] = {
    {"POST /api/v1/jobs", "{job: @jobs, object: object, warnings: [text]}"},
    {"GET /api/v1/jobs/compare", "{jobs: [@jobs], spec: [{path, values: [text~]}],"
                                 " tasks: [{name, seconds: [number~]}],"
                                 " results: [{name, values: [text~], differencePercent?: number}]}"},
    {"GET /api/v1/jobs/{ns}/{name}", "{job: @jobs, object: object, description: @Description, phases: [@Phase],"
                                     " conditions: [@Condition], pods: [@Pod], related: [@Related],"
                                     " archive: {entries: [{uid, phase, created, completed}]},"
                                     " actions: <@Action>, now: time, states: [{at, phase, message}], lock?: @locks}"},
    {"DELETE /api/v1/jobs/{ns}/{name}", "@Message"},
    {"GET /api/v1/jobs/{ns}/{name}/timeline", "{phases: [@Phase], tasks: [{name, state, from?: time, to?: time,"
                                              " seconds?: number, steps: [@Span]}]}"},
    {"GET /api/v1/jobs/{ns}/{name}/pipeline", "{run, state?, started?, completed?, parameters?: [@Result],"
                                              " results?: [@Result], tasks: [@Task]}"},
    {"GET /api/v1/jobs/{ns}/{name}/explain", "@Explanation"},
    {"GET /api/v1/jobs/{ns}/{name}/tree", "@Tree"},
    {"POST /api/v1/jobs/{ns}/{name}/stop", "@Message"},
    {"POST /api/v1/jobs/{ns}/{name}/terminate", "@Message"},
    {"POST /api/v1/jobs/{ns}/{name}/rerun", "{job: {ns, name}, message}"},
    {"GET /api/v1/queue", "{clusterQueues: [{name, active: flag, strategy: text~, waiting: whole, admitted: whole,"
                          " quotas: [@Quota], cohort?, inactiveReason?}],"
                          " localQueues: [{ns, name, clusterQueue, waiting: whole, admitted: whole, active: flag}],"
                          " matrix: {rows: [text], columns: [text],"
                          " cells: [{row, column, used: number, total: number, locked: flag}]},"
                          " tree: [any], now: time, partial: flag}"},
    {"GET /api/v1/workloads/{ns}/{name}/explain", "@Explanation"},
    {"GET /api/v1/clusters/{name}", "{cluster: @clusters, jobs: [@jobs], object?: object, conditions?: [@Condition],"
                                    " description?: @Description, nodes?: [any],"
                                    " quota?: [{resource, quota, discovered, differs: flag}], partial: flag,"
                                    " hardware: [{at, gpus: whole, byType: <whole>}], actions: <@Action>}"},
    {"PUT /api/v1/clusters/{name}/lock", "{lock: @locks, message}"},
    {"DELETE /api/v1/clusters/{name}/lock", "@Message"},
    {"POST /api/v1/clusters/{name}/rediscover", "@Message"},
    {"POST /api/v1/clusters/{name}/cordon", "@Message"},
    {"POST /api/v1/clusters/{name}/uncordon", "@Message"},
    {"POST /api/v1/clusters/{name}/offboard", "@Message"},
    {"GET /api/v1/gpus", "{items: [{key, gpuHours: number, jobs: whole, byType: <number>, now: whole}],"
                         " total: whole, partial: flag}"},
    {"GET /api/v1/fleet/timeline", "{from: time, to: time, lanes: [{cluster,"
                                   " bars: [{job, ns, phase, from: time, to: time, owner: text~, outcome?}],"
                                   " locks: [{holder: text~, from: text~, to: text~}]}]}"},
    {"GET /api/v1/mig", "{nodes: [{node, gpus: [@Gpu], totals: [@Free]}], lost: [@Holder],"
                        " problems: [{object, text, ns?, otherNs?}], totals: [@Free],"
                        " slots: {used: whole, total: whole}, claims: whole,"
                        " waiting: [{ns, name, profiles: [text], fits: flag, reason: text~}], partial: flag}"},
    {"GET /api/v1/mig/history", "{from: time, to: time, changes: [{at: time, type, claim, node, gpu, profile,"
                                " start: whole, size: whole, ns?, pod?}]}"},
    {"POST /api/v1/mig/whatif", "{fits: whole, asked: whole, spots: [object], why?}"},
    {"GET /api/v1/numa", "{nodes: [{node, name, resourceVersion, policy, scope, zones: [@Zone],"
                         " pods: [{ns, name, requests, zone}], updated?: time, fingerprint?, staleAt?: time,"
                         " stale: flag}], problems: [{object, text}], partial: flag}"},
    {"POST /api/v1/numa/fit", "{nodes: [object]}"},
    {"GET /api/v1/appwrappers/{ns}/{name}/tree", "{appwrapper: @appwrappers, object: object, page, tree: @Tree,"
                                                 " timers: [{name, annotation, ends?: time}],"
                                                 " transitions: [{at: time, ns, name, uid, phase, retries: whole,"
                                                 " condition?, reason?, message?, seconds?: number}],"
                                                 " transitionsError?}"},
    {"POST /api/v1/appwrappers/{ns}/{name}/suspend", "@Message"},
    {"POST /api/v1/appwrappers/{ns}/{name}/resume", "@Message"},
    {"DELETE /api/v1/appwrappers/{ns}/{name}", "@Message"},
    {"GET /api/v1/nodes/{name}", "{node: @nodes, object: object, conditions: [@Condition], pods: [@Pod]}"},
    {"POST /api/v1/nodes/{name}/cordon", "@Message"},
    {"POST /api/v1/nodes/{name}/uncordon", "@Message"},
    {"POST /api/v1/nodes", "@Message"},
    {"POST /api/v1/nodes/{name}/fail", "@Message"},
    {"POST /api/v1/nodes/{name}/recover", "@Message"},
    {"POST /api/v1/schedules", "@Message"},
    {"GET /api/v1/schedules/preview", "{valid: flag, error?, words?, next?: [time]}"},
    {"PUT /api/v1/schedules/{name}", "@Message"},
    {"DELETE /api/v1/schedules/{name}", "@Message"},
    {"POST /api/v1/schedules/{name}/pause", "@Message"},
    {"POST /api/v1/schedules/{name}/resume", "@Message"},
    {"POST /api/v1/schedules/{name}/trigger", "{job, message}"},
    {"GET /api/v1/schedules/{name}/absent", "{items: [{at: time, kind, reason, message}], total: whole, since: time,"
                                            " unavailable: [text], now: time}"},
    {"GET /api/v1/schedules/{name}/resolver", "{filename, content}"},
    {"GET /api/v1/results/{ns}/{name}", "{available: flag, reason?, files?: [{path, bytes: whole, type}],"
                                        " complete?: flag, mostBytes?: whole}"},
    {"GET /api/v1/whatif", "{text, now: time, days: whole, jobs: {running: whole, waiting: whole, locks: whole,"
                           " ended: whole, leftOut: whole}, assumptions: [text], leftOut: [text], without: object,"
                           " with: object, waiting: [{ns, name, owner: text~, without: any, with: any}],"
                           " job?: {waitSeconds: any}}"},
    {"GET /api/v1/objects", "{object: object, events: [@Event]}"},
    {"GET /api/v1/objects/tree", "@Tree"},
    {"GET /api/v1/session", "@Session"},
    {"POST /api/v1/login", "@Session"},
    {"POST /api/v1/logout", "{}"},
    {"GET /api/v1/overview", "{jobs: {phases: <whole>, sparkline: [{at: time, finished: whole, failed: whole}]},"
                             " queue: {waiting: whole, oldestSeconds: number, waitMedianSeconds?: number,"
                             " waitP90Seconds?: number}, clusters: <whole>,"
                             " locks: {held: whole, acquiring: whole, expiringSoon: whole}, appwrappers: <whole>,"
                             " failures: [{message, count: whole, last, job?: {ns, name, uid, archived: flag}}],"
                             " gpus: [{type, total: whole, used: whole, free: whole}],"
                             " mig?: {used: whole, total: whole, unplaceable: whole},"
                             " numa?: {nodes: whole, over90: whole}, partial: flag, now: time}"},
    {"GET /api/v1/problems", "{items: [{severity, object: {kind, name, ns?}, text, action, since?}], total: whole,"
                             " partial: flag}"},
    {"GET /api/v1/insights", "{from: time, to: time, groups: [{by, key, jobs: whole, failed: whole,"
                             " waitMedianSeconds?: number, waitP90Seconds?: number, runMedianSeconds?: number,"
                             " runP90Seconds?: number}], failures: [{reason, count: whole}],"
                             " evictions: [{ns, queue, count: whole, last}],"
                             " utilisation: [{cluster, hour: whole, percent: number}],"
                             " repairs: {clusters: [{cluster, count: whole, fights: whole, last}],"
                             " newest: [{at, ns, cluster, fight: flag}]}, partial: flag}"},
    {"GET /api/v1/system", "{version, api: {server, connected: flag, error?, version?, latencySeconds?: number},"
                           " watches: [@Watch], controllers: {items: [{name, state, queue: whole, active: whole,"
                           " errors: whole, failing: whole, why?, lastError?}], ready: [{check, ok: flag}], absent?,"
                           " source?, watches?: [@Watch], leads?: flag,"
                           " leader?: {name, held: flag, holder?, since?, renewed?}, errors: [text]},"
                           " features: [@Feature], history: {backend, connected: flag, jobs: whole, queued: whole,"
                           " lost: whole, error?}, logs: {bytes: whole, limitBytes: whole, held: whole, lost: whole,"
                           " error?}, viewers: whole, audit: [{at, user, action, object, outcome}],"
                           " configuration: [{name, value}]}"},
    {"GET /api/v1/openapi.json", "object"},
    {"GET /api/v1/form", "{schema: any, projects: [{name, cluster?, presets: [text], configKeys: [text]}],"
                         " pipelines: [text], clusters: [{name, state?, freeGpus?: <whole>, locked?: flag,"
                         " waiting?: flag, lock?: @locks}], priorities: [text], owner,"
                         " templates: [{name, object: object}]}"},
    {"PUT /api/v1/templates/{name}", "@Message"},
    {"DELETE /api/v1/templates/{name}", "@Message"},
    {"GET /api/v1/logs/{ns}/{pod}/{container}", "@Lines"},
    {"GET /api/v1/logs/{ns}/{pod}/{container}/search", "{matches: [whole], total: whole}"},
    {"GET /api/v1/jobs/{ns}/{name}/logs", "@Lines"},
};
// clang-format on

}  // namespace

std::span<const NamedNotation> shared_schemas() {
  return kShared;
}

std::string_view answer_notation(std::string_view method, std::string_view path) {
  const auto found = std::ranges::find_if(kAnswers, [&](const Answer& one) {
    return one.route.substr(0, method.size()) == method &&
           one.route.substr(std::min(method.size() + 1, one.route.size())) == path;
  });
  return found == std::end(kAnswers) ? std::string_view() : found->notation;
}

std::size_t answer_count() {
  return std::size(kAnswers);
}

}  // namespace athanor::console
