// SPDX-License-Identifier: Apache-2.0
// Loads a kube-apiserver, or what answers like one, and prints what it took, a line of JSON a row:
//   athanor_apiserver_bench https://HOST:PORT CA-FILE TOKEN-FILE PHASE.. [--quick]
// Phases, in this order: write, list, watch, fill, restarted. scripts/bench-apiserver starts the
// servers and compares.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "apiserver/rows.hpp"

namespace athanor::bench {
namespace {

constexpr std::size_t kFixed = 3;  // arguments before the phases

Result<Server> server_of(const std::vector<std::string>& arguments) {
  constexpr std::string_view kScheme = "https://";
  const std::string& url = arguments[0];
  const std::size_t colon = url.rfind(':');
  if (!url.starts_with(kScheme) || colon < kScheme.size()) {
    return Error::bad_request("no https://HOST:PORT: " + url);
  }
  Server server{.host = url.substr(kScheme.size(), colon - kScheme.size()),
                .port = url.substr(colon + 1),
                .ca_file = arguments[1],
                .token = {}};
  if (!std::getline(std::ifstream(arguments[2]), server.token)) {
    return Error::bad_request("no token in " + arguments[2]);
  }
  return server;
}

Result<void> run(std::vector<std::string> arguments) {
  const bool quick = std::erase(arguments, "--quick") != 0;
  if (arguments.size() <= kFixed) {
    return Error::bad_request(
        "usage: athanor_apiserver_bench https://HOST:PORT CA-FILE TOKEN-FILE PHASE.. [--quick]\n"
        "phases, in this order: " +
        phases());
  }
  ATHANOR_TRY(const Server server, server_of(arguments));
  for (std::size_t i = kFixed; i < arguments.size(); ++i) {
    ATHANOR_TRY_VOID(run_phase(arguments[i], server, quick ? kQuick : Sizes()));
  }
  return {};
}

}  // namespace
}  // namespace athanor::bench

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(cert-err33-c): a lost connection is an error like others
  const auto done = athanor::bench::run(std::vector<std::string>(argv + 1, argv + argc));
  if (!done.ok()) {
    fmt::print(stderr, "athanor_apiserver_bench: {}\n", done.error().message);
    return 1;
  }
  return 0;
}
