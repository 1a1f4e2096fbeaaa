// SPDX-License-Identifier: Apache-2.0
// Looking executors up.
#include "runtime/engine/executors.hpp"

namespace athanor::runtime {

const Executors::Act* Executors::act(std::string_view verb) const {
  const auto at = acts_.find(verb);
  return at == acts_.end() ? nullptr : &at->second;
}

const Executors::Probe* Executors::probe(std::string_view query) const {
  const auto at = probes_.find(query.substr(0, query.find(':')));
  return at == probes_.end() ? nullptr : &at->second;
}

}  // namespace athanor::runtime
