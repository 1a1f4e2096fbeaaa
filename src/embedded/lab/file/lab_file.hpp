// SPDX-License-Identifier: Apache-2.0
// The lab file: which nodes, target clusters, queues and manifests `athanor up` starts with
// (docs/lab.md).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "embedded/targets/target.hpp"
#include "kube/value/value.hpp"
#include "runtime/view/system.hpp"

namespace athanor::lab {

// A taint of a node.
struct Taint {
  std::string key{}, value{}, effect{};
};

// An emulated node, or `count` of them named NAME-1, NAME-2, ...
struct Node {
  std::string name{};
  int count = 1;
  std::map<std::string, std::string> capacity{};  // quantities
  std::map<std::string, std::string> labels{};
  std::vector<Taint> taints{};
  std::map<std::string, std::string> annotations{};     // made of `members`: equip_nodes()
  std::map<std::string, Value, std::less<>> members{};  // of systems, as written
};

// A target cluster: a ResourceFlavor of that name with its quota, and the Secret with its
// kubeconfig.
struct Cluster {
  std::string name{};
  std::map<std::string, std::string> quota{};
  std::string kubeconfig{};  // the text; empty: no Secret
};

// A ClusterQueue over every cluster of the lab, and a LocalQueue of the same name.
struct Queue {
  std::string name{};
  std::string strategy = "BestEffortFIFO";
};

// An emulated target cluster (docs/lab.md) and how Hearth gets to know it.
struct LabTarget {
  std::string name{};
  targets::Target target{};
  bool onboard = true;  // a labelled Secret with its kubeconfig
  std::string owner{};  // annotations of that Secret
  std::string ttl{};
};

// An image as the lab file describes it: what a container without a command runs.
struct LabImage {
  std::string name{};
  Value value{};          // as find_image() of nodes/image_entrypoints.hpp knows it
  std::string archive{};  // an image folder or archive with its files; may be empty
};

// A lab as its file declares it, with defaults for what it leaves out.
struct Lab {
  bool built_in = false;  // no file: the systems' samples are there, too
  std::string ns = "fournos-local-dev";
  std::vector<Node> nodes{};
  std::vector<Cluster> clusters{};
  std::vector<LabTarget> targets{};
  std::vector<Queue> queues{};
  std::vector<std::pair<std::string, std::int64_t>> priority_classes{};
  std::vector<LabImage> images{};
  std::vector<std::string> manifests{};  // names, resolved against the lab file's folder
  std::map<std::string, std::string>
      settings{};  // environment of the controllers: FOURNOS_..., ...
  // The place of each setting: "lab.yaml:7: settings.NAME".
  std::map<std::string, std::string> setting_places{};
  // Namespaces that manifests name, and where their objects go instead.
  std::map<std::string, std::string> moved{};
};

// Names that systems add to the language of lab files.
struct LabWords {
  std::span<const LabNodeMember> members{};      // what systems add to nodes
  std::span<const std::string_view> settings{};  // names of settings; none: any name is taken
};
// Reads and checks one lab file. Every problem is one line "NAME:LINE: PATH: what is wrong" of the
// error's message; all problems are reported together.
Result<Lab> parse_lab(std::string_view text, std::string_view name, const LabWords& words = {});

// Returns the Secret in the jobs' namespace that a run on the cluster reads.
Value kubeconfig_secret(const Lab& lab, const std::string& cluster, const std::string& text);

// Reads a file that the lab names; given the name as written.
using ReadFile = std::function<Result<std::string>(const std::string& name)>;
// Returns the objects to apply, in order: namespace, nodes, Secrets, queueing, then the manifests'
// objects (those without a namespace get the lab's when `namespaced` says their kind has one).
Result<std::vector<Value>> lab_objects(const Lab& lab, const ReadFile& read_file);

}  // namespace athanor::lab
