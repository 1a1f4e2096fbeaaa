// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/log_flags.hpp"

namespace athanor::cli {

log::Level log_level(std::string_view name) {
  return name == "error"   ? log::Level::Error
         : name == "warn"  ? log::Level::Warn
         : name == "debug" ? log::Level::Debug
         : name == "trace" ? log::Level::Trace
                           : log::Level::Info;
}

log::Format log_format(std::string_view name) {
  return name == "json"   ? log::Format::Json
         : name == "text" ? log::Format::Text
                          : log::Format::Auto;
}

}  // namespace athanor::cli
