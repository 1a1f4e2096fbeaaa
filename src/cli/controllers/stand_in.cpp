// SPDX-License-Identifier: Apache-2.0
#include "cli/controllers/stand_in.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/ascii.hpp"
#include "base/clock.hpp"
#include "base/files/text_file.hpp"
#include "base/log.hpp"
#include "cli/flags/environment.hpp"
#include "client/api_client.hpp"
#include "client/cluster_config.hpp"
#include "client/connection.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "runtime/view/usage.hpp"

namespace athanor::cli {
namespace {

using Variables = std::map<std::string, std::string>;

constexpr const char* kAccountNamespace = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
constexpr const char* kDrain = "5s";         // pods of upstream's Deployment have 10 s to end
constexpr const char* kManager = "manager";  // controller-runtime's name of the container
constexpr int kNotFound = 404;
constexpr int kConflict = 409;

// The one system of --systems with an executable of its own; nullptr: none of them has.
Result<const System*> process_of(const std::string& list) {
  const System* alone = nullptr;
  for (const std::string_view word : words_of(list, ',')) {
    const auto systems = all_systems();
    const auto found =
        std::ranges::find_if(systems, [&](const System* system) { return system->name == word; });
    if (found == systems.end()) {
      return wrong_usage(fmt::format("--systems: there is no system \"{}\"", word));
    }
    if ((*found)->process != nullptr) {
      if (alone != nullptr) {
        return wrong_usage(fmt::format(
            "--systems: {} and {} have a configuration each; run them apart", alone->name, word));
      }
      alone = *found;
    }
  }
  return alone;
}

Result<std::string> namespace_of(const Process& process, const Variables& variables) {
  if (const auto named = variables.find(std::string(process.namespace_variable));
      named != variables.end() && !named->second.empty()) {
    return named->second;
  }
  auto text = read_text_file(kAccountNamespace);
  if (!text.ok() && !process.default_namespace.empty()) {
    return std::string(process.default_namespace);
  }
  if (!text.ok()) {
    return Error::bad_request("unable to determine current namespace");
  }
  while (!text->empty() && (text->back() == '\n' || text->back() == ' ')) {
    text->pop_back();
  }
  return text;
}

// The ConfigMap's one document, or a new one with all defaults.
class ConfigMaps {
 public:
  ConfigMaps(client::ApiClient& client, const Process& process, Key key)
      : client_(client), process_(process), key_(std::move(key)) {}

  Result<Value> read() {
    client::ApiResult found = client_.call({.path = path() + "/" + client::escape(key_.name)});
    if (found.error && found.error->code == kNotFound) {
      found = create();
    }
    if (found.error) {
      return found.error->with_context(fmt::format("ConfigMap {}", key_.text()));
    }
    const Value& data = found.body["data"];
    if (data.size() != 1) {
      return Error::bad_request(
          fmt::format("cannot resolve config from ConfigMap {}/{}", key_.ns, key_.name));
    }
    auto parsed = yaml::parse(data.members().begin()->value.as_string());
    return parsed.ok() ? parsed
                       : parsed.error().with_context(fmt::format("ConfigMap {}", key_.text()));
  }

 private:
  [[nodiscard]] std::string path() const {
    return fmt::format("/api/v1/namespaces/{}/configmaps", client::escape(key_.ns));
  }

