// SPDX-License-Identifier: Apache-2.0
#include "embedded/wrapped/system.hpp"

#include "embedded/wrapped/kinds.hpp"
#include "embedded/wrapped/operators.hpp"
#include "embedded/wrapped/webhooks.hpp"

namespace athanor::wrapped {
namespace {

std::vector<const api::CustomKind*> kinds(const Value& /*settings*/) {
  return {custom_kinds().begin(), custom_kinds().end()};
}

}  // namespace

const System& system() {
  static const System kSystem{.name = "wrapped",
                              .summary =
                                  "small controllers of JobSet, PyTorchJob, Ray and "
                                  "LeaderWorkerSet",
                              .stand_in = true,
                              .kinds = kinds,
                              .operators = {operators().begin(), operators().end()},
                              .webhooks = {webhooks().begin(), webhooks().end()}};
  return kSystem;
}

}  // namespace athanor::wrapped
