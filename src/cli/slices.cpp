// SPDX-License-Identifier: Apache-2.0
// athanor slices: the slots of every GPU.
#include <unistd.h>

#include "cli/session.hpp"
#include "cli/terminal.hpp"
#include "cli/verbs.hpp"
#include "systems/das/kinds.hpp"
#include "systems/das/slice_map.hpp"

namespace athanor::cli {
namespace {

Result<std::string> map_of(const SlicesOptions& options) {
  ATHANOR_TRY(Session session, Session::open(options.target));
  ATHANOR_TRY(const std::vector<Object> nodes, session.list(das::kNodeAccelerator, session.ns()));
  ATHANOR_TRY(const std::vector<Object> claims, session.list(das::kAllocationClaim, session.ns()));
  const std::string text = das::slice_map(nodes, claims);
  return text.empty() ? "no node with GPUs that can be sliced in " + session.ns() + "\n" : text;
}

}  // namespace

int run(const SlicesOptions& options) {
  const auto text = map_of(options);
  if (!text.ok()) {
    return fail(text.error());
  }
  Terminal(STDOUT_FILENO).print(*text);
  return 0;
}

}  // namespace athanor::cli
