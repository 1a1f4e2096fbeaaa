// SPDX-License-Identifier: Apache-2.0
// Waits of keys for versions, objects and lists.
#include "runtime/engine/model/barrier.hpp"

#include <algorithm>
#include <utility>

namespace athanor::runtime {

void Barrier::wait_version(TaskId id, const Watched& watch, std::uint64_t version) {
  auto [known, fresh] = open_[id].versions.emplace(watch, version);
  auto& waiting = by_version_[watch];
  if (!fresh) {
    if (known->second >= version) {
      return;
    }
    waiting.erase({known->second, id});
    known->second = version;
  }
  waiting.emplace(version, id);
}

void Barrier::wait_change(TaskId id, const Ref& ref, std::uint64_t after) {
  std::uint64_t& known = open_[id].changes[ref];
  known = std::max(known, after);
  by_change_[ref].insert(id);
}

void Barrier::wait_relist(TaskId id, const Watched& watch) {
  open_[id].relists.insert(watch);
  by_relist_[watch].insert(id);
}

std::set<Watched, WatchedOrder> Barrier::watches(TaskId id) const {
  std::set<Watched, WatchedOrder> out;
  if (const auto at = open_.find(id); at != open_.end()) {
    out = at->second.relists;
    for (const auto& [watch, version] : at->second.versions) {
      out.insert(watch);
    }
  }
  return out;
}

std::set<Ref, RefOrder> Barrier::objects(TaskId id) const {
  std::set<Ref, RefOrder> out;
  if (const auto at = open_.find(id); at != open_.end()) {
    for (const auto& [ref, after] : at->second.changes) {
      out.insert(ref);
    }
  }
  return out;
}

std::map<Watched, std::uint64_t, WatchedOrder> Barrier::versions(TaskId id) const {
  const auto at = open_.find(id);
  return at == open_.end() ? decltype(Open::versions)() : at->second.versions;
}

void Barrier::drop(TaskId id) {
  const auto at = open_.find(id);
  if (at == open_.end()) {
    return;
  }
  for (const auto& [watch, version] : at->second.versions) {
    by_version_[watch].erase({version, id});
  }
  for (const auto& [ref, after] : at->second.changes) {
    const auto waiting = by_change_.find(ref);
    waiting->second.erase(id);
    if (waiting->second.empty()) {
      by_change_.erase(waiting);
    }
  }
  for (const Watched& watch : at->second.relists) {
    by_relist_[watch].erase(id);
  }
  open_.erase(at);
}

void Barrier::close_if_empty(TaskId id, std::vector<TaskId>& freed) {
  const auto at = open_.find(id);
  if (at != open_.end() && at->second.empty()) {
    open_.erase(at);
    freed.push_back(id);
  }
}

std::vector<TaskId> Barrier::passed(const Watched& watch, std::uint64_t version) {
  std::vector<TaskId> freed;
  const auto at = by_version_.find(watch);
  if (at == by_version_.end()) {
    return freed;
  }
  auto& waiting = at->second;
  while (!waiting.empty() && waiting.begin()->first <= version) {
    const TaskId id = waiting.begin()->second;
    waiting.erase(waiting.begin());
    open_.at(id).versions.erase(watch);
    close_if_empty(id, freed);
  }
  return freed;
}

std::vector<TaskId> Barrier::changed(const Ref& ref, std::uint64_t version) {
  std::vector<TaskId> freed;
  const auto at = by_change_.find(ref);
  if (at == by_change_.end()) {
    return freed;
  }
  for (auto id = at->second.begin(); id != at->second.end();) {
    Open& open = open_.at(*id);
    if (open.changes.at(ref) >= version) {
      ++id;
      continue;
    }
    open.changes.erase(ref);
    close_if_empty(*id, freed);
    id = at->second.erase(id);
  }
  if (at->second.empty()) {
    by_change_.erase(at);
  }
  return freed;
}

std::vector<TaskId> Barrier::listed(const Watched& watch) {
  const KindOrder order;
  const auto is_other = [&](const Kind* kind) {
    return order(kind, watch.kind) || order(watch.kind, kind);
  };
  std::vector<Ref> refs;
  for (auto at = by_change_.lower_bound({watch.kind, {}});
       at != by_change_.end() && !is_other(at->first.kind); ++at) {
    if (watch.ns.empty() || watch.ns == at->first.key.ns) {
      refs.push_back(at->first);
    }
  }
  std::vector<TaskId> freed;
  for (const Ref& ref : refs) {
    const std::vector<TaskId> more = changed(ref, kGone);
    freed.insert(freed.end(), more.begin(), more.end());
  }
  return freed;
}

std::vector<TaskId> Barrier::relisted(const Watched& watch) {
  std::vector<TaskId> freed;
  const auto at = by_relist_.find(watch);
  if (at == by_relist_.end()) {
    return freed;
  }
  const std::set<TaskId> waiting = std::exchange(at->second, {});
  for (const TaskId id : waiting) {
    open_.at(id).relists.erase(watch);
    close_if_empty(id, freed);
  }
  return freed;
}

}  // namespace athanor::runtime
