// SPDX-License-Identifier: Apache-2.0
// Users, groups and capabilities of containers.
#include "embedded/nodes/process/view/container_identity.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>

#include "embedded/nodes/process/view/own_pids.hpp"
#include "kube/text/json.hpp"
#include "unit/embedded/nodes/process/pod_lab.hpp"

namespace athanor::nodes::container_identity_test {
namespace {

TEST(ContainerHome, IsThatOfPasswd) {
  const std::string passwd =
      "root:x:0:0:root:/root:/bin/sh\n\nbad\nann:x:1000:1000::/home/ann:/bin/sh\n"
      "bob:x:1001:1001:Bob:relative:/bin/sh\neve::100:1:::/bin/sh\nlast:x:7:7::/last";
  EXPECT_EQ(home_of(passwd, 0), "/root");
  EXPECT_EQ(home_of(passwd, 1000), "/home/ann");
  EXPECT_EQ(home_of(passwd, 7), "/last");
  for (const std::int64_t user : {100, 1001, 4321}) {
    EXPECT_EQ(home_of(passwd, user), "/") << user;
  }
  EXPECT_EQ(home_of("", 0), "/");
}

TEST(ContainerHome, IsOfNoHostWithoutIsolation) {
  PodLab lab(PodLab::Isolation::Off);
  lab.start("{name: p, containers: [{name: c, command: [/bin/sh, -c, 'echo $HOME']}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "/\n");
}

class ContainerIdentity : public testing::Test {
 protected:
  void SetUp() override {
    if (::geteuid() != 0) {
      GTEST_SKIP() << "only root becomes other users";
    }
  }
  // What the script says in a container with this security context.
  static std::string run(const std::string& security, const std::string& script,
                         PodLab::Isolation isolation = PodLab::Isolation::On) {
    PodLab lab(isolation);
    lab.start(fmt::format(
        "{{name: p, fsGroup: 4444, volumes: [{{name: v, type: empty}}], containers: [{{name: c, "
        "security: {}, mounts: [{{volume: v, path: /v}}], command: [/bin/sh, -c, {}]}}]}}",
        security, json::quote(script)));
    lab.wait_end("p");
    return lab.log("p", "c");
  }
};

TEST_F(ContainerIdentity, UserAndGroupsAreThoseAskedFor) {
  for (const auto isolation : {PodLab::Isolation::On, PodLab::Isolation::Off}) {
    EXPECT_EQ(
        run("{user: 1234, group: 2345, groups: [3456, 4444]}",
            "id -u; id -G; echo x > /v/f && stat -c '%u %g' /v/f; echo out > /dev/stdout; echo x "
            "2>/dev/null > /etc/athanor-x || echo sealed",
            isolation),
        "1234\n2345 3456 4444\n1234 4444\nout\nsealed\n");
  }
}

TEST_F(ContainerIdentity, HomeIsThatOfTheUser) {
  EXPECT_EQ(run("{}", "echo $HOME; cat /etc/hostname"), "/root\np\n");
  EXPECT_EQ(run("{user: 4321}", "echo $HOME"), "/\n") << "/etc/passwd has no such user";
}

TEST_F(ContainerIdentity, CommandsOfExecAreTheSameUser) {
  PodLab lab;
  lab.start("{name: p, containers: [{name: c, security: {user: 1234}, command: [sleep, '1000']}]}");
  lab.wait("p",
           [](const Value& s) { return container_of(s, "c")["state"].as_string() == "running"; });
  auto session = lab.runtime().exec(
      {"ns", "p"}, "uid-p",
      {.container = "c", .command = {"id", "-u"}, .output = true, .error = true});
  ASSERT_TRUE(session.ok());
  apiserver::PodSession::Output all;
  EXPECT_TRUE(eventually([&] {
    (*session)->take(all, std::size_t{1} << 20);
    return all.exit_code.has_value();
  }));
  EXPECT_EQ(all.out, "1234\n");
}

TEST_F(ContainerIdentity, CapabilitiesAreThoseOfContainers) {
  const std::string script = "grep CapBnd /proc/self/status | tr -d '\\t'";
  EXPECT_EQ(run("{}", script), "CapBnd:00000000a80425fb\n") << "as container runtimes have it";
  EXPECT_EQ(run("{drop: [ALL]}", script), "CapBnd:0000000000000000\n");
  EXPECT_EQ(run("{drop: [ALL], add: [NET_BIND_SERVICE]}", script), "CapBnd:0000000000000400\n");
  EXPECT_EQ(run("{drop: [CAP_CHOWN], add: [SYS_ADMIN, IPC_LOCK]}", script),
            "CapBnd:00000000a80465fa\n");
}

TEST(MappedIdentity, OneIdAppearsAsTheOneAskedFor) {
  if (::geteuid() == 0 || !can_have_own_pids()) {
    GTEST_SKIP() << "root becomes other users; without namespaces nothing can be mapped";
  }
  PodLab lab;
  lab.start(
      "{name: p, volumes: [{name: v, type: empty}], containers: [{name: c, security: {user: 0, "
      "group: 7}, mounts: [{volume: v, path: /v}], command: [/bin/sh, -c, 'id -u; id -g; echo x > "
      "/v/f; stat -c %u /v/f']}]}");
  lab.wait_end("p");
  EXPECT_EQ(lab.log("p", "c"), "0\n7\n0\n");
}

}  // namespace
}  // namespace athanor::nodes::container_identity_test
