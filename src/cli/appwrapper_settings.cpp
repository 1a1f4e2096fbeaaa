// SPDX-License-Identifier: Apache-2.0
#include "cli/appwrapper_settings.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <string>

#include "api/builtin.hpp"
#include "cli/controllers/environment.hpp"
#include "cli/terminal.hpp"
#include "kube/text/yaml.hpp"
#include "systems/appwrapper/process/process.hpp"
#include "systems/appwrapper/system.hpp"

namespace athanor::cli {
namespace {

constexpr int kNotFound = 404;
constexpr const char* kNamespace = "appwrapper-system";

Result<appwrapper::FaultTolerance> read(Session& session) {
  const std::string name(appwrapper::operator_process().config_map);
  const auto map = session.get(api::kConfigMap, kNamespace, name);
  if (map.ok()) {
    return fault_tolerance_in(map->body());
  }
  if (map.error().code != kNotFound) {
    return map.error();
  }
  ATHANOR_TRY(const Value section, appwrapper::system().settings(
                                       {.variables = environment_map(), .read_file = read_file}));
  ATHANOR_TRY(const appwrapper::Settings settings, appwrapper::read_settings(section));
  return settings.fault_tolerance;
}

}  // namespace

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

appwrapper::FaultTolerance read_fault_tolerance(Session& session) {
  const auto settings = read(session);
  if (!settings.ok()) {
    Terminal(STDERR_FILENO)
        .print(fmt::format("warning: the controller's settings cannot be read; retries and times "
                           "are by the defaults: {}\n",
                           settings.error().message));
    return {};
  }
  return *settings;
}

}  // namespace athanor::cli
