// SPDX-License-Identifier: Apache-2.0
// What all parts of athanor_controllers_bench stand on: a client, a driver's options, ConfigMaps.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "client/api_client.hpp"
#include "cluster/cluster_driver.hpp"
#include "kube/value/value.hpp"
#include "runtime/engine/executors.hpp"

namespace athanor::bench {

struct World {
  std::unique_ptr<Clock> clock = wall_clock();
  std::unique_ptr<Entropy> entropy = system_entropy();
  runtime::Executors executors{};

  // Ends the program with a message when there is no such cluster.
  std::shared_ptr<client::ApiClient> client(const std::string& kubeconfig, bool http2 = true);
  cluster::DriverOptions options(const std::shared_ptr<client::ApiClient>& client,
                                 const std::string& ns);
};

Value map_of(const std::string& name, Value data);
std::string name_of(const std::string& prefix, int number);

// Makes `count` ConfigMaps that are not there yet, many at a time; how many could not be made.
int make_all(client::ApiClient& client, const std::string& ns, int count,
             const std::function<Value(int)>& body);
// Changes data.wish of PREFIX-0 to PREFIX-(count - 1), far apart, so many times a second;
// prints what became of it.
void load(client::ApiClient& client, const std::string& ns, const std::string& prefix, int count,
          int rate, int seconds);

// The figure below which that share of sorted ones lies; 0: there are none.
double at_share(const std::vector<double>& sorted, double share);

// Blocks SIGTERM and SIGUSR1 for the threads to come; waits for one of them.
void block_signals();
int await_signal();
// Until the caches are full and every key has run.
void await_rest(const cluster::ClusterDriver& driver);

}  // namespace athanor::bench
