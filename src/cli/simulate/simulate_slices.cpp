// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate/simulate_slices.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/files/text_file.hpp"
#include "cli/output/terminal.hpp"
#include "kube/text/json.hpp"
#include "runtime/view/usage.hpp"
#include "simulation/whatif/slice_play.hpp"
#include "systems/das/slices/tables.hpp"
#include "views/table.hpp"

namespace athanor::cli {
namespace {

constexpr std::int64_t kNodes = 8;
constexpr std::int64_t kGpus = 8;
constexpr std::int64_t kRequests = 8000;
constexpr double kLoad = 0.95;

Result<whatif::SliceFleet> fleet_of(const SimulateOptions& options) {
  const std::string key = options.model.value_or(std::string(das::kDefaultModel));
  whatif::SliceFleet fleet{.nodes = static_cast<std::size_t>(options.nodes.value_or(kNodes)),
                           .gpus = static_cast<std::size_t>(options.gpus.value_or(kGpus))};
  std::string known;
  for (const das::GpuModel& model : das::gpu_models()) {
    known += (known.empty() ? "" : ", ") + std::string(model.key);
    if (model.key == key) {
      fleet.model = &model;
    }
  }
  if (fleet.model == nullptr) {
    return wrong_usage(fmt::format("unknown GPU model \"{}\"; known: {}", key, known));
  }
  return fleet;
}

Result<whatif::SliceTrace> trace_of(const SimulateOptions& options,
                                    const whatif::SliceFleet& fleet) {
  if (whatif::is_mix(options.slices)) {
    return whatif::trace_of_mix(options.slices, {.model = fleet.model,
                                                 .gpus = fleet.nodes * fleet.gpus,
                                                 .requests = options.requests.value_or(kRequests),
                                                 .load = options.load.value_or(kLoad),
                                                 .seed = options.seed});
  }
  const auto text = read_text_file(options.slices);
  if (!text.ok()) {
    return Error::not_found(fmt::format(
        "{}: cannot be read; give a mix (uniform, small, no7) or the path of an existing file",
        options.slices));
  }
  return whatif::parse_slice_trace(*text, options.slices);
}

std::string slice_percent(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

// Plays the trace; on a terminal a line says how far it is.
std::vector<whatif::SliceOutcome> play_with_progress(const whatif::SliceTrace& trace,
                                                     const whatif::SliceFleet& fleet) {
  Terminal err(STDERR_FILENO);
  if (!err.interactive()) {
    return whatif::play_slices(trace, fleet);
  }
  auto outcomes = whatif::play_slices(trace, fleet, [&](const whatif::SliceProgress& reached) {
    err.print(fmt::format("\rpolicy {} of {}: {} of {} requests ", reached.policy, reached.policies,
                          reached.played, trace.size()));
  });
  err.print("\r\x1b[K");
  return outcomes;
}

}  // namespace

const char* misuse_of_slices(const SimulateOptions& options) {
  const bool about_slices =
      options.model || options.nodes || options.gpus || options.requests || options.load;
  if (options.slices.empty()) {
    return about_slices ? "--model, --nodes, --gpus, --requests and --load need --slices" : "";
  }
  if (options.generate || !options.trace.empty() || !options.fleet.empty() ||
      !options.what_if.empty() || !options.html.empty()) {
    return "--slices takes no trace of jobs, --fleet, --what-if, --html or --generate";
  }
  return !whatif::is_mix(options.slices) && (options.requests || options.load)
             ? "--requests and --load are for a mix: uniform, small or no7"
             : "";
}

Result<void> simulate_slices(const SimulateOptions& options) {
  ATHANOR_TRY(const whatif::SliceFleet fleet, fleet_of(options));
  ATHANOR_TRY(const whatif::SliceTrace trace, trace_of(options, fleet));
  ATHANOR_TRY_VOID(whatif::check_slices(trace, fleet, options.slices));
  const std::vector<whatif::SliceOutcome> outcomes = play_with_progress(trace, fleet);
  Terminal out(STDOUT_FILENO);
  if (options.output == Output::Json) {
    Value policies = Value::list();
    for (const whatif::SliceOutcome& one : outcomes) {
      policies.push_back(whatif::to_value(one));
    }
    out.print(json::print(Value::object({{"slices", options.slices},
                                         {"model", fleet.model->key},
                                         {"nodes", static_cast<std::int64_t>(fleet.nodes)},
                                         {"gpusPerNode", static_cast<std::int64_t>(fleet.gpus)},
                                         {"policies", std::move(policies)}}),
                          json::Style::Pretty) +
              "\n");
    return {};
  }
  views::Table table({"PLACEMENT", "GPU ORDER", "NODES", "REQUESTS", "ACCEPTED", "ACCEPTANCE",
                      "UTILISATION", "GPUS IN USE"});
  for (const whatif::SliceOutcome& one : outcomes) {
    table.add({one.placement, one.gpu_order.empty() ? "-" : one.gpu_order, one.scoring,
               std::to_string(one.requests), std::to_string(one.accepted),
               slice_percent(one.acceptance()), slice_percent(one.utilisation),
               fmt::format("{} of {}", one.gpus_in_use, fleet.nodes * fleet.gpus)});
  }
  out.print(table.text());
  return {};
}

}  // namespace athanor::cli
