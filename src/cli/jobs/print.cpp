// SPDX-License-Identifier: Apache-2.0
// The verbs that only print: crds, version, and help texts.
#include <fmt/core.h>
#include <unistd.h>

#include "api/describe.hpp"
#include "base/version/revision.hpp"
#include "cli/output/terminal.hpp"
#include "cli/session/verbs.hpp"
#include "kube/text/json.hpp"
#include "kube/text/yaml.hpp"
#include "product/list.hpp"
#include "runtime/view/usage.hpp"
#include "webhook/conversion.hpp"

namespace athanor::cli {
int run(const Message& message) {
  Terminal(message.exit_code == 0 ? STDOUT_FILENO : STDERR_FILENO).print(message.text);
  return message.exit_code;
}

namespace {

// Returns how the versions of a kind are converted: Null where they differ in their name alone.
Value conversion_of(const api::CustomKind& custom, const CrdsOptions& options) {
  const System* system = system_of_kind(all_systems(), custom.kind->group, custom.kind->name);
  const bool wanted = !options.conversion_service.empty() || !options.conversion_url.empty();
  const bool differ = custom.versions.front().type != custom.versions.back().type;
  if (!wanted || !differ || system == nullptr || system->convert == nullptr) {
    return {};
  }
  Value config = Value::object();
  if (!options.conversion_url.empty()) {
    config.set("url", options.conversion_url + std::string(webhook::kConversionPath));
  } else {
    const std::size_t slash = options.conversion_service.find('/');
    config.set("service", Value::object({{"namespace", options.conversion_service.substr(0, slash)},
                                         {"name", options.conversion_service.substr(slash + 1)},
                                         {"path", webhook::kConversionPath},
                                         {"port", 443}}));
  }
  return Value::object(
      {{"strategy", "Webhook"},
       {"webhook", Value::object({{"clientConfig", std::move(config)},
                                  {"conversionReviewVersions", Value::list({"v1"})}})}});
}

}  // namespace

int run(const CrdsOptions& options) {
  if (!options.conversion_service.empty() &&
      options.conversion_service.find('/') == std::string::npos) {
    return fail(wrong_usage(
        fmt::format("--conversion-service {}: is not NAMESPACE/NAME", options.conversion_service)));
  }
  const Terminal out(STDOUT_FILENO);
  std::string text;
  Value list = Value::object({{"apiVersion", "v1"}, {"kind", "List"}, {"items", Value::list()}});
  std::size_t count = 0;
  // Kueue's and Tekton's definitions belong to those who install them: unasked, ours alone.
  std::vector<const System*> systems;
  for (const System* system : all_systems()) {
    if (options.all || !options.group.empty() || system->by_default) {
      systems.push_back(system);
    }
  }
  for (const api::CustomKind* custom : kinds_of(systems)) {
    if (!options.group.empty() && custom->kind->group != options.group) {
      continue;
    }
    ++count;
    Value manifest = api::crd_manifest(*custom);
    if (Value conversion = conversion_of(*custom, options); !conversion.is_null()) {
      manifest.set_path({"spec", "conversion"}, std::move(conversion));
    }
    if (options.output == Output::Name) {
      text += fmt::format("customresourcedefinition.apiextensions.k8s.io/{}\n",
                          manifest["metadata"]["name"].as_string());
    } else if (options.output == Output::Json) {
      list.member("items").push_back(manifest);
    } else {
      text += (text.empty() ? "" : "---\n") + yaml::print(manifest);
    }
  }
  if (count == 0) {
    return fail(Error::not_found(
        fmt::format("no API group \"{}\"; athanor crds --all -o name lists all", options.group)));
  }
  out.print(options.output == Output::Json ? json::print(list, json::Style::Pretty) + "\n" : text);
  return 0;
}

int run(const VersionOptions& options) {
  const Terminal out(STDOUT_FILENO);
  if (options.output == Output::Json || options.output == Output::Yaml) {
    const Value version = Value::object({{"version", ATHANOR_VERSION},
                                         {"commit", revision()},
                                         {"kubernetes", "1.35"},
                                         {"compiler", __VERSION__}});
    out.print(options.output == Output::Json ? json::print(version, json::Style::Pretty) + "\n"
                                             : yaml::print(version));
  } else {
    out.print("athanor " ATHANOR_VERSION "\n");
  }
  return 0;
}

}  // namespace athanor::cli
