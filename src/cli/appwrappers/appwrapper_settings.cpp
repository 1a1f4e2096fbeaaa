// SPDX-License-Identifier: Apache-2.0
#include "cli/appwrappers/appwrapper_settings.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <string>

#include "api/builtin.hpp"
#include "base/files/text_file.hpp"
#include "cli/flags/environment.hpp"
#include "cli/output/terminal.hpp"
#include "systems/appwrapper/process/process.hpp"
#include "systems/appwrapper/system.hpp"
#include "views/appwrapper_settings.hpp"

namespace athanor::cli {
namespace {

constexpr int kSettingNotFound = 404;
constexpr const char* kNamespace = "appwrapper-system";

Result<appwrapper::FaultTolerance> read(Session& session) {
  const std::string name(appwrapper::operator_process().config_map);
  const auto map = session.get(api::kConfigMap, kNamespace, name);
  if (map.ok()) {
    return views::fault_tolerance_in(map->body());
  }
  if (map.error().code != kSettingNotFound) {
    return map.error();
  }
  ATHANOR_TRY(const Value section, appwrapper::system().settings({.variables = environment_map(),
                                                                  .read_file = read_text_file}));
  ATHANOR_TRY(const appwrapper::Settings settings, appwrapper::read_settings(section));
  return settings.fault_tolerance;
}

}  // namespace

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
