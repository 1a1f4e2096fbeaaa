// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/fleet_play.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "api/describe.hpp"
#include "product/list.hpp"
#include "systems/fournos/kinds/fournos_job.hpp"
#include "systems/fournos/operators.hpp"
#include "systems/fournos/settings.hpp"

namespace athanor::cli {
namespace {

// Returns true if the status notes an eviction: the job's controller reads that again.
bool notes_eviction(const Value& status) {
  return std::ranges::any_of(status["conditions"].items(), [](const Value& condition) {
    return condition["reason"].as_string() == "Evicted";
  });
}

// Returns true for a status that only says how a job waits or runs.
bool is_report(const Step& step) {
  const auto* status = std::get_if<Status>(&step);
  if (status == nullptr || status->target.kind != &api::kFournosJob ||
      notes_eviction(status->status)) {
    return false;
  }
  return std::ranges::all_of(status->status.members(), [](const Member& member) {
    return member.key() == "message" || member.key() == "conditions";
  });
}

// Runs the job's controller without its reports: a replay shows phases and times alone.
Plan reconcile_without_reports(const View& view, const Key& key, Instant now) {
  Plan plan = fournos::fournosjob_operator().reconcile(view, key, now);
  std::erase_if(plan.steps(), is_report);
  return plan;
}

const Operator& replayed_job_operator() {
  static const Operator kOperator = [] {
    Operator op = fournos::fournosjob_operator();
    op.reconcile = reconcile_without_reports;
    return op;
  }();
  return kOperator;
}

Result<std::map<std::string, Value, std::less<>>> config_of(const lab::Lab& fleet) {
  std::map<std::string, std::string> variables = fleet.settings;
  variables["FOURNOS_NAMESPACE"] = fleet.ns;
  if (!variables.contains("FOURNOS_KUEUE_LOCAL_QUEUE_NAME") && !fleet.queues.empty()) {
    variables["FOURNOS_KUEUE_LOCAL_QUEUE_NAME"] = fleet.queues.front().name;
  }
  ATHANOR_TRY(fournos::Settings settings, fournos::parse_settings(variables));
  // Nothing is missed here: a second look at a job of hours would only find what is there.
  settings.second_look_seconds = std::int64_t{10} * 365 * 24 * 3600;
  return std::map<std::string, Value, std::less<>>{{"fournos", api::encode(settings)}};
}

}  // namespace

Result<whatif::Played> play_trace(const whatif::Trace& trace, const lab::Lab& fleet,
                                  FleetPlay options) {
  whatif::PlayOptions play{.seed = options.seed,
                           .progress = std::move(options.progress),
                           .is_over_time = std::move(options.is_over_time)};
  ATHANOR_TRY(play.config, config_of(fleet));
  play.systems = all_systems();
  // Without the collectors of what was forgotten: nothing is, where no event is missed.
  play.operators.push_back(&replayed_job_operator());
  return whatif::play(trace, fleet, play);
}

}  // namespace athanor::cli
