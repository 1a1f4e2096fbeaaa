// SPDX-License-Identifier: Apache-2.0
#include "cli/reasons.hpp"

#include <fmt/core.h>

#include <optional>
#include <vector>

#include "kube/text/quantity.hpp"

namespace athanor::cli {
namespace {

constexpr std::string_view kSlots = "fournos/cluster-slot";
constexpr std::string_view kGpuPrefix = "fournos/gpu-";
constexpr std::string_view kBusy = "insufficient unused quota for ";
constexpr std::string_view kNever = "insufficient quota for ";

// One flavor without enough quota: `lacks` more are needed, or `asked` exceeds all that it has.
struct Shortage {
  std::string resource{};
  std::string flavor{};
  std::string lacks{};
  std::string asked{};
  std::string most{};
};

// The text between two marks from `at` on, and `at` moved behind the second one.
std::optional<std::string> between(std::string_view text, std::size_t& at, std::string_view begin,
                                   std::string_view end) {
  const std::size_t start = text.find(begin, at);
  if (start == std::string_view::npos) {
    return std::nullopt;
  }
  const std::size_t from = start + begin.size();
  const std::size_t stop = text.find(end, from);
  if (stop == std::string_view::npos) {
    return std::nullopt;
  }
  at = stop + end.size();
  return std::string(text.substr(from, stop - from));
}

// One text of Kueue: "RESOURCE in flavor FLAVOR, 2 more needed" or "..., previously considered
// podsets requests (0) + current podset request (9) > maximum capacity (8)", or the older "...,
// request > maximum capacity (9 > 8)".
std::optional<Shortage> read_shortage(std::string_view text, bool busy) {
  Shortage found;
  std::size_t at = 0;
  const std::size_t in = text.find(" in flavor ");
  const std::size_t comma = text.find(',', in);
  if (in == std::string_view::npos || comma == std::string_view::npos) {
    return std::nullopt;
  }
  found.resource = std::string(text.substr(0, in));
  constexpr std::size_t kInFlavor = 11;
  found.flavor = std::string(text.substr(in + kInFlavor, comma - in - kInFlavor));
  at = comma;
  if (busy) {
    const auto lacks = between(text, at, ", ", " more needed");
    found.lacks = lacks.value_or("");
    return lacks ? std::optional(found) : std::nullopt;
  }
  std::size_t older = at;
  if (const auto pair = between(text, older, "request > maximum capacity (", ")")) {
    const std::size_t sign = pair->find(" > ");
    if (sign == std::string::npos) {
      return std::nullopt;
    }
    found.asked = pair->substr(0, sign);
    found.most = pair->substr(sign + 3);
    return found;
  }
  const auto asked = between(text, at, "current podset request (", ")");
  const auto most = between(text, at, "maximum capacity (", ")");
  if (!asked || !most) {
    return std::nullopt;
  }
  found.asked = *asked;
  found.most = *most;
  return found;
}

std::vector<Shortage> shortages_of(std::string_view message) {
  std::vector<Shortage> all;
  std::size_t at = 0;
  while (at < message.size()) {
    const std::size_t busy = message.find(kBusy, at);
    const std::size_t never = message.find(kNever, at);
    const std::size_t next = std::min(busy, never);
    if (next == std::string_view::npos) {
      break;
    }
    at = next + (next == busy ? kBusy : kNever).size();
    if (auto one = read_shortage(message.substr(at), next == busy)) {
      all.push_back(*std::move(one));
    }
  }
  return all;
}

std::int64_t whole(const std::string& text) {
  const auto quantity = Quantity::parse(std::string_view(text));
  return quantity ? quantity->value() : 0;
}

}  // namespace

std::string short_resource(std::string_view resource) {
  if (resource == kSlots) {
    return "slots";
  }
  return std::string(resource.starts_with(kGpuPrefix) ? resource.substr(kGpuPrefix.size())
                                                      : resource);
}

std::string clear_reason(std::string_view message) {
  const std::vector<Shortage> all = shortages_of(message);
  std::string waits;
  const Shortage* greatest = nullptr;
  for (const Shortage& one : all) {
    if (!one.lacks.empty()) {
      waits += fmt::format(
          "{}{} lacks {}",
          waits.empty() ? fmt::format("waits for {}: ", short_resource(one.resource)) : ", ",
          one.flavor, one.lacks);
    } else if (greatest == nullptr || whole(one.most) > whole(greatest->most)) {
      greatest = &one;
    }
  }
  if (!waits.empty()) {
    return waits;
  }
  if (greatest != nullptr) {
    return fmt::format("{} {} fit in no cluster (at most {})", greatest->asked,
                       short_resource(greatest->resource), greatest->most);
  }
  return std::string(message);
}

}  // namespace athanor::cli
