// SPDX-License-Identifier: Apache-2.0
#include "systems/numa/scheduling/profile.hpp"

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "systems/numa/model/settings.hpp"
#include "systems/numa/operator/manifests.hpp"

namespace athanor::numa {
namespace {

// The plug-in's defaults where nothing, or nothing known, is written (docs/spec/numa.md 11.1).
ForeignPods foreign_of(std::string_view text) {
  return text == "None"                     ? ForeignPods::None
         : text == "OnlyExclusiveResources" ? ForeignPods::OnlyExclusiveResources
                                            : ForeignPods::All;
}

ResyncMethod resync_of(std::string_view text) {
  return text == "All"                      ? ResyncMethod::All
         : text == "OnlyExclusiveResources" ? ResyncMethod::OnlyExclusiveResources
                                            : ResyncMethod::Autodetect;
}

}  // namespace

std::optional<Cache> cache_of(std::string_view name) {
  if (name == "over-reserve") {
    return Cache::OverReserve;
  }
  if (name == "passthrough") {
    return Cache::Passthrough;
  }
  return name == "discard-reserved" ? std::optional(Cache::DiscardReserved) : std::nullopt;
}

Result<Profile> read_scheduler_config(std::string_view text) {
  ATHANOR_TRY(const Value config, yaml::parse(text));
  const Value& profile = config["profiles"][0];
  const Value& args = profile["pluginConfig"][0]["args"];
  if (profile["schedulerName"].as_string().empty()) {
    return Error::bad_request("profiles[0].schedulerName is required");
  }
  ATHANOR_TRY(const Strategy strategy, parse_strategy(args["scoringStrategy"]["type"].as_string()));
  const std::string_view preemption = args["preemptionMode"].as_string();
  if (!preemption.empty() && preemption != "Enabled" && preemption != "Disabled") {
    return Error::bad_request("invalid PreemptionMode: " + std::string(preemption));
  }
  const Cache cache = args["discardReservedNodes"].as_bool()          ? Cache::DiscardReserved
                      : args["cacheResyncPeriodSeconds"].as_int() > 0 ? Cache::OverReserve
                                                                      : Cache::Passthrough;
  Profile result{
      .name = profile["schedulerName"].str(),
      .cache = cache,
      .foreign = foreign_of(args["cache"]["foreignPodsDetect"].as_string()),
      .resync = resync_of(args["cache"]["resyncMethod"].as_string()),
      .trust_unfingerprinted = args["cache"]["trustUnfingerprinted"].as_bool(),
      .preemption = preemption == "Enabled" && cache == Cache::OverReserve,
      .require_topology = args["requireTopology"].as_bool(),
      .sidecars = args.contains("sidecarAccounting") && !args["sidecarAccounting"].as_bool()
                      ? Sidecars::LikeInit
                      : Sidecars::Counted,
      .scoring = {.strategy = strategy,
                  .ignore_unlisted = args["scoringStrategy"]["ignoreUnlisted"].as_bool()}};
  for (const Value& policy : args["policies"].items()) {
    result.filter.restricted = result.filter.restricted || policy.as_string() == kRestricted;
  }
  for (const Value& resource : args["scoringStrategy"]["resources"].items()) {
    result.scoring.weights.insert_or_assign(resource["name"].str(), resource["weight"].as_int());
  }
  return result;
}

std::optional<Profile> profile_of(const View& view) {
  const Value& section = view.config("numa");
  if (const std::string_view name = section[kExtenderProfile].as_string(); !name.empty()) {
    const auto strategy = parse_strategy(section[kExtenderScoring].as_string());
    const Cache cache = cache_of(section[kExtenderCache].as_string()).value_or(Cache::OverReserve);
    return Profile{
        .name = std::string(name),
        .cache = cache,
        .preemption = section[kExtenderPreemption].as_bool() && cache == Cache::OverReserve,
        .scoring = {.strategy = strategy.ok() ? *strategy : Strategy::LeastAllocated}};
  }
  const std::string ns = settings_of(section).ns;
  const auto deployment = view.get(api::kDeployment, {ns, kDeploymentName});
  if (!deployment || deployment->status()["availableReplicas"].as_int() < 1) {
    return std::nullopt;
  }
  const auto config = view.get(api::kConfigMap, {ns, kSchedulerConfig});
  if (!config) {
    return std::nullopt;
  }
  auto profile = read_scheduler_config(config->body()["data"]["config.yaml"].as_string());
  return profile.ok() ? std::optional(*std::move(profile)) : std::nullopt;
}

}  // namespace athanor::numa
