// SPDX-License-Identifier: Apache-2.0
#include "embedded/kueue/model/configuration.hpp"

#include <fmt/core.h>

#include <string>
#include <utility>

#include "api/builtin.hpp"

namespace athanor::kueue {
namespace {

Ref config_map_ref() {
  return {&api::kConfigMap, api::kueue::configuration_map()};
}

Plan reconcile(const View& view, const Key& key, Instant /*now*/) {
  Plan plan;
  if (key != config_map_ref().key) {
    return plan;
  }
  const auto map = view.get(api::kConfigMap, key);
  const Value text = map ? map->body()["data"][kConfigurationKey] : Value();
  if (!text.is_string()) {
    return plan;
  }
  const auto emit = [&](std::string_view type, std::string_view reason, std::string note) {
    plan.then(Emit{.about = config_map_ref(),
                   .about_uid = std::string(map->uid()),
                   .type = std::string(type),
                   .reason = std::string(reason),
                   .note = std::move(note)});
  };
  const auto read = read_configuration(view.config("kueue"), text.as_string());
  if (!read.ok()) {
    emit("Warning", "InvalidConfiguration",
         fmt::format("{}: {}; it is not followed: the settings of the start hold",
                     kConfigurationKey, read.error().message));
    return plan;
  }
  emit("Normal", "ConfigurationRead", "The queueing follows this configuration");
  for (const std::string& sentence : read->warnings) {
    emit("Warning", "ConfigurationWithoutEffect",
         fmt::format("{}: {}", kConfigurationKey, sentence));
  }
  return plan;
}

}  // namespace

Value configured_section(const View& view) {
  const auto map = view.get(api::kConfigMap, api::kueue::configuration_map());
  return api::kueue::configured_by(view.config(api::kueue::kConfigurationSection),
                                   map ? map->body() : Value());
}

const Operator& configuration_operator() {
  static const Kind* const kReads[] = {&api::kConfigMap};
  static const Kind* const kWrites[] = {&api::kEvent};
  static const Access kAccess[] = {{&api::kEvent, "create patch"}};
  static const Operator kOperator{.name = "kueue-configuration",
                                  .primary = &api::kConfigMap,
                                  .reads = kReads,
                                  .writes = kWrites,
                                  .reconcile = reconcile,
                                  .access = kAccess};
  return kOperator;
}

}  // namespace athanor::kueue
