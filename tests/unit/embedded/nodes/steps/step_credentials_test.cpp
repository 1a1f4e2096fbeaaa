// SPDX-License-Identifier: Apache-2.0
// Files of HOME that programs of steps read (docs/spec/tekton.md 11).
#include "embedded/nodes/steps/step_credentials.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/digest.hpp"
#include "kube/text/json.hpp"
#include "support/fake_world.hpp"

namespace athanor::nodes::step_credentials_test {
namespace {

void put_secret(test::FakeWorld& world, std::string_view name, std::string_view type,
                const std::map<std::string, std::string>& data) {
  Value encoded = Value::object();
  for (const auto& [key, text] : data) {
    encoded.set(key, base64_encode(text));
  }
  world.put(Value::object({{"apiVersion", "v1"},
                           {"kind", "Secret"},
                           {"type", type},
                           {"metadata", Value::object({{"name", name}, {"namespace", "ns"}})},
                           {"data", encoded}}));
}

// path: content.
std::map<std::string, std::string> files(const test::FakeWorld& world, std::string_view entries) {
  Object pod(Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata",
        Value::object({{"name", "p"},
                       {"namespace", "ns"},
                       {"annotations", Value::object({{"athanor.dev/credentials", entries}})}})}}));
  Reads reads;
  std::map<std::string, std::string> result;
  const Value list = step_credentials(View(world, reads), pod);
  for (const Value& file : list.items()) {
    EXPECT_EQ(file["mode"].as_int(), 0600);
    result[file["path"].str()] = base64_decode(file["data"].as_string()).value_or("?");
  }
  return result;
}

TEST(StepCredentials, WritePasswordsForGitAndRegistries) {
  test::FakeWorld world;
  put_secret(world, "forge", "kubernetes.io/basic-auth",
             {{"username", "ann"}, {"password", "p@ss/1"}});
  const auto written = files(
      world,
      R"([{"secret":"forge","git":["https://forge.example.com"],"docker":["https://images.example.com"]}])");
  EXPECT_EQ(written.at(".git-credentials"), "https://ann:p%40ss%2F1@forge.example.com\n");
  EXPECT_EQ(written.at(".gitconfig"),
            "[credential]\n\thelper = store\n[credential "
            "\"https://forge.example.com\"]\n\tusername = ann\n");
  const Value docker = json::parse(written.at(".docker/config.json")).value();
  EXPECT_EQ(docker["auths"]["https://images.example.com"]["auth"],
            Value(base64_encode("ann:p@ss/1")));
  EXPECT_EQ(written.size(), 3U);
}

TEST(StepCredentials, WriteKeysForSsh) {
  test::FakeWorld world;
  put_secret(world, "key", "kubernetes.io/ssh-auth",
             {{"ssh-privatekey", "PEM"}, {"known_hosts", "forge ssh-rsa X"}});
  put_secret(world, "open", "kubernetes.io/ssh-auth", {{"ssh-privatekey", "PEM2"}});
  const auto written =
      files(world, R"([{"secret":"key","git":["forge:2222"]},{"secret":"open","git":["other"]}])");
  EXPECT_EQ(written.at(".ssh/id_key"), "PEM");
  EXPECT_EQ(written.at(".ssh/known_hosts"), "forge ssh-rsa X\n");
  EXPECT_EQ(written.at(".ssh/config"),
            "Host forge\n    HostName forge\n    Port 2222\n    IdentityFile ~/.ssh/id_key\n"
            "Host other\n    HostName other\n    Port 22\n    IdentityFile ~/.ssh/id_open\n"
            "    StrictHostKeyChecking no\n");
}

TEST(StepCredentials, MergeSettingsOfDocker) {
  test::FakeWorld world;
  put_secret(world, "new", "kubernetes.io/dockerconfigjson",
             {{".dockerconfigjson", R"({"auths":{"a":{"auth":"x"}}})"}});
  put_secret(world, "old", "kubernetes.io/dockercfg", {{".dockercfg", R"({"b":{"auth":"y"}})"}});
  const auto written = files(world, R"([{"secret":"new"},{"secret":"old"},{"secret":"gone"}])");
  EXPECT_EQ(written.at(".docker/config.json"), R"({"auths":{"a":{"auth":"x"},"b":{"auth":"y"}}})");
}

TEST(StepCredentials, AreNoneWithoutAnAnnotation) {
  const test::FakeWorld world;
  EXPECT_TRUE(files(world, "").empty());
}

}  // namespace
}  // namespace athanor::nodes::step_credentials_test
