// SPDX-License-Identifier: Apache-2.0
// Input: a JSON list of ConfigMaps or Pods, applied one after the other by two managers.
#include "fuzz/fuzz.hpp"
#include "kube/apply/managed_fields.hpp"
#include "kube/schema/types.hpp"
#include "kube/text/json.hpp"

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace athanor;
  const auto input = json::parse(fuzz::text_of(data, size));
  if (!input.ok() || !input->is_list() || input->size() > 6) {
    return 0;
  }
  const BuiltinTypes& types = BuiltinTypes::get();
  Value live;
  int turn = 0;
  for (const Value& item : input->items()) {
    const Value* metadata = item.find("metadata");
    if (!item.is_object() || (metadata != nullptr && !metadata->is_object())) {
      continue;  // no server would come that far with it
    }
    Value config = item;
    const bool is_pod = config["kind"].as_string() == "Pod";
    config.set("apiVersion", "v1");
    const FieldManagement by{.schema = types.by_name(is_pod ? "core.v1.Pod" : "core.v1.ConfigMap"),
                             .manager = turn % 2 == 0 ? "one" : "two",
                             .api_version = "v1",
                             .subresource = "",
                             .now = Instant{}};
    const auto applied = apply_configuration(live, config, by, {.force = turn % 3 == 2});
    if (applied.ok()) {
      const auto again = apply_configuration(*applied, config, by, {.force = false});
      ATHANOR_CHECK(again.ok(), "who owns its fields may apply them again");
      ATHANOR_CHECK(*again == *applied, "an apply is idempotent");
      live = *applied;
    } else {
      live = update_managed_fields(live, live.is_null() ? config : live, by);
    }
    ++turn;
  }
  return 0;
}
