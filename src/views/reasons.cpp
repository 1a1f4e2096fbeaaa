// SPDX-License-Identifier: Apache-2.0
#include "views/reasons.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "kube/text/quantity.hpp"
#include "views/texts.hpp"

namespace athanor::views {
namespace {

constexpr std::string_view kClusterResource = "fournos/";
constexpr std::string_view kSlots = "fournos/cluster-slot";
constexpr std::string_view kBusy = "insufficient unused quota for ";
constexpr std::string_view kNever = "insufficient quota for ";
constexpr std::string_view kUncovered = " unavailable in ClusterQueue";
constexpr std::string_view kElsewhere = " doesn't match node affinity";
constexpr std::string_view kPodSet = "couldn't assign flavors to pod set ";

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

std::string sum_of(const std::string& a, const std::string& b) {
  const auto first = Quantity::parse(std::string_view(a));
  const auto second = Quantity::parse(std::string_view(b));
  return first && second && !first->is_zero() ? (*second + *first).text() : b;
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
  // Pod sets of one workload share a flavor: what those before it ask for counts, too.
  std::size_t before = at;
  const auto earlier = between(text, before, "previously considered podsets requests (", ")");
  const auto asked = between(text, at, "current podset request (", ")");
  const auto most = between(text, at, "maximum capacity (", ")");
  if (!asked || !most) {
    return std::nullopt;
  }
  found.asked = earlier ? sum_of(*earlier, *asked) : *asked;
  found.most = *most;
  return found;
}

std::int64_t whole(const std::string& text) {
  const auto quantity = Quantity::parse(std::string_view(text));
  return quantity ? quantity->value() : 0;
}

// What speaks against one pod set.
struct Obstacles {
  std::vector<std::string> uncovered{};  // resources without any quota
  std::vector<Shortage> shortages{};
};

// The parts of a message that each speak of one pod set.
std::vector<std::string_view> pod_sets_of(std::string_view message) {
  std::vector<std::string_view> parts;
  std::size_t at = message.find(kPodSet);
  if (at == std::string_view::npos) {
    return {message};
  }
  while (at != std::string_view::npos) {
    const std::size_t next = message.find(kPodSet, at + kPodSet.size());
    parts.push_back(message.substr(at, next == std::string_view::npos ? next : next - at));
    at = next;
  }
  return parts;
}

Obstacles obstacles_of(std::string_view text) {
  Obstacles all;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t busy = text.find(kBusy, at);
    const std::size_t never = text.find(kNever, at);
    const std::size_t next = std::min(busy, never);
    if (next == std::string_view::npos) {
      break;
    }
    at = next + (next == busy ? kBusy : kNever).size();
    if (auto one = read_shortage(text.substr(at), next == busy)) {
      all.shortages.push_back(*std::move(one));
    }
  }
  constexpr std::string_view kBegin = "resource ";
  for (std::size_t end = text.find(kUncovered); end != std::string_view::npos;
       end = text.find(kUncovered, end + 1)) {
    const std::size_t start = text.rfind(kBegin, end);
    if (start != std::string_view::npos) {
      all.uncovered.emplace_back(text.substr(start + kBegin.size(), end - start - kBegin.size()));
    }
  }
  return all;
}

// A group of flavors: those that are merely in use, and the one that comes nearest of those that
// never have enough.
struct Verdict {
  std::string waits{};
  std::optional<Shortage> never{};
};

bool shortages_of_one_flavor(const std::vector<Shortage>& group) {
  return std::ranges::all_of(
      group, [&](const Shortage& one) { return one.flavor == group.front().flavor; });
}

// A cluster without any slot is one that Hearth takes out of use.
std::string never_text(const Shortage& one, bool pinned) {
  if (one.resource == kSlots && one.most == "0") {
    return (pinned ? one.flavor + " is" : std::string("all its clusters are")) +
           " cordoned or out of service";
  }
  // Clusters are flavors of resources of this prefix alone.
  const char* const nowhere =
      one.resource.starts_with(kClusterResource) ? "fit in no cluster" : "fit in no flavor";
  return fmt::format("{} {} {} (at most {})", one.asked, short_resource(one.resource),
                     pinned ? "do not fit in " + one.flavor : std::string(nowhere), one.most);
}

Verdict verdict_of(const std::vector<Shortage>& group) {
  std::set<std::string> too_small;
  Verdict verdict;
  for (const Shortage& one : group) {
    if (one.lacks.empty()) {
      too_small.insert(one.flavor);
      if (!verdict.never || whole(one.most) > whole(verdict.never->most)) {
        verdict.never = one;
      }
    }
  }
  for (const Shortage& one : group) {
    if (!one.lacks.empty() && !too_small.contains(one.flavor)) {
      verdict.waits += fmt::format("{}{} lacks {}",
                                   verdict.waits.empty()
                                       ? fmt::format("waits for {}: ", short_resource(one.resource))
                                       : ", ",
                                   one.flavor, one.lacks);
    }
  }
  return verdict;
}

}  // namespace

std::string short_resource(std::string_view resource) {
  if (resource == kSlots) {
    return "slots";
  }
  return std::string(resource.starts_with(kGpuPrefix) ? resource.substr(kGpuPrefix.size())
                                                      : resource);
}

std::string clear_reason(std::string_view message, const FlavorGroups& groups) {
  std::string waits;
  std::string never;
  std::string uncovered;
  for (const std::string_view pod_set : pod_sets_of(message)) {
    Obstacles obstacles = obstacles_of(pod_set);
    for (const std::string& resource : obstacles.uncovered) {
      if (uncovered.find(short_resource(resource)) == std::string::npos) {
        uncovered += (uncovered.empty() ? "" : ", ") + short_resource(resource);
      }
    }
    std::map<std::size_t, std::vector<Shortage>> by_group;
    for (Shortage& one : obstacles.shortages) {
      const auto group = groups.find(one.flavor);
      by_group[group == groups.end() ? 0 : group->second].push_back(std::move(one));
    }
    for (const auto& [group, shortages] : by_group) {
      const Verdict verdict = verdict_of(shortages);
      if (!verdict.waits.empty()) {
        waits = waits.empty() ? verdict.waits : waits;
      } else if (verdict.never && never.empty()) {
        // Other flavors that are not asked: the job is for this one.
        const bool pinned = shortages_of_one_flavor(shortages) &&
                            pod_set.find(kElsewhere) != std::string_view::npos;
        never = never_text(*verdict.never, pinned);
      }
    }
  }
  if (!uncovered.empty()) {
    return fmt::format("its queue has no quota of {}", uncovered);
  }
  if (!never.empty()) {
    return never;
  }
  return waits.empty() ? std::string(message) : waits;
}

std::string state_text(std::string_view phase, std::string_view message) {
  if (message.empty()) {
    return std::string(phase);
  }
  return message.starts_with(fmt::format("{} ", phase)) ? std::string(message)
                                                        : fmt::format("{}: {}", phase, message);
}

}  // namespace athanor::views
