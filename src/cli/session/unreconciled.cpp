// SPDX-License-Identifier: Apache-2.0
#include "cli/session/unreconciled.hpp"

#include <fmt/core.h>

#include "base/clock.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kLeases =
    "/apis/coordination.k8s.io/v1/leases?fieldSelector=metadata.name%3Dathanor";

// "athanor controllers (leader POD, lease NAMESPACE/athanor, renewed 3s ago)"; empty: no lease is
// held, or none may be seen.
std::string leader_of(Session& session) {
  const auto leases = session.connection().call({.path = kLeases});
  if (!leases.ok()) {
    return {};
  }
  for (const Value& lease : (*leases)["items"].items()) {
    const std::string holder = lease["spec"]["holderIdentity"].str();
    const auto renewed = parse_time(lease["spec"]["renewTime"].as_string());
    if (!holder.empty() && renewed) {
      return fmt::format("athanor controllers (leader {}, lease {}/athanor, renewed {} ago)",
                         holder, lease["metadata"]["namespace"].as_string(),
                         format_age(wall_clock()->now() - *renewed));
    }
  }
  return {};
}

}  // namespace

std::string unseen_text(Session& session, const std::string& ns, const std::string& name,
                        Duration waited) {
  const std::string what = fmt::format("{} has no phase after {}: no controller has looked at it",
                                       name, format_age(waited));
  const std::string& lab = session.connection().config().jobs_ns;
  if (!lab.empty() && lab != ns) {
    return fmt::format(
        "{}. This lab's controllers look at namespace {} alone: submit it there "
        "(-n {})",
        what, lab, lab);
  }
  if (!lab.empty()) {
    return fmt::format(
        "{}. The lab's controller fournosjob should have: was it left out (athanor up "
        "--controllers)?",
        what);
  }
  const std::string leader = leader_of(session);
  if (!leader.empty()) {
    return fmt::format(
        "{}. {} should have: is {} their namespace (FOURNOS_WORKLOAD_NAMESPACE), and does it run "
        "fournos?",
        what, leader, ns);
  }
  return fmt::format(
      "{}. athanor controllers should have, and none hold the lease \"athanor\" here: are they "
      "installed, and is {} their namespace (FOURNOS_WORKLOAD_NAMESPACE)?",
      what, ns);
}

}  // namespace athanor::cli
