// SPDX-License-Identifier: Apache-2.0
// Effective requests, and what speaks against them.
#include "embedded/kueue/cycle/requests.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>

#include "api/builtin.hpp"
#include "base/saturate.hpp"

namespace athanor::kueue {
namespace {

void read_bound(const Value& from, Amounts& into, bool keep_larger) {
  for (const Member& entry : from.members()) {
    const Amount amount = amount_of(entry.key(), entry.value);
    const auto [at, fresh] = into.try_emplace(std::string(entry.key()), amount);
    if (!fresh) {
      at->second = keep_larger ? std::max(at->second, amount) : std::min(at->second, amount);
    }
  }
}

// Names of the resources of which the first is more, as the webhook quotes them; empty: none.
std::string greater_keys(const Amounts& first, const Amounts& second) {
  std::string names;
  for (const auto& [resource, amount] : first) {
    const auto other = second.find(resource);
    if (other != second.end() && amount > other->second) {
      names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", resource);
    }
  }
  return names;
}

using Errors = std::vector<std::string>;

std::string joined(const Errors& errors) {
  std::string text;
  for (const std::string& error : errors) {
    text += (text.empty() ? "" : ", ") + error;
  }
  return errors.size() > 1 ? "[" + text + "]" : text;
}

void check_bounds(Errors& errors, const std::string& path, const LimitRanges::Bounds& bounds,
                  const Amounts& least, const Amounts& most) {
  if (const std::string names = greater_keys(bounds.min, least); !names.empty()) {
    errors.push_back(fmt::format(
        "{}: Invalid value: [{}]: requests must not be below the limitRange min", path, names));
  }
  if (const std::string names = greater_keys(most, bounds.max); !names.empty()) {
    errors.push_back(fmt::format(
        "{}: Invalid value: [{}]: requests must not be above the limitRange max", path, names));
  }
}

Amounts amounts_in(const Value& from) {
  Amounts amounts;
  for (const Member& entry : from.members()) {
    amounts.emplace(entry.key(), amount_of(entry.key(), entry.value));
  }
  return amounts;
}

// Requests and limits of a container, the smaller and the larger of each.
void check_container(Errors& errors, const std::string& path, const LimitRanges& ranges,
                     const Value& container) {
  const Value& resources = container["resources"];
  Amounts least = amounts_in(resources["requests"]);
  Amounts most = least;
  for (const auto& [resource, amount] : amounts_in(resources["limits"])) {
    const auto low = least.try_emplace(resource, amount).first;
    low->second = std::min(low->second, amount);
    const auto high = most.try_emplace(resource, amount).first;
    high->second = std::max(high->second, amount);
  }
  for (const auto& [resource, amount] : amounts_in(ranges.defaults)) {
    least.try_emplace(resource, amount);
    most.try_emplace(resource, amount);
  }
  check_bounds(errors, path, ranges.container, least, most);
}

// Claims of devices are not counted: quota would be promised twice.
std::string claims_of(const Value& pod_sets) {
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    const Value& spec = pod_sets[i]["template"]["spec"];
    if (!spec["resourceClaims"].empty()) {
      return fmt::format(
          "resources validation failed: spec.podSets[{}].template.spec.resourceClaims: Forbidden: "
          "quota does not count resource claims; request the device as an extended resource",
          i);
    }
  }
  return {};
}

constexpr Amount kMilli = 1000;
constexpr Amount kMost = std::numeric_limits<Amount>::max() / kMilli;  // sums of it fit, too

// An amount as a fraction: cpu is in thousandths.
struct Fraction {
  Amount amount = 0;
  Amount divisor = 1;
};
Fraction fraction_of(std::string_view resource, Amount amount) {
  return {.amount = amount, .divisor = resource == "cpu" ? kMilli : 1};
}
// What is too large for a number is as large as one can ask for.
Fraction product(const Fraction& a, const Fraction& b) {
  Fraction result{.divisor = a.divisor * b.divisor};
  if (__builtin_mul_overflow(a.amount, b.amount, &result.amount)) {
    return {.amount = kMost};
  }
  return result;
}

// What the input counts as of an output, rounded up.
Amount scaled(const Fraction& input, const Member& output) {
  Amount factor = amount_of(output.key(), output.value);
  Amount divisor = input.divisor;
  const auto exact = Quantity::parse(output.value);
  // "500m" for each; of large amounts the fraction does not count, and thousandths would not fit.
  if (exact && output.key() != "cpu" && factor < kMilli * kMilli &&
      exact->milli_value() % kMilli != 0) {
    factor = exact->milli_value();
    divisor *= kMilli;
  }
  Amount total = 0;
  if (__builtin_mul_overflow(input.amount, factor, &total)) {
    return kMost;
  }
  return total / divisor + (total % divisor > 0 ? 1 : 0);
}

}  // namespace

