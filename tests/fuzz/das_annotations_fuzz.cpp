// SPDX-License-Identifier: Apache-2.0
// What others write about GPUs: annotations of nodes and JSON of claims and NodeAccelerators. The
// first byte says which. What is accepted stays in bounds.
#include "fuzz/fuzz.hpp"
#include "kube/text/json.hpp"
#include "systems/das/agent/device_list.hpp"
#include "systems/das/agent/slice_record.hpp"
#include "systems/das/gpus/inventory.hpp"
#include "systems/das/gpus/mode.hpp"
#include "systems/das/makers/vendor.hpp"
#include "systems/das/model/claim.hpp"
#include "systems/das/model/names.hpp"
#include "systems/das/model/ownership.hpp"
#include "systems/das/model/settings.hpp"
#include "systems/das/sharing/share.hpp"
#include "systems/das/slices/profile.hpp"
#include "systems/das/slices/slots.hpp"

namespace {

using namespace athanor;
using namespace athanor::das;

constexpr std::size_t kGpus = 4;

void try_sharing(std::string_view text) {
  for (const Vendor* vendor : vendors()) {
    const auto wanted = wanted_sharing(text, kGpus, *vendor);
    if (!wanted.ok()) {
      continue;
    }
    ATHANOR_CHECK(wanted->size() == kGpus, "each GPU has a mode");
    for (const GpuSharing& sharing : *wanted) {
      const SharedGpu gpu{.uuid = "G", .sharing = sharing, .memory_gib = 80};
      for (const auto& [resource, count] : vendor->capacity(gpu, {})) {
        ATHANOR_CHECK(count > 0 && count <= 100, "a GPU has few shares");
      }
      static_cast<void>(vendor->create(gpu, "/state"));
    }
  }
}

void try_node(std::string_view text) {
  const std::size_t line = std::min(text.find('\n'), text.size());
  Object node(Value::object(
      {{"metadata",
        Value::object(
            {{"name", "n"},
             {"annotations", Value::object({{kModelAnnotation, text.substr(0, line)},
                                            {kCountAnnotation,
                                             text.substr(std::min(line + 1, text.size()))}})}})}}));
  if (const auto gpus = emulated_gpus(node, Settings()); gpus.ok()) {
    ATHANOR_CHECK(gpus->model != nullptr && gpus->count >= 1 && gpus->count <= 16,
                  "an emulated node has a few GPUs");
  }
}

void try_names(std::string_view text) {
  if (const auto profile = profile_of_resource(text)) {
    ATHANOR_CHECK(profile_of_resource(resource_of(*profile)) == profile,
                  "a profile's resource is its own");
  }
  for (const SliceRecord& record : parse_records(text)) {
    ATHANOR_CHECK(!record.claim_uid.empty(), "a record names its claim");
  }
}

void try_claim(const Value& value) {
  const Object object(value);
  if (const auto claim = read_claim(object)) {
    ATHANOR_CHECK(mask_of(claim->start, claim->size) != 0, "a claim's slots lie on a GPU");
  }
  static_cast<void>(read_share(object));
  static_cast<void>(read_slice_or_share(object));
}

void try_resources(const Value& value) {
  const NodeGpus node = read_resources(value);
  for (const NodeGpu& gpu : node.gpus) {
    ATHANOR_CHECK(gpu.table < node.tables.size(), "a GPU has a table");
  }
  for (const Vendor* vendor : vendors()) {
    for (const DeviceList& list : device_lists(value, *vendor)) {
      ATHANOR_CHECK(list.devices.size() <= node.gpus.size() * 100, "a GPU has few devices");
    }
  }
  static_cast<void>(shared_gpus(value));
  Value changed = value;
  static_cast<void>(assign_apis(changed, value, "both", "0=dra", {}));
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::text_of(data, size);
  if (text.empty()) {
    return 0;
  }
  const std::string_view rest = text.substr(1);
  switch (text.front()) {
    case 's':
      try_sharing(rest);
      return 0;
    case 'a':
      static_cast<void>(wanted_apis("both", rest, kGpus));
      return 0;
    case 'n':
      try_node(rest);
      return 0;
    case 'r':
      try_names(rest);
      return 0;
    default:
      break;
  }
  if (const auto value = json::parse(rest); value.ok()) {
    text.front() == 'c' ? try_claim(*value) : try_resources(*value);
  }
  return 0;
}
