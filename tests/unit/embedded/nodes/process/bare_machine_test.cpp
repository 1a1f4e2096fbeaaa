// SPDX-License-Identifier: Apache-2.0
// What runs on a machine that allows less than containers want.
#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <iostream>
#include <string>

#include "embedded/nodes/process/view/confinement.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::bare_machine_test {
namespace {

// The note of the pod's event, or empty.
std::string event_of(const Value& state, std::string_view reason) {
  for (const Value& event : state["events"].items()) {
    if (event["reason"].as_string() == reason) {
      return event["note"].str();
    }
  }
  return {};
}

TEST(BareMachine, RunsContainersWithoutVolumes) {
  const int code = in_child([&] {
    ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    confine();  // as a machine that allows no namespaces and no mounts
    PodLab lab;
    lab.start(
        "{name: p, hosts: '127.0.0.1 p', volumes: [{name: kube-api-access-x, type: files, files: "
        "[]}, {name: v, type: empty}, {name: m, type: empty, memory: true}], containers: [{name: "
        "c, messagePath: /dev/termination-log, "
        "mounts: [{volume: kube-api-access-x, path: /var/run/secrets/x}], probes: {readiness: "
        "{type: exec, command: ['true'], periodSeconds: 1}}, command: [/bin/sh, -c, 'echo runs; "
        "exec sleep 1000']}, {name: d, mounts: [{volume: v, path: /made/d}], command: [/bin/true]"
        "}]}");
    const Value state = lab.wait("p", [](const Value& now) {
      return container_of(now, "c")["ready"].as_bool() &&
             container_of(now, "d")["state"].as_string() == "terminated" &&
             event_of(now, "IsolationReduced").find("namespaces are not allowed") !=
                 std::string::npos &&
             event_of(now, "VolumeNotInMemory")
                 .starts_with("Volume \"m\" of medium Memory is on the disk: unshare ");
    });
    const bool told = eventually([&] {
      return lab.log("p", "d").starts_with("athanor: mount /made/d: unshare ") &&
             lab.log("p", "c") == "runs\n";
    });
    if (!told) {
      std::cerr << json::print(state) << "\n" << lab.log("p", "d");
    }
    return told ? 0 : 1;
  });
  EXPECT_EQ(code, 0);
}

}  // namespace
}  // namespace athanor::nodes::bare_machine_test
