// SPDX-License-Identifier: Apache-2.0
// The flags that many verbs share: which API server, as whom, and what is printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/options.hpp"

// NOLINTNEXTLINE(readability-identifier-naming): CLI11 has named itself
namespace CLI {
class App;
}

namespace athanor::cli {

// --kubeconfig, --context, -n and those of add_identity().
void add_target(CLI::App& verb, Target& target);
// --kubeconfig.
void add_file(CLI::App& verb, Target& target);
// --server, --token, --as and their like, and -v.
void add_identity(CLI::App& verb, Target& target);
// The same without -v.
void add_credentials(CLI::App& verb, Target& target);

// A default that an environment variable replaces.
struct EnvironmentDefault {
  const char* variable = "";
  const char* otherwise = "";
  // Returns what holds where no flag says otherwise. Reads the environment.
  [[nodiscard]] std::string value() const;
};
// --context, and -n with a default of its own instead of the context's namespace.
void add_home(CLI::App& verb, Target& target, const EnvironmentDefault& ns, const char* help);
// Adds -o/--output with these formats.
void add_output(CLI::App& verb, Output& output,
                const std::vector<Output>& formats = {Output::Table, Output::Json, Output::Yaml,
                                                      Output::Name});

// The verbs below another one take its flags unless they have their own. `default_ns` is the
// namespace where neither has -n.
void inherit(Target& target, const Target& outer, std::string_view default_ns);

}  // namespace athanor::cli
