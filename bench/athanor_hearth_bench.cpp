// SPDX-License-Identifier: Apache-2.0
// Emulated target clusters for scripts/bench-hearth, in a process of their own so that what is
// measured is Hearth alone:
//   athanor_hearth_bench FOLDER COUNT DEAD   serves COUNT targets, every DEAD-th of them out of
//   order, until SIGTERM; writes a Secret
//                                       for each to FOLDER/NAME.json and one line of figures a
//                                       target count to stdout.
#include <fmt/core.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>

#include "base/clock.hpp"
#include "base/digest.hpp"
#include "embedded/targets/server.hpp"
#include "kube/text/json.hpp"

namespace athanor {
namespace {

// Of those out of order: refused, never answered, and connections that go nowhere, in turn.
targets::Faults fault_of(int number) {
  switch (number % 3) {
    case 0:
      return {.dead = true};
    case 1:
      return {.hang = true};
    default:
      return {.black_hole = true};
  }
}

std::vector<targets::Target> make_targets(int count, int every) {
  std::vector<targets::Target> made;
  for (int i = 0; i < count; ++i) {
    const bool broken = every > 0 && i % every == every - 1;
    made.push_back({.name = fmt::format("{}-{}", broken ? "dead" : "live", i),
                    .nodes = {{.name = "node",
                               .count = 8,
                               .gpus = 8,
                               .model = i % 2 == 0 ? "NVIDIA-A100-SXM4-80GB" : "NVIDIA-H200"}},
                    .faults = broken ? fault_of(i / every) : targets::Faults{}});
  }
  return made;
}

Value secret_of(const std::string& name, const std::string& kubeconfig) {
  return Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Secret"},
       {"metadata",
        Value::object({{"name", "kubeconfig-" + name},
                       {"namespace", "psap-secrets"},
                       {"labels", Value::object({{"fournos.dev/cluster-kubeconfig", "true"}})}})},
       {"data", Value::object({{"kubeconfig", base64_encode(kubeconfig)}})}});
}

int serve(const std::string& folder, int count, int every) {
  sigset_t ending;
  ::sigemptyset(&ending);
  ::sigaddset(&ending, SIGTERM);
  ::sigaddset(&ending, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &ending, nullptr);
  const auto clock = wall_clock();
  const auto wanted = make_targets(count, every);
  const auto server = targets::TargetServer::start({.targets = wanted, .clock = clock.get()});
  if (!server.ok()) {
    fmt::print(stderr, "athanor_hearth_bench: {}\n", server.error().message);
    return 1;
  }
  for (const targets::Target& target : wanted) {
    std::ofstream file(fmt::format("{}/{}.json", folder, target.name));
    file << json::print(secret_of(target.name, (*server)->kubeconfig(target.name)));
  }
  fmt::print("ready {}\n", count);
  std::fflush(stdout);
  int signal = 0;
  ::sigwait(&ending, &signal);
  const auto counts = (*server)->counts();
  fmt::print("connections {} requests {} writes {}\n", counts.connections, counts.requests,
             counts.writes);
  return 0;
}

}  // namespace
}  // namespace athanor

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: athanor_hearth_bench FOLDER COUNT DEAD\n");
    return 2;
  }
  return athanor::serve(argv[1], std::atoi(argv[2]), std::atoi(argv[3]));
}
