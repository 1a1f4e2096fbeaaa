// SPDX-License-Identifier: Apache-2.0
// etcd's flags, as far as test suites give them.
#pragma once

#include <span>
#include <string>

#include "base/result.hpp"
#include "cli/stand_ins/flag_table.hpp"

namespace athanor::cli {

// Options of `athanor etcd`.
struct EtcdOptions {
  std::string host = "localhost";
  int port = 2379;
  std::string help{};  // asked for: nothing else is filled in
};

// Returns the table of flags.
std::span<const FlagSpec> etcd_flags();
// Gives a verb these flags, their help and the manner of the program.
void describe_etcd(flags::Verb& verb, FlagValues& values);
// Parses the arguments. Errors: an unknown flag, a client URL that is not http://HOST:PORT.
Result<EtcdOptions> parse_etcd(std::span<const std::string> arguments);

}  // namespace athanor::cli
