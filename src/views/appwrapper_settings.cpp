// SPDX-License-Identifier: Apache-2.0
#include "views/appwrapper_settings.hpp"

#include "kube/text/yaml.hpp"
#include "systems/appwrapper/system.hpp"

namespace athanor::views {

Result<appwrapper::FaultTolerance> fault_tolerance_in(const Value& config_map) {
  const Value& data = config_map["data"];
  if (data.size() != 1) {
    return Error::invalid("data", "must have one key");
  }
  ATHANOR_TRY(const Value document, yaml::parse(data.members().begin()->value.as_string()));
  ATHANOR_TRY(const appwrapper::Settings settings,
              appwrapper::read_settings(document[appwrapper::kSection]));
  return settings.fault_tolerance;
}

}  // namespace athanor::views
