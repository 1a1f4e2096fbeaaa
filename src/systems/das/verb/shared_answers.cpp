// SPDX-License-Identifier: Apache-2.0
#include "systems/das/verb/shared_answers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "api/builtin.hpp"
#include "kube/text/yaml.hpp"
#include "systems/das/model/kinds.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {
namespace {

using SettingVariables = std::map<std::string, std::string>;

// The variables of parse_settings() for the arguments of the plugin MigAccelerator.
SettingVariables arguments_of(const Value& configuration) {
  SettingVariables variables;
  for (const Value& profile : configuration["profiles"].items()) {
    for (const Value& plugin : profile["pluginConfig"].items()) {
      const Value& args = plugin["args"];
      if (plugin["name"].as_string() != "MigAccelerator" || !args.is_object()) {
        continue;
      }
      variables["DAS_PLACEMENT_POLICY"] = args["placementPolicy"].str();
      variables["DAS_GPU_ORDER"] = args["gpuOrder"].str();
      variables["DAS_NODE_SCORING_POLICY"] = args["nodeScoringPolicy"].str();
      std::string& weights = variables["DAS_PROFILE_WEIGHTS"];
      for (const Member& weight : args["profileWeights"].members()) {
        weights += fmt::format("{}{}={}", weights.empty() ? "" : ",", weight.key(),
                               weight.value.as_double());
      }
    }
  }
  return variables;
}

// The variables of the extender that is deployed beside kube-scheduler.
SettingVariables variables_of(const std::vector<Object>& deployments) {
  SettingVariables variables;
  for (const Object& deployment : deployments) {
    for (const Value& container : deployment.spec()["template"]["spec"]["containers"].items()) {
      const auto& words = container["args"].items();
      if (std::ranges::none_of(words, [](const Value& word) { return word.str() == "extender"; })) {
        continue;
      }
      for (const Value& variable : container["env"].items()) {
        if (variable["name"].as_string().starts_with("DAS_") && variable["value"].is_string()) {
          variables[variable["name"].str()] = variable["value"].str();
        }
      }
    }
  }
  return variables;
}

}  // namespace

std::string namespace_of(VerbContext& context) {
  return context.flag("das-namespace").value_or(kDefaultNamespace);
}

Result<World> read_world(VerbContext& context) {
  World world;
  ATHANOR_TRY(world.nodes, context.list(kNodeAccelerator, namespace_of(context)));
  ATHANOR_TRY(world.claims, context.list(kAllocationClaim, namespace_of(context)));
  return world;
}

Result<Settings> scheduler_settings(VerbContext& context) {
  const std::string ns = namespace_of(context);
  const auto config = context.get(api::kConfigMap, {ns, "das-scheduler-config"});
  SettingVariables variables;
  if (config.ok()) {
    const auto parsed = yaml::parse(config->body()["data"]["config.yaml"].as_string());
    variables = arguments_of(parsed.ok() ? *parsed : Value());
  } else if (const auto deployments = context.list(api::kDeployment, ns); deployments.ok()) {
    variables = variables_of(*deployments);
  }
  return parse_settings(variables);
}

bool prints_values(const VerbContext& context) {
  return context.output() == "json" || context.output() == "yaml";
}

std::string place_text(const Spot& spot) {
  return fmt::format("{}/gpu-{}/slot-{}", spot.node, spot.number, spot.place.start);
}

Value spot_value(const Spot& spot) {
  return Value::object({{"node", spot.node},
                        {"gpu", spot.number},
                        {"profile", spot.profile},
                        {"start", spot.place.start},
                        {"size", spot.place.size}});
}

}  // namespace athanor::das
