// SPDX-License-Identifier: Apache-2.0
// The flags that many verbs share: which API server, as whom, and what is printed.
#pragma once

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
// --server, --token, --as and their like, and -v.
void add_identity(CLI::App& verb, Target& target);
// Adds -o/--output with these formats.
void add_output(CLI::App& verb, Output& output,
                const std::vector<Output>& formats = {Output::Table, Output::Json, Output::Yaml,
                                                      Output::Name});

// The verbs below another one take its flags unless they have their own.
void inherit(Target& target, const Target& outer, std::string_view default_ns);

}  // namespace athanor::cli
