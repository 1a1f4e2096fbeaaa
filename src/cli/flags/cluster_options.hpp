// SPDX-License-Identifier: Apache-2.0
// Options of the verbs of target clusters and their locks.
#pragma once

#include <cstdint>
#include <string>

#include "cli/flags/name_choice.hpp"
#include "cli/flags/target.hpp"
#include "cli/output/list_options.hpp"

namespace athanor::cli {

// In Hearth's verbs the target's namespace is that of the FournosClusters.
struct ClustersOptions {
  Target target{};
  ListOptions list{};
};

// Options of `athanor clusters add`.
struct ClusterAddOptions {
  Target target{};
  std::string name{};
  std::string kubeconfig{};  // of the new cluster; empty: its Secret is there already
  std::string secrets_namespace = "psap-secrets";
  std::string owner{};
  std::string lock_time{};
  bool replace = false;
  bool no_check = false;  // the kubeconfig goes as it is
  bool wait = false;
  int timeout = 60;  // seconds
};

// Options of `athanor clusters check`; the timeout in seconds.
struct ClusterCheckOptions {
  Target target{};
  NameChoice choice{};
  int timeout = 60;
};

// Options of `athanor clusters remove`; the timeout in seconds.
struct ClusterRemoveOptions {
  Target target{};
  NameChoice choice{};
  std::string policy{};  // Drain, Force, Retain
  bool delete_kubeconfig = false;
  std::string owner{};  // who asks; empty: $USER
  bool take_over = false;
  bool wait = false;
  int timeout = 600;
};

// Options of `athanor clusters cordon`, `uncordon` and `drain`; the timeout in seconds.
enum class ClusterCordonVerb : std::uint8_t { Cordon, Uncordon, Drain };
struct ClusterCordonOptions {
  Target target{};
  NameChoice choice{};
  ClusterCordonVerb verb = ClusterCordonVerb::Cordon;
  bool cancel = false;  // drain: stop the jobs
  int timeout = 3600;
};

// Options of `athanor lock`; the timeout in seconds.
struct LockOptions {
  Target target{};
  NameChoice choice{};
  std::string owner{};
  std::string lock_time{};  // empty: until it is unlocked
  bool take_over = false;
  bool wait = false;
  int timeout = 600;
};

// Options of `athanor unlock`.
struct UnlockOptions {
  Target target{};
  NameChoice choice{};
  std::string owner{};  // who asks; empty: $USER
  bool take_over = false;
};

}  // namespace athanor::cli
