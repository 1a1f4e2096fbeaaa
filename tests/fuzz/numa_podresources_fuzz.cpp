// SPDX-License-Identifier: Apache-2.0
// Answers of a kubelet as bytes: what is read is written and read again as it was, and the zones
// that come of it give away no more than they have. The first byte says which answer it is.
#include "fuzz/fuzz.hpp"
#include "kube/text/json.hpp"
#include "systems/numa/exporter/accounting.hpp"
#include "systems/numa/exporter/pod_filter.hpp"
#include "systems/numa/exporter/podresources_wire.hpp"

namespace {

using namespace athanor;
using namespace athanor::numa;

Hardware two_nodes() {
  return {.nodes = {{.id = 0, .cpus = {0, 1, 2, 3}, .memory = {{"memory", 1000}}},
                    {.id = 1, .cpus = {4, 5, 6, 7}, .memory = {{"memory", 1000}}}}};
}

void account_all(const std::vector<PodResources>& pods, const AllocatableResources& allocatable) {
  for (const ExportedZone& zone : account(two_nodes(), allocatable, pods, {})) {
    for (const ResourceAmounts& resource : zone.resources) {
      ATHANOR_CHECK(
          resource.available <= resource.allocatable && resource.allocatable <= resource.capacity,
          "a zone has what it gives");
    }
  }
  static_cast<void>(placed_containers(two_nodes(), pods));
}

void try_list(std::string_view bytes) {
  if (const auto pods = decode_list(bytes); pods.ok()) {
    const auto again = decode_list(encode(*pods));
    ATHANOR_CHECK(again.ok() && json::print(to_value(*again)) == json::print(to_value(*pods)),
                  "a list is written as it was read");
    account_all(*pods, {.cpus = {1, 2, 3, 5, 6}});
  }
  if (const auto pod = decode_get(bytes); pod.ok()) {
    ATHANOR_CHECK(decode_get(encode_get(*pod)).ok(), "a pod is written as it was read");
  }
  if (const auto key = decode_get_request(bytes); key.ok()) {
    ATHANOR_CHECK(decode_get_request(encode_get_request(*key)).value() == *key,
                  "a request is written as it was read");
  }
}

void try_allocatable(std::string_view bytes) {
  if (const auto resources = decode_allocatable(bytes); resources.ok()) {
    const auto again = decode_allocatable(encode(*resources));
    ATHANOR_CHECK(again.ok() && json::print(to_value(*again)) == json::print(to_value(*resources)),
                  "allocatable resources are written as they were read");
    account_all({}, *resources);
  }
}

void try_json(std::string_view text) {
  const auto value = json::parse(text);
  if (!value.ok()) {
    return;
  }
  if (const auto pods = read_list(*value); pods.ok()) {
    account_all(*pods, {.cpus = {1, 2, 3, 5, 6}});
  }
  if (const auto resources = read_allocatable(*value); resources.ok()) {
    account_all({}, *resources);
  }
  static_cast<void>(read_get(*value).ok());
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (text.empty()) {
    return 0;
  }
  switch (text.front()) {
    case 'l':
      try_list(text.substr(1));
      break;
    case 'a':
      try_allocatable(text.substr(1));
      break;
    default:
      try_json(text);
  }
  return 0;
}