const LimitRanges& RequestRules::limit_ranges(const std::string& ns) {
  const auto [at, fresh] = ranges_.try_emplace(ns);
  if (!fresh) {
    return at->second;
  }
  LimitRanges& ranges = at->second;
  for (const Object& range : view_.list(api::kLimitRange, {.ns = ns})) {
    for (const Value& limit : range.spec()["limits"].items()) {
      const std::string_view type = limit["type"].as_string();
      if (type != "Container" && type != "Pod") {
        continue;
      }
      LimitRanges::Bounds& bounds = type == "Pod" ? ranges.pod : ranges.container;
      read_bound(limit["min"], bounds.min, true);
      read_bound(limit["max"], bounds.max, false);
      if (type == "Pod") {
        continue;
      }
      for (const char* key : {"defaultRequest", "default"}) {
        for (const Member& entry : limit[key].members()) {
          if (!ranges.defaults.contains(entry.key())) {
            ranges.defaults.set(entry.key(), entry.value);
          }
        }
      }
    }
  }
  return ranges;
}

Amounts RequestRules::pod_requests_of(const Value& pod_spec, const LimitRanges& ranges) const {
  Amounts amounts = pod_requests(pod_spec, ranges.defaults);
  const std::string_view name = pod_spec["runtimeClassName"].as_string();
  if (!name.empty() && pod_spec["overhead"].is_null()) {
    if (const auto runtime = view_.get(kRuntimeClass, {"", std::string(name)})) {
      for (const Member& entry : runtime->body().at({"overhead", "podFixed"}).members()) {
        amounts[std::string(entry.key())] += amount_of(entry.key(), entry.value);
      }
    }
  }
  return amounts;
}

void RequestRules::transform(Amounts& amounts) const {
  std::erase_if(amounts, [&](const auto& entry) {
    return std::ranges::any_of(settings_.exclude_resource_prefixes, [&](const std::string& prefix) {
      return entry.first.starts_with(prefix);
    });
  });
  if (settings_.resource_transformations.empty()) {
    return;
  }
  Amounts added;
  std::vector<std::string> replaced;
  for (const Value& rule : settings_.resource_transformations.items()) {
    const std::string input = rule["input"].str();
    const auto found = amounts.find(input);
    if (found == amounts.end()) {
      continue;
    }
    Fraction amount = fraction_of(input, found->second);
    const std::string factor = rule["multiplyBy"].str();
    if (const auto by = amounts.find(factor); by != amounts.end()) {
      amount = product(amount, fraction_of(factor, by->second));
    }
    for (const Member& output : rule["outputs"].members()) {
      added[std::string(output.key())] += scaled(amount, output);
    }
    if (rule["strategy"].as_string() == "Replace") {
      replaced.push_back(input);
    }
  }
  for (const std::string& input : replaced) {
    amounts.erase(input);
  }
  for (const auto& [resource, amount] : added) {
    Amount& sum = amounts[resource];
    sum = saturating_add(sum, amount);
  }
}

std::vector<PodSetRequests> RequestRules::requests(const Object& workload) {
  const LimitRanges& ranges = limit_ranges(std::string(workload.ns()));
  std::vector<PodSetRequests> result = pod_set_counts(workload);
  for (PodSetRequests& pod_set : result) {
    pod_set.single_pod = pod_requests_of(pod_set.pod_spec, ranges);
    transform(pod_set.single_pod);
    pod_set.set_count(pod_set.count);
  }
  return result;
}

std::string RequestRules::problem(const Object& workload) {
  const Value& pod_sets = workload.spec()["podSets"];
  if (std::string claims = claims_of(pod_sets); !claims.empty()) {
    return claims;
  }
  if (std::string above = request_above_limit(workload); !above.empty()) {
    return above;
  }
  const LimitRanges& ranges = limit_ranges(std::string(workload.ns()));
  if (ranges.container.none() && ranges.pod.none()) {
    return {};
  }
  Errors errors;
  for (std::size_t i = 0; i < pod_sets.size(); ++i) {
    const Value& spec = pod_sets[i]["template"]["spec"];
    const std::string path = fmt::format("spec.podSets[{}].template.spec", i);
    for (const char* list : {"initContainers", "containers"}) {
      for (std::size_t j = 0; j < spec[list].size(); ++j) {
        check_container(errors, fmt::format("{}.{}[{}]", path, list, j), ranges, spec[list][j]);
      }
    }
    if (!ranges.pod.none()) {
      const Amounts total = pod_requests_of(spec, ranges);
      check_bounds(errors, path, ranges.pod, total, total);
    }
  }
  return errors.empty()
             ? std::string()
             : fmt::format("resources didn't satisfy LimitRange constraints: {}", joined(errors));
}

std::vector<PodSetRequests> with_count(std::vector<PodSetRequests> requests, std::size_t pod_set,
                                       std::int64_t count) {
  requests[pod_set].set_count(count);
  return requests;
}

}  // namespace athanor::kueue
