// SPDX-License-Identifier: Apache-2.0
#include "console/data/sight.hpp"

#include <string>
#include <utility>

namespace athanor::console {
namespace {

// Leaves out the "ns/name" of jobs that are out of sight.
void shorten_jobs(Value& lock, const char* member, const Visible& jobs) {
  if (!lock.contains(member)) {
    return;
  }
  Value seen = Value::list();
  for (const Value& job : lock[std::string_view(member)].items()) {
    const std::string_view name = job.as_string();
    if (jobs.shows(name.substr(0, name.find('/')))) {
      seen.push_back(job);
    }
  }
  lock.set(member, std::move(seen));
}

Value lock_in_sight(Value lock, const Visible& jobs) {
  shorten_jobs(lock, "waitsFor", jobs);
  shorten_jobs(lock, "blocks", jobs);
  return lock;
}

Value cluster_in_sight(Value row, const Visible& jobs) {
  if (row.contains("nextJob") && !jobs.shows(row["nextJobNs"].as_string())) {
    row.erase("nextJob");
    row.erase("nextJobNs");
  }
  if (row["lock"].is_object()) {
    row.set("lock", lock_in_sight(row["lock"], jobs));
  }
  return row;
}

Value holder_in_sight(Value holder, const Visible& pods) {
  const std::string reserved = holder["reservedFor"].str();
  if (!reserved.empty() && !pods.shows(reserved.substr(0, reserved.find('/')))) {
    holder.erase("reservedFor");
  }
  if (const Value& ns = holder["namespace"]; !ns.as_string().empty() && !pods.shows(ns.str())) {
    for (const char* name : {"claim", "namespace", "pod", "container"}) {
      holder.set(name, "");
    }
  }
  return holder;
}

Value gpus_in_sight(Value row, const Visible& pods) {
  Value gpus = Value::list();
  for (Value gpu : row["gpus"].items()) {
    Value holders = Value::list();
    for (const Value& holder : gpu["holders"].items()) {
      holders.push_back(holder_in_sight(holder, pods));
    }
    gpu.set("holders", std::move(holders));
    gpus.push_back(std::move(gpu));
  }
  row.set("gpus", std::move(gpus));
  return row;
}

Value zones_in_sight(Value row, const Visible& pods) {
  Value seen = Value::list();
  for (const Value& pod : row["pods"].items()) {
    if (pods.shows(pod["ns"].as_string())) {
      seen.push_back(pod);
    }
  }
  row.set("pods", std::move(seen));
  return row;
}

}  // namespace

Value in_sight(std::string_view topic, Value row, const Sight& sight) {
  if (topic == "clusters" && !sight.jobs.all) {
    return cluster_in_sight(std::move(row), sight.jobs);
  }
  if (topic == "locks" && !sight.jobs.all) {
    return lock_in_sight(std::move(row), sight.jobs);
  }
  if (topic == "mig" && !sight.pods.all && row.contains("gpus")) {
    return gpus_in_sight(std::move(row), sight.pods);
  }
  if (topic == "numa" && !sight.pods.all && row.contains("pods")) {
    return zones_in_sight(std::move(row), sight.pods);
  }
  return row;
}

Value slices_in_sight(const Value& list, const Visible& pods) {
  Value seen = Value::list();
  for (const Value& one : list.items()) {
    seen.push_back(one.contains("gpus") ? gpus_in_sight(one, pods) : holder_in_sight(one, pods));
  }
  return seen;
}

Value problems_in_sight(const Value& problems, const Visible& pods) {
  if (pods.all) {
    return problems;
  }
  Value seen = Value::list();
  const auto shows = [&](const Value& ns) {
    return ns.as_string().empty() || pods.shows(ns.as_string());
  };
  for (const Value& problem : problems.items()) {
    if (shows(problem["ns"]) && shows(problem["otherNs"])) {
      seen.push_back(problem);
    }
  }
  return seen;
}

Value slice_change_in_sight(Value change, const Visible& pods) {
  if (!pods.all && !pods.shows(change["ns"].as_string())) {
    for (const char* name : {"claim", "ns", "pod"}) {
      change.set(name, "");
    }
  }
  return change;
}

}  // namespace athanor::console
