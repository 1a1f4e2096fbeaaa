// SPDX-License-Identifier: Apache-2.0
// The flags that many verbs share: which API server, as whom, and what is printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/flags/options.hpp"

namespace athanor::flags {
class Verb;
}

namespace athanor::cli {

// Adds --kubeconfig, --context, -n and those of add_identity().
void add_target(flags::Verb& verb, Target& target);
// Adds --kubeconfig.
void add_file(flags::Verb& verb, Target& target);
// Adds --server, --token, --as and their like, and -v.
void add_identity(flags::Verb& verb, Target& target);
// Adds the same without -v.
void add_credentials(flags::Verb& verb, Target& target);

// A default that an environment variable replaces.
struct EnvironmentDefault {
  const char* variable = "";
  const char* otherwise = "";
  // Returns what holds where no flag says otherwise. Reads the environment.
  [[nodiscard]] std::string value() const;
};
// Adds --context, and -n with a default of its own instead of the context's namespace.
void add_home(flags::Verb& verb, Target& target, const EnvironmentDefault& ns, const char* help);
// Adds -o/--output with these formats.
void add_output(flags::Verb& verb, Output& output,
                const std::vector<Output>& formats = {Output::Table, Output::Json, Output::Yaml,
                                                      Output::Name});

// Gives verbs below another one its flags where they have none of their own. `default_ns` is the
// namespace where neither has -n.
void inherit(Target& target, const Target& outer, std::string_view default_ns);

}  // namespace athanor::cli
