// SPDX-License-Identifier: Apache-2.0
// Files of examples/fournos, embedded at build time.
#include "cli/lab/default_lab.hpp"

#include <fmt/core.h>

#include <map>
#include <string_view>

namespace athanor::data {
std::string_view default_lab_yaml();
std::string_view default_lab_tasks();
std::string_view default_lab_pipelines();
std::string_view default_lab_benchmark();
std::string_view default_lab_engine_secrets();
std::string_view default_lab_engine_pipeline();
}  // namespace athanor::data

namespace athanor::cli {

Result<std::string> default_lab_file(const std::string& name) {
  static const std::map<std::string_view, std::string_view (*)()> kFiles{
      {"lab.yaml", data::default_lab_yaml},
      {"setup/30-tasks.yaml", data::default_lab_tasks},
      {"setup/31-pipelines.yaml", data::default_lab_pipelines},
      {"setup/32-benchmark.yaml", data::default_lab_benchmark},
      {"engine/00-secrets.yaml", data::default_lab_engine_secrets},
      {"engine/10-pipeline.yaml", data::default_lab_engine_pipeline}};
  const auto found = kFiles.find(name);
  if (found == kFiles.end()) {
    return Error::not_found(fmt::format("the built-in lab has no file {}", name));
  }
  return std::string(found->second());
}

}  // namespace athanor::cli
