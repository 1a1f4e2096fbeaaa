// SPDX-License-Identifier: Apache-2.0
// The load driver of scripts/bench-controllers: the engine against a kube-apiserver.
//
//   fill KUBECONFIG NAMESPACE COUNT      makes so many ConfigMaps of 1 KiB, object-0 and on
//   cache KUBECONFIG NAMESPACE           keeps the namespace's ConfigMaps; prints "synced", runs on
//   load KUBECONFIG NAMESPACE PREFIX COUNT RATE SECONDS
//                                        changes PREFIX-0 to PREFIX-(COUNT - 1) at a steady rate
//   latency KUBECONFIG NAMESPACE COUNT [http1]
//                                        answers changes of wish-0 to wish-(COUNT - 1) until
//                                        SIGTERM; prints "ready" (and starts over on SIGUSR1), in
//                                        the end what the engine added
#include <fmt/core.h>

#include <csignal>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "api/builtin.hpp"
#include "base/digest.hpp"
#include "controllers/latency.hpp"
#include "controllers/world.hpp"

namespace athanor::bench {
namespace {

// With its metadata an object is 1 KiB of JSON. Noise: nothing to share, nothing to compress.
constexpr std::size_t kNoise = 780;

const Kind* const kKinds[] = {&api::kConfigMap};

// Looks and does nothing.
Plan look(const View& view, const Key& key, Instant /*now*/) {
  static_cast<void>(view.get(api::kConfigMap, key));
  return Plan::done();
}

constexpr Operator kLooker{.name = "looker",
                           .primary = &api::kConfigMap,
                           .reads = kKinds,
                           .writes = {},
                           .reconcile = look};

std::string noise(int number) {
  std::mt19937 source(static_cast<std::mt19937::result_type>(number));
  std::string bytes;
  while (bytes.size() < kNoise * 3 / 4) {
    bytes += static_cast<char>(source());
  }
  return base64_encode(bytes);
}

void fill(World& world, const std::string& kubeconfig, const std::string& ns, int count) {
  const auto client = world.client(kubeconfig);
  const int failed = make_all(*client, ns, count, [](int i) {
    return map_of(name_of("object", i), Value::object({{"text", noise(i)}}));
  });
  client->stop();
  fmt::print("filled {}, failed {}\n", count, failed);
}

void keep(World& world, const std::string& kubeconfig, const std::string& ns) {
  block_signals();
  const auto client = world.client(kubeconfig);
  const Operator* const operators[] = {&kLooker};
  cluster::ClusterDriver driver(operators, world.options(client, ns));
  driver.start();
  await_rest(driver);
  fmt::print("synced\n");
  std::fflush(stdout);
  while (await_signal() != SIGTERM) {
  }
  driver.stop();
  client->stop();
}

// NOLINTNEXTLINE(cert-err34-c): numbers are asked for
int number(const std::string& word) {
  return std::atoi(word.c_str());
}

}  // namespace
}  // namespace athanor::bench

int main(int argc, char** argv) {
  using athanor::bench::number;
  const std::vector<std::string> words(argv, argv + argc);
  athanor::bench::World world;
  if (argc == 5 && words[1] == "fill") {
    athanor::bench::fill(world, words[2], words[3], number(words[4]));
  } else if (argc == 4 && words[1] == "cache") {
    athanor::bench::keep(world, words[2], words[3]);
  } else if (argc == 8 && words[1] == "load") {
    const auto client = world.client(words[2]);
    athanor::bench::load(*client, words[3], words[4], number(words[5]), number(words[6]),
                         number(words[7]));
    client->stop();
  } else if ((argc == 5 || argc == 6) && words[1] == "latency") {
    athanor::bench::measure_latency(world, words[2], words[3], number(words[4]), argc == 5);
  } else {
    fmt::print(stderr, "usage: fill|cache|load|latency KUBECONFIG NAMESPACE ...\n");
    return 2;
  }
  return 0;
}
