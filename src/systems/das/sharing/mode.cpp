// SPDX-License-Identifier: Apache-2.0
#include "systems/das/sharing/mode.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <system_error>

namespace athanor::das {
namespace {

constexpr int kMostReplicas = 100;
constexpr int kMostGb = 1000;
constexpr std::array<std::string_view, 4> kIntervals{"Default", "Short", "Medium", "Long"};

std::optional<int> number(std::string_view text, int most) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end && value >= 0 && value <= most ? std::optional(value)
                                                                            : std::nullopt;
}

// The part before `separator`, which goes with it.
std::string_view take(std::string_view& text, char separator) {
  const std::string_view head = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(head.size() + 1, text.size()));
  return head;
}

std::optional<GpuSharing> read_mode(std::string_view text) {
  const std::string_view mode = take(text, ':');
  if (mode == "mig" && text.empty()) {
    return GpuSharing{};
  }
  const auto amount = number(take(text, ':'), mode == "mps" ? kMostGb : kMostReplicas);
  if (!amount || *amount == 0) {
    return std::nullopt;
  }
  if (mode == "mps" && text.empty()) {
    return GpuSharing{.mode = GpuMode::Mps, .unit_gb = *amount};
  }
  const std::string_view interval = text.empty() ? kIntervals.front() : text;
  if (mode != "timeslice" || std::ranges::find(kIntervals, interval) == kIntervals.end()) {
    return std::nullopt;
  }
  return GpuSharing{
      .mode = GpuMode::TimeSlice, .replicas = *amount, .interval = std::string(interval)};
}

Error bad(std::string_view annotation, std::string_view why) {
  return Error::bad_request(
      fmt::format("invalid {} \"{}\": {}", kSharingAnnotation, annotation, why));
}

}  // namespace

Result<std::vector<GpuSharing>> wanted_sharing(std::string_view annotation, std::size_t gpus) {
  std::vector<GpuSharing> sharing(gpus);
  std::string_view rest = annotation;
  while (!rest.empty()) {
    std::string_view entry = take(rest, ',');
    const auto index = number(take(entry, '='), kMostGb);
    const auto mode = read_mode(entry);
    if (!index || !mode) {
      return bad(annotation,
                 "must be a list of INDEX=mig, INDEX=timeslice:REPLICAS[:INTERVAL] or "
                 "INDEX=mps:GB; intervals are Default, Short, Medium and Long");
    }
    if (static_cast<std::size_t>(*index) >= gpus) {
      return bad(annotation, fmt::format("there is no GPU {}", *index));
    }
    sharing[static_cast<std::size_t>(*index)] = *mode;
  }
  return sharing;
}

std::vector<GpuSharing> sharing_of(const Value& node_resources) {
  std::vector<GpuSharing> all;
  for (const Value& gpu : node_resources["nodeGpus"].items()) {
    const Value& written = gpu[kSharingMember];
    GpuSharing one;
    if (written["mode"].as_string() == "timeslice") {
      one = {.mode = GpuMode::TimeSlice,
             .replicas = static_cast<int>(written["replicas"].as_int()),
             .interval = written["interval"].str()};
    } else if (written["mode"].as_string() == "mps") {
      one = {.mode = GpuMode::Mps, .unit_gb = static_cast<int>(written["unitGb"].as_int())};
    }
    all.push_back(std::move(one));
  }
  return all;
}

void set_sharing(Value& node_resources, const std::vector<GpuSharing>& sharing) {
  Value& gpus = node_resources.member("nodeGpus");
  for (std::size_t i = 0; i < gpus.size() && i < sharing.size(); ++i) {
    const GpuSharing& one = sharing[i];
    if (one.mode == GpuMode::TimeSlice) {
      gpus.item(i).set(kSharingMember, Value::object({{"mode", "timeslice"},
                                                      {"replicas", one.replicas},
                                                      {"interval", one.interval}}));
    } else if (one.mode == GpuMode::Mps) {
      gpus.item(i).set(kSharingMember, Value::object({{"mode", "mps"}, {"unitGb", one.unit_gb}}));
    }
  }
}

int shares_of(const GpuSharing& sharing, int memory_gib) {
  return sharing.mode == GpuMode::TimeSlice                    ? sharing.replicas
         : sharing.mode == GpuMode::Mps && sharing.unit_gb > 0 ? memory_gib / sharing.unit_gb
                                                               : 0;
}

std::string resource_of_share(const GpuSharing& sharing) {
  return sharing.mode == GpuMode::TimeSlice ? "ts.das.com/gpu"
         : sharing.mode == GpuMode::Mps     ? fmt::format("mps.das.com/gpu-{}gb", sharing.unit_gb)
                                            : std::string();
}

std::map<std::string, int> share_capacity(const std::vector<GpuSharing>& sharing, int memory_gib) {
  std::map<std::string, int> capacity;
  for (const GpuSharing& one : sharing) {
    if (const int shares = shares_of(one, memory_gib); shares > 0) {
      capacity[resource_of_share(one)] += shares;
    }
  }
  return capacity;
}

}  // namespace athanor::das