  client::ApiResult create() {
    const Value object = Value::object(
        {{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", Value::object({{"name", key_.name}, {"namespace", key_.ns}})},
         {"data", Value::object({{process_.config_key, process_.default_config(key_.ns)}})}});
    client::ApiResult made = client_.call({.method = "POST", .path = path(), .body = object});
    if (!made.error) {
      log::info("the configuration is made", {{"configmap", key_.text()}});
    } else if (made.error->code == kConflict) {  // another replica was faster
      made = client_.call({.path = path() + "/" + client::escape(key_.name)});
    }
    return made;
  }

  client::ApiClient& client_;
  const Process& process_;
  Key key_;
};

// Asks the cluster of the options once, before controllers run.
template <class Ask>
std::invoke_result_t<Ask, client::ApiClient&> ask_once(const ControllersOptions& options,
                                                       const Variables& variables, Ask ask) {
  const auto clock = wall_clock();
  const auto entropy = system_entropy();
  ATHANOR_TRY(client::ClusterConfig config, client::resolve_cluster({.path = options.kubeconfig,
                                                                     .context = options.context,
                                                                     .environment = variables}));
  ATHANOR_TRY(const auto client, client::ApiClient::open(std::move(config), *clock, *entropy));
  auto answer = ask(*client);
  client->stop();
  return answer;
}

Result<Value> read_config_map(const ControllersOptions& options, const Variables& variables,
                              const Process& process, const std::string& ns) {
  const std::string name = options.config.empty() || !is_config_map(options.config)
                               ? std::string(process.config_map)
                               : options.config;
  return ask_once(options, variables, [&](client::ApiClient& client) {
    return ConfigMaps(client, process, {ns, name}).read();
  });
}

// The image of the process's own pod: of its container "manager", or the first one.
Result<std::string> read_own_image(client::ApiClient& client, const Key& pod) {
  client::ApiResult found =
      client.call({.path = fmt::format("/api/v1/namespaces/{}/pods/{}", client::escape(pod.ns),
                                       client::escape(pod.name))});
  if (found.error) {
    return *std::move(found.error);
  }
  const Value& containers = found.body["spec"]["containers"];
  for (const Value& container : containers.items()) {
    if (container["name"].as_string() == kManager) {
      return container["image"].str();
    }
  }
  return containers[0]["image"].str();
}

// This program's own flags win over what upstream's say.
void take(std::string& into, const std::string& value) {
  if (into.empty()) {
    into = value;
  }
}

void take_webhooks(const ProcessSetup::Webhooks& webhooks, ControllersOptions& options) {
  take(options.webhook_address, webhooks.address);
  take(options.webhook_namespace, webhooks.ns);
  options.webhook_service = webhooks.service;
  options.webhook_secret = webhooks.secret;
  options.webhook_authority = webhooks.authority;
  options.webhook_organization = webhooks.organization;
  options.webhook_configurations = webhooks.configurations;
  options.webhook_crds.insert(options.webhook_crds.end(), webhooks.definitions.begin(),
                              webhooks.definitions.end());
  options.webhooks_first = true;
}

// Flags of upstream's executables are for those that know them.
Result<void> check_flags(const ControllersOptions& options, const System* system) {
  for (const auto& [name, value] : options.upstream_flags) {
    const bool known = name == "metrics-secure" ||  // this program's, too
                       (system != nullptr && std::ranges::find(system->process->flags, name) !=
                                                 system->process->flags.end());
    if (known) {
      continue;
    }
    std::string takers;
    for (const System* one : all_systems()) {
      if (one->process != nullptr &&
          std::ranges::find(one->process->flags, name) != one->process->flags.end()) {
        takers += (takers.empty() ? "" : " or ") + std::string(one->name);
      }
    }
    return wrong_usage(fmt::format("--{} goes with --systems={}", name, takers));
  }
  return {};
}

// Takes what the process that is stood in for would run with.
void take_setup(const ControllersOptions& options, const ProcessInput& input,
                const ProcessSetup& setup, ControllersOptions& mine) {
  if (is_config_map(options.config)) {
    mine.config.clear();  // what is left is a file
  }
  if (options.drain_timeout == ControllersOptions().drain_timeout) {
    mine.drain_timeout = kDrain;
  }
  mine.all_namespaces = options.namespaces.empty();
  mine.leader_elect = setup.leader_elect;
  take(mine.leader_namespace, input.ns);
  take(mine.metrics_address, setup.metrics_address);
  mine.metrics_secure = setup.metrics_secure;
  take(mine.health_address, setup.health_address);
  take(mine.log_level, setup.log_level);
  if (!setup.log_format.empty() && options.log_format == "auto") {
    mine.log_format = setup.log_format;
  }
  if (setup.webhooks) {
    take_webhooks(*setup.webhooks, mine);
  } else {
    mine.webhook_address.clear();
  }
}

}  // namespace

Result<StandIn> stand_in(const ControllersOptions& options) {
  StandIn result{.options = options};
  ControllersOptions& mine = result.options;
  if (options.systems.empty()) {
    ATHANOR_TRY_VOID(check_flags(options, nullptr));
    return result;
  }
  if (options.controllers != "*") {
    return wrong_usage("--systems and --controllers name the same; give one of them");
  }
  mine.controllers = options.systems;
  ATHANOR_TRY(const System* system, process_of(options.systems));
  ATHANOR_TRY_VOID(check_flags(options, system));
  if (system == nullptr) {
    return result;
  }
  const Variables variables = environment_map();
  const Process& process = *system->process;
  ProcessInput input{.flags = options.upstream_flags, .variables = variables};
  if (options.leader_elect_given) {
    input.flags["leader-elect"] = options.leader_elect ? "true" : "false";
  }
  ATHANOR_TRY(input.ns, namespace_of(process, variables));
  if (!process.config_map.empty()) {
    ATHANOR_TRY(input.config, read_config_map(options, variables, process, input.ns));
  } else if (!options.config.empty() && is_config_map(options.config)) {
    return wrong_usage(fmt::format(
        "--config: {} has no ConfigMap; a file of flags has a slash in its name", system->name));
  }
  if (const auto pod = variables.find(std::string(process.pod_variable));
      pod != variables.end() && !pod->second.empty()) {
    auto image = ask_once(options, variables, [&](client::ApiClient& client) {
      return read_own_image(client, {input.ns, pod->second});
    });
    if (image.ok()) {
      input.image = *std::move(image);
    } else {
      log::warn("the image of this process's pod is unknown",
                {{"pod", input.ns + "/" + pod->second}, {"error", image.error().message}});
    }
  }
  auto setup = process.set_up(input);
  if (!setup.ok()) {
    return setup.error().with_context(fmt::format("the configuration of {}", system->name));
  }
  for (const std::string& warning : setup->warnings) {
    log::warn("a setting has no effect", {{"what", warning}});
  }
  for (const std::string& more : setup->systems) {
    mine.controllers += "," + more;
  }
  take_setup(options, input, *setup, mine);
  result.documents.insert_or_assign(std::string(system->name), std::move(setup->settings));
  return result;
}

}  // namespace athanor::cli
