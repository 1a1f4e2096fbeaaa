// SPDX-License-Identifier: Apache-2.0
// A kubeconfig that leads to a server which answers as a test says.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "cli/flags/options.hpp"
#include "unit/client/script_server.hpp"

namespace athanor::cli {

class ScriptTest : public ::testing::Test {
 protected:
  ScriptTest() {
    std::string name = ::testing::TempDir() + "athanor-cli-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~ScriptTest() override { std::filesystem::remove_all(folder_); }
  ScriptTest(const ScriptTest&) = delete;
  ScriptTest& operator=(const ScriptTest&) = delete;

  // What a verb's --kubeconfig and --namespace say.
  [[nodiscard]] Target target(const client::ScriptServer& server) const {
    const std::string path = folder_ + "/kubeconfig";
    std::ofstream(path) << "current-context: c\ncontexts: [{name: c, context: {cluster: k, user: "
                           "u}}]\nclusters: [{name: k, cluster: {server: \""
                        << server.url() << "\"}}]\nusers: [{name: u, user: {token: t}}]\n";
    return {.kubeconfig = path, .ns = "ns"};
  }

 private:
  std::string folder_;
};

}  // namespace athanor::cli
