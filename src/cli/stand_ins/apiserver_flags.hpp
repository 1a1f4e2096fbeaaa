// SPDX-License-Identifier: Apache-2.0
// kube-apiserver's flags (docs/spec/apiserver.md 1.3), as far as this API server knows them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cli/stand_ins/flag_table.hpp"
#include "embedded/lab/serving/bare_server.hpp"

namespace athanor::cli {

// Options of `athanor apiserver`.
struct ApiServerOptions {
  lab::BareServerOptions server{};
  Duration shutdown_delay{};
  int verbosity = 0;
  std::vector<std::string> notes{};  // what was asked for and is not done, one line each
  std::string help{};                // asked for: nothing else is filled in
};

// Returns the table of flags.
std::span<const FlagSpec> apiserver_flags();
// Gives a verb these flags, their help and the manner of the program.
void describe_apiserver(flags::Verb& verb, FlagValues& values);
// Parses the arguments. Errors are worded as kube-apiserver words them, without its "Error: ".
Result<ApiServerOptions> parse_apiserver(std::span<const std::string> arguments);

}  // namespace athanor::cli
