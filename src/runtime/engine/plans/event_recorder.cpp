// SPDX-License-Identifier: Apache-2.0
// Events: names, bodies, counts.
#include "runtime/engine/plans/event_recorder.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "api/builtin.hpp"
#include "base/digest.hpp"

namespace athanor::runtime {

namespace {

constexpr std::size_t kSuffixDigits = 16;

std::string event_name(std::string_view about, std::uint64_t suffix) {
  return fmt::format("{}.{:0{}x}", about, suffix, kSuffixDigits);
}

}  // namespace

WriteRequest EventRecorder::record(const Emit& step, std::string_view uid, const Author& author,
                                   Instant now) {
  const std::string_view component =
      step.component.empty() ? author.component : std::string_view(step.component);
  const std::string digest =
      sha256(fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", component, step.about.kind->name,
                         step.about.key.text(), uid, step.type, step.reason, step.note));
  std::array<std::uint64_t, 2> identity{};
  std::memcpy(identity.data(), digest.data(), sizeof(identity));
  const std::string time = format_time(now);
  const std::string ns = step.about.key.ns.empty() ? "default" : step.about.key.ns;
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (identities_[i] != identity[0] || known_[i].identity != identity[1] ||
        known_[i].count == 0) {
      continue;
    }
    ++known_[i].count;
    return {.verb = WriteVerb::MergePatch,
            .target = {&api::kEvent, {ns, event_name(step.about.key.name, known_[i].suffix)}},
            .body = Value::object({{"count", known_[i].count}, {"lastTimestamp", time}}),
            .manager = std::string(author.manager)};
  }
  if (known_.size() < kRemembered) {
    identities_.emplace_back();
    known_.emplace_back();
    oldest_ = known_.size() - 1;
  }
  identities_[oldest_] = identity[0];
  known_[oldest_] = {.identity = identity[1], .suffix = entropy_.next(), .count = 1};
  const Key key{ns, event_name(step.about.key.name, known_[oldest_].suffix)};
  oldest_ = (oldest_ + 1) % kRemembered;
  Value involved = Value::object({{"apiVersion", step.about.kind->api_version()},
                                  {"kind", step.about.kind->name},
                                  {"name", step.about.key.name}});
  if (!step.about.key.ns.empty()) {
    involved.set("namespace", step.about.key.ns);
  }
  if (!uid.empty()) {
    involved.set("uid", uid);
  }
  return {
      .verb = WriteVerb::Create,
      .target = {&api::kEvent, key},
      .body = Value::object({{"apiVersion", "v1"},
                             {"kind", "Event"},
                             {"metadata", Value::object({{"name", key.name}, {"namespace", ns}})},
                             {"involvedObject", std::move(involved)},
                             {"type", step.type},
                             {"reason", step.reason},
                             {"message", step.note},
                             {"source", Value::object({{"component", component}})},
                             {"reportingComponent", component},
                             {"firstTimestamp", time},
                             {"lastTimestamp", time},
                             {"count", 1}}),
      .manager = std::string(author.manager)};
}

void EventRecorder::forget(const Key& event) {
  if (event.name.size() < kSuffixDigits) {
    return;
  }
  const std::string_view digits =
      std::string_view(event.name).substr(event.name.size() - kSuffixDigits);
  std::uint64_t suffix = 0;
  if (std::from_chars(digits.begin(), digits.end(), suffix, 16).ptr != digits.end()) {
    return;
  }
  for (Known& known : known_) {
    if (known.suffix == suffix) {
      known.count = 0;
    }
  }
}

}  // namespace athanor::runtime
