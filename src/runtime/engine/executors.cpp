// SPDX-License-Identifier: Apache-2.0
#include "runtime/engine/executors.hpp"

#include "base/log_level.hpp"

namespace athanor::runtime {

void Executors::take_log_levels() {
  on_act("log.level", [](const std::string& /*id*/, const Value& args, const Completion& done) {
    const std::string_view level = args["level"].as_string();
    log::at_least(args["source"].as_string(), level == "Debug" ? log::Level::Debug
                                              : level == "Trace" || level == "TraceAll"
                                                  ? log::Level::Trace
                                                  : log::Level::Error);
    log::info("log level asked for", {{"level", level}});
    done(Value::object());
  });
}

const Executors::Act* Executors::act(std::string_view verb) const {
  const auto at = acts_.find(verb);
  return at == acts_.end() ? nullptr : &at->second;
}

const Executors::Probe* Executors::probe(std::string_view query) const {
  const auto at = probes_.find(query.substr(0, query.find(':')));
  return at == probes_.end() ? nullptr : &at->second;
}

}  // namespace athanor::runtime
