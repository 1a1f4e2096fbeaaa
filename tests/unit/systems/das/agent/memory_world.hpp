// SPDX-License-Identifier: Apache-2.0
// What Allocate and exchanges act on, in memory: claims are written at once; slices and files are
// in sets.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "kube/apply/patch.hpp"
#include "kube/text/yaml.hpp"
#include "systems/das/agent/allocate.hpp"
#include "systems/das/agent/exchange.hpp"
#include "systems/das/model/names.hpp"

namespace athanor::das {

inline Object object_of(const std::string& text) {
  return Object(yaml::parse(text).value());
}

class MemoryWorld final : public AllocateWorld {
 public:
  void add_pod(const std::string& uid, const std::string& spec) {
    sight.pods[uid] = object_of("{apiVersion: v1, kind: Pod, metadata: {name: " + uid +
                                ", namespace: ns, uid: " + uid + "}, spec: " + spec + "}");
  }
  void set_status(const std::string& uid, const std::string& status) {
    Value body = sight.pods[uid].body();
    body.set("status", yaml::parse(status).value());
    sight.pods[uid] = Object(body);
  }
  void mark_deleted(const std::string& uid) {
    Value body = sight.pods[uid].body();
    body.set_path({"metadata", "deletionTimestamp"}, "2026-01-05T00:00:00Z");
    sight.pods[uid] = Object(body);
  }
  void add_claim(const std::string& pod, const std::string& name, const std::string& profile,
                 const std::string& container, int start, const std::string& state = kCreated) {
    const Object object = object_of(fmt::format(
        "{{metadata: {{name: {0}, namespace: das-operator, uid: uid-{0}}}, spec: {{profile: "
        "'{1}', container: '{2}', gpuUUID: GPU-0, nodename: n, podRef: {{kind: Pod, name: {3}, "
        "namespace: ns, uid: {3}}}, migPlacement: {{start: {4}, size: 1}}}}, status: {{state: "
        "'{5}'}}}}",
        name, profile, container, pod, start, state));
    sight.claims.push_back(*read_claim(object));
  }
  Claim& claim(const std::string& name) {
    return *std::ranges::find_if(sight.claims,
                                 [&](const Claim& one) { return one.object.name() == name; });
  }

  Result<void> keep_exchange(const std::string& text) override {
    step();
    exchange = text;
    return {};
  }
  std::string kept_exchange() override { return exchange; }

  // Thrown where the agent ends.
  struct Died {};
  void step() {
    if (dies_after && (*dies_after)-- <= 0) {
      dies_after.reset();
      throw Died{};
    }
  }

  NodeSight look() override {
    ++looks;
    if (looks == appears_at) {
      add_claim("late", "late-0", "1g.5gb", "c", 6);
    }
    if (looks == unseen_at) {
      return {.seen = false};
    }
    return sight;
  }
  Result<std::optional<Object>> find_pod(const Claim& one) override {
    ++reads;
    if (!answers && reads != answers_read) {
      return Error::unavailable("no API server");
    }
    const auto pod = unseen.find(one.pod_uid);
    return pod == unseen.end() ? std::nullopt : std::optional(pod->second);
  }
  void wait(Duration time) override { waited.push_back(time.count() / 1000); }
  Result<void> write_state(std::span<const Claim> claims, std::string_view state) override {
    if (fail == state) {
      return Error::unavailable("no API server");
    }
    for (const Claim& one : claims) {
      step();
      claim(std::string(one.object.name())).state = state;
      steps.push_back(fmt::format("{} {}", one.object.name(), state));
    }
    return {};
  }
  Result<std::vector<std::string>> make_slices(std::span<const Claim> claims) override {
    if (fail == "slices") {
      return Error{.code = 500, .reason = reason, .message = "create GPU instance: no"};
    }
    std::vector<std::string> names;
    for (const Claim& one : claims) {
      slices.insert(std::string(one.object.name()));
      names.push_back(slice_of(one));
    }
    return names;
  }
  void destroy_slices(std::span<const Claim> claims) override {
    for (const Claim& one : claims) {
      slices.erase(std::string(one.object.name()));
    }
  }
  std::string slice_of(const Claim& one) override {
    const std::string name(one.object.name());
    return missing.contains(name) && !slices.contains(name) ? "" : "MIG-" + name;
  }
  Result<void> write_file(const CdiSpec& spec) override {
    step();
    if (fail == "file" || fail == "file " + spec.profile) {
      return Error::unavailable("disk full");
    }
    files[spec.file_name()] = spec;
    return {};
  }
  void remove_file(const CdiSpec& spec) override {
    step();
    files.erase(spec.file_name());
  }
  std::optional<std::vector<Holder>> holders() override {
    return ++lists < answers_at ? std::nullopt : held;
  }
  Result<void> give(const Transfer& transfer) override {
    if (gives && *gives <= 0) {
      return Error::unavailable("no API server");
    }
    step();
    Claim& one = claim(transfer.claim.name);
    Value body = one.object.body();
    gives = gives ? std::optional(*gives - 1) : std::nullopt;
    const std::string state = one.state;
    body.set("spec", apply_merge_patch(body["spec"], patch_of(transfer)["spec"]));
    one = *read_claim(Object(body));
    one.state = state;
    steps.push_back(fmt::format("{} to {}", one.object.name(), transfer.pod_uid));
    return ++given == unanswered_at ? Result<void>(Error::unavailable("no answer"))
                                    : Result<void>();
  }

  // The caches do not show the pod yet.
  void hide_pod(const std::string& uid) { unseen.insert(sight.pods.extract(uid)); }

  NodeSight sight{};
  std::map<std::string, Object, std::less<>> unseen{};  // pods that the API server alone shows
  int looks = 0;
  int reads = 0;        // of pods
  bool answers = true;  // the API server, when it is asked for a pod; else only at one read:
  int answers_read = 0;
  int appears_at = 0;
  int unseen_at = 0;
  std::vector<std::int64_t> waited{};  // ms
  std::string fail{};
  std::string reason = "NvmlError";
  std::vector<std::string> steps{};
  std::set<std::string> slices{};
  std::set<std::string> missing{};  // slices that are not there although their claims say so
  std::map<std::string, CdiSpec> files{};
  std::optional<std::vector<Holder>> held{};
  int lists = 0;
  int answers_at = 0;          // the kubelet
  std::optional<int> gives{};  // until they fail
  int given = 0;
  int unanswered_at = 0;            // done, without an answer
  std::string exchange{};           // that began
  std::optional<int> dies_after{};  // so many steps
};

}  // namespace athanor::das
