// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/explain/trial.hpp"

#include <fmt/core.h>

#include <charconv>
#include <limits>
#include <optional>

#include "api/kueue.hpp"
#include "base/ascii.hpp"
#include "kube/text/quantity.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::kueue {
namespace {

Result<std::int64_t> whole_number(std::string_view what, const std::string& text,
                                  std::int64_t absent, std::int64_t least) {
  if (text.empty()) {
    return absent;
  }
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < least ||
      number > std::numeric_limits<std::int32_t>::max()) {
    return wrong_usage(
        fmt::format("{} \"{}\": must be a whole number of at least {}", what, text, least));
  }
  return number;
}

Result<Value> requests_of(const std::string& text) {
  Value requests = Value::object();
  for (const std::string_view word : words_of(text, ',')) {
    const std::string_view part = trimmed(word, " ");
    const std::size_t equals = part.find('=');
    const auto quantity = equals == std::string_view::npos
                              ? std::nullopt
                              : Quantity::parse(Value(part.substr(equals + 1)));
    if (equals == 0 || !quantity || quantity->is_negative()) {
      return wrong_usage(fmt::format(
          "\"{}\": must be RESOURCE=QUANTITY, several with commas: cpu=4,nvidia.com/gpu=8", part));
    }
    requests.set(part.substr(0, equals), part.substr(equals + 1));
  }
  if (requests.empty()) {
    return wrong_usage("no resource is asked for: cpu=4,nvidia.com/gpu=8");
  }
  return requests;
}

}  // namespace

Result<Object> trial_workload(const Trial& trial, Instant now) {
  ATHANOR_TRY(Value requests, requests_of(trial.requests));
  ATHANOR_TRY(const std::int64_t count, whole_number("--count", trial.count, 1, 0));
  ATHANOR_TRY(const std::int64_t priority, whole_number("--priority", trial.priority, 0,
                                                        std::numeric_limits<std::int32_t>::min()));
  Value container = Value::object(
      {{"name", "c"}, {"resources", Value::object({{"requests", std::move(requests)}})}});
  Value pod = Value::object(
      {{"restartPolicy", "Never"}, {"containers", Value::list({std::move(container)})}});
  Value pod_set = Value::object({{"name", "main"},
                                 {"count", count},
                                 {"template", Value::object({{"spec", std::move(pod)}})}});
  return Object(
      Value::object({{"apiVersion", api::kueue::kWorkload.api_version()},
                     {"kind", api::kueue::kWorkload.name},
                     {"metadata", Value::object({{"name", kTrialName},
                                                 {"namespace", trial.local_queue.ns},
                                                 {"uid", kTrialName},
                                                 {"creationTimestamp", format_time(now)}})},
                     {"spec", Value::object({{"queueName", trial.local_queue.name},
                                             {"priority", priority},
                                             {"podSets", Value::list({std::move(pod_set)})}})}}));
}

}  // namespace athanor::kueue
