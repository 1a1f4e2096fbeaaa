// SPDX-License-Identifier: Apache-2.0
#include "cli/flags/target_flags.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "cli/output/formats.hpp"
#include "flags/verb.hpp"

namespace athanor::cli {
namespace {

constexpr const char* kGroup = "Connection";

template <class T>
void inherit_if_unset(T& value, const T& outer) {
  if (value == T{}) {
    value = outer;
  }
}

}  // namespace

std::string EnvironmentDefault::value() const {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the program has one thread
  const char* set = std::getenv(variable);
  return set == nullptr || *set == '\0' ? otherwise : set;
}

void add_target(flags::Verb& verb, Target& target) {
  add_file(verb, target);
  verb.add_option("--context", target.context, "kubeconfig context (default: its current-context)");
  verb.add_option("-n,--namespace", target.ns, "namespace (default: the context's)");
  add_identity(verb, target);
}

void add_file(flags::Verb& verb, Target& target) {
  verb.add_option("--kubeconfig", target.kubeconfig,
                  "kubeconfig file (default: $KUBECONFIG, then ~/.kube/config)");
}

void add_home(flags::Verb& verb, Target& target, const EnvironmentDefault& ns, const char* help) {
  target.ns = ns.otherwise;
  verb.add_option("--context", target.context, "kubeconfig context (default: its current-context)");
  verb.add_option("-n,--namespace", target.ns, help)->envname(ns.variable)->capture_default_str();
}

void add_identity(flags::Verb& verb, Target& target) {
  add_credentials(verb, target);
  verb.add_option("-v,--verbosity", target.verbosity,
                  "1 and more: tell each request and its answer's code on stderr")
      ->group(kGroup)
      ->check(flags::in_range(0, 10));
}

void add_credentials(flags::Verb& verb, Target& target) {
  verb.add_option("-s,--server", target.server, "address of the API server, not the kubeconfig's")
      ->group(kGroup)
      ->type_name("URL");
  verb.add_option("--certificate-authority", target.authority, "file with the server's authority")
      ->group(kGroup)
      ->check(flags::existing_file())
      ->type_name("FILE");
  verb.add_flag("--insecure-skip-tls-verify", target.insecure,
                "do not check the server's certificate")
      ->group(kGroup);
  verb.add_option("--token", target.token, "bearer token, instead of the kubeconfig's credentials")
      ->group(kGroup);
  verb.add_option("--as", target.as, "user to impersonate")->group(kGroup)->type_name("USER");
  verb.add_option("--as-group", target.as_groups, "group to impersonate; repeatable")
      ->group(kGroup)
      ->allow_extra_args(false)
      ->type_name("GROUP");
}

void add_output(flags::Verb& verb, Output& output, const std::vector<Output>& formats) {
  const auto take = [&output, formats](const std::string& text) -> Result<void> {
    ATHANOR_TRY(const auto format, parse_format(text, formats));
    output = format.output;
    return {};
  };
  verb.add_option_function("-o,--output", take, format_choice(formats))->type_name("FORMAT");
}

void inherit(Target& target, const Target& outer, std::string_view default_ns) {
  inherit_if_unset(target.kubeconfig, outer.kubeconfig);
  inherit_if_unset(target.context, outer.context);
  target.ns = target.ns == default_ns ? outer.ns : target.ns;
  inherit_if_unset(target.server, outer.server);
  inherit_if_unset(target.token, outer.token);
  inherit_if_unset(target.authority, outer.authority);
  inherit_if_unset(target.insecure, outer.insecure);
  inherit_if_unset(target.as, outer.as);
  inherit_if_unset(target.as_groups, outer.as_groups);
  inherit_if_unset(target.verbosity, outer.verbosity);
}

}  // namespace athanor::cli
