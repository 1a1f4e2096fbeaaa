// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/plans/write_loops.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "kube/apply/patch.hpp"
#include "runtime/cache/cache.hpp"
#include "runtime/engine/model/suppress.hpp"

namespace athanor::runtime {

namespace {

constexpr int kMostDoublings = 10;

// Returns the value without what every write has anew: times, and the version that it requires.
Value steady_part(const Value& value) {
  if (value.is_object()) {
    Value out = Value::object();
    for (const Member& member : value.members()) {
      if (member.key() != "resourceVersion") {
        out.set(member.key(), steady_part(member.value));
      }
    }
    return out;
  }
  if (value.is_list()) {
    Value out = Value::list();
    for (const Value& item : value.items()) {
      out.push_back(steady_part(item));
    }
    return out;
  }
  return value.is_string() && parse_time(value.as_string()) ? Value("time") : value;
}

// Returns true if a request says what the object said already.
bool is_said(const WriteRequest& request, const Object& object) {
  const Value there = steady_part(object.body());
  Value said = steady_part(request.body);
  if (request.verb == WriteVerb::MergePatch) {
    return apply_merge_patch(there, said) == there;
  }
  for (const char* member : {"generation", "managedFields"}) {
    said.erase_path({"metadata", member});
  }
  return covers(there, said);
}

// Returns the field manager that wrote last, and not before `own`; empty: there is none.
std::string rival_of(const Object& object, std::string_view own) {
  const Value& entries = object.metadata()["managedFields"];
  std::string_view newest;
  std::string_view name;
  for (const Value& entry : entries.items()) {
    const std::string_view time = entry["time"].as_string();
    if (entry["manager"].as_string() == own) {
      newest = std::max(newest, time);
    }
  }
  for (const Value& entry : entries.items()) {
    const std::string_view time = entry["time"].as_string();
    if (entry["manager"].as_string() != own && time >= newest) {
      newest = time;
      name = entry["manager"].as_string();
    }
  }
  return std::string(name);
}

}  // namespace

std::string WriteLoops::Writer::text() const {
  std::string text(controller);
  return key.ns.empty() && key.name == "singleton" ? text : text + " (" + key.text() + ")";
}

void WriteLoops::glance(const Ref& ref, const Write& write, Instant now) {
  if (glances_.empty()) {
    glances_.resize(kGlances);
  }
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  const std::uint64_t writer =
      std::hash<std::string_view>()(write.writer.controller) * 31 + hash_of(write.writer.key);
  const std::uint64_t mixed = (hash_of(ref.key) * 31 + writer) * kSpread;
  const std::uint64_t digest = mixed == 0 ? 1 : mixed;  // 0: a free slot
  Glance& slot = glances_[(digest >> 32U) % kGlances];
  const std::uint64_t version = version_of(&write.after);
  if (slot.name != digest || now - slot.began >= kWindow) {
    slot = {.name = digest, .version = slot.name == digest ? slot.version : version, .began = now};
  }
  const bool is_turn = version > write.before && write.before > slot.version;
  slot.version = version;
  slot.turns += is_turn ? 1 : 0;
  if (slot.turns < kSuspect) {
    return;
  }
  Entry& entry = known_[{ref, write.writer.text()}];
  entry = {.began = slot.began,
           .last = now,
           .version = version,
           .after = write.after,
           .manager = write.request.manager};
  slot = {};
}

int WriteLoops::wrote(const Write& write, Instant now) {
  const Ref ref{write.request.target.kind, write.after.key()};
  const auto at = known_.empty() ? known_.end() : known_.find({ref, write.writer.text()});
  if (at == known_.end()) {
    glance(ref, write, now);
    return 0;
  }
  Entry& entry = at->second;
  const std::uint64_t version = version_of(&write.after);
  const std::uint64_t last_version = std::exchange(entry.version, version);
  const Object last_after = std::exchange(entry.after, write.after);
  entry.last = now;
  if (now - entry.began >= kWindow) {
    entry.began = now;
    entry.repeats = 0;
  }
  if (now >= entry.until + kWindow) {
    entry.pauses = 0;  // there was peace after the last pause
  }
  const bool is_turn = version > write.before && write.before > last_version;
  if (!is_turn || !is_said(write.request, last_after)) {
    return 0;
  }
  // After a pause a single repetition goes on with the loop.
  if (++entry.repeats <= kMostRepeats - kSuspect && entry.pauses == 0) {
    return 0;
  }
  entry.until =
      now + std::min(kLongestPause, kFirstPause * (1 << std::min(entry.pauses, kMostDoublings)));
  entry.began = now;
  entry.repeats = 0;
  return ++entry.pauses;
}

std::optional<Instant> WriteLoops::held_until(const Writer& writer, const Ref& ref,
                                              Instant now) const {
  const auto at = known_.empty() ? known_.end() : known_.find({ref, writer.text()});
  if (at == known_.end() || at->second.pauses == 0 || at->second.until <= now) {
    return std::nullopt;
  }
  return at->second.until;
}

std::string WriteLoops::rival(const Writer& writer, const Ref& ref) const {
  const std::string own = writer.text();
  std::string manager;
  for (auto at = known_.lower_bound({ref, {}}); at != known_.end() && at->first.first == ref;
       ++at) {
    if (at->first.second != own) {
      return at->first.second;
    }
    manager = at->second.other;
  }
  return manager;
}

void WriteLoops::saw(const Ref& ref, const Object& object) {
  for (auto at = known_.lower_bound({ref, {}}); at != known_.end() && at->first.first == ref;
       ++at) {
    // The key's own write may have removed the rival's fields.
    if (std::string rival = rival_of(object, at->second.manager); !rival.empty()) {
      at->second.other = std::move(rival);
    }
  }
}

void WriteLoops::sweep(Instant now) {
  if (now >= swept_ && now - swept_ < kWindow) {
    return;
  }
  swept_ = now;
  std::erase_if(known_, [&](const auto& one) {
    const Entry& entry = one.second;
    return now - entry.last >= kWindow && now >= entry.until + kWindow;
  });
}

void WriteLoops::shift(Duration by) {
  for (Glance& slot : glances_) {
    slot.began += by;
  }
  for (auto& [name, entry] : known_) {
    entry.began += by;
    entry.last += by;
    entry.until += by;
  }
  swept_ += by;
}

}  // namespace athanor::runtime
