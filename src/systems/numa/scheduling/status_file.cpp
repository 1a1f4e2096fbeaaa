// SPDX-License-Identifier: Apache-2.0
// Status files as JSON.
#include "systems/numa/scheduling/status_file.hpp"

#include <algorithm>

#include "kube/text/json.hpp"

namespace athanor::numa {

std::string status_file_name(std::string_view node) {
  std::string name(node);
  std::ranges::replace(name, '.', '_');
  return name;
}

Value to_value(const StatusSample& sample) {
  Value value = Value::object();
  if (!sample.expected.empty()) {
    value.set("fingerprintExpected", sample.expected);
  }
  if (!sample.computed.empty()) {
    value.set("fingerprintComputed", sample.computed);
  }
  Value pods = Value::list();
  for (const Key& pod : sample.pods) {
    pods.push_back(Value::object({{"Namespace", pod.ns}, {"Name", pod.name}}));
  }
  value.set("pods", std::move(pods));
  if (!sample.node.empty()) {
    value.set("nodeName", sample.node);
  }
  value.set("recordTime", format_micro_time(sample.recorded));
  return value;
}

Result<std::string> add_sample(std::string_view file, const StatusSample& sample) {
  Value samples = Value::list();
  if (!file.empty()) {
    ATHANOR_TRY(samples, json::parse(file));
    if (!samples.is_list()) {
      return Error::bad_request("a status file holds a list of samples");
    }
  }
  samples.push_back(to_value(sample));
  while (samples.size() > kMostSamples) {
    samples.erase_item(0);
  }
  return json::print(samples);
}

}  // namespace athanor::numa
